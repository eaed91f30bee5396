// One matrix product with a bias: y = x w^T + b, 512 features in and out.
func.func @product(%x: tensor<?x512xf32> {transformer.name = "x", transformer.dims = ["M", 512]})
    -> (tensor<?x512xf32> {transformer.name = "y", transformer.dims = ["M", 512]}) {
  %w = transformer.weight "weight" : tensor<512x512xf32>
  %b = transformer.weight "bias" : tensor<512xf32>
  %y = transformer.linear %x, %w bias(%b) : (tensor<?x512xf32>, tensor<512x512xf32>, tensor<512xf32>) -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}
