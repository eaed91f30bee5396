// The stage `spirv` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-spirv --check-dialects=allowed=spirv | FileCheck %s

// CHECK: spirv.module
// CHECK: spirv.EntryPoint
// CHECK-NOT: scf.
