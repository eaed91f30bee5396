// One broken constraint per op; errors name the constraint.
// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @store_c1_rank(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x1xf32>
  // expected-error @+1 {{C1: expected a view of rank 2 or more, found '!kernel.view<[4], f32>'}}
  kernel.store %t, %x[%i] : tensor<4x1xf32>, !kernel.view<[4], f32>
}

// -----

kernel.func @store_c1_indices(%x: !kernel.view<[4, 16], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected one index a dimension: 2, found 1}}
  kernel.store %t, %x[%i] : tensor<4x16xf32>, !kernel.view<[4, 16], f32>
}

// -----

kernel.func @store_c2(%x: !kernel.view<[4, 16], bf16>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C2: expected elements of 'bf16', found 'f32'}}
  kernel.store %t, %x[%i, %i] : tensor<4x16xf32>, !kernel.view<[4, 16], bf16>
}

// -----

kernel.func @store_vector_c1_view(%x: !kernel.view<[4, 16], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x1xf32>
  // expected-error @+1 {{C1: expected a tile of Mx1 and a vector, found 'tensor<4x1xf32>' and '!kernel.view<[4, 16], f32>'}}
  kernel.store_vector %t, %x[%i] : tensor<4x1xf32>, !kernel.view<[4, 16], f32>
}

// -----

kernel.func @store_vector_c1_tile(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected a tile of Mx1 and a vector, found 'tensor<4x16xf32>' and '!kernel.view<[4], f32>'}}
  kernel.store_vector %t, %x[%i] : tensor<4x16xf32>, !kernel.view<[4], f32>
}

// -----

kernel.func @store_vector_c2(%x: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x1xf32>
  // expected-error @+1 {{C2: expected elements of 'i32', found 'f32'}}
  kernel.store_vector %t, %x[%i] : tensor<4x1xf32>, !kernel.view<[4], i32>
}

// -----

kernel.func @store_heads_c1(%x: !kernel.view<[4, 2, 36], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected a view of rank 4 with a static number of heads, found '!kernel.view<[4, 2, 36], f32>'}}
  kernel.store_heads %t, %x[%i, %i, %i] : tensor<4x16xf32>, !kernel.view<[4, 2, 36], f32>
}

// -----

kernel.func @store_heads_c2(%x: !kernel.view<[1, 2, 16, 36], bf16>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C2: expected elements of 'bf16', found 'f32'}}
  kernel.store_heads %t, %x[%i, %i, %i, %i] : tensor<4x16xf32>, !kernel.view<[1, 2, 16, 36], bf16>
}

// -----

kernel.func @store_heads_c3(%x: !kernel.view<[1, 2, 16, 6], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C3: expected heads of a multiple of 4 columns, found 'tensor<4x16xf32>' in '!kernel.view<[1, 2, 16, 6], f32>'}}
  kernel.store_heads %t, %x[%i, %i, %i, %i] : tensor<4x16xf32>, !kernel.view<[1, 2, 16, 6], f32>
}

// -----

kernel.func @store_columns_c1(%x: !kernel.view<[16, 48], f32, panel = 16>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected a row-major view, found '!kernel.view<[16, 48], f32, panel = 16>'}}
  kernel.store_columns %t, %x[%i, %i] columns(12) : tensor<4x16xf32>, !kernel.view<[16, 48], f32, panel = 16>
}

// -----

kernel.func @store_columns_c2(%x: !kernel.view<[16, 48], bf16>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C2: expected elements of 'bf16', found 'f32'}}
  kernel.store_columns %t, %x[%i, %i] columns(12) : tensor<4x16xf32>, !kernel.view<[16, 48], bf16>
}

// -----

kernel.func @store_columns_c3(%x: !kernel.view<[16, 60], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C3: expected a multiple of 4 columns that divides the columns of '!kernel.view<[16, 60], f32>' and is at most the columns of 'tensor<4x16xf32>', found 20}}
  kernel.store_columns %t, %x[%i, %i] columns(20) : tensor<4x16xf32>, !kernel.view<[16, 60], f32>
}

// -----

kernel.func @scatter_c1(%x: !kernel.view<[4, 16], f32>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<4x1xi32>
  // expected-error @+1 {{C1: expected a view of rank 3 or more, found '!kernel.view<[4, 16], f32>'}}
  kernel.scatter %t, %x[%i, %i] at(%p : tensor<4x1xi32>) rows(%i) : tensor<4x16xf32>, !kernel.view<[4, 16], f32>
}

// -----

kernel.func @scatter_c2(%x: !kernel.view<[4, 2, 16], bf16>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<4x1xi32>
  // expected-error @+1 {{C2: expected elements of 'bf16', found 'f32'}}
  kernel.scatter %t, %x[%i, %i, %i] at(%p : tensor<4x1xi32>) rows(%i) : tensor<4x16xf32>, !kernel.view<[4, 2, 16], bf16>
}

// -----

kernel.func @scatter_c3_type(%x: !kernel.view<[4, 2, 16], f32>, %r: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[4], f32> -> tensor<4x1xf32>
  // expected-error @+1 {{C3: expected places of Mx1xi32, found 'tensor<4x1xf32>'}}
  kernel.scatter %t, %x[%i, %i, %i] at(%p : tensor<4x1xf32>) rows(%i) : tensor<4x16xf32>, !kernel.view<[4, 2, 16], f32>
}

// -----

kernel.func @scatter_c3_rows(%x: !kernel.view<[4, 2, 16], f32>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<8x1xi32>
  // expected-error @+1 {{C3: expected 8 rows, found 4}}
  kernel.scatter %t, %x[%i, %i, %i] at(%p : tensor<8x1xi32>) rows(%i) : tensor<4x16xf32>, !kernel.view<[4, 2, 16], f32>
}

// -----

kernel.func @scatter_c4(%x: !kernel.view<[4, 2, 16, 6], f32>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<4x1xi32>
  // expected-error @+1 {{C4: expected heads of a multiple of 4 columns, found 'tensor<4x16xf32>' in '!kernel.view<[4, 2, 16, 6], f32>'}}
  kernel.scatter %t, %x[%i, %i, %i, %i] at(%p : tensor<4x1xi32>) rows(%i) {over_heads} : tensor<4x16xf32>, !kernel.view<[4, 2, 16, 6], f32>
}
