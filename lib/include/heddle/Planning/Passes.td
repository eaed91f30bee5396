//===- Passes.td - The planning pass -----------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef HEDDLE_PLANNING_PASSES_TD
#define HEDDLE_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanKernels : Pass<"plan-kernels", "mlir::ModuleOp"> {
  let summary = "plan how a target runs each kernel";
  let description = [{
    Sets `plans` of each `kernel.def` to a `#kernel.plan` for the target, and to a second one where launches with few rows have a form of their own.
    Passes after this one know nothing of the target's tiles.

    ```mlir
    kernel.def @linear(%x, %w) -> … { transformer.linear … }
    // becomes
    kernel.def @linear(%x, %w) -> … attributes {plans = [#kernel.plan<mapping = cpu_tiles, tile = [128, 48], ahead = 1>]} { transformer.linear … }
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "`cpu` or `vulkan`">,
                 Option<"level", "level", "std::string", "\"0\"", "level of Vulkan devices: GpuTarget.h">];
  let dependentDialects = ["heddle::kernel::KernelDialect"];
}

#endif // HEDDLE_PLANNING_PASSES_TD
