#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes test/data/folders/clip-pair and siglip-pair, a tiny CLIP and a tiny SigLIP with random weights and a tokenizer, and what
Transformers computes with them.

usage: DIR/bin/python test/data/goldens/make_clip.py [NAME …]    DIR: an environment with Transformers 5

golden/labels.json has the probabilities of LABELS for each picture of test/data/images, as the pipeline for zero-shot
classification of images gives them, and golden/texts.npy the vectors of the labels' sentences. golden/inputs and
golden/encode are of the texts, golden/vision of the images.
"""
import json
import os
import shutil
import sys

import numpy
import PIL.Image
import PIL.ImageOps
import torch
import transformers as hf

from make_detectors import FOLDERS, IMAGES, PICTURES, random_weights

LABELS = ("cat", "remote control", "table")
# Texts of golden/ids.txt: marks, blanks, cases and special tokens.
TEXTS = ("A photo of 2 cats!", "  two  blanks ", "well-known (old) e-mail: [x]", "DÉJÀ VU", "!", "\u3042\u3044 \U0001f600", "x\u2581y", "a </s> b")


def alphabet():
    """The characters that stand for bytes, and their bytes' order in CLIP's vocabulary."""
    known = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) for b in known] + [chr(256 + i) for i in range(256 - len(known))]


def tokenizer():
    characters = alphabet()
    tokens = characters + [c + "</w>" for c in characters] + ["<|startoftext|>", "<|endoftext|>"]
    return hf.CLIPTokenizer(vocab={token: i for i, token in enumerate(tokens)}, merges=[], model_max_length=40)


def save(folder, name, array):
    path = os.path.join(folder, "golden", name + ".npy")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    numpy.save(path, array)


def clip(name):
    words = tokenizer()
    text = dict(vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                max_position_embeddings=40, pad_token_id=len(words) - 1, bos_token_id=len(words) - 2, eos_token_id=len(words) - 1)
    vision = dict(hidden_size=28, num_hidden_layers=2, num_attention_heads=2, intermediate_size=36, image_size=12, patch_size=4)
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=20))
    model = random_weights(model, seed=2)
    with torch.no_grad():
        model.logit_scale.fill_(1.5)
    steps = getattr(hf, "CLIPImageProcessorPil", hf.CLIPImageProcessor)(size={"shortest_edge": 14}, crop_size=12)
    write_pair(name, model, words, steps, True, lambda logits: logits.softmax(-1))


def siglip(name):
    """Texts are filled to their maximum length, which no attention masks; each label has a sigmoid."""
    words = hf.SiglipTokenizer(os.path.join(FOLDERS, "../tokenizers/folders/t5/spiece.model"), model_max_length=40)
    text = dict(vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                max_position_embeddings=40, projection_size=28)
    vision = dict(hidden_size=28, num_hidden_layers=2, num_attention_heads=2, intermediate_size=36, image_size=12, patch_size=4)
    model = random_weights(hf.SiglipModel(hf.SiglipConfig(text_config=text, vision_config=vision)), seed=2)
    with torch.no_grad():
        model.logit_scale.fill_(1.5)
        model.logit_bias.fill_(-1.25)
    steps = getattr(hf, "SiglipImageProcessorPil", hf.SiglipImageProcessor)(size={"height": 12, "width": 12})
    write_pair(name, model, words, steps, "max_length", lambda logits: logits.sigmoid())
    with open(os.path.join(FOLDERS, name, "golden", "ids.txt"), "w") as file:
        file.writelines(" ".join(map(str, words(text).input_ids)) + "\n" for text in TEXTS)


def write_pair(name, model, words, steps, padding, shares):
    folder = os.path.join(FOLDERS, name)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    steps.save_pretrained(folder)
    sentences = words([f"This is a photo of {label}." for label in LABELS], padding=padding, return_attention_mask=True, return_tensors="pt")
    given = {"input_ids": sentences["input_ids"]}
    given["attention_mask"] = sentences["attention_mask"] if padding is True else torch.ones_like(given["input_ids"])
    pixels = torch.tensor(numpy.random.default_rng(5).standard_normal((2, 3, 12, 12)).astype(numpy.float32))
    vectors = lambda made: (made if torch.is_tensor(made) else made.pooler_output).numpy()
    with torch.no_grad():
        texts, images = vectors(model.get_text_features(**given)), vectors(model.get_image_features(pixel_values=pixels))
    save(folder, "texts", texts)
    save(folder, "inputs/source", given["input_ids"].numpy().astype(numpy.int32))
    save(folder, "inputs/source.lengths", given["attention_mask"].sum(1).numpy().astype(numpy.int32))
    save(folder, "encode/output", texts)
    save(folder, "vision/inputs/source", pixels.numpy())
    save(folder, "vision/encode/output", images)
    found = {}
    for name in PICTURES:
        picture = PIL.ImageOps.exif_transpose(PIL.Image.open(os.path.join(IMAGES, name))).convert("RGB")
        with torch.no_grad():
            made = model(pixel_values=steps(picture, return_tensors="pt")["pixel_values"], **given)
        found[name] = dict(zip(LABELS, shares(made.logits_per_image)[0].tolist()))
    with open(os.path.join(folder, "golden", "labels.json"), "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


PAIRS = {"clip-pair": clip, "siglip-pair": siglip}

if __name__ == "__main__":
    for name in sys.argv[1:] or PAIRS:
        PAIRS[name](name)
