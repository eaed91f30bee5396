//===- ops-invalid.mlir - Projections, norms, heads: invalid ops ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @weight_c1_dynamic() {
  // expected-error @+1 {{'transformer.weight' op C1: expected a static type, found 'tensor<?x8xf32>'}}
  %w = transformer.weight "a" : tensor<?x8xf32>
  return
}

// -----

func.func @weight_c2_no_name() {
  // expected-error @+1 {{'transformer.weight' op C2: expected the name of a tensor, found an empty one}}
  %w = transformer.weight "" : tensor<8xf32>
  return
}

// -----

func.func @embedding_c1_features(%i: tensor<?x?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C1: dimension 2 of the result: expected 8 in [?, ?, 8], found [?, ?, 7]}}
  %e = transformer.embedding %i, %t : (tensor<?x?xi32>, tensor<10x8xf32>) -> tensor<?x?x7xf32>
  return
}

// -----

func.func @embedding_c1_rank(%i: tensor<?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C1: the result: expected rank 2 [?, 8], found rank 3 [?, ?, 8]}}
  %e = transformer.embedding %i, %t : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @embedding_c2_padding(%i: tensor<?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C2: expected padding_id below the 10 rows of the table, found 10}}
  %e = transformer.embedding %i, %t {padding_id = 10 : i64} : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_ids_type(%i: tensor<?xf32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op operand #0 must be ranked tensor of 32-bit signless integer values}}
  %e = transformer.embedding %i, %t : (tensor<?xf32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @position_sinusoidal_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.position.sinusoidal %x : tensor<?x8xf32>
  return
}

// -----

func.func @position_sinusoidal_c2_rank(%x: tensor<1x?x8xf32>, %s: tensor<1x?xi32>) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C2: expected documents as a vector of starts, found rank 2}}
  %y = transformer.position.sinusoidal %x documents(%s : tensor<1x?xi32>) : tensor<1x?x8xf32>
  return
}

// -----

func.func @position_sinusoidal_c2_both(%x: tensor<1x?x8xf32>, %s: tensor<?xi32>, %n: i32) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C2: expected documents or an offset, found both}}
  %y = transformer.position.sinusoidal %x offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x?x8xf32>
  return
}

// -----

func.func @linear_c1_features(%x: tensor<?x8xf32>, %w: tensor<6x9xf32>) {
  // expected-error @+1 {{'transformer.linear' op C1: expected columns of weight equal to features of input 8, found 9}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x9xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c2_bias(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C2: expected size of bias equal to rows of weight 6, found 8}}
  %y = transformer.linear %x, %w bias(%b) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c3_features(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C3: dimension 1 of the result: expected 6 in [?, 6], found [?, 8]}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_c3_rows(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C3: dimension 0 of the result: expected 4 in [4, 6], found [5, 6]}}
  %y = transformer.linear %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @linear_dynamic_features(%x: tensor<?x?xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive}}
  %y = transformer.linear %x, %w : (tensor<?x?xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_unknown_attribute(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op unknown attribute 'activatoin'}}
  %y = transformer.linear %x, %w {activatoin = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @ffn_c7_features(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %g: tensor<6x9xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C7: expected columns of gate_weight equal to features of input 8, found 9}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c7_rows(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %g: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C7: expected rows of gate_weight equal to rows of in_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<5x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c8_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C8: expected size of gate_bias equal to rows of gate_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%w1, %b) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x8xf32>, tensor<5xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c1_features(%x: tensor<?x8xf32>, %w1: tensor<6x9xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C1: expected columns of in_weight equal to features of input 8, found 9}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x9xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c2_in_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<7xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C2: expected size of in_bias equal to rows of in_weight 6, found 7}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<7xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c3_hidden(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x5xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C3: expected columns of out_weight equal to rows of in_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x5xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c4_out_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<6xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C4: expected size of out_bias equal to rows of out_weight 8, found 6}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c5_result(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C5: dimension 1 of the result: expected 8 in [?, 8], found [?, 6]}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @layer_norm_c1_gamma(%x: tensor<?x8xf32>, %g: tensor<7xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C1: expected size of gamma equal to features of input 8, found 7}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<7xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_c2_beta(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C2: expected size of beta equal to features of input 8, found 9}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_c3_result(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C3: dimension 1 of the result: expected 8 in [?, 8], found [?, 7]}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x7xf32>
  return
}

// -----

func.func @layer_norm_c4_epsilon(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C4: expected a finite epsilon that is not negative}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = -1.0 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @split_heads_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<?x8xf32> -> tensor<?x2x?x4xf32>
  return
}

