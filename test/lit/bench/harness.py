#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""harness.py BENCH: unit tests of what bench/harness decides without any peer."""
import argparse
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1))
from harness import figures, gates, main, matrix, rates, report, shapes, training  # noqa: E402: the path comes first
from harness.peers import clock  # noqa: E402

ROWS = {row.name: row for row in matrix.all_rows()}
PEAKS = {"f32": 100e9, "bf16": 200e9, "int8": 400e9}


def result(name, threads=1, shares=None, rates=None):
    """A result whose contenders run at given shares of the f32 peak, three rounds."""
    made = figures.Result(ROWS[name], threads)
    made.rates = {key: [rate] * 3 for key, rate in (PEAKS if rates is None else rates).items()}
    for contender, share in (shares or {}).items():
        made.seconds[contender] = [ROWS[name].flops / (share * PEAKS["f32"])] * 3
    return made


def gate(identifier):
    return next(gate for gate in gates.all_gates() if gate.id == identifier)


class Figures(unittest.TestCase):
    def test_median_and_quantiles(self):
        self.assertEqual(figures.median([3, 1, 2]), 2)
        self.assertEqual(figures.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(figures.quantile([0, 10], 0.05), 0.5)
        self.assertAlmostEqual(figures.spread([1, 1, 1]), 0)

    def test_a_ratio_is_taken_inside_a_round(self):
        # The machine halves its speed in the second round: medians alone would say 1.33.
        self.assertEqual(figures.ratio([2, 4, 2], [1, 2, 1]), 2)

    def test_a_late_peer_is_compared_with_its_own_rounds(self):
        made = result("llama.token.f32.P128", shares={"heddle": 0.5})
        made.begin(["heddle", "openvino"])
        made.seconds["heddle"] += [seconds / 2 for seconds in made.seconds["heddle"]]
        made.seconds["openvino"] = made.seconds["heddle"][3:]
        self.assertAlmostEqual(made.speedup("openvino"), 1)

    def test_wrong_contenders_are_no_peers(self):
        made = result("gemm.f32.128x768x768", shares={"heddle": 0.9, "heddle.call": 0.95, "openvino": 0.8, "torch": 0.99})
        made.notes["torch"] = "wrong: 0.5 from f64"
        self.assertEqual(made.peers(), ["openvino"])
        self.assertAlmostEqual(made.speedup("openvino"), 0.9 / 0.8)


class Matrix(unittest.TestCase):
    def test_names_are_unique(self):
        self.assertEqual(len(ROWS), len(matrix.all_rows()))

    def test_selection_keeps_order_and_takes_each_once(self):
        names = [row.name for row in matrix.select(matrix.all_rows(), ["gemm.f32.64x768x768", "gemm.f32.*x768x768"])]
        self.assertEqual(names, [f"gemm.f32.{m}x768x768" for m in (4, 16, 32, 64, 128, 512, 2048)])
        with self.assertRaises(ValueError):
            matrix.select(matrix.all_rows(), ["gemm.f31.*"])

    def test_work(self):
        self.assertEqual(ROWS["gemm.f32.128x3072x768"].flops, 2 * 128 * 3072 * 768)
        self.assertEqual(ROWS["gemv.int8.3072x768"].bytes, 3072 * (768 + 4))
        # Keys and values of 12 heads of 64, the new row included.
        self.assertEqual(ROWS["decode.bf16.B4.P2048"].bytes, 2 * 4 * 12 * 64 * 2049 * 2)
        self.assertTrue(matrix.reads(ROWS["decode.f32.B1.P128"]) and not matrix.reads(ROWS["attention.f32.full.T128"]))
        # GPT-2's 12 layers and its classifier, each weight once a token, whatever the caches hold.
        self.assertEqual(ROWS["model.decode.int8.P128"].bytes, 12 * 12 * 768 * 768 + 50257 * 768)
        self.assertEqual(ROWS["model.decode.bf16.P1024"].bytes, 2 * ROWS["model.decode.int8.P128"].bytes)
        self.assertTrue(matrix.reads(ROWS["model.decode.f32.P128"]))
        # Grouped heads share keys, which saves no work; causal rules leave half of the pairs; sequences count with their padding.
        self.assertEqual(ROWS["attention.f32.gqa.T512"].flops, 4 * 32 * 64 * 512 * 513 / 2)
        self.assertEqual(ROWS["attention.f32.window.T4096"].flops, 4 * 12 * 64 * sum(min(i + 1, 256) for i in range(4096)))
        self.assertEqual(ROWS["attention.f32.padding.B8T128"].flops, 8 * ROWS["attention.f32.full.T128"].flops)
        # Half a layer and the other half are a layer.
        self.assertEqual(ROWS["attend.f32.128"].flops + ROWS["ffn.f32.128"].flops, ROWS["layer.f32.1x128"].flops)
        # 85 million weights twice a token, and two products of attention.
        self.assertEqual(ROWS["bert.f32.1x128"].flops, 12 * (128 * 2 * 12 * 768 * 768 + 4 * 128 * 128 * 768))

    def test_work_of_a_language_model(self):
        # TinyLlama's 22 layers and its classifier; two bytes a weight, and a row of keys and one of values a layer for each token.
        weights = 22 * (2048 * 2048 * 2 + 2 * 256 * 2048 + 3 * 2048 * 5632) + 32000 * 2048
        self.assertEqual(ROWS["llama.token.bf16.P128"].bytes, 2 * weights + 22 * 2 * 256 * 129 * 2)
        # In int4 what scores the words has 8 bits, with a scale a row.
        layers = weights - 32000 * 2048
        self.assertEqual(ROWS["llama.token.int4.P128"].bytes, layers * 5 / 8 + 32000 * 2052 + 22 * 2 * 256 * 129 * 2)
        # Of a prompt the last token alone is scored.
        self.assertEqual(ROWS["llama.prompt.f32.512"].flops, 2 * (512 * layers + 32000 * 2048) + 4 * 22 * 2048 * 512 * 513 / 2)
        self.assertEqual(ROWS["qwen.token.bf16.B8.P1024"].bytes - ROWS["qwen.token.bf16.P1024"].bytes, 7 * 28 * 2 * 1024 * 1025 * 2)
        self.assertTrue(matrix.reads(ROWS["qwen.token.int8.B8.P128"]) and not matrix.reads(ROWS["qwen.prompt.int8.512"]))

    def test_work_of_a_training_step(self):
        # GPT-2's 12 layers and its classifier, six operations a weight and token; two products of attention, three times.
        weights = 12 * 12 * 768 * 768 + 50257 * 768
        self.assertEqual(ROWS["train.gpt2.4x64.plain"].flops, 6 * 256 * weights + 3 * 12 * 4 * 4 * (64 * 65 / 2) * 768)
        # The keys and values of cross attention are made of the source.
        layers = 6 * (4 * 512 * 512 + 2 * 512 * 2048) + 6 * (8 * 512 * 512 + 2 * 512 * 2048)
        pairs = 6 * 32 * (32 * 32 + 32 * 33 / 2 + 32 * 32)
        self.assertEqual(ROWS["train.base.32x32x32.plain"].flops, 6 * 1024 * (layers + 10000 * 512) + 3 * 4 * pairs * 512)
        self.assertEqual(training.tokens(ROWS["train.base.32x32x32.plain"]), 2048)
        self.assertEqual(training.dropout(ROWS["train.gpt2.4x64.dropout"]), {"embedding": 0.1, "attention": 0.1, "sublayer": 0.1})
        self.assertEqual(training.dropout(ROWS["train.couplet.128x7x8"]), {"sublayer": 0.05})

    def test_awkward_shapes_are_seeded_and_apart(self):
        found = [row.sizes for row in shapes.rows() if row.dtype == "bf16"]
        self.assertEqual(len(found), 40)
        self.assertEqual(len({tuple(sizes.values()) for sizes in found}), 40)
        self.assertEqual(found, [row.sizes for row in shapes.rows() if row.dtype == "f32"])
        for sizes in found:
            self.assertTrue(16 <= sizes["rows"] <= 400 and 24 <= sizes["head"] <= 160, sizes)
            self.assertTrue(sizes["size"] % 8 and sizes["ffn"] % 8, sizes)
        self.assertEqual(sum(sizes["rows"] < 32 for sizes in found), 10)
        self.assertEqual([row.name for row in matrix.select(matrix.all_rows(), ["shapes"])][:2], ["shapes.f32.00", "shapes.f32.01"])

    def test_every_gate_has_its_row(self):
        for one in gates.all_gates():
            self.assertIn(one.row, ROWS)
            self.assertTrue(ROWS[one.row].gated, one.row)
            self.assertIn(one.threads, ROWS[one.row].threads)


class Gates(unittest.TestCase):
    def judged(self, identifier, made, misses=None):
        verdict = gates.judge(gate(identifier), made, misses or {})
        return verdict.status, verdict

    def test_pass_close_and_fail(self):
        name = "gemm.f32.64x768x768"
        for share, expected in ((0.95, gates.PASS), (0.90, gates.PASS), (0.885, gates.PASS), (0.875, gates.FAIL)):
            self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": share}))[0], expected, share)

    def test_quantising_is_no_part_of_the_product(self):
        made = result("gemm.int8.64x768x768", shares={"heddle": 2.8, "heddle.product": 3.6, "openvino": 3.2})  # int8's peak is four times f32's
        self.assertEqual(self.judged("gemm.int8.64x768x768.t1.peak", made)[0], gates.PASS)
        self.assertAlmostEqual(made.speedup("openvino"), 2.8 / 3.2)

    def test_a_recorded_miss_reaches_nine_tenths(self):
        name, misses = "gemm.f32.64x768x768", {"gemm.f32.64x768x768.t1.peak": "the cause"}
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 0.82}), misses)[0], gates.MISS)
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 0.80}), misses)[0], gates.FAIL)

    def test_at_most_three_misses(self):
        identifiers = [f"gemm.f32.{m}x768x768.t1.peak" for m in (64, 128, 512, 2048)]
        results = [result(name.rsplit(".", 2)[0], shares={"heddle": 0.85}) for name in identifiers]
        verdicts = {v.gate.id: v.status for v in gates.judge_all(results, dict.fromkeys(identifiers, "the cause"))}
        self.assertEqual([verdicts[i] for i in identifiers], [gates.MISS] * 3 + [gates.FAIL])

    def test_best_and_named_peers(self):
        name = "attention.f32.window.T4096"
        made = result(name, shares={"heddle": 0.8, "flex": 0.5, "openvino": 0.08, "torch": 0.05})
        status, verdict = self.judged(name + ".t1.dense-peer", made)
        self.assertEqual((status, verdict.note), (gates.PASS, "x openvino"))
        self.assertEqual(self.judged(name + ".t1.flex", made)[0], gates.FAIL)
        del made.seconds["flex"]
        self.assertEqual(self.judged(name + ".t1.flex", made)[0], gates.UNMEASURED)

    def test_a_share_or_a_ratio_is_enough(self):
        name = "attention.f32.full.T2048"
        for heddle, peer, expected in ((0.70, 0.60, gates.PASS), (0.85, 0.84, gates.PASS), (0.80, 0.79, gates.FAIL)):
            status, verdict = self.judged(name + ".t1.peak", result(name, shares={"heddle": heddle, "openvino": peer}))
            self.assertEqual(status, expected, verdict)
        # The number that is nearer to its limit is shown.
        self.assertEqual(verdict.note, "of the f32 peak, a miss below 2 %" if status == gates.PASS else "of the f32 peak")
        # Without a peer in the run the share decides alone.
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 0.85}))[0], gates.PASS)

    def test_the_faster_of_a_peer_s_types_counts(self):
        name = "llama.token.int4.P128"
        made = result(name, 2, {"heddle": 0.5, "llama.cpp": 0.3, "llama.cpp.2": 0.45, "openvino": 0.9}, rates=PEAKS | {"read": 1e15})
        self.assertAlmostEqual(self.judged(name + ".t2.read", made)[1].value, 0.5 / 0.45)
        made = result(name, 2, {"heddle": 0.5, "llama.cpp": 0.3, "llama.cpp.2": 0.4}, rates=PEAKS | {"read": 1e15})
        self.assertEqual(self.judged(name + ".t2.read", made)[1].note, "x llama.cpp.2")
        self.assertEqual(self.judged(name + ".t2.read", made)[0], gates.PASS)

    def test_rows_of_a_batch_beside_one_row(self):
        name, alone = "qwen.token.bf16.B8.P128", "qwen.token.bf16.P128"
        eight, one = result(name, 2, {"heddle": 0.5}), result(alone, 2, {"heddle": 0.5})
        eight.seconds["heddle"] = [2.0 * one.seconds["heddle"][0]] * 3
        verdicts = {v.gate.id: v for v in gates.judge_all([eight, one], {})}
        self.assertAlmostEqual(verdicts[name + ".t2.tokens-of"].value, 4)
        self.assertEqual(verdicts[name + ".t2.tokens-of"].status, gates.PASS)
        self.assertEqual(gates.judge_all([eight], {})[0].status, gates.UNMEASURED)

    def test_four_bits_are_judged_where_vnni_has_sixteen_lanes(self):
        made = result("gemv.int4.4096x4096", shares={"heddle": 1}, rates=PEAKS | {"read": 1e15})
        self.assertEqual(self.judged("gemv.int4.4096x4096.t1.read", made)[0], gates.FAIL)
        made.instructions = {"int8": "vpdpbusd, 8 lanes"}
        self.assertEqual(self.judged("gemv.int4.4096x4096.t1.read", made)[0], gates.ABSENT)

    def test_the_type_of_the_peak(self):
        name = "gemm.bf16.64x768x768"
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 1.65}))[0], gates.FAIL)
        slow = {"f32": 100e9, "bf16": 49e9}  # vdpbf16ps at half the rate: 0.80 of the f32 peak is asked for
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 0.81}, rates=slow))[0], gates.PASS)
        name = "gemm.f16-sum.64x768x768"
        self.assertEqual(self.judged(name + ".t1.peak", result(name, shares={"heddle": 1.7}))[0], gates.ABSENT)

    def test_what_is_not_built_is_no_fail(self):
        made = result("gemm.bf16.64x768x768")
        made.notes["heddle"] = "--dtype=bf16: not supported yet, expected f32"
        self.assertEqual(self.judged("gemm.bf16.64x768x768.t1.peak", made)[0], gates.UNSUPPORTED)
        made.notes["heddle"] = "wrong: 1e-1 from f64, expected at most 0.02"
        self.assertEqual(self.judged("gemm.bf16.64x768x768.t1.peak", made)[0], gates.FAIL)
        self.assertEqual(self.judged("gemm.bf16.64x768x768.t1.peak", None)[0], gates.UNMEASURED)

    def test_facts_are_at_most(self):
        made = figures.Result(ROWS["compile.bert"], 1)
        made.facts = {"cold": 1.2, "cached": 0.2}
        self.assertEqual(self.judged("compile.bert.t1.cold", made)[0], gates.PASS)
        self.assertEqual(self.judged("compile.bert.t1.cached", made)[0], gates.FAIL)

    def test_misses_file(self):
        self.assertEqual(gates.parse_misses("# none\n a.t1.peak: because # so\n\n"), {"a.t1.peak": "because"})
        for text in ("a.t1.peak", "a.t1.peak:", "a: x\na: y"):
            with self.assertRaises(ValueError):
                gates.parse_misses(text)

    def test_a_run_is_void(self):
        self.assertEqual(gates.voids([result(matrix.WITNESS, shares={"heddle": 0.9, "openvino": 0.8})]), [])
        self.assertIn("0.60", gates.voids([result(matrix.WITNESS, shares={"heddle": 0.9, "openvino": 0.6})])[0])
        self.assertIn("expected at most 1", gates.voids([result("gemm.f32.64x768x768", shares={"heddle": 1.02})])[0])

    def test_matrix_units_are_faster_than_the_peak(self):
        for dtype, heddles in (("int8", []), ("bf16", ["heddle"])):
            made = result(f"gemm.{dtype}.64x768x768", shares={"heddle": 2.0, "openvino": 1.5}, rates=dict.fromkeys(("f32", dtype), PEAKS["f32"]))
            self.assertEqual(len(gates.voids([made])), 2)
            made.units = {dtype: "amx-" + dtype}
            self.assertEqual([reason.split()[1] for reason in gates.voids([made])], heddles)

    def test_a_machine_that_is_not_quiet(self):
        made = result(matrix.WITNESS, shares={"heddle": 0.9, "openvino": 0.8})
        self.assertEqual(gates.restless([made]), [])
        made.rates["f32"] = [100e9, 70e9, 100e9]
        self.assertEqual(gates.restless([made]), [made.name])


