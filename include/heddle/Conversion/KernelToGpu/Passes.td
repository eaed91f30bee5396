//===- Passes.td - From tile bodies to SPIR-V --------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two steps that a kernel takes on its way to a Vulkan device.

#ifndef HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
#define HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelToGpu : Pass<"convert-kernel-to-gpu", "mlir::ModuleOp"> {
  let summary = "lower tile bodies to one invocation's work";
  let description = [{
    Matches every `kernel.func`; leaves everything else alone. Each becomes a nested module of the same name with an entry point
    `main` that holds `scf`, `arith`, `math` and `vector` on vec4 values, and `spirv` where memory is meant: what one invocation of the
    workgroup does for its fragment of the tile. (`spirv.module` would refuse the mixture; `finish-spirv` makes one.)
    Bindings, push constants and grid are those of `Support/Program.h`. The kernel's attribute `storage`, one of "memory" and
    "weight" for each view (default: all "memory"), chooses the binding. Attribute `kernel.workgroup` of the module is the workgroup's size.

    Before, the rows of all tiles must divide among the schedule's `threads`. An op that has no lowering is an error at the op.

    ```mlir
    kernel.func @double(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) {…}
    // becomes
    module @double attributes {kernel.workgroup = array<i32: 64, 1, 1>} {
      spirv.func @main() "None" { … scf.for … arith.addf … }
    }
    ```
  }];
  let options = [Option<"level", "level", "int", "0", "level of Vulkan devices: GpuTarget.h">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::spirv::SPIRVDialect", "mlir::vector::VectorDialect"];
}

def FinishSpirv : Pass<"finish-spirv", "mlir::ModuleOp"> {
  let summary = "convert the bodies of SPIR-V modules to SPIR-V";
  let description = [{
    Matches the nested modules that `convert-kernel-to-gpu` makes; leaves everything else alone. One full conversion of `arith`,
    `math`, `scf` and `vector`: an op without a SPIR-V form is an error. After it each is a `spirv.module` (its attribute `workgroup` is the size) in which every floating-point
    addition, subtraction, multiplication, division and negation carries `no_contraction`, so that the only fused operations are those
    written as such (`math.fma`).

    ```mlir
    %s = arith.mulf %a, %b : vector<4xf32>
    // becomes
    %s = spirv.FMul %a, %b {no_contraction} : vector<4xf32>
    ```
  }];
  let options = [Option<"level", "level", "int", "0", "level of Vulkan devices: GpuTarget.h">];
  let dependentDialects = ["mlir::spirv::SPIRVDialect"];
}

#endif // HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
