// Tiling obeys a plan and reports a plan that does not fit the definition.
// RUN: heddle-opt %s --tile-kernels --split-input-file --verify-diagnostics

// expected-error @+1 {{expected plans, found none; run plan-kernels first}}
kernel.def @without(%x: tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>},
                    %w: tensor<64x64xf32> {kernel.layout = #kernel.layout<view = <[64, 64], f32, panel = 16>, storage = weight>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %y = transformer.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  kernel.yield %y : tensor<?x64xf32>
}

// -----

// expected-error @+1 {{expected a plan with a tile of columns for each of 1 loops, found 2}}
kernel.def @columns(%x: tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>},
                    %w: tensor<64x64xf32> {kernel.layout = #kernel.layout<view = <[64, 64], f32, panel = 16>, storage = weight>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>})
    attributes {root = #kernel.root<linear>, scalars = ["d0"], plans = [#kernel.plan<mapping = cpu_tiles, tile = [128, 64, 64], ahead = 1>]} {
  %y = transformer.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  kernel.yield %y : tensor<?x64xf32>
}