// -----

func.func @split_heads_c2_heads(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C2: expected a positive number of heads that divides the features of input 8, found 3}}
  %h = transformer.split_heads %x {heads = 3 : i64} : tensor<?x?x8xf32> -> tensor<?x3x?x4xf32>
  return
}

// -----

func.func @split_heads_c2_zero(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C2: expected a positive number of heads that divides the features of input 8, found 0}}
  %h = transformer.split_heads %x {heads = 0 : i64} : tensor<?x?x8xf32> -> tensor<?x3x?x4xf32>
  return
}

// -----

func.func @split_heads_c3_result(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C3: dimension 3 of the result: expected 4 in [?, 2, ?, 4], found [?, 2, ?, 3]}}
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<?x?x8xf32> -> tensor<?x2x?x3xf32>
  return
}

// -----

func.func @merge_heads_c1_result(%x: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.merge_heads' op C1: dimension 2 of the result: expected 8 in [?, ?, 8], found [?, ?, 6]}}
  %h = transformer.merge_heads %x : tensor<?x2x?x4xf32> -> tensor<?x?x6xf32>
  return
}

// -----

func.func @merge_heads_rank(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{'transformer.merge_heads' op operand #0 must be tensor of f32, rank 4 [batch, heads, rows, features], heads and features static and positive}}
  %h = transformer.merge_heads %x : tensor<?x2x4xf32> -> tensor<?x?x8xf32>
  return
}

// -----

func.func @linear_no_features(%x: tensor<?x0xf32>, %w: tensor<6x0xf32>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive}}
  %y = transformer.linear %x, %w : (tensor<?x0xf32>, tensor<6x0xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_elements(%x: tensor<?x8xf32>, %w: tensor<6x8xbf16>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'f32' of input, found 'bf16'}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xbf16>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_four_bits_beside_bf16(%x: tensor<?x8xbf16>, %w: tensor<6x8xi4>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'bf16' of input, found 'i4'}}
  %y = transformer.linear %x, %w : (tensor<?x8xbf16>, tensor<6x8xi4>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_of_four_bits(%x: tensor<?x8xi4>, %w: tensor<6x8xi4>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more}}
  %y = transformer.linear %x, %w : (tensor<?x8xi4>, tensor<6x8xi4>) -> tensor<?x6xf32>
  return
}

// -----

func.func @embedding_c3_none(%ids: tensor<?xi32>, %table: tensor<10x8xi8>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected scales of a table of 'i8', found none}}
  %e = transformer.embedding %ids, %table : (tensor<?xi32>, tensor<10x8xi8>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_some(%ids: tensor<?xi32>, %table: tensor<10x8xbf16>, %s: tensor<2x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected no scales of a table of 'bf16', found some}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xbf16>, tensor<2x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_groups(%ids: tensor<?xi32>, %table: tensor<10x8xsi6>, %s: tensor<2x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected no scales of a table of 'si6', found some}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xsi6>, tensor<2x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_shape(%ids: tensor<?xi32>, %table: tensor<10x8xi8>, %s: tensor<1x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: dimension 0 of scales: expected 2 in [2, 10], found [1, 10]}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xi8>, tensor<1x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_of_indices(%ids: tensor<?xi32>, %table: tensor<10x8xi32>) {
  // expected-error @+1 {{'transformer.embedding' op operand #1 must be static matrix of f32, bf16, f16, i8, i4, si8 or si6}}
  %e = transformer.embedding %ids, %table : (tensor<?xi32>, tensor<10x8xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c6_elements(%x: tensor<?x8xbf16>, %in: tensor<6x8xbf16>, %out: tensor<8x6xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C6: expected elements of out_weight that multiply with 'bf16' of input, found 'f32'}}
  %y = transformer.ffn %x in(%in) out(%out) : (tensor<?x8xbf16>, tensor<6x8xbf16>, tensor<8x6xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.pool %x {kinds = [#transformer.pooling<mean>]} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c2_lengths(%x: tensor<4x?x8xf32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'transformer.pool' op C2: expected size of lengths equal to the batch of input 4, found 3}}
  %y = transformer.pool %x lengths(%n : tensor<3xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<4x?x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @pool_c3_both(%x: tensor<1x?x8xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.pool' op C3: expected documents or lengths, found both}}
  %y = transformer.pool %x lengths(%n : tensor<?xi32>) documents(%n : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]} : tensor<1x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c3_batch(%x: tensor<2x?x8xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.pool' op C3: expected packed documents in a batch of 1, found 2}}
  %y = transformer.pool %x documents(%n : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]} : tensor<2x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c4_features(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C4: dimension 1 of the result: expected 16 in [?, 16], found [?, 8]}}
  %y = transformer.pool %x {kinds = [#transformer.pooling<last>, #transformer.pooling<max>]} : tensor<?x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c5_none(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C5: expected at least one kind, found none}}
  %y = transformer.pool %x {kinds = []} : tensor<?x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @head_products_c1_features(%x: tensor<?x4x?x8xf32>, %w: tensor<64x9xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C1: expected columns of weight equal to features of input 8, found 9}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<64x9xf32>) -> tensor<?x4x?x16xf32>
  return
}

// -----

func.func @head_products_c2_rows(%x: tensor<?x4x?x8xf32>, %w: tensor<96x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C2: expected a multiple of 16 rows of weight for each of 4 heads, found 96}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<96x8xf32>) -> tensor<?x4x?x24xf32>
  return
}

// -----

func.func @head_products_c3_result(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C3: dimension 3 of the result: expected 16 in [?, 4, ?, 16], found [?, 4, ?, 32]}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x32xf32>
  return
}

// -----

func.func @head_products_c4_elements(%x: tensor<?x4x?x8xbf16>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C4: expected elements of weight that multiply with 'bf16' of input, found 'f32'}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xbf16>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return
}

// -----

func.func @head_products_c5_scale(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C5: expected a finite scale, found}}
  %y = transformer.head_products %x, %w {scale = 0x7f800000 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return
}

