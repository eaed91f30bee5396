// Groups and kernels over tensors keep their text.
// RUN: heddle-opt %s | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @group
func.func @group(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK: kernel.group(%{{.*}}, %{{.*}}) "twice" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = kernel.group(%x, %x) "twice" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32> {
  ^bb0(%a: tensor<?x16xf32>, %b: tensor<?x16xf32>):
    %s = arith.addf %a, %b : tensor<?x16xf32>
    // CHECK: kernel.yield %{{.*}} : tensor<?x16xf32>
    kernel.yield %s : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}

// CHECK-LABEL: kernel.def @twice(%{{.*}}: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {root = #kernel.root<elementwise>}
kernel.def @twice(%a: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {root = #kernel.root<elementwise>} {
  %s = arith.addf %a, %a : tensor<?x16xf32>
  kernel.yield %s : tensor<?x16xf32>
}
