// The stage `tiled` holds these dialects and no others, for both kinds of device.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-tiled=target=cpu --check-dialects=allowed=kernel,arith,math,scf | FileCheck %s
// RUN: heddle-opt %S/transformer.mlir --heddle-to-tiled=target=vulkan --check-dialects=allowed=kernel,arith,math,scf | FileCheck %s

// CHECK: kernel.program @encode
// CHECK: kernel.launch @[[KERNEL:[a-z0-9_]*]](
// CHECK: kernel.func @[[KERNEL]](
// CHECK: kernel.contract
// CHECK-NOT: transformer.
