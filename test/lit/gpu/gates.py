#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gates.py BENCH: unit tests of the table of gates: what is compared with what, and how it is judged. No driver, no network."""
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

BENCH = Path(sys.argv.pop(1))
sys.path.insert(0, str(BENCH))
from gpu_static import assembly, beside, gates, llama, modules  # noqa: E402: the path comes first
from gpu_static.driver import FAMILIES, Failure  # noqa: E402

ONE_KERNEL = (gates.Kernels("f32", 1, ("base/one",)),)


class Fixed:
    """Stands for kernels or shaders whose figures are given: kernels by name, shaders in the order of tiles."""

    def __init__(self, **rows):
        self.rows = rows

    def of(self, gate, family):
        return self.rows.items()


class FixedShaders(beside.Theirs):
    def __init__(self, *rows):
        super().__init__(None, None)
        self.fixed = rows

    def _measured(self, family, pipeline):
        return self.fixed["ml".index(pipeline.tile)]


def gate(limits=None, **more):
    return gates.Gate("one", more.pop("figure", "rate"), ONE_KERNEL, limits, **more)


def cell(of, kernels, *shaders, family="navi21"):
    return beside.cell(of, family, Fixed(**kernels), FixedShaders(*shaders))


class Names(unittest.TestCase):
    def test_models_have_the_kernels_that_gates_ask_for(self):
        asked = {}
        for kernels in (kernels for one in gates.all_gates() for kernels in one.kernels if kernels.dtype == "f16"):
            for name in kernels.names:
                asked.setdefault(name.split("/")[0], set()).add((name.split("/")[1], kernels.level))
        for model, wanted in asked.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{model}.heddle"
                beside.compile_model("heddle", model, "f16", file)
                names = [module.name.split("/")[1] for module in modules.modules(file, folder)]
                found = {(name.split("@")[0], beside.level_of(name)) for name in names}
            self.assertLessEqual(wanted, found, model)


class Data(unittest.TestCase):
    def test_every_gate_has_families_and_shaders_that_are_compiled(self):
        known = {shader.name for shader in llama.SHADERS}
        for one in gates.all_gates():
            self.assertTrue(one.families(), one.name)
            for family in one.families():
                self.assertLessEqual({pipeline.shader for pipeline in one.pipelines(family)}, known)
            for kernels in one.kernels:
                self.assertLessEqual({name.split("/")[0] for name in kernels.names}, set(gates.MODELS))
        self.assertEqual({pipeline.shader for one in gates.all_gates() for family in FAMILIES[True] for pipeline in one.pipelines(family)}, known)

    def test_names_are_told_apart(self):
        for names in ([one.name for one in gates.all_gates()], [shader.name for shader in llama.SHADERS]):
            self.assertEqual(len(names), len(set(names)))

    def test_models_are_there(self):
        for path, _ in gates.MODELS.values():
            self.assertTrue((BENCH.parent / path).is_file(), path)

    def test_a_product_by_matrices_is_compared_where_they_are(self):
        found = next(one for one in gates.all_gates() if one.name == "product f16, level 2: rate")
        self.assertEqual(found.families(), ["navi31", "gfx1150"])
        self.assertEqual([pipeline.tile for pipeline in found.pipelines("navi31")], ["m", "l"])
        self.assertEqual(found.pipelines("navi21"), [])

    def test_limits_go_by_family_then_architecture(self):
        one = gate({"": 1, "RDNA3": 2, "navi31": 3})
        self.assertEqual([one.limit(family) for family in ("vega10", "gfx1150", "navi31")], [1, 2, 3])
        self.assertEqual(gate({"": 93, "RDNA3": 90}, beside="product f32").wanted(), ">= 93, RDNA3 90; ratio 0.97")
        self.assertEqual(gate(128, at_most=True).wanted(), "<= 128")


class Judged(unittest.TestCase):
    def test_the_tile_with_the_nearest_registers_is_beside(self):
        small, large = {"registers": 112, "rate": 29.6}, {"registers": 224, "rate": 30.8}
        for registers, text in ((128, "1.05 = 31/29.6 m"), (240, "1.01 = 31/30.8 l"), (168, "1.01 = 31/30.8 l")):
            self.assertEqual(cell(gate(beside="product f32"), {"one": {"registers": registers, "rate": 31}}, small, large).text, text)

    def test_less_than_the_ratio_is_missed(self):
        other = {"registers": 112, "rate": 100}
        met, missed = ({"one": {"registers": 112, "rate": rate}} for rate in (97, 96.9))
        self.assertEqual(cell(gate(beside="product f32"), met, other, other).missed, "")
        self.assertEqual(cell(gate(beside="product f32"), missed, other, other).missed, "one, navi21: one has 96.9, wanted 0.97 of 100")

    def test_a_limit_counts_beside_the_ratio_or_either_is_enough(self):
        other, kernels = {"registers": 112, "rate": 100}, {"one": {"registers": 112, "rate": 80}}
        self.assertTrue(cell(gate(70, beside="product f32"), kernels, other, other).missed)
        self.assertFalse(cell(gate(70, beside="product f32", either=True), kernels, other, other).missed)

    def test_the_worst_kernel_is_the_cell(self):
        kernels = {"a": {"registers": 120}, "b": {"registers": 136}, "c": {"registers": 128}}
        found = cell(gate(128, at_most=True, figure="registers"), kernels)
        self.assertEqual((found.text, found.missed), ("136 MISSED", "one, navi21: b has 136, wanted 128"))

    def test_a_family_without_the_gate_has_an_empty_cell(self):
        self.assertEqual(cell(gate({"RDNA3": 1}), {"one": {"registers": 1, "rate": 9}}).text, "")

    def test_a_kernel_that_is_gone_is_an_error(self):
        with self.assertRaisesRegex(Failure, "expected kernel base/one of f32 at level 1 for navi21, found none"):
            beside.cell(gate(30), "navi21", beside.Ours(None, None, []), None)