class Worker:
    """A worker whose machine has given rates, a list of numbers each, one an answer."""

    def __init__(self, **rates):
        self.rates = rates
        self.asked = []

    def ask(self, do, of=(), **_):
        self.asked.append(of if do == "rates" else do)
        return {name: {"rate": self.rates[name].pop(0)} for name in of} if do == "rates" else {"rate": 1e9}

    def stop(self):
        self.asked.append("stop")


class Rates(unittest.TestCase):
    def test_a_row_needs_no_other_rates(self):
        # Judged by all of a machine's rates or by the row's own, the peak is the same, on CPUs with and without the types.
        for bf16, int8, f16 in ((200e9, 400e9, 200e9), (50e9, 400e9, 0), (0, 0, 0)):
            machine = {name: [rate] for name, rate in (("f32", 100e9), ("bf16", bf16), ("int8", int8), ("f16", f16)) if rate}
            for dtype in {row.dtype for row in ROWS.values()}:
                own = {name: machine[name] for name in gates.arithmetics(dtype) if name in machine}
                self.assertEqual(gates.peak_rate(dtype, own), gates.peak_rate(dtype, machine), dtype)
                self.assertIn("f32", own)
                self.assertIn(gates.peak_rate(dtype, machine), [None, *own])

    def test_the_larger_of_before_and_after_counts(self):
        row = ROWS["gemm.int8.128x768x768"]
        made = figures.Result(row, 1)
        worker = Worker(f32=[90e9, 100e9, 99e9, 98e9], int8=[400e9, 380e9, 0.4e12, 0.41e12])
        for _ in range(2):
            rates.measure(worker, row, made)
            rates.measure_again(worker, row, made)
        self.assertEqual(made.rates, {"f32": [100e9, 99e9], "int8": [400e9, 410e9]})
        self.assertEqual(worker.asked, [["f32", "int8"], "stop"] * 4)
        self.assertEqual(gates.restless([made]), [])

    def test_what_a_cpu_lacks_has_no_rate(self):
        row = ROWS["gemv.bf16.768x768"]
        made = figures.Result(row, 1)
        worker = Worker(f32=[100e9, 100e9], bf16=[0, 0])
        rates.measure(worker, row, made)
        rates.measure_again(worker, row, made)
        self.assertEqual(made.rates, {"f32": [100e9], "read": [1e9]})


