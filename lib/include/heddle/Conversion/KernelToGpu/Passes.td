//===- Passes.td - Lowering of kernels to SPIR-V -----------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of stages `gpu` and `spirv`.

#ifndef HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
#define HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelToGpu : Pass<"convert-kernel-to-gpu", "mlir::ModuleOp"> {
  let summary = "lower kernel.func to the code of one invocation";
  let description = [{
    Replaces every `kernel.func` by a nested module of the same name; other ops are left alone. Its entry point `main` computes one invocation's
    fragment of the tile, by `scf`, `arith`, `math` and `vector` on vec4 values and by `spirv` for memory. It is no `spirv.module` yet, because that
    would reject the mixture; `finish-spirv` makes one. Bindings, push constants and grid are those of `Support/Program.h`. Attribute `storage` of the
    kernel, "memory" or "weight" for each view (default: all "memory"), chooses the binding. Attribute `kernel.workgroup` of the module is the
    workgroup's size.

    Before: the plan's `threads` divide the rows of every tile. An op without a lowering is an error at the op.

    ```mlir
    kernel.func @double(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) {…}
    // becomes
    module @double attributes {kernel.workgroup = array<i32: 64, 1, 1>} {
      spirv.func @main() "None" { … scf.for … arith.addf … }
    }
    ```
  }];
  let options = [Option<"level", "level", "std::string", "\"0\"", "level of Vulkan devices: GpuTarget.h">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::spirv::SPIRVDialect", "mlir::vector::VectorDialect"];
}

def FinishSpirv : Pass<"finish-spirv", "mlir::ModuleOp"> {
  let summary = "convert bodies to spirv.module";
  let description = [{
    Replaces each nested module that `convert-kernel-to-gpu` makes by a `spirv.module` with its size in the attribute `workgroup`; other ops are left
    alone. One full conversion of `arith`, `math`, `scf` and `vector`: an op without a SPIR-V form is an error. Every floating-point addition,
    subtraction, multiplication, division and negation carries `no_contraction`, so that only `math.fma` is fused.

    ```mlir
    %s = arith.mulf %a, %b : vector<4xf32>
    // becomes
    %s = spirv.FMul %a, %b {no_contraction} : vector<4xf32>
    ```
  }];
  let options = [Option<"level", "level", "std::string", "\"0\"", "level of Vulkan devices: GpuTarget.h">];
  let dependentDialects = ["mlir::spirv::SPIRVDialect"];
}

#endif // HEDDLE_CONVERSION_KERNELTOGPU_PASSES_TD
