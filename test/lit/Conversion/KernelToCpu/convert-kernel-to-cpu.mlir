// Lowering of a body for 16 lanes: row loop, k loop with carried sums, guarded stores.
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @do_nothing(
// CHECK-NEXT: return
kernel.func @do_nothing() scalars() grid(%i = 1 by 1) {
}

// -----

// Seven features: one step of four, then three. Rows past the extent are computed but not stored.
// CHECK-LABEL: func.func @product(
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i64
// CHECK: %[[SUMS:.*]]:8 = scf.for %{{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK-COUNT-32: math.fma
// CHECK: scf.yield
// CHECK-COUNT-24: math.fma
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge
// CHECK: scf.if %[[WHOLE]]
// CHECK-COUNT-8: llvm.store
// CHECK: else
kernel.func @product(%x: !kernel.view<[d0, 7], f32>, %w: !kernel.view<[16, 7], f32, panel = 16>, %y: !kernel.view<[d0, 16], f32>)
    scalars(d0) grid(%i = d0 by 32, %j = 16 by 16) {
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 7], f32>, !kernel.view<[16, 7], f32, panel = 16> -> tensor<32x16xf32>
  kernel.store %c, %y[%i, %j] rows(%left) : tensor<32x16xf32>, !kernel.view<[d0, 16], f32>
}

// -----

// Two parts, with one unsigned comparison each.
// CHECK-LABEL: func.func @parts(
// CHECK: arith.cmpi ult, %arg3
// CHECK: scf.if
// CHECK: arith.cmpi ult
// CHECK: scf.if
kernel.func @parts(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) {
  kernel.part(%j = 32 by 16) {
    %t = kernel.load %x[%i, %j] : !kernel.view<[d0, 64], f32> -> tensor<32x16xf32>
    kernel.store %t, %y[%i, %j] : tensor<32x16xf32>, !kernel.view<[d0, 64], f32>
  }
  kernel.part(%j = 32 by 16) {
    %t = kernel.load %y[%i, %j] : !kernel.view<[d0, 64], f32> -> tensor<32x16xf32>
    kernel.store %t, %x[%i, %j] : tensor<32x16xf32>, !kernel.view<[d0, 64], f32>
  }
}

// -----

kernel.func @illegal_columns(%x: !kernel.view<[d0, 20], f32>) scalars(d0) grid(%i = d0 by 32) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{expected tiles of 1 or a multiple of 16 columns, found 'tensor<32x20xf32>'}}
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 20], f32> -> tensor<32x20xf32>
}

// -----

kernel.func @illegal_math(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 32) {
  %zero = arith.constant 0 : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 16], f32> -> tensor<32x16xf32>
  // expected-error @+1 {{expected an op that is an instruction of the CPU}}
  %e = math.erf %t : tensor<32x16xf32>
}
