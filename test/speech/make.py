#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes golden.json: what Transformers makes of timestamps, segments and repetitions of a small vocabulary.

usage: make.py          (in the environment of scripts/goldens-setup)
"""
import json
import pathlib

import numpy as np
import torch
from transformers import GenerationConfig
from transformers.generation.logits_process import WhisperTimeStampLogitsProcessor
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin, _pad_to_max_length

END, NONE, VOCABULARY = 5, 9, 24  # texts below END, other special tokens up to NONE, timestamps behind
FIRST = NONE + 1
random = np.random.default_rng(22)


def said():
    """Tokens that follow the rules, with some that do not."""
    tokens, time = [], FIRST
    for _ in range(random.integers(0, 4)):
        tokens += [time] + random.integers(0, END, random.integers(0, 4)).tolist()
        time = min(time + int(random.integers(0, 4)), VOCABULARY - 1)
        tokens += [time] * int(random.integers(0, 3))
    return [int(t) for t in tokens[: random.integers(0, len(tokens) + 1)]]


def rules():
    cases = []
    for number in range(60):
        latest = None if number % 3 == 0 else int(random.integers(0, 5))
        config = GenerationConfig(eos_token_id=END, no_timestamps_token_id=NONE, max_initial_timestamp_index=latest)
        tokens = said() if number % 8 else []
        scores = np.round(random.normal(0, 2, VOCABULARY), 2).astype(np.float32)
        processor = WhisperTimeStampLogitsProcessor(config, begin_index=2)
        made = processor(torch.tensor([[0, 0] + tokens]), torch.tensor(scores)[None])[0]
        cases.append(dict(latest=latest, said=tokens, scores=[float(f"{x:.2f}") for x in scores],
                          allowed=[int(t) for t in torch.where(made > -np.inf)[0]]))
    return cases


def segments():
    cases = []
    for number in range(60):
        tokens = said()
        frames, start = [3000, 1000, 28][number % 3], [0.0, 30.0][number % 2]
        if not tokens:
            continue
        made, offset = WhisperGenerationMixin._retrieve_segment(
            seek_sequence=torch.tensor(tokens), seek_outputs=[None], time_offset=torch.tensor([start], dtype=torch.float64),
            timestamp_begin=FIRST, seek_num_frames=torch.tensor([frames]), time_precision=0.02, time_precision_features=0.01,
            input_stride=2, prev_idx=0, idx=0, return_token_timestamps=False, decoder_input_ids=torch.zeros(1, 3))
        before = _pad_to_max_length([made], 0, device="cpu", skip_ending_double_timestamps=True, timestamp_begin=FIRST)
        cases.append(dict(said=tokens, frames=frames, start=start, offset=int(offset), before=before[0].tolist(),
                          segments=[[round(float(s["start"]), 6), round(float(s["end"]), 6), s["tokens"].tolist()] for s in made]))
    return cases


def ratios():
    cases = []
    for vocabulary in (200, 300, 51865, 70000):
        for tokens in ([7], [3, 3, 3, 3] * 20, random.integers(0, vocabulary, 50).tolist()):
            made = WhisperGenerationMixin._retrieve_compression_ratio(torch.tensor(tokens), vocabulary)
            cases.append(dict(vocabulary=vocabulary, tokens=tokens, ratio=made))
    return cases


def main():
    parts = dict(rules=rules(), segments=segments(), ratios=ratios())
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, cases)) + "]" for name, cases in parts.items())
    (pathlib.Path(__file__).parent / "golden.json").write_text("{" + text + "}\n")


if __name__ == "__main__":
    main()
