// Each verifier names its constraint.
// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @group_c1(%x: tensor<?x16xf32>) {
  // expected-error @+1 {{C1: expected body arguments of 'tensor<?x16xf32>'}}
  %y = kernel.group(%x) "g" {root = #kernel.root<norm>} : (tensor<?x16xf32>) -> tensor<?x16xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    kernel.yield %a : tensor<?x8xf32>
  }
  return
}

// -----

// expected-error @+1 {{expected kernel.yield of 'tensor<4xf32>', found 'tensor<2xf32>'}}
kernel.def @def_c1(%a: tensor<2xf32>) -> tensor<4xf32> {
  kernel.yield %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{C1: expected an extent over the kernel's scalars, found d1}}
kernel.func @func_c1(%x: !kernel.view<[d1, 64], f32>) scalars(d0) grid(%i = d0 by 1) {
}

// -----

// expected-error @+1 {{C2: expected a positive tile, found 0}}
kernel.func @func_c2() scalars(d0) grid(%i = d0 by 0) {
}

// -----

// expected-error @+1 {{C3: expected a view as argument 0, found 'i32'}}
kernel.func @func_c3(%x: i32) scalars(d0) grid(%i = d0 by 1) {
}

// -----

// expected-error @+1 {{C4: expected nothing beside kernel.part, found arith.constant}}
kernel.func @func_c4() scalars(d0) grid(%i = d0 by 1) {
  %c = arith.constant 0 : index
  kernel.part(%j = 4 by 1) {
  }
}

// -----

kernel.func @part_c1() scalars(d0) grid(%i = d0 by 1) {
  // expected-error @+1 {{C1: expected a positive tile, found 0}}
  kernel.part(%j = 4 by 0) {
  }
}

// -----

kernel.func @scalar_c1() scalars(d0) grid(%i = d0 by 1) {
  // expected-error @+1 {{C1: expected a scalar of the kernel, found n}}
  %n = kernel.scalar "n" : index
}

// -----

kernel.func @slice_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected fewer indices than dimensions: 2, found 2}}
  %s = kernel.slice %x[%i, %i] : !kernel.view<[4, 64], f32> -> !kernel.view<[64], f32>
}

// -----

kernel.func @slice_c2(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected '!kernel.view<[64], f32>'}}
  %s = kernel.slice %x[%i] : !kernel.view<[4, 64], f32> -> !kernel.view<[32], f32>
}

// -----

kernel.func @extent_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected a dimension below 2, found 2}}
  %n = kernel.extent %x, 2 : !kernel.view<[4, 64], f32>
}

// -----

kernel.func @read_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected one index a dimension: 2, found 1}}
  %v = kernel.read %x[%i] : !kernel.view<[4, 64], f32> -> f32
}

// -----

kernel.func @read_c2(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected 'f32', found 'i32'}}
  %v = kernel.read %x[%i] : !kernel.view<[4], f32> -> i32
}

// -----

kernel.func @load_c3(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C3: expected a tile of Mx1, found 'tensor<4x16xf32>'}}
  %t = kernel.load %x[%i] as rows : !kernel.view<[4], f32> -> tensor<4x16xf32>
}

// -----

kernel.func @load_c4(%x: !kernel.view<[16, 4], f32, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C4: expected a row-major view, found one in panels}}
  %t = kernel.load %x[%i, %i] : !kernel.view<[16, 4], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @gather_c1(%x: !kernel.view<[4, 16], bf16>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 1) {
  %rows = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<4x1xi32>
  // expected-error @+1 {{C1: expected a narrow table in panels, found '!kernel.view<[4, 16], bf16>'}}
  %t = kernel.gather %x[%rows], %i : !kernel.view<[4, 16], bf16>, tensor<4x1xi32> -> tensor<4x16xf32>
}

// -----

kernel.func @gather_c2(%x: !kernel.view<[4, 16], f32>, %r: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  %rows = kernel.load %r[%i] as rows : !kernel.view<[4], f32> -> tensor<4x1xf32>
  // expected-error @+1 {{C2: expected rows of Mx1xi32, found 'tensor<4x1xf32>'}}
  %t = kernel.gather %x[%rows], %i : !kernel.view<[4, 16], f32>, tensor<4x1xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @broadcast_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0.0> : tensor<2x1xf32>
  // expected-error @+1 {{C1: expected dimension 0 to be 1 or 4, found 2}}
  %b = kernel.broadcast %t : tensor<2x1xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @reduce_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected 'tensor<4x1xf32>'}}
  %b = kernel.reduce add %t : tensor<4x16xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @scaleb_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0> : tensor<4x16xi32>
  // expected-error @+1 {{C1: expected elements of f32, found 'tensor<4x16xi32>'}}
  %b = kernel.scaleb %t by %t : tensor<4x16xi32>
}

