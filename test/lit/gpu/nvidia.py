#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvidia.py BENCH: unit tests of counts of NVIDIA code as Mesa's compiler prints it, and of which variants a GPU runs. No driver."""
import sys
import unittest
from pathlib import Path

BENCH = Path(sys.argv.pop(1))
sys.path.insert(0, str(BENCH))
from gpu_static import nvidia  # noqa: E402: the path comes first
from gpu_static.modules import Module, best_of, run_by  # noqa: E402

# An outer loop of blocks 1 to 3 around block 2, which multiplies.
PRINTED = """NAK IR:
block.u 0 L2 [] -> {
      r0      = ffma r1 r2 r3
} -> []
Stage: compute
NAK IR after calc_instr_deps:
block.u 0 L2 [] -> {
      ur0     = ldc.b32 c[0x0][+0x704]                                // delay=1 wr:0
} -> [1]
block.u 1 L1 [0, 3] -> {
      r4..8   = ld.global.a64.strong.gpu.b128 [r12+ur0..2], pT        // delay=2 wr:0
                bar.sync                                              // delay=6 yld
} -> [2]
block 2 L3 [1, 2] -> {
      r88..92 = ldsm.16.m8n8.x4 [r29+0x2f00]                          // delay=2
      r8      = ld.shared.strong.cta.b32 [r0.x16+rZ], pT              // delay=2
                membar.sc..cta                                        // delay=6
      r0..4   = hmma.m16n8k16.f32 r80..84 r88..90 r0..4               // delay=15 wr:0
      r9      = mov r8                                                // delay=1
                st.shared.strong.cta.b64 [r11+rZ] r0..2               // delay=1
      @p0       bra L3                                                // delay=1
} -> [3, 2]
block 3 L4 [2] -> {
      r10     = iadd3 r9 r8 rZ                                        // delay=1
} -> [1, 4]
block 4 L5 [3] -> {
                exit                                                  // delay=1
} -> []
Stage: compute
Instruction count: 12
"""
STATISTICS = {"Number of GPRs": 96.0, "Spills to memory": 2.0, "Fills from memory": 1.0, "Max warps/SM": 20.0, "Static cycle count": 500.0,
              "Instruction count": 12.0}


class Counts(unittest.TestCase):
    def test_the_innermost_loop_with_products_counts(self):
        (lines,) = nvidia.dumps(PRINTED)
        row = nvidia.measure(STATISTICS, lines)
        self.assertEqual([row[name] for name in ("registers", "spills", "warps", "cycles", "code")], [96, 3, 20, 500, 12])
        self.assertEqual(row["depth"], 2)
        self.assertEqual([row[name] for name in ("mma", "ldsm", "lds", "sts", "fences", "mov", "rest")], [1, 1, 1, 1, 1, 1, 1])
        self.assertEqual((row["lds bytes"], row["sts bytes"], row["barriers"], row["wide"]), (20, 8, 0, "0/0"))

    def test_loops_by_jumps_back(self):
        _, after = nvidia.blocks(nvidia.dumps(PRINTED)[0])
        self.assertEqual(nvidia.loops(after), [{2}, {1, 2, 3}])

    def test_without_code_the_driver_speaks_alone(self):
        self.assertNotIn("mma", nvidia.measure(STATISTICS, []))


class Variants(unittest.TestCase):
    def setUp(self):
        self.found = [Module(f"m/{name}", Path(), 1, frozenset(operands)) for name, operands in
                      (("a", []), ("a@1", []), ("a@2-16x16x16", ["f16"]), ("b", []), ("b@2-16x16x16", ["bf16"]), ("c", []), ("c@2-16x16x16", ["i8"]),
                       ("c@2-16x16x32", ["i8"]), ("c@2-8x8x8", ["i8"]))]

    def best(self, family):
        return [module.name[2:] for part, _ in best_of(run_by(family, self.found, newer=True)) for module in part]

    def test_each_family_has_its_matrices(self):
        self.assertEqual(self.best("ampere"), ["b", "a@2-16x16x16", "c@2-16x16x32"])
        self.assertEqual(self.best("gfx1201"), ["a@2-16x16x16", "b@2-16x16x16", "c@2-16x16x16"])
        self.assertEqual(self.best("navi31"), ["b", "a@2-16x16x16", "c@2-16x16x16"])
        self.assertEqual(self.best("m1"), ["a@1", "b", "c"])


if __name__ == "__main__":
    unittest.main()
