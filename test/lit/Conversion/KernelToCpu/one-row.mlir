// Register tile of a body with one row on 8 lanes. It has enough vectors to hide the latency of a
// chain. Over features, each panel of keys has its own loop, so it is read as one stream. Over
// rows, all eight vectors share one loop.
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s

// CHECK-LABEL: func.func @one_row(
// CHECK-COUNT-4: :2 = scf.for %{{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK: :8 = scf.for %{{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-NOT: scf.for
kernel.func @one_row(%q: !kernel.view<[d0, 32], f32>, %k: !kernel.view<[64, 32], f32, panel = 16>, %v: !kernel.view<[64, 64], f32>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 1) {
  %zero = arith.constant 0 : index
  %all = arith.constant 64 : index
  %s = kernel.contract %q[%i], %k[%zero] : !kernel.view<[d0, 32], f32>, !kernel.view<[64, 32], f32, panel = 16> -> tensor<1x64xf32>
  %w = kernel.contract_rows %s, %v[%zero] rows(%all) : tensor<1x64xf32>, !kernel.view<[64, 64], f32> -> tensor<1x64xf32>
  %one = arith.constant 1 : index
  kernel.store %w, %y[%i, %zero] rows(%one) : tensor<1x64xf32>, !kernel.view<[d0, 64], f32>
}
