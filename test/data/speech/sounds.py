#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the sounds that the transcriptions of answers.json are of, as WAV files of 16 kHz: the same numbers wherever it runs.

usage: sounds.py FOLDER
"""
import math
import os
import random
import struct
import sys
import wave

RATE = 16000


def tone(seconds, *hertz, loudness=0.3):
    return [loudness * sum(math.sin(2 * math.pi * f * i / RATE) for f in hertz) / len(hertz) for i in range(int(seconds * RATE))]


def noise(seconds, seed, loudness=0.2):
    numbers = random.Random(seed)
    return [loudness * (2 * numbers.random() - 1) for _ in range(int(seconds * RATE))]


def chirp(seconds, low, high):
    return [0.4 * math.sin(2 * math.pi * (low + (high - low) * i / RATE / seconds / 2) * i / RATE) for i in range(int(seconds * RATE))]


# Windows of the model are one second: the last two sounds have several.
SOUNDS = {
    "sines": lambda: tone(0.6, 440, 660, 1320),
    "noise": lambda: noise(1, 3),
    "silence": lambda: [0.0] * int(0.8 * RATE),
    "beep": lambda: tone(0.2, 1000) + [0.0] * int(0.5 * RATE) + tone(0.1, 3000),
    "chirp": lambda: chirp(2.5, 100, 5000),
    "mixed": lambda: tone(0.7, 300) + noise(0.9, 5) + chirp(0.8, 4000, 200) + [0.0] * int(0.4 * RATE) + tone(0.4, 2500, 50),
}


def write(path, samples, channels=1, rate=RATE):
    with wave.open(path, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(struct.pack("<h", round(32767 * s)) * channels for s in samples))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, sound in SOUNDS.items():
        write(os.path.join(folder, name + ".wav"), sound())
    write(os.path.join(folder, "eight.wav"), tone(0.1, 440), channels=8)
    write(os.path.join(folder, "fast.wav"), tone(0.1, 440), rate=192000)
    write(os.path.join(folder, "empty.wav"), [])
    # Samples of f32, one of which is none.
    samples = struct.pack("<4f", 0, 0.5, math.nan, 0)
    form = struct.pack("<HHIIHH", 3, 1, RATE, 4 * RATE, 4, 32)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    with open(os.path.join(folder, "nan.wav"), "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", len(chunks)) + chunks)


if __name__ == "__main__":
    main()
