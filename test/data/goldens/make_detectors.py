#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny folders of detectors with random weights, and what Transformers computes with them.

usage: DIR/bin/python test/data/goldens/make_detectors.py [NAME …]     DIR: an environment with Transformers; without names, all

test/data/folders/NAME is the folder as save_pretrained writes it. golden/inputs/source.npy has pixels of two images, and
golden/encode/logits.npy and boxes.npy their results. golden/objects.json has what the processor and the model find in
each picture of test/data/images: labels, scores and boxes in its pixels, in the order of the queries.
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

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = os.path.join(os.path.dirname(HERE), "folders")
IMAGES = os.path.join(os.path.dirname(HERE), "images")
PICTURES = ("rgb.png", "rgb.jpg", "alpha.png", "held-3.jpg", "grey.jpg")
LABELS = {0: "cat", 1: "remote control", 2: "table"}


def random_weights(model, seed):
    """Weights that matter: those of a fresh model are too small to tell right from wrong. Statistics of norms are positive."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {name: value for name, value in (*model.named_parameters(), *model.named_buffers()) if value.is_floating_point()}
    for name, value in tensors.items():
        noise = torch.randn(value.shape, generator=generator)
        norm = "norm" in name.lower() or ".bn" in name or "downsample.1" in name
        with torch.no_grad():
            if name.endswith("running_var"):
                value.copy_(1 + 0.5 * noise.abs())
            elif norm and name.endswith("weight"):
                value.copy_(1 + 0.2 * noise)
            elif value.dim() < 2:
                value.copy_(0.3 * noise)
            elif "query_position" in name or "token" in name or "position" in name:
                value.copy_(noise)
            else:
                # Queries that a decoder tells apart.
                value.copy_((2 if "decoder" in name or "classifier" in name else 1.5) * noise / value[0].numel() ** 0.5)
    return model.eval()


def yolos():
    config = hf.YolosConfig(hidden_size=36, num_hidden_layers=3, num_attention_heads=3, intermediate_size=52, image_size=[20, 28],
                            patch_size=4, num_detection_tokens=7, use_mid_position_embeddings=True, id2label=LABELS,
                            label2id={name: i for i, name in LABELS.items()})
    return hf.YolosForObjectDetection(config), {"size": {"shortest_edge": 32, "longest_edge": 60}}, "YolosImageProcessor"


def resnet(kind, depths, sizes):
    return hf.ResNetConfig(embedding_size=12, hidden_sizes=sizes, depths=depths, layer_type=kind, out_features=[f"stage{len(depths)}"])


def detr_config(maker, stem):
    return maker(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=stem, d_model=36, num_queries=7,
                 encoder_layers=2, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=52,
                 decoder_ffn_dim=44, id2label=LABELS, label2id={name: i for i, name in LABELS.items()})


def detr():
    config = detr_config(hf.DetrConfig, resnet("bottleneck", [1, 2], [32, 48]))
    return hf.DetrForObjectDetection(config), {"size": {"shortest_edge": 40, "longest_edge": 66}}, "DetrImageProcessor"


def table_transformer():
    config = detr_config(hf.TableTransformerConfig, resnet("basic", [2, 1, 1], [12, 16, 20]))
    return hf.TableTransformerForObjectDetection(config), {"size": {"shortest_edge": 40, "longest_edge": 66}}, "DetrImageProcessor"




CASES = {"yolos": yolos, "detr": detr, "table-transformer": table_transformer}


def processor_of(name, size):
    """The processor that resizes with Pillow."""
    maker = getattr(hf, name + "Pil", None) or getattr(hf, name)
    return maker(**size)


def objects(model, processor, path):
    picture = PIL.ImageOps.exif_transpose(PIL.Image.open(path)).convert("RGB")
    inputs = processor(images=picture, return_tensors="pt")
    given = {"pixel_values": inputs["pixel_values"]}
    if "pixel_mask" in inputs and not isinstance(model, hf.YolosForObjectDetection):
        given["pixel_mask"] = inputs["pixel_mask"]
    with torch.no_grad():
        made = model(**given)
    found = processor.post_process_object_detection(made, threshold=0.0, target_sizes=[(picture.height, picture.width)])[0]
    return {"size": list(given["pixel_values"].shape[2:]),
            "objects": [{"label": model.config.id2label[int(label)], "score": float(score), "box": [float(x) for x in box]}
                        for label, score, box in zip(found["labels"], found["scores"], found["boxes"])]}


def write(name):
    model, size, processor_name = CASES[name]()
    model = random_weights(model, seed=len(name))
    folder = os.path.join(FOLDERS, name)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    processor = processor_of(processor_name, size)
    steps = {"do_convert_annotations": True, "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True,
             "format": "coco_detection", "image_mean": [0.485, 0.456, 0.406], "image_processor_type": processor_name,
             "image_std": [0.229, 0.224, 0.225], "resample": 2, "rescale_factor": 1 / 255, **size}
    with open(os.path.join(folder, "preprocessor_config.json"), "w") as file:
        json.dump(steps, file, indent=2)
        file.write("\n")
    pixels = numpy.random.default_rng(3).standard_normal((2, 3, 44, 60)).astype(numpy.float32)
    with torch.no_grad():
        made = model(pixel_values=torch.tensor(pixels))
    for place, array in (("inputs/source", pixels), ("encode/logits", made.logits.numpy()), ("encode/boxes", made.pred_boxes.numpy())):
        path = os.path.join(folder, "golden", place + ".npy")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        numpy.save(path, array)
    found = {picture: objects(model, processor, os.path.join(IMAGES, picture)) for picture in PICTURES}
    with open(os.path.join(folder, "golden", "objects.json"), "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        write(name)
