#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the audio of this folder and what Transformers' WhisperFeatureExtractor makes of it.

usage: make.py          (in the environment of scripts/goldens-setup)
"""
import pathlib
import wave

import numpy as np
from transformers import WhisperFeatureExtractor

here = pathlib.Path(__file__).parent
golden = here / "golden"
golden.mkdir(exist_ok=True)
rate = 16000


def voice(seconds):
    """Something like speech: a gliding pitch with overtones, noise, and a pause."""
    time = np.arange(int(seconds * rate)) / rate
    random = np.random.default_rng(22)
    pitch = 2 * np.pi * np.cumsum(140 + 60 * np.sin(5 * time)) / rate
    tones = sum(np.sin(k * pitch) / k ** (1 + np.sin(7 * time + k) / 2) for k in range(1, 25))
    sound = 0.15 * tones * (0.3 + np.abs(np.sin(9 * time))) + random.normal(0, 0.01, time.size)
    sound[(time > 0.4) & (time < 0.5)] *= 0.001
    return np.clip(np.round(sound * 32768), -32768, 32767).astype(np.int16)


def write(name, samples, channels=1):
    with wave.open(str(here / name), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())


def main():
    sound = voice(1.3)
    write("voice.wav", sound)
    samples = (sound / 32768).astype(np.float32)
    # Frames of the name's step only: 30 seconds are a megabyte.
    for name, step, count, settings in [
        ("80", 37, None, {}),
        ("128", 37, None, dict(feature_size=128)),
        ("short", 1, 3000, dict(chunk_length=1)),
        ("long", 3, None, dict(chunk_length=1)),
        ("quiet", 20, 0, dict(chunk_length=1)),
        ("other", 2, None, dict(chunk_length=2, n_fft=512, hop_length=201, feature_size=40, padding_value=0.25)),
        ("slow", 3, None, dict(chunk_length=1, sampling_rate=8000)),
    ]:
        extractor = WhisperFeatureExtractor(**settings)
        (golden / f"{name}.json").write_text(extractor.to_json_string())
        made = extractor(samples[:count] if count != 0 else np.zeros(100, np.float32), truncation=False,
                         sampling_rate=extractor.sampling_rate, return_tensors="np")["input_features"][0]
        np.save(golden / f"{name}-{step}.npy", np.ascontiguousarray(made[:, ::step], np.float32))


if __name__ == "__main__":
    main()
