// Attention over eight heads of 64, from queries, keys and values that the caller gives.
func.func @attention(%q: tensor<?x8x?x64xf32> {transformer.name = "q", transformer.dims = ["B", 8, "T", 64]},
                     %k: tensor<?x8x?x64xf32> {transformer.name = "k", transformer.dims = ["B", 8, "S", 64]},
                     %v: tensor<?x8x?x64xf32> {transformer.name = "v", transformer.dims = ["B", 8, "S", 64]})
    -> (tensor<?x?x512xf32> {transformer.name = "o", transformer.dims = ["B", "T", 512]}) {
  %o = transformer.attention %q, %k, %v {scale = 0.125 : f32}
     : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %m = transformer.merge_heads %o : tensor<?x8x?x64xf32> -> tensor<?x?x512xf32>
  return %m : tensor<?x?x512xf32>
}
