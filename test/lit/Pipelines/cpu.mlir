// The stage `cpu` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-cpu --check-dialects=allowed=func,llvm,scf,arith,math,vector | FileCheck %s

// CHECK: func.func
// CHECK: math.fma
// CHECK-NOT: kernel.