class Report(unittest.TestCase):
    def test_every_contender_is_a_line(self):
        made = result(matrix.WITNESS, shares={"heddle": 0.9, "openvino": 0.8})
        made.notes["iree"] = "the process ended"
        text = report.result_table(made)
        for word in ("heddle", "openvino", "1.125", "0.800", "iree", "the process ended"):
            self.assertIn(word, text)

    def test_scaling_compares_threads_of_one_row(self):
        one, two = (result("decode.f32.B1.P2048", threads, {"heddle": share, "torch": 0.1}) for threads, share in ((1, 0.2), (2, 0.3)))
        self.assertEqual(report.scaling_table([one]), "")
        text = report.scaling_table([one, result("decode.f32.B1.P128", 2, {"heddle": 0.1}), two])
        self.assertRegex(text, r"decode.f32.B1.P2048 +heddle +1 to 2 threads: +1.50 times")
        self.assertRegex(text, r"decode.f32.B1.P2048 +torch +1 to 2 threads: +1.00 times")
        self.assertNotIn("P128", text)

    def test_gates_are_counted(self):
        text = report.gate_table(gates.judge_all([], {}))
        self.assertIn(f"{len(gates.all_gates())} gates: {len(gates.all_gates())} not measured", text)
        self.assertIn("start.bert.t1.memory", text)
        self.assertNotIn("start.bert.t1.memory", report.gate_table(gates.judge_all([], {}), lists_unmeasured=False))


