// Two heads with a further matrix each, as in the lecture of docs/guide.md. x becomes a = W x + e with sinusoidal
// positions e; q = Wq a, k = Wk a, v = Wv a; then q1 = Wq1 q and q2 = Wq2 q (both in one matrix here, head by head), and
// so for k and v; b = Wo [b1; b2].
func.func @two_heads(%x: tensor<?x?x10xf32> {transformer.name = "x", transformer.dims = ["B", "T", 10]})
    -> (tensor<?x?x10xf32> {transformer.name = "b", transformer.dims = ["B", "T", 10]}) {
  %w = transformer.weight "input.weight" : tensor<12x10xf32>
  %wq = transformer.weight "query.weight" : tensor<12x12xf32>
  %wk = transformer.weight "key.weight" : tensor<12x12xf32>
  %wv = transformer.weight "value.weight" : tensor<12x12xf32>
  %wqh = transformer.weight "query.head.weight" : tensor<12x12xf32>
  %wkh = transformer.weight "key.head.weight" : tensor<12x12xf32>
  %wvh = transformer.weight "value.head.weight" : tensor<12x12xf32>
  %wo = transformer.weight "output.weight" : tensor<10x12xf32>
  %wx = transformer.linear %x, %w : (tensor<?x?x10xf32>, tensor<12x10xf32>) -> tensor<?x?x12xf32>
  %a = transformer.position.sinusoidal %wx {scale = 1.0 : f32} : tensor<?x?x12xf32>
  %q = transformer.linear %a, %wq : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %k = transformer.linear %a, %wk : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %v = transformer.linear %a, %wv : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %q12 = transformer.linear %q, %wqh : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %k12 = transformer.linear %k, %wkh : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %v12 = transformer.linear %v, %wvh : (tensor<?x?x12xf32>, tensor<12x12xf32>) -> tensor<?x?x12xf32>
  %qh = transformer.split_heads %q12 {heads = 2 : i64} : tensor<?x?x12xf32> -> tensor<?x2x?x6xf32>
  %kh = transformer.split_heads %k12 {heads = 2 : i64} : tensor<?x?x12xf32> -> tensor<?x2x?x6xf32>
  %vh = transformer.split_heads %v12 {heads = 2 : i64} : tensor<?x?x12xf32> -> tensor<?x2x?x6xf32>
  %o = transformer.attention %qh, %kh, %vh {scale = 0.408248290 : f32}
     : (tensor<?x2x?x6xf32>, tensor<?x2x?x6xf32>, tensor<?x2x?x6xf32>) -> tensor<?x2x?x6xf32>
  %m = transformer.merge_heads %o : tensor<?x2x?x6xf32> -> tensor<?x?x12xf32>
  %b = transformer.linear %m, %wo : (tensor<?x?x12xf32>, tensor<10x12xf32>) -> tensor<?x?x10xf32>
  return %b : tensor<?x?x10xf32>
}
