//===- Passes.td - Lowering of kernels to CPU --------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass of stage `cpu`.

#ifndef HEDDLE_CONVERSION_KERNELTOCPU_PASSES_TD
#define HEDDLE_CONVERSION_KERNELTOCPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelToCpu : Pass<"convert-kernel-to-cpu", "::mlir::ModuleOp"> {
  let summary = "lower kernel.func to functions on native vectors";
  let description = [{
    Replaces every `kernel.func` of the module by a `func.func` of the same name that computes one grid point:

    ```mlir
    func.func @name(%args: !llvm.ptr, %scalars: !llvm.ptr, %g0: i64, %g1: i64, %g2: i64)
    ```

    The body is emitted for register tiles of the instruction set; the remaining rows and columns run in narrower register tiles. Other ops are left
    alone. Before: tiles have 1 or a multiple of 16 columns, scratch stays below 512 KiB. After: only `func`, `llvm`, `scf`, `arith`, `math` and
    `vector` are alive, vectors are native.

    Before:
    ```mlir
    kernel.func @copy(%x: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 32) {
      %zero = arith.constant 0 : index
      %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 16], f32> -> tensor<32x16xf32>
      kernel.store %t, %y[%i, %zero] : tensor<32x16xf32>, !kernel.view<[d0, 16], f32>
    }
    ```
    After (shortened):
    ```mlir
    func.func @copy(%args: !llvm.ptr, %scalars: !llvm.ptr, %g0: i64, %g1: i64, %g2: i64) {
      scf.for %row = %c0 to %rows step %c4 : i64 {
        %t = llvm.load %px : !llvm.ptr -> vector<16xf32>
        llvm.store %t, %py : vector<16xf32>, !llvm.ptr
      }
      return
    }
    ```
  }];
  let options = [Option<"isa", "isa", "std::string", "\"x86-64-v3\"", "instruction set: a name of Target/CpuTarget.cpp, such as x86-64-v4, or native">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // HEDDLE_CONVERSION_KERNELTOCPU_PASSES_TD
