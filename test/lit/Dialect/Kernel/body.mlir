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
  // CHECK: kernel.contract_rows %{{.*}}, %{{.*}}[%{{.*}}] rows(%{{.*}}) {guarded} :
  %p = kernel.contract_rows %c, %qh[%i] rows(%d1) {guarded} : tensor<96x64xf32>, !kernel.view<[d1|d2, 64], f32> -> tensor<96x64xf32>
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
  // CHECK: kernel.random_words(%{{.*}}, %{{.*}}, %[[N:.*]], %[[N]]) key(%[[N]], %[[N]]) : (tensor<1x64xi32>, tensor<96x1xi32>, i32) -> tensor<96x64xi32>
  %site = arith.constant 3 : i32
  %words = kernel.random_words (%i1, %i0, %site, %site) key(%site, %site) : (tensor<1x64xi32>, tensor<96x1xi32>, i32) -> tensor<96x64xi32>
  // CHECK: %[[ONE:.*]] = arith.constant dense<1.0
  // CHECK: kernel.scaleb %[[ONE]] by %[[ONE]] : tensor<96x64xf32>
  %one = arith.constant dense<1.0> : tensor<96x64xf32>
  %two = kernel.scaleb %one by %one : tensor<96x64xf32>
  // CHECK: kernel.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] rows(%{{.*}}) :
  kernel.store %p, %k[%b, %h, %i, %t] rows(%d1) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at(%{{.*}} : tensor<96x1xi32>) rows(%{{.*}}) :
  kernel.scatter %p, %k[%b, %h, %i, %t] at(%r : tensor<96x1xi32>) rows(%d1) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
  // CHECK: kernel.store_vector %{{.*}}, %{{.*}}[%{{.*}}] rows(%{{.*}}) :
  kernel.store_vector %m, %s[%i] rows(%d1) : tensor<96x1xf32>, !kernel.view<[d1], f32>
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

// Every clause of a product, and products of codes.
// CHECK-LABEL: kernel.func @products
kernel.func @products(%q: !kernel.view<[d0, 64], f32>, %k: !kernel.view<[d0, 64], i8, panel = 16>, %e: !kernel.view<[d0], f32>, %v: !kernel.view<[d0, 64], i8>,
                      %x: !kernel.view<[d0, 64], i8>, %s: !kernel.view<[d0, 4], f32>, %w: !kernel.view<[64, 64], i4, panel = 16>)
    scalars(d0) grid(%i = d0 by 32) {
  %bits = arith.constant 1 : i32
  // CHECK: %[[P:.*]] = kernel.contract %{{.*}}[%[[I:.*]]], %{{.*}}[%[[I]]] kept(%[[E:.*]] : !kernel.view<[d0], f32>) columns(%[[I]]) from(%[[I]]) tiles(%[[BITS:.*]] by 64) :
  %p = kernel.contract %q[%i], %k[%i] kept(%e : !kernel.view<[d0], f32>) columns(%i) from(%i) tiles(%bits by 64) : !kernel.view<[d0, 64], f32>, !kernel.view<[d0, 64], i8, panel = 16> -> tensor<32x64xf32>
  // CHECK: kernel.contract_rows %[[P]], %{{.*}}[%[[I]]] kept(%[[E]] : !kernel.view<[d0], f32>) rows(%[[I]]) from(%[[I]]) tiles(%[[BITS]] by 64) {guarded} :
  %o = kernel.contract_rows %p, %v[%i] kept(%e : !kernel.view<[d0], f32>) rows(%i) from(%i) tiles(%bits by 64) {guarded} : tensor<32x64xf32>, !kernel.view<[d0, 64], i8> -> tensor<32x64xf32>
  // CHECK: kernel.contract_groups %{{.*}}[%[[I]]], %{{.*}}[%[[I]]] scales(%{{.*}} : !kernel.view<[d0, 4], f32>) :
  %g = kernel.contract_groups %x[%i], %w[%i] scales(%s : !kernel.view<[d0, 4], f32>) : !kernel.view<[d0, 64], i8>, !kernel.view<[64, 64], i4, panel = 16> -> tensor<32x64xf32>
}

// Stores of heads and of columns, and stores to a ring.
// CHECK-LABEL: kernel.func @stores
kernel.func @stores(%t: !kernel.view<[d0, 48], f32>, %r: !kernel.view<[d0], i32>, %h: !kernel.view<[d0, 2, d1, 24], f32>, %y: !kernel.view<[d0, 48], f32>)
    scalars(d0, d1) grid(%i = d0 by 32) {
  %z = arith.constant 0 : index
  %x = kernel.load %t[%i, %z] : !kernel.view<[d0, 48], f32> -> tensor<32x48xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[d0], i32> -> tensor<32x1xi32>
  // CHECK: kernel.store_heads %[[X:.*]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] rows(%{{.*}}) {ring = 64 : i64} :
  kernel.store_heads %x, %h[%z, %z, %i, %z] rows(%i) {ring = 64 : i64} : tensor<32x48xf32>, !kernel.view<[d0, 2, d1, 24], f32>
  // CHECK: kernel.scatter %[[X]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at(%{{.*}} : tensor<32x1xi32>) rows(%{{.*}}) {over_heads} :
  kernel.scatter %x, %h[%i, %z, %z, %z] at(%p : tensor<32x1xi32>) rows(%i) {over_heads} : tensor<32x48xf32>, !kernel.view<[d0, 2, d1, 24], f32>
  // CHECK: kernel.store_columns %[[X]], %{{.*}}[%{{.*}}, %{{.*}}] columns(24) rows(%{{.*}}) :
  kernel.store_columns %x, %y[%i, %z] columns(24) rows(%i) : tensor<32x48xf32>, !kernel.view<[d0, 48], f32>
}

// CHECK-LABEL: kernel.func @weight_gradient
// CHECK-SAME: !kernel.view<[512, 2048], f32, strip = 16>
kernel.func @weight_gradient(%x: !kernel.view<[d0, 512], f32>, %dy: !kernel.view<[d0, 2048], f32>, %g: !kernel.view<[512, 2048], f32, strip = 16>) scalars(d0) grid(%k = 512 by 96, %n = 2048 by 64) {
  %rows = kernel.scalar "d0" : index
  %zero = arith.constant 0 : index
  %before = kernel.load %g[%k, %n] : !kernel.view<[512, 2048], f32, strip = 16> -> tensor<96x64xf32>
  // CHECK: kernel.contract_common %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) onto(%{{.*}}) : !kernel.view<[d0, 512], f32>, !kernel.view<[d0, 2048], f32> -> tensor<96x64xf32>
  %sum = kernel.contract_common %x[%zero, %k], %dy[%zero, %n] rows(%rows) onto(%before) : !kernel.view<[d0, 512], f32>, !kernel.view<[d0, 2048], f32> -> tensor<96x64xf32>
  kernel.store %sum, %g[%k, %n] : tensor<96x64xf32>, !kernel.view<[512, 2048], f32, strip = 16>
}