// -----

kernel.func @iota_c1() scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected elements of 'i32', found 'f32'}}
  %t = kernel.iota rows from %i : tensor<4x16xf32>
}

// -----

kernel.func @random_words_c1() scalars() grid(%i = 4 by 1) {
  %n = arith.constant 1 : i32
  %f = arith.constant 1.0 : f32
  // expected-error @+1 {{C1: expected counters of i32, found 'f32'}}
  %t = kernel.random_words (%f, %n, %n, %n) key(%n, %n) : (f32, i32, i32) -> tensor<4x16xi32>
}

// -----

kernel.func @random_words_c2() scalars() grid(%i = 4 by 1) {
  %n = arith.constant 1 : i32
  %r = kernel.iota rows from %i : tensor<2x1xi32>
  // expected-error @+1 {{C2: expected dimension 0 to be 1 or 4, found 2}}
  %t = kernel.random_words (%n, %r, %n, %n) key(%n, %n) : (i32, tensor<2x1xi32>, i32) -> tensor<4x16xi32>
}

// -----

// expected-error @+1 {{expected panels of 16, found 8}}
kernel.func @view_panel(%x: !kernel.view<[16, 4], f32, panel = 8>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected strips of 16 columns in static matrices of f32}}
kernel.func @view_strip(%x: !kernel.view<[d0, 32], f32, strip = 16>) scalars(d0) grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'i4' only in panels of a view of rank 2}}
kernel.func @view_of_nibbles(%x: !kernel.view<[4, 64], i4>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'bf16' only in views of rank 2 or more with a static last dimension}}
kernel.func @view_of_narrow_vector(%x: !kernel.view<[4], bf16>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'i8' only in views of rank 2 or more with a static last dimension}}
kernel.func @view_of_codes(%x: !kernel.view<[4], i8>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{C7: expected a product over features in a body with mapping staged, found none}}
kernel.func @func_c7(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = staged, threads = [4, 4], block = 16, ahead = 1>} {
}

// -----

// expected-error @+1 {{C7: expected a product over rows in a body with mapping own_rows, found none}}
kernel.func @func_c7_rows(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = own_rows, threads = [16, 1]>} {
}

// -----

// expected-error @+1 {{C7: expected no product in a body with mapping strided}}
kernel.func @func_c7_strided(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], f32, panel = 16>) scalars() grid(%i = 4 by 4) attributes {plan = #kernel.plan<mapping = strided, threads = [4, 4]>} {
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

// expected-error @+1 {{C1: expected two positive threads of mapping blocked, found 1}}
kernel.func @plan_c1(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [4]>} {
}

// -----

// expected-error @+1 {{C1: expected no threads of mapping cpu_tiles, found 2}}
kernel.func @plan_c1_cpu(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, threads = [4, 4]>} {
}

// -----

// expected-error @+1 {{C2: expected a positive block of mapping few_rows, found 0}}
kernel.func @plan_c2(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = few_rows, threads = [8, 16]>} {
}

// -----

// expected-error @+1 {{C3: expected a tile of positive rows and columns, found array<i64: 16>}}
kernel.func @plan_c3(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [16]>} {
}

// -----

// expected-error @+1 {{C3: expected a tile of positive rows and columns, found array<i64: 16, 0>}}
kernel.func @plan_c3_zero(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [16, 0]>} {
}

// -----

// expected-error @+1 {{C8: expected a grid axis of 32 rows, as the tile of the plan, found none}}
kernel.func @func_c8(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [32, 16]>} {
}

// -----

// expected-error @+1 {{C6: expected the scalar of a grid axis as few_rows, found "d1"}}
kernel.func @func_c6_few_rows_of_no_axis(%x: !kernel.view<[d0, d1], f32>) scalars(d0, d1) grid(%i = d0 by 8) attributes {few_rows = "d1"} {
}
