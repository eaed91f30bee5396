// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// One case for each constraint of the ops of the backward pass.

func.func @product_c1(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.product "", %a, %a : tensor<?x4xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @product_c2(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{C2: dimension 0 of input: expected 3 in [3, 4], found [2, 4]}}
  transformer.gradient.product "w", %a, %b : tensor<3x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @columns_c1(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.columns "", %a : tensor<?x4xf32>
  return
}

// -----

func.func @columns_c2(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C2: expected gradient of rank 4 [batch, heads, rows, features], found rank 2}}
  transformer.gradient.columns "w", %a {of_heads} : tensor<?x4xf32>
  return
}

// -----

func.func @rows_c1(%a: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.rows "", %a, %ids {size = 8 : i64} : tensor<?x4xf32>, tensor<?xi32>
  return
}

// -----

func.func @rows_c2(%a: tensor<3x4xf32>, %ids: tensor<2xi32>) {
  // expected-error@+1 {{C2: dimension 0 of ids: expected 3 in [3], found [2]}}
  transformer.gradient.rows "w", %a, %ids {size = 8 : i64} : tensor<3x4xf32>, tensor<2xi32>
  return
}

// -----

func.func @rows_c3(%a: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: expected padding_id below the 8 rows of the table, found 8}}
  transformer.gradient.rows "w", %a, %ids {padding_id = 8 : i64, size = 8 : i64} : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @rows_c3_size(%a: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: expected a positive size, found 0}}
  transformer.gradient.rows "w", %a, %ids {size = 0 : i64} : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @positions_c1(%a: tensor<?x?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.positions "", %a {size = 8 : i64} : tensor<?x?x4xf32>
  return
}

// -----

func.func @positions_c2(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C2: expected gradient of rank 3 [batch, rows, features], found rank 2}}
  transformer.gradient.positions "w", %a {size = 8 : i64} : tensor<?x4xf32>
  return
}

// -----

func.func @positions_c3(%a: tensor<?x9x4xf32>) {
  // expected-error@+1 {{C3: expected at most 8 rows, which the table has, found 9}}
  transformer.gradient.positions "w", %a {size = 8 : i64} : tensor<?x9x4xf32>
  return
}

// -----

func.func @transposed_c1(%a: tensor<?x4xf32>, %w: tensor<3x5xf32>) -> tensor<?x5xf32> {
  // expected-error@+1 {{C1: expected rows of weight equal to features of input 4, found 3}}
  %y = transformer.linear.transposed %a, %w : (tensor<?x4xf32>, tensor<3x5xf32>) -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}

// -----

