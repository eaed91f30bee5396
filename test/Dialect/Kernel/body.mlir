// Every op of the tiled body keeps its text.
// RUN: heddle-opt %s | heddle-opt | FileCheck %s

// CHECK-LABEL: kernel.func @do_nothing() scalars() grid(%{{.*}} = 1 by 1) {
kernel.func @do_nothing() scalars() grid(%i = 1 by 1) {
}

// CHECK-LABEL: kernel.func @attend
// CHECK-SAME: !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
// CHECK-SAME: scalars(d0, d1, d2) grid(%[[B:.*]] = d0 by 1, %{{.*}} = 8 by 1, %[[I:.*]] = d1 by 96)
// CHECK-SAME: plan = #kernel.plan<mapping = cpu_strips, block = 512, ahead = 1>
kernel.func @attend(%q: !kernel.view<[d0, 8, d1|d2, 64], f32>, %k: !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>, %n: !kernel.view<[d0], i32>,
                    %o: !kernel.view<[d1, 64], f32>, %s: !kernel.view<[d1], f32>)
    scalars(d0, d1, d2) grid(%b = d0 by 1, %h = 8 by 1, %i = d1 by 96)
    attributes {plan = #kernel.plan<mapping = cpu_strips, block = 512, ahead = 1>} {
  // CHECK: kernel.scalar "d1" : index
  %d1 = kernel.scalar "d1" : index
  // CHECK: kernel.slice %{{.*}}[%[[B]], %{{.*}}] : !kernel.view<[d0, 8, d1|d2, 64], f32> -> !kernel.view<[d1|d2, 64], f32>
  %qh = kernel.slice %q[%b, %h] : !kernel.view<[d0, 8, d1|d2, 64], f32> -> !kernel.view<[d1|d2, 64], f32>
  %kh = kernel.slice %k[%b, %h] : !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16> -> !kernel.view<[d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.extent %{{.*}}, 0 :
  %t = kernel.extent %kh, 0 : !kernel.view<[d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.read %{{.*}}[%[[B]]] : !kernel.view<[d0], i32> -> i32
  %len = kernel.read %n[%b] : !kernel.view<[d0], i32> -> i32
  // CHECK: kernel.contract %{{.*}}[%[[I]]], %{{.*}}[%{{.*}}] columns(%{{.*}}) :
  %c = kernel.contract %qh[%i], %kh[%t] columns(%d1) : !kernel.view<[d1|d2, 64], f32>, !kernel.view<[d1|d2, 64], f32, panel = 16> -> tensor<96x64xf32>
  // CHECK: kernel.contract %{{.*}}, %{{.*}}[%{{.*}}] over rows(%{{.*}}) {guarded} :
  %p = kernel.contract %c, %qh[%i] over rows(%d1) {guarded} : tensor<96x64xf32>, !kernel.view<[d1|d2, 64], f32> -> tensor<96x64xf32>
  // CHECK: kernel.load %{{.*}}[%{{.*}}] as rows :
  %r = kernel.load %n[%i] as rows : !kernel.view<[d0], i32> -> tensor<96x1xi32>
  // CHECK: kernel.gather %{{.*}}[%{{.*}}], %{{.*}} :
  %g = kernel.gather %o[%r], %i : !kernel.view<[d1, 64], f32>, tensor<96x1xi32> -> tensor<96x64xf32>
  // CHECK: kernel.reduce max
  %m = kernel.reduce max %g : tensor<96x64xf32> -> tensor<96x1xf32>
  // CHECK: kernel.broadcast
  %mb = kernel.broadcast %m : tensor<96x1xf32> -> tensor<96x64xf32>
  // CHECK: kernel.iota rows from %[[I]]
  %i0 = kernel.iota rows from %i : tensor<96x1xi32>
  // CHECK: kernel.iota columns from %[[I]]
  %i1 = kernel.iota columns from %i : tensor<1x64xi32>
  // CHECK: %[[ONE:.*]] = arith.constant dense<1.0
  // CHECK: kernel.scaleb %[[ONE]] by %[[ONE]] : tensor<96x64xf32>
  %one = arith.constant dense<1.0> : tensor<96x64xf32>
  %two = kernel.scaleb %one by %one : tensor<96x64xf32>
  // CHECK: kernel.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] rows(%{{.*}}) :
  kernel.store %p, %k[%b, %h, %i, %t] rows(%d1) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at(%{{.*}} : tensor<96x1xi32>) rows(%{{.*}}) :
  kernel.store %p, %k[%b, %h, %i, %t] at(%r : tensor<96x1xi32>) rows(%d1) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.store %{{.*}}, %{{.*}}[%{{.*}}] as rows rows(%{{.*}}) :
  kernel.store %m, %s[%i] as rows rows(%d1) : tensor<96x1xf32>, !kernel.view<[d1], f32>
}

// CHECK-LABEL: kernel.func @parts
kernel.func @parts(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) {
  // CHECK: kernel.part(%[[J:.*]] = 64 by 16) {
  kernel.part(%j = 64 by 16) {
    // CHECK: kernel.load %{{.*}}[%{{.*}}, %[[J]]]
    %t = kernel.load %x[%i, %j] : !kernel.view<[d0, 64], f32> -> tensor<32x16xf32>
    kernel.store %t, %y[%i, %j] : tensor<32x16xf32>, !kernel.view<[d0, 64], f32>
  }
}

// Products of bf16 sum in f32.
// CHECK-LABEL: kernel.func @narrow
// CHECK-SAME: !kernel.view<[d0, 64], bf16>, %{{.*}}: !kernel.view<[64, 64], bf16, panel = 16>
kernel.func @narrow(%x: !kernel.view<[d0, 64], bf16>, %w: !kernel.view<[64, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 64], bf16>) scalars(d0) grid(%i = d0 by 32) {
  %zero = arith.constant 0 : index
  // CHECK: kernel.contract {{.*}} : !kernel.view<[d0, 64], bf16>, !kernel.view<[64, 64], bf16, panel = 16> -> tensor<32x64xf32>
  %c = kernel.contract %x[%i], %w[%zero] : !kernel.view<[d0, 64], bf16>, !kernel.view<[64, 64], bf16, panel = 16> -> tensor<32x64xf32>
  %r = arith.truncf %c : tensor<32x64xf32> to tensor<32x64xbf16>
  kernel.store %r, %y[%i, %zero] : tensor<32x64xbf16>, !kernel.view<[d0, 64], bf16>
}
