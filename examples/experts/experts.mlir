// A mixture of eight experts, of which each token uses two.

func.func @experts(%x: tensor<?x?x32xf32> {transformer.name = "x", transformer.dims = ["B", "T", 32]}) -> (tensor<?x?x32xf32> {transformer.name = "y"}) {
  %router = transformer.weight "router" : tensor<8x32xf32>
  %in = transformer.weight "experts.in" {stored = array<i64: 8, 48, 32>} : tensor<384x32xf32>
  %gate = transformer.weight "experts.gate" {stored = array<i64: 8, 48, 32>} : tensor<384x32xf32>
  %out = transformer.weight "experts.out" {stored = array<i64: 8, 32, 48>} : tensor<256x48xf32>

  %logits = transformer.linear %x, %router : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
  %chosen, %weights = transformer.route %logits {count = 2 : i64, normalise} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  %sum = transformer.experts %x experts(%chosen, %weights) in(%in) out(%out) gate(%gate) {count = 8 : i64, activation = #transformer.activation<silu>}
       : (tensor<?x?x32xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<384x32xf32>, tensor<256x48xf32>, tensor<384x32xf32>) -> tensor<?x?x32xf32>
  %y = arith.addf %x, %sum : tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}
