# Deletes the device-specific parts of a tiled body: forms for few rows, tile sizes, plans, names of
# constants.
/^  kernel\.func @[a-z0-9_]*_few\(/,/^  }$/d
s/plan = #kernel\.plan<[^>]*>//
s/tensor<[0-9]+x[0-9]+x/tensor<RxCx/g
s/tensor<([0-9]+)x1x/tensor<Rx1x/g
s/ by [0-9]+/ by N/g
/= arith\.constant/d
s/%(c|cst|false|true)[-0-9]*(_i32|_i1)?(_[0-9]+)?([^a-z0-9_]|$)/%c\4/g
