//===- Passes.td - From tile bodies to SPIR-V --------------*- tablegen -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two steps that a kernel takes on its way to a Vulkan device.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
#define HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelToGpu : Pass<"convert-kernel-to-gpu", "mlir::ModuleOp"> {
  let summary = "lower tile bodies to one invocation's work";
  let description = [{
    Matches every `kernel.func`; leaves everything else alone. Each becomes a `spirv.module` of the same name with an entry point
    `main` that holds `scf`, `arith`, `math` and `vector` on vec4 values: what one invocation of the workgroup does for its fragment of
    the tile. Bindings, push constants and grid are those of `Support/Program.h`. The kernel's attribute `storage`, one of "memory" and
    "weight" for each view (default: all "memory"), chooses the binding. Attribute `workgroup` of the module is the workgroup's size.

    Before, the schedule must name `threads`. An op that has no lowering is an error at the op.

    ```mlir
    kernel.func @double(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) attributes {schedule = #kernel.schedule<threads = [4, 8]>} {…}
    // becomes
    spirv.module @double Logical GLSL450 attributes {workgroup = array<i32: 32, 1, 1>} {
      spirv.func @main() "None" { … scf.for … vector.fma … }
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::spirv::SPIRVDialect", "mlir::vector::VectorDialect"];
}

def FinishSpirv : Pass<"finish-spirv", "mlir::ModuleOp"> {
  let summary = "convert the bodies of SPIR-V modules to SPIR-V";
  let description = [{
    Matches `arith`, `math`, `scf` and `vector` inside `spirv.module`; leaves what is SPIR-V already alone. One full conversion: an op
    without a SPIR-V form is an error. After it every floating-point addition, subtraction, multiplication, division and negation
    carries `no_contraction`, so that the only fused operations are those written as such (`math.fma`, `vector.fma`).

    ```mlir
    %s = arith.mulf %a, %b : vector<4xf32>
    // becomes
    %s = spirv.FMul %a, %b {no_contraction} : vector<4xf32>
    ```
  }];
  let dependentDialects = ["mlir::spirv::SPIRVDialect"];
}

#endif // HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
