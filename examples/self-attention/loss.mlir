// The loss of self-attention.mlir with one head: every vector a of a sequence becomes b, the scores of 3 classes follow
// from b, and the loss compares them with the class of the vector. --training adds the gradients.
func.func @loss(%a: tensor<?x?x16xf32> {transformer.name = "a", transformer.dims = ["B", "T", 16]},
                %class: tensor<?x?xi32> {transformer.name = "class", transformer.dims = ["B", "T"]})
    -> (tensor<1xf32> {transformer.name = "loss", transformer.dims = [1]}) {
  %wq = transformer.weight "query.weight" : tensor<16x16xf32>
  %wk = transformer.weight "key.weight" : tensor<16x16xf32>
  %wv = transformer.weight "value.weight" : tensor<16x16xf32>
  %wc = transformer.weight "classifier.weight" : tensor<3x16xf32>
  %q = transformer.linear %a, %wq : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %k = transformer.linear %a, %wk : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %v = transformer.linear %a, %wv : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %qh = transformer.split_heads %q {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %kh = transformer.split_heads %k {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %vh = transformer.split_heads %v {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %b = transformer.attention %qh, %kh, %vh {scale = 0.25 : f32}
     : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  %m = transformer.merge_heads %b : tensor<?x1x?x16xf32> -> tensor<?x?x16xf32>
  %y = transformer.linear %m, %wc : (tensor<?x?x16xf32>, tensor<3x16xf32>) -> tensor<?x?x3xf32>
  %l = transformer.cross_entropy %y, %class : (tensor<?x?x3xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
