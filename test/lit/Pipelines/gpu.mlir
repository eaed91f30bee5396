// The stage `gpu` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-gpu --check-dialects=allowed=spirv,scf,arith,math,vector | FileCheck %s

// CHECK: spirv.GlobalVariable
// CHECK: scf.for
// CHECK-NOT: kernel.contract