// -----

func.func @pool_c4_result(%x: tensor<1x?x8xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'transformer.pool' op C4: dimension 0 of the result: expected 4 in [4, 8], found [5, 8]}}
  %y = transformer.pool %x documents(%n : tensor<5xi32>) {kinds = [#transformer.pooling<last>]} : tensor<1x?x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @weight_c3_stored() {
  // expected-error @+1 {{'transformer.weight' op C3: expected stored with the elements of 'tensor<6x8xf32>', found [6, 8, 3]}}
  %w = transformer.weight "w" {stored = array<i64: 6, 8, 3>} : tensor<6x8xf32>
  return
}

// -----

func.func @rms_norm_c1_gamma(%x: tensor<?x8xf32>, %g: tensor<7xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: expected size of gamma equal to features of input 8, found 7}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x8xf32>, tensor<7xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rms_norm_c2_result(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C2: dimension 1 of the result: expected 8 in [?, 8], found [?, 7]}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x7xf32>
  return
}

// -----

func.func @rms_norm_c3_epsilon(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C3: expected a finite epsilon that is not negative, found -1.000000e+00 : f32}}
  %y = transformer.rms_norm %x, %g {epsilon = -1.0 : f32} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @softmax_type(%x: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.softmax' op operand #0 must be tensor of f32, rank 2 or more}}
  %y = transformer.softmax %x : tensor<8xf32>
  return
}

// -----

func.func @learned_c1_rank(%x: tensor<?x8xf32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.position.learned %x, %t : tensor<?x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @learned_c2_columns(%x: tensor<?x?x8xf32>, %t: tensor<5x7xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C2: expected columns of table equal to features of input 8, found 7}}
  %y = transformer.position.learned %x, %t : tensor<?x?x8xf32>, tensor<5x7xf32>
  return
}

// -----

func.func @learned_c3_both(%x: tensor<1x?x8xf32>, %t: tensor<5x8xf32>, %n: i32, %s: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.position.learned' op C3: expected documents or an offset, found both}}
  %y = transformer.position.learned %x, %t offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x?x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @learned_c4_rows(%x: tensor<?x6x8xf32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C4: expected at most 5 rows, which the table has, found 6}}
  %y = transformer.position.learned %x, %t : tensor<?x6x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @normalize_c1_zero(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.normalize' op C1: expected a finite epsilon above 0, found 0.000000e+00 : f32}}
  %y = transformer.normalize %x {epsilon = 0.0 : f32} : tensor<?x8xf32>
  return
}

// -----

func.func @rotary_c4_factor(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C4: expected a finite factor above 0, found -2}}
  %y = transformer.rotary %x {factor = -2.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c1_base(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C1: expected a finite base of at least 1, found 0.5}}
  %y = transformer.rotary %x {base = 0.5 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c1_infinite(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C1: expected a finite base of at least 1, found inf}}
  %y = transformer.rotary %x {base = 0x7FF0000000000000 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_none(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found 0}}
  %y = transformer.rotary %x {fraction = 0.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_more(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found 1.5}}
  %y = transformer.rotary %x {fraction = 1.5 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_nan(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found nan}}
  %y = transformer.rotary %x {fraction = 0x7FF8000000000000 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c3_odd(%x: tensor<?x2x?x7xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C3: expected an even number of rotated features, found 7, the fraction 1 of 7}}
  %y = transformer.rotary %x : tensor<?x2x?x7xf32>
  return
}

