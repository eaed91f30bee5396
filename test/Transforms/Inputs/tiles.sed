# Takes out of a tiled body what the devices may choose: tile sizes, schedules, the names of constants.
s/schedule = #kernel\.schedule<[^>]*>//
s/tensor<[0-9]+x[0-9]+x/tensor<RxCx/g
s/tensor<([0-9]+)x1x/tensor<Rx1x/g
s/ by [0-9]+/ by N/g
s/%c(st)?[0-9]*(_[0-9]+)?/%c/g
s/(arith\.constant) (16|32|48|64|96|128|512) : index/\1 N : index/
