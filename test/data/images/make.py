#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the images of this folder, what Pillow reads in them and makes of them, and what Transformers' image processors do.

usage: make.py          (in the environment of scripts/goldens-setup)
"""
import json
import pathlib

import numpy as np
from PIL import Image, ImageOps
from transformers import BitImageProcessor, CLIPImageProcessor, DeiTImageProcessor, ViTImageProcessor

here = pathlib.Path(__file__).parent
golden = here / "golden"
golden.mkdir(exist_ok=True)


def scene(width, height, seed):
    """Smooth colours, an edge and noise: [height, width, 3] of 8 bits."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 100 * np.sin(x / (3 + c) + seed) * np.cos(y / (5 - c)) for c in range(3)]
    pixels = np.stack(planes, -1) + random.normal(0, 8, (height, width, 3))
    pixels[y > x + height // 4] = 255 - pixels[y > x + height // 4]
    return np.clip(pixels, 0, 255).astype(np.uint8)


def write_images():
    picture = Image.fromarray(scene(45, 31, 1))
    grey = picture.convert("L")
    picture.save(here / "rgb.png")
    grey.save(here / "grey.png")
    grey.convert("1").save(here / "bits.png")
    picture.quantize(13).save(here / "palette.png")
    with_alpha = picture.copy()
    with_alpha.putalpha(Image.fromarray(scene(45, 31, 2)[..., 0]))
    with_alpha.save(here / "alpha.png")
    grey_alpha = grey.copy()
    grey_alpha.putalpha(Image.fromarray(scene(45, 31, 3)[..., 0]))
    grey_alpha.save(here / "grey-alpha.png")
    picture.save(here / "rgb.jpg", quality=90)
    picture.save(here / "progressive.jpg", quality=75, progressive=True, subsampling=2)
    grey.save(here / "grey.jpg", quality=85)
    picture.convert("CMYK").save(here / "inks.jpg", quality=90)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274] = orientation
        picture.crop((0, 0, 16, 9)).save(here / f"held-{orientation}.jpg", quality=90, exif=exif)
    for orientation in (6, 7):
        exif = Image.Exif()
        exif[274] = orientation
        picture.crop((0, 0, 16, 9)).save(here / f"held-{orientation}.png", exif=exif)
    # A chunk eXIf may also follow the pixels.
    held = (here / "held-7.png").read_bytes()
    begin = held.index(b"eXIf") - 4
    end = begin + 12 + int.from_bytes(held[begin:begin + 4], "big")
    last = held.index(b"IEND") - 4
    moved = held[:begin] + held[end:last] + held[begin:end] + held[last:] if end < last else held
    (here / "held-7.png").write_bytes(moved)
    Image.fromarray(scene(7, 90, 4)).save(here / "tall.png")
    Image.fromarray(scene(1, 1, 5)).save(here / "dot.png")


def save(name, values):
    np.save(golden / f"{name}.npy", np.asarray(values, np.float32))


def main():
    write_images()
    for path in sorted(here.glob("*.png")) + sorted(here.glob("*.jpg")):
        save(path.name, ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
    picture = Image.open(here / "rgb.png")
    for number in range(6):
        for width, height in [(20, 31), (45, 50), (13, 7), (60, 70), (1, 1)]:
            save(f"resized-{number}-{width}x{height}", picture.resize((width, height), number))
    colours = dict(image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.25, 0.3])
    processors = {
        "vit": ViTImageProcessor(size={"height": 24, "width": 20}, **colours),
        "plain": ViTImageProcessor(size=16, resample=3, do_normalize=False),
        "deit": DeiTImageProcessor(size={"height": 30, "width": 30}, crop_size={"height": 24, "width": 25}),
        "clip": CLIPImageProcessor(size={"shortest_edge": 21}, crop_size=18),
        "padded": CLIPImageProcessor(size={"shortest_edge": 10}, crop_size={"height": 17, "width": 16}, **colours),
        "bit": BitImageProcessor(size={"shortest_edge": 19}, crop_size={"height": 16, "width": 16}, resample=3),
    }
    for name, processor in processors.items():
        (golden / f"{name}.json").write_text(processor.to_json_string())
        for image in ("rgb.png", "tall.png", "dot.png"):
            pixels = np.asarray(Image.open(here / image).convert("RGB"))
            planes = processor(pixels, return_tensors="np", input_data_format="channels_last")["pixel_values"][0]
            save(f"{name}-{image}", planes)


if __name__ == "__main__":
    main()
