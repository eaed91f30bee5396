// The stage `transformer`, and the model that the tests of the other stages start from: one post-norm layer over ids, a mask, returned weights.
// RUN: heddle-opt %s --heddle-to-transformer --check-dialects=allowed=transformer,arith,tensor,func | FileCheck %s

// CHECK-LABEL: func.func @encode
// CHECK: transformer.attention
// CHECK-NOT: kernel.
func.func @encode(%ids: tensor<?x?xi32> {transformer.name = "source", transformer.dims = ["B", "S"], transformer.range = [0, 100]},
                  %lengths: tensor<?xi32> {transformer.name = "source.lengths", transformer.dims = ["B"]})
    -> (tensor<?x?x64xf32> {transformer.name = "output", transformer.dims = ["B", "S", 64]},
        tensor<?x?x?xf32> {transformer.name = "weights", transformer.dims = ["B", "S", "S"]}) {
  %table = transformer.weight "table" : tensor<100x64xf32>
  %e = transformer.embedding %ids, %table : (tensor<?x?xi32>, tensor<100x64xf32>) -> tensor<?x?x64xf32>
  %x = transformer.position.sinusoidal %e : tensor<?x?x64xf32>
  %wq = transformer.weight "q" : tensor<64x64xf32>
  %wk = transformer.weight "k" : tensor<64x64xf32>
  %wv = transformer.weight "v" : tensor<64x64xf32>
  %q0 = transformer.linear %x, %wq : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %k0 = transformer.linear %x, %wk : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %v0 = transformer.linear %x, %wv : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %q = transformer.split_heads %q0 {heads = 4 : i64} : tensor<?x?x64xf32> -> tensor<?x4x?x16xf32>
  %k = transformer.split_heads %k0 {heads = 4 : i64} : tensor<?x?x64xf32> -> tensor<?x4x?x16xf32>
  %v = transformer.split_heads %v0 {heads = 4 : i64} : tensor<?x?x64xf32> -> tensor<?x4x?x16xf32>
  %causal = transformer.mask.causal
  %real = transformer.mask.lengths %lengths : tensor<?xi32>
  %mask = transformer.mask.and %causal, %real
  %o, %a = transformer.attention %q, %k, %v mask(%mask) {average_weights, scale = 0.25 : f32}
     : (tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>) -> tensor<?x4x?x16xf32> weights tensor<?x?x?xf32>
  %m = transformer.merge_heads %o : tensor<?x4x?x16xf32> -> tensor<?x?x64xf32>
  %wo = transformer.weight "o" : tensor<64x64xf32>
  %p = transformer.linear %m, %wo : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %r = arith.addf %p, %x : tensor<?x?x64xf32>
  %g = transformer.weight "gamma" : tensor<64xf32>
  %b = transformer.weight "beta" : tensor<64xf32>
  %n = transformer.layer_norm %r, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x?x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  %w1 = transformer.weight "w1" : tensor<128x64xf32>
  %w2 = transformer.weight "w2" : tensor<64x128xf32>
  %f = transformer.ffn %n in(%w1) out(%w2) {activation = #transformer.activation<gelu>} : (tensor<?x?x64xf32>, tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<?x?x64xf32>
  %y = arith.addf %f, %n : tensor<?x?x64xf32>
  return %y, %a : tensor<?x?x64xf32>, tensor<?x?x?xf32>
}
