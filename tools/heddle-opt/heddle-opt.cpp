//===- heddle-opt.cpp - Runs passes on IR ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-opt FILE.mlir --PASS...: mlir-opt with Heddle's dialects and passes, for tests of single
// passes.

#include "heddle/Compiler/RegisterAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  heddle::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Heddle's passes, one at a time\n", registry));
}