class Clock(unittest.TestCase):
    def test_caches_are_filled_and_moved_outside_the_clock(self):
        now, rows, lengths = [0], [4], []

        def call():
            now[0] += 100 if rows[0] == 4 else 1  # the first one moves the cache
            rows[0] += 1
            lengths.append(rows[0])

        def refill():
            now[0] += 1000
            rows[0] = 4

        with unittest.mock.patch.object(clock.time, "perf_counter", lambda: now[0]):
            self.assertEqual(clock.Refilled(call, refill, 4).timed(5), 1)
        self.assertEqual(lengths, [5, 6, 7, 8, 5, 6, 7])


class Runs(unittest.TestCase):
    def test_a_resumed_run_keeps_quiet_rows_alone(self):
        quiet, moved = (result(f"gemm.f32.{m}x768x768", shares={"heddle": 0.5}) for m in (64, 128))
        moved.rates["f32"] = [60e9, 100e9, 110e9]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "run.json")
            options = argparse.Namespace(json=path, resume=True)
            self.assertEqual(main.earlier(options), [])
            main.write_results(path, [quiet, moved])
            self.assertEqual([kept.name for kept in main.earlier(options)], [quiet.name])
            self.assertEqual(main.earlier(argparse.Namespace(json=path, resume=False)), [])


unittest.main()
