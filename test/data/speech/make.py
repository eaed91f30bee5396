#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes golden.json: what Transformers makes of timestamps, segments, repetitions, draws and attempts of a small vocabulary.

usage: make.py          (in the environment of scripts/goldens-setup)
"""
import json
import pathlib
import types
from unittest import mock

import numpy as np
import torch
from transformers import GenerationConfig, GenerationMixin
from transformers.generation.logits_process import (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, WhisperNoSpeechDetection,
                                                    WhisperTimeStampLogitsProcessor)
from transformers.generation.utils import GenerateEncoderDecoderOutput
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


TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def draws():
    """How likely each token is to be drawn, and what its log probability counts then; None: it is not drawn."""
    cases = []
    for temperature, top_k, top_p in ((0.2, 50, 1.0), (0.4, 50, 1.0), (1.0, 50, 1.0), (0.6, 6, 1.0), (0.8, 4, 1.0), (1.0, 50, 0.7)):
        scores = [float(f"{x:.2f}") for x in random.normal(0, 0.8, 12)]
        warped = torch.tensor([scores])
        for warper in (TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k), TopPLogitsWarper(top_p)):
            warped = warper(None, warped)
        logs = [float(WhisperGenerationMixin._retrieve_avg_logprobs([warped[0]], torch.tensor([t]), temperature)) for t in range(12)]
        cases.append(dict(temperature=temperature, topK=top_k, topP=top_p, scores=scores, logs=[x if np.isfinite(x) else None for x in logs],
                          shares=warped[0].double().softmax(-1).tolist()))
    return cases


class Silence(WhisperNoSpeechDetection):
    """What is known of silence, without a model."""

    def __init__(self, probability):
        self._no_speech_prob = [probability]

    def set_inputs(self, inputs):
        pass


class Scripted(WhisperGenerationMixin):
    """Attempts that are known, without a model."""

    config = types.SimpleNamespace(vocab_size=300)


def attempt(temperature):
    """Tokens, some with an end, and scores of them as temperature leaves them."""
    count = int(random.integers(1, 12))
    tokens = [int(random.integers(0, END))] * 60 if random.random() < 0.3 else random.integers(0, END, count).tolist()
    tokens += [END] * int(random.random() < 0.7)
    scores = torch.tensor(np.round(random.normal(0, 1, (len(tokens), VOCABULARY)), 2), dtype=torch.float32)
    likely = [0.0, 3.0, 6.0][random.integers(0, 3)]
    for row, token in zip(scores, tokens):
        row[token] += likely
    return tokens, tuple(row[None] / (temperature or 1) for row in scores)


def fallbacks():
    cases = []
    for number in range(40):
        attempts = [attempt(temperature) for temperature in TEMPERATURES]
        ratios = [WhisperGenerationMixin._retrieve_compression_ratio(torch.tensor(tokens), 300) for tokens in (attempts[0][0], attempts[0][0][:-1] or [0])]
        # Of every third, the first attempt repeats itself with its last token alone, or without it.
        thresholds = ((1.35, -1.0, 0.6), (2.4, -0.5, 0.3), (sum(ratios) / 2, -20.0, 0.6))[number % 3]
        config = GenerationConfig(eos_token_id=END, pad_token_id=END, compression_ratio_threshold=thresholds[0],
                                  logprob_threshold=thresholds[1], no_speech_threshold=thresholds[2], condition_on_prev_tokens=True)
        silence, tried = round(float(random.random()), 3), []

        def generate(self, *_, generation_config, **__):
            tried.append(generation_config.temperature if generation_config.do_sample else 0.0)
            tokens, scores = attempts[len(tried) - 1]
            return GenerateEncoderDecoderOutput(sequences=torch.tensor([[0, 0] + tokens]), scores=scores)

        with mock.patch.object(GenerationMixin, "generate", generate):
            said, _, skipped, informs, _ = Scripted().generate_with_fallback(
                segment_input=torch.zeros(1, 1), decoder_input_ids=torch.zeros(1, 2), cur_bsz=1, seek=None, batch_idx_map=[0], temperatures=TEMPERATURES,
                generation_config=config, logits_processor=[Silence(silence)], stopping_criteria=None, prefix_allowed_tokens_fn=None,
                synced_gpus=False, return_token_timestamps=False, do_condition_on_prev_tokens=[True], is_shortform=False, batch_size=1,
                attention_mask=None, kwargs={})
        shown = [dict(tokens=[t for t in tokens if t != END], ends=tokens[-1] == END,
                      log=float(WhisperGenerationMixin._retrieve_avg_logprobs([s[0] for s in scores], torch.tensor(tokens), temperature)))
                 for temperature, (tokens, scores) in zip(tried, attempts)]
        cases.append(dict(thresholds=thresholds, silence=silence, attempts=shown, tried=tried, said=said[0].tolist(), skipped=skipped[0],
                          informs=informs[0]))
    return cases


def main():
    parts = dict(rules=rules(), segments=segments(), ratios=ratios(), draws=draws(), fallbacks=fallbacks())
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, cases)) + "]" for name, cases in parts.items())
    (pathlib.Path(__file__).parent / "golden.json").write_text("{" + text + "}\n")


if __name__ == "__main__":
    main()