// -----

func.func @rotary_c3_nothing(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C3: expected an even number of rotated features, found 0, the fraction 0.1 of 8}}
  %y = transformer.rotary %x {fraction = 0.1 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c5_both(%x: tensor<1x2x?x8xf32>, %n: i32, %s: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.rotary' op C5: expected documents or an offset, found both}}
  %y = transformer.rotary %x offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x2x?x8xf32>
  return
}

// -----

func.func @rotary_c4_rank(%x: tensor<1x2x?x8xf32>, %s: tensor<1x?xi32>) {
  // expected-error @+1 {{'transformer.rotary' op C5: expected documents as a vector of starts, found rank 2}}
  %y = transformer.rotary %x documents(%s : tensor<1x?xi32>) : tensor<1x2x?x8xf32>
  return
}

// -----

func.func @conv1x1_c1_channels(%x: tensor<?x8xf32>, %w: tensor<6x7x1xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C1: expected input channels of weight equal to features of input 8, found 7}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x7x1xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @conv1x1_c2_bias(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C2: expected size of bias equal to output channels of weight 6, found 5}}
  %y = transformer.conv1x1 %x, %w bias(%b) : (tensor<?x8xf32>, tensor<6x8x1xf32>, tensor<5xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @conv1x1_c3_result(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C3: dimension 1 of the result: expected 6 in [?, 6], found [?, 8]}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x8x1xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @conv1x1_c4_kernel(%x: tensor<?x8xf32>, %w: tensor<6x8x3xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C4: expected a kernel of size 1, found 3}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x8x3xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @shift_right_c1_rank(%r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.shift_right' op C1: expected ids of rank 2 [batch, rows], found rank 1}}
  %t = transformer.shift_right %r {start = 2 : i64} : tensor<?xi32>
  return
}

// -----

func.func @shift_right_c2_start(%r: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.shift_right' op C2: expected start to be an id of i32 that is not negative, found -1}}
  %t = transformer.shift_right %r {start = -1 : i64} : tensor<?x?xi32>
  return
}

// -----

func.func @cross_entropy_c1_ids(%x: tensor<?x4x8xf32>, %r: tensor<?x5xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C1: dimension 1 of ids: expected 4 in [?, 4], found [?, 5]}}
  %l = transformer.cross_entropy %x, %r : (tensor<?x4x8xf32>, tensor<?x5xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @cross_entropy_c2_padding(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C2: expected padding_id below the 8 columns, found 8}}
  %l = transformer.cross_entropy %x, %r {padding_id = 8 : i64} : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @cross_entropy_c3_result(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C3: dimension 0 of the result: expected 1 in [1], found [2]}}
  %l = transformer.cross_entropy %x, %r : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_rows_c3_result(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy.rows' op C3: dimension 1 of the result: expected 2 in [?, 2], found [?, 8]}}
  %l = transformer.cross_entropy.rows %x, %r : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @cross_entropy_mean_c1_features(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.cross_entropy.mean' op C1: expected rows of 2 features, found 8}}
  %l = transformer.cross_entropy.mean %x : (tensor<?x8xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @patches_c1_size(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C1: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 3}}
  %y = transformer.patches %x {size = 3 : i64} : tensor<?x3x8x12xf32> -> tensor<?x8x27xf32>
  return
}

// -----

func.func @patches_c1_zero(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C1: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 0}}
  %y = transformer.patches %x {size = 0 : i64} : tensor<?x3x8x12xf32> -> tensor<?x8x27xf32>
  return
}

// -----

func.func @patches_c2_result(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C2: dimension 2 of the result: expected 48 in [?, 6, 48], found [?, 6, 16]}}
  %y = transformer.patches %x {size = 4 : i64} : tensor<?x3x8x12xf32> -> tensor<?x6x16xf32>
  return
}

// -----

func.func @unfold_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C1: expected input of rank 3, static but for the batch, found 'tensor<?x8xf32>'}}
  %y = transformer.unfold %x {size = 3 : i64} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @unfold_c1_dynamic(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C1: expected input of rank 3, static but for the batch, found 'tensor<?x?x8xf32>'}}
  %y = transformer.unfold %x {size = 3 : i64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  return
}

