//===- KernelDialect.td - The kernel dialect -*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel dialect: groups, kernels, tile bodies, launches and programs,
// which the compiler creates from a model. It is not part of the model
// language.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELDIALECT_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELDIALECT_TD

include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::heddle::kernel";
  let summary = "groups, kernels and their tile bodies, programs";
  let description = [{
    The dialect serves three stages. `fused` has `kernel.group` regions over tensors. `program` has
    launch lists, and one `kernel.def` for each distinct kernel. `tiled` has `kernel.func` bodies
    with value semantics on static tiles, which are loaded from and stored to views.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELDIALECT_TD