func.func @transposed_c2(%a: tensor<?x4xf32>, %w: tensor<4x5xf32>) -> tensor<?x6xf32> {
  // expected-error@+1 {{C2: dimension 1 of the result: expected 5 in [?, 5], found [?, 6]}}
  %y = transformer.linear.transposed %a, %w : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// -----

func.func @activation_c1(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected none, relu, relu6, tanh or sigmoid with of_result, found gelu}}
  %y = transformer.activation.gradient %a, %a {activation = #transformer.activation<gelu>, of_result} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @softcap_c1(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a finite cap above 0, found 0.000000e+00 : f32}}
  %y = transformer.softcap.gradient %a, %a {cap = 0.0 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c1(%a: tensor<?x4xf32>, %g: tensor<5xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected size of gamma equal to features of input 4, found 5}}
  %y, %s = transformer.norm.gradient %a, %a gamma(%g : tensor<5xf32>) {epsilon = 0.1 : f32, kind = #transformer.normalization<layer>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c1_length(%a: tensor<?x4xf32>, %g: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected no gamma with length, found one}}
  %y, %s = transformer.norm.gradient %a, %a gamma(%g : tensor<4xf32>) {epsilon = 0.1 : f32, kind = #transformer.normalization<length>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c2(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C2: expected a finite epsilon that is not negative, found -1.000000e+00 : f32}}
  %y, %s = transformer.norm.gradient %a, %a {epsilon = -1.0 : f32, kind = #transformer.normalization<layer>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @pool_c1(%a: tensor<?x5xf32>, %x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  // expected-error@+1 {{C1: dimension 1 of gradient: expected 4 in [?, 4], found [?, 5]}}
  %y = transformer.pool.gradient %a, %x {kinds = [#transformer.pooling<mean>]} : tensor<?x5xf32>, tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

func.func @loss_c1(%x: tensor<3x4xf32>, %ids: tensor<2xi32>) {
  // expected-error@+1 {{C1: dimension 0 of ids: expected 3 in [3], found [2]}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids : tensor<3x4xf32>, tensor<2xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c2(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C2: expected padding_id below the 4 columns, found 4}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids {padding_id = 4 : i64} : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c3(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: dimension 1 of rows: expected 2 in [3, 2], found [3, 1]}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x1xf32>
  return
}

// -----

func.func @loss_c4(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C4: expected a smoothing of at least 0 and below 1, found 1.000000e+00 : f32}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids {smoothing = 1.0 : f32} : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c4_padding(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) -> tensor<1xf32> {
  // expected-error@+1 {{C4: expected padding_id with others_but_padding, found none}}
  %l = transformer.cross_entropy %x, %ids {over = #transformer.smoothing_over<others_but_padding>, smoothing = 0.1 : f32} : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

func.func @sum_c1(%r: tensor<?x3xf32>) {
  // expected-error@+1 {{C1: expected rows of 2 features, found 3}}
  %l, %n = transformer.cross_entropy.sum %r : tensor<?x3xf32> -> tensor<1xf32>
  return
}

// -----

func.func @sum_c2(%r: tensor<?x2xf32>) {
  // expected-error@+1 {{C2: dimension 0 of sum: expected 1 in [1], found [2]}}
  %l, %n = transformer.cross_entropy.sum %r : tensor<?x2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<?x2x?x4xf32>, %g: tensor<?x2x?x5xf32>, %s: tensor<?x2x?xf32>) {
  // expected-error@+1 {{C1: dimension 3 of gradient and output: expected 4 in [?, 2, ?, 4], found [?, 2, ?, 5]}}
  %dq, %d = transformer.attention.query_gradient %q, %q, %q, %g, %q, %s, %s {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x5xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?xf32>)
  return
}

// -----

func.func @attention_c2(%q: tensor<?x2x?x4xf32>, %s: tensor<?x3x?xf32>) {
  // expected-error@+1 {{C2: dimension 1 of maximum, sum and delta: expected 2 in [?, 2, ?], found [?, 3, ?]}}
  %dk, %dv = transformer.attention.key_gradient %q, %q, %q, %q, %s, %s, %s {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<?x3x?x4xf32>, %k: tensor<?x2x?x4xf32>, %s: tensor<?x3x?xf32>) {
  // expected-error@+1 {{C3: expected key heads that divide query heads 3, found 2}}
  %dk, %dv = transformer.attention.key_gradient %q, %k, %k, %q, %s, %s, %s {scale = 1.0 : f32}
    : (tensor<?x3x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x3x?x4xf32>, tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<?x2x?x4xf32>, %s: tensor<?x2x?xf32>) {
  // expected-error@+1 {{C4: expected rows of}}
  %dk, %dv = transformer.attention.key_gradient %q, %q, %q, %q, %s, %s, %s rows(%q : tensor<?x2x?x4xf32>) {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @dropout_c1(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a probability of at least 0 and below 1, found 1.000000e+00 : f32}}
  %y = transformer.dropout %x {probability = 1.0 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @dropout_c2(%x: tensor<?x4xf32>, %key: tensor<3xi32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C2: expected key, rows and site together, found some of them}}
  %y = transformer.dropout %x key(%key : tensor<3xi32>) {probability = 0.5 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @dropout_c3(%x: tensor<5x4xf32>, %key: tensor<3xi32>, %rows: tensor<5x3xi32>, %s: i32) -> tensor<5x4xf32> {
  // expected-error@+1 {{C3: dimension 1 of rows: expected 2 in [5, 2], found [5, 3]}}
  %y = transformer.dropout %x key(%key : tensor<3xi32>) rows(%rows : tensor<5x3xi32>) site(%s) {probability = 0.5 : f32} : tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

func.func @row_numbers_c1(%e: tensor<?xi32>, %x: tensor<?x2x3x4xf32>) {
  // expected-error@+1 {{C1: expected like of rank 2 or 3, found rank 4}}
  %r = transformer.row_numbers %e, %x : tensor<?xi32>, tensor<?x2x3x4xf32> -> tensor<?x2x3x2xi32>
  return
}

// -----

func.func @row_numbers_c2(%e: tensor<?xi32>, %x: tensor<?x3x4xf32>) {
  // expected-error@+1 {{C2: dimension 2 of the result: expected 2 in [?, 3, 2], found [?, 3, 4]}}
  %r = transformer.row_numbers %e, %x : tensor<?xi32>, tensor<?x3x4xf32> -> tensor<?x3x4xi32>
  return
}

// -----

func.func @scale_c1(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a finite factor, found 0x7F800000 : f32}}
  %y = transformer.scale %x {factor = 0x7F800000 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @attention_c21(%q: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected a dropout of at least 0 and below 1, found 1.000000e+00 : f32}}
  %o = transformer.attention %q, %q, %q {dropout = 1.0 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_key(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected key, examples and site together, found some of them}}
  %o = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) {dropout = 0.5 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_without(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>, %e: tensor<?xi32>, %s: i32) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected dropout with key, found none}}
  %o = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) examples(%e : tensor<?xi32>) site(%s) {scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_weights(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>, %e: tensor<?xi32>, %s: i32) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected no result weights with key, found one}}
  %o, %w = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) examples(%e : tensor<?xi32>) site(%s) {dropout = 0.5 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> weights tensor<?x2x?x?xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @transpose_c1(%w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{C1: dimension 0 of the result: expected 4 in [4, 8], found [8, 4]}}
  %t = transformer.transpose %w : tensor<8x4xf32> -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// -----

func.func @join_c1() {
  // expected-error@+1 {{C1: expected the name of a tensor and a positive use, found "w" and 0}}
  transformer.gradient.join "w" {use = 0 : i64}
  return
}

// -----

func.func @norm_c1() -> tensor<2xf32> {
  // expected-error@+1 {{C1: dimension 0 of the result: expected 1 in [1], found [2]}}
  %n = transformer.gradient.norm : tensor<2xf32>
  return %n : tensor<2xf32>
}
