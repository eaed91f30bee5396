#===- shared-masks.py - A mask that stands in very many places -------------===#
#
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Prints an attention under a mask of so many levels, each made of the two before
# it (and) or of the one before it twice (or).
#
#===------------------------------------------------------------------------===#
import sys

kind, levels = sys.argv[1], int(sys.argv[2])
Q = "tensor<?x2x?x8xf32>"
print(f"""func.func @f(%q: {Q} {{transformer.name = "q", transformer.dims = ["B", 2, "T", 8]}},
             %n: tensor<?xi32> {{transformer.name = "n", transformer.dims = ["B"]}}) -> {Q} {{
  %p = transformer.mask.prefix %n : tensor<?xi32>
  %m0 = transformer.mask.causal
  %m1 = transformer.mask.and %m0, %p""")
for n in range(2, levels + 1):
    if kind == "and":
        print(f"  %m{n} = transformer.mask.and %m{n - 1}, %m{n - 2}")
    else:
        print(f"  %a{n} = transformer.mask.and %m{n - 1}, %p\n  %b{n} = transformer.mask.not %m{n - 1}")
        print(f"  %m{n} = transformer.mask.or %a{n}, %b{n}")
print(f"""  %o = transformer.attention %q, %q, %q mask(%m{levels}) {{scale = 1.0 : f32}} : ({Q}, {Q}, {Q}) -> {Q}
  return %o : {Q}
}}""")