class Chunks(unittest.TestCase):
    def test_share_and_rate_of_a_loop_around_two_products(self):
        product = ["v_fma_f32 v0, v1, v2, v0", "s_cbranch_scc0 "]
        code = ["chunk:", "scores:", product[0], product[1] + "scores", "v_mul_f32 v3, v3, v4", "values:", product[0], product[1] + "values",
                "s_cbranch_scc0 chunk"]
        found = assembly.chunk_figures(code, assembly.Counter("navi21", 32), 4)
        self.assertEqual(found, {"chunk": 89, "chunk rate": 28.4})  # 8 of 9 cycles


class Shaders(unittest.TestCase):
    """bench/llama-shaders, by a package and a compiler made here."""

    def made(self, compiler, names=frozenset(shader.source for shader in llama.SHADERS)):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        with tarfile.open(folder / llama.ARCHIVE, "w:gz") as archive:
            for name in [*names, "types.glsl", "feature-tests/other.comp", "../../escaped.comp"]:
                member = tarfile.TarInfo(llama.SHADERS_IN_ARCHIVE + name)
                member.size = len(name)
                archive.addfile(member, io.BytesIO(name.encode()))
        glslc = folder / "glslc"
        glslc.write_text("#!/bin/sh\n" + compiler)
        glslc.chmod(0o755)
        return folder, self.run_tool(folder, f"--compiler={glslc}")

    def run_tool(self, *arguments, **environment):
        return subprocess.run([sys.executable, str(BENCH / "llama-shaders"), *map(str, arguments)], env={**os.environ, **environment},
                              capture_output=True, text=True)

    def test_shaders_alone_are_unpacked_and_compiled(self):
        folder, done = self.made('for last; do :; done; echo "$@" > "$last"\n')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual({path.name for path in (folder / "sources").iterdir()}, {"types.glsl", *(shader.source for shader in llama.SHADERS)})
        self.assertEqual({path.stem for path in folder.glob("*.spv")}, {shader.name for shader in llama.SHADERS})
        self.assertIn("-O -D", (folder / "matmul_f32.spv").read_text())
        self.assertNotIn("-O -D", (folder / "matmul_f16_cm1.spv").read_text())

    def test_a_shader_that_does_not_compile_is_a_line(self):
        _, done = self.made("echo 'one warning\nmul_mm.comp:3: error: no such extension\nmore' >&2; exit 1\n")
        self.assertEqual((done.returncode, done.stderr), (
            1, "error: matmul_f32: expected glslc to compile mul_mm.comp, found status 1: mul_mm.comp:3: error: no such extension\n"))

    def test_a_package_without_shaders_is_a_line(self):
        folder, _ = self.made("exit 1\n")
        with tarfile.open(folder / llama.ARCHIVE, "w:gz"):
            pass
        self.assertRegex(self.run_tool(folder, f"--compiler={folder}/glslc").stderr, f"^error: .*{llama.ARCHIVE}: expected shaders in .*, found none\n$")

    def test_what_is_missing_is_a_line(self):
        folder, _ = self.made("exit 1\n")
        self.assertEqual(self.run_tool(folder, f"--drivers={folder}").stderr,
                         f"error: expected glslc at {folder}/usr/bin/glslc, found none: scripts/drivers unpacks it\n")
        for damaged in (b"text", (folder / llama.ARCHIVE).read_bytes()[:100]):
            (folder / llama.ARCHIVE).write_bytes(damaged)
            self.assertRegex(self.run_tool(folder, f"--compiler={folder}/glslc").stderr, "^error: .*: expected a package of sources, found .*\n$")
        (folder / llama.ARCHIVE).unlink()
        self.assertRegex(self.run_tool(folder, f"--compiler={folder}/glslc", PIP_NO_INDEX="1").stderr,
                         "^error: expected pip to download the sources of llama-cpp-python==0.3.36, found status 1: .*\n$")


if __name__ == "__main__":
    unittest.main()