// -----

func.func @unfold_c2_size(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C2: expected an odd positive size and a positive stride, found 4 and 1}}
  %y = transformer.unfold %x {size = 4 : i64} : tensor<?x6x8xf32> -> tensor<?x6x32xf32>
  return
}

// -----

func.func @unfold_c2_stride(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C2: expected an odd positive size and a positive stride, found 3 and 0}}
  %y = transformer.unfold %x {size = 3 : i64, stride = 0 : i64} : tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  return
}

// -----

func.func @unfold_c3_result(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C3: dimension 2 of the result: expected 24 in [?, 3, 24], found [?, 3, 8]}}
  %y = transformer.unfold %x {size = 3 : i64, stride = 2 : i64} : tensor<?x6x8xf32> -> tensor<?x3x8xf32>
  return
}

// -----

func.func @patch_embedding_c1_channels(%x: tensor<?x3x8x12xf32>, %w: tensor<6x1x4x4xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C1: expected input channels of weight equal to channels of image 3, found 1}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x1x4x4xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c2_square(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x2xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C2: expected width of the kernels of weight equal to their height 4, found 2}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x4x2xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c2_side(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x5x5xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C2: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 5}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x5x5xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c3_bias(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C3: expected size of bias equal to output channels of weight 6, found 5}}
  %y = transformer.patch_embedding %x, %w bias(%b) : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>, tensor<5xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c4_result(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x4xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C4: dimension 1 of the result: expected 6 in [?, 6, 6], found [?, 5, 6]}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>) -> tensor<?x5x6xf32>
  return
}

// -----

func.func @concat_c1_rank(%t: tensor<1x8xf32>, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C1: expected rows of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.concat %t, %x : (tensor<1x8xf32>, tensor<?x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @concat_c2_columns(%t: tensor<1x7xf32>, %x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C2: expected columns of first equal to features of rows 8, found 7}}
  %y = transformer.concat %t, %x : (tensor<1x7xf32>, tensor<?x4x8xf32>) -> tensor<?x5x8xf32>
  return
}

// -----

func.func @concat_c3_result(%t: tensor<2x8xf32>, %x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C3: dimension 1 of the result: expected 6 in [?, 6, 8], found [?, 5, 8]}}
  %y = transformer.concat %t, %x : (tensor<2x8xf32>, tensor<?x4x8xf32>) -> tensor<?x5x8xf32>
  return
}

// -----

func.func @rotary_c6_count(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C6: expected a frequency for each of 4 pairs, found 3}}
  %y = transformer.rotary %x {frequencies = array<f64: 1.0, 0.5, 0.25>} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c6_negative(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C6: expected finite frequencies of at least 0, found -1}}
  %y = transformer.rotary %x {fraction = 0.5 : f64, frequencies = array<f64: 1.0, -1.0>} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c7_zero(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C7: expected a finite magnitude above 0, found 0}}
  %y = transformer.rotary %x {fraction = 0.25 : f64, frequencies = array<f64: 1.0>, magnitude = 0.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c7_alone(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C7: expected no magnitude without frequencies, found 2}}
  %y = transformer.rotary %x {magnitude = 2.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c8_zero(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C8: expected a length of at least 1, found 0}}
  %y = transformer.rotary %x {length = 0 : i64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c8_rows(%x: tensor<?x2x9x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C8: expected at most 8 rows, which have positions, found 9}}
  %y = transformer.rotary %x {length = 8 : i64} : tensor<?x2x9x8xf32>
  return
}

// -----

func.func @rms_norm_c1_heads(%x: tensor<?x2x?x8xf32>, %g: tensor<3x8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: dimension 0 of gamma: expected 2 in [2, 8], found [3, 8]}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<3x8xf32>) -> tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rms_norm_c1_no_heads(%x: tensor<?x?x8xf32>, %g: tensor<2x8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: expected gamma as a vector where input has no heads [batch, heads, rows, features], found rank 2}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x?x8xf32>, tensor<2x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @layer_norm_c2_heads(%x: tensor<?x2x?x8xf32>, %g: tensor<2x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C2: beta: expected rank 2 [2, 8], found rank 1 [8]}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> tensor<?x2x?x8xf32>
  return
}

// -----

func.func @softcap_c1_zero(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.softcap' op C1: expected a finite cap above 0, found 0.000000e+00 : f32}}
  %y = transformer.softcap %x {cap = 0.0 : f32} : tensor<?x8xf32>
  return
}
