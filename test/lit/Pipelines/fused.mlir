// The stage `fused` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-fused --check-dialects=allowed=kernel,transformer,arith,tensor,func | FileCheck %s

// CHECK-LABEL: func.func @encode
// CHECK: kernel.group
// CHECK: root = #kernel.root<attention>
