//===- model.mlir - Multi-head attention of The Annotated Transformer ----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four linear layers with bias. Where the mask is 0 the score is replaced by
// -1e9, so that a row that may see nothing sees everything alike; the mask has no
// heads of its own. The weights of each head are a result.

func.func @encode(%query: tensor<?x?x48xf32> {transformer.name = "source", transformer.dims = ["B", "T", 48]},
                  %key: tensor<?x?x48xf32> {transformer.name = "key", transformer.dims = ["B", "S", 48]},
                  %value: tensor<?x?x48xf32> {transformer.name = "value", transformer.dims = ["B", "S", 48]},
                  %allowed: tensor<?x1x?x?xi1> {transformer.name = "mask", transformer.dims = ["B", 1, "T", "S"]})
    -> (tensor<?x?x48xf32> {transformer.name = "output", transformer.dims = ["B", "T", 48]},
        tensor<?x4x?x?xf32> {transformer.name = "weights", transformer.dims = ["B", 4, "T", "S"]}) {
  %wq = transformer.weight "query.weight" : tensor<48x48xf32>
  %bq = transformer.weight "query.bias" : tensor<48xf32>
  %wk = transformer.weight "key.weight" : tensor<48x48xf32>
  %bk = transformer.weight "key.bias" : tensor<48xf32>
  %wv = transformer.weight "value.weight" : tensor<48x48xf32>
  %bv = transformer.weight "value.bias" : tensor<48xf32>
  %wo = transformer.weight "output.weight" : tensor<48x48xf32>
  %bo = transformer.weight "output.bias" : tensor<48xf32>
  %q = transformer.linear %query, %wq bias(%bq) : (tensor<?x?x48xf32>, tensor<48x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
  %k = transformer.linear %key, %wk bias(%bk) : (tensor<?x?x48xf32>, tensor<48x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
  %v = transformer.linear %value, %wv bias(%bv) : (tensor<?x?x48xf32>, tensor<48x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
  %qh = transformer.split_heads %q {heads = 4 : i64} : tensor<?x?x48xf32> -> tensor<?x4x?x12xf32>
  %kh = transformer.split_heads %k {heads = 4 : i64} : tensor<?x?x48xf32> -> tensor<?x4x?x12xf32>
  %vh = transformer.split_heads %v {heads = 4 : i64} : tensor<?x?x48xf32> -> tensor<?x4x?x12xf32>
  %mask = transformer.mask.dense %allowed : tensor<?x1x?x?xi1>
  %o, %w = transformer.attention %qh, %kh, %vh mask(%mask) {scale = 0.28867513459 : f32, hidden_score = -1.0e9 : f32}
         : (tensor<?x4x?x12xf32>, tensor<?x4x?x12xf32>, tensor<?x4x?x12xf32>) -> tensor<?x4x?x12xf32> weights tensor<?x4x?x?xf32>
  %m = transformer.merge_heads %o : tensor<?x4x?x12xf32> -> tensor<?x?x48xf32>
  %y = transformer.linear %m, %wo bias(%bo) : (tensor<?x?x48xf32>, tensor<48x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
  return %y, %w : tensor<?x?x48xf32>, tensor<?x4x?x?xf32>
}
