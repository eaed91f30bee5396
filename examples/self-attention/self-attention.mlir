// Self-attention from first principles: every vector a of a sequence gives a query, a key and a value; b is the sum of
// all values, weighted by softmax(query . key / sqrt(8)). Two heads of 8.
func.func @self_attention(%a: tensor<?x?x16xf32> {transformer.name = "a", transformer.dims = ["B", "T", 16]})
    -> (tensor<?x?x16xf32> {transformer.name = "b", transformer.dims = ["B", "T", 16]}) {
  %wq = transformer.weight "query.weight" : tensor<16x16xf32>
  %wk = transformer.weight "key.weight" : tensor<16x16xf32>
  %wv = transformer.weight "value.weight" : tensor<16x16xf32>
  %wo = transformer.weight "output.weight" : tensor<16x16xf32>
  %q = transformer.linear %a, %wq : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %k = transformer.linear %a, %wk : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %v = transformer.linear %a, %wv : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %qh = transformer.split_heads %q {heads = 2 : i64} : tensor<?x?x16xf32> -> tensor<?x2x?x8xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<?x?x16xf32> -> tensor<?x2x?x8xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<?x?x16xf32> -> tensor<?x2x?x8xf32>
  %o = transformer.attention %qh, %kh, %vh {scale = 0.353553391 : f32}
     : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  %m = transformer.merge_heads %o : tensor<?x2x?x8xf32> -> tensor<?x?x16xf32>
  %b = transformer.linear %m, %wo : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  return %b : tensor<?x?x16xf32>
}
