//===- Passes.td - The check of live dialects --------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass by which tests prove the lists of live dialects in Pipelines.h.

#ifndef HEDDLE_PIPELINES_PASSES_TD
#define HEDDLE_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckDialects : Pass<"check-dialects", "mlir::ModuleOp"> {
  let summary = "prove which dialects a module uses";
  let description = [{
    Matches every op of the module; changes nothing. Fails at the first op whose dialect is not listed in `allowed`; `builtin` is always allowed. With
    `print`, a remark at the module lists the dialects in use, sorted.

    ```mlir
    // heddle-opt --check-dialects=allowed=func,arith
    func.func @f() { return }          // holds
    func.func @g() { %t = tensor.empty() : tensor<1xf32> return }
    // error: 'tensor.empty' op expected an op of the dialects func, arith, found one of tensor
    ```
  }];
  let options = [
    ListOption<"allowed", "allowed", "std::string", "dialects that may occur (default: none)">,
    Option<"print", "print", "bool", "false", "print the dialects in use">
  ];
}

#endif // HEDDLE_PIPELINES_PASSES_TD
