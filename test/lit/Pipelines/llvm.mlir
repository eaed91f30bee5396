// The stage `llvm` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-llvm --check-dialects=allowed=llvm | FileCheck %s

// CHECK: llvm.func
// CHECK: llvm.intr.fma
// CHECK-NOT: scf.
