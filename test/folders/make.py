#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny Hugging Face folders with random weights, and what Transformers computes with them.

usage: DIR/bin/python test/folders/make.py [NAME …]     DIR: see scripts/goldens-setup; without names, all folders

test/folders/NAME is the folder as save_pretrained writes it; golden/inputs and golden/encode beside it hold arrays by
name. Rows behind a text's length are no results and are written as 0.
"""
import os
import shutil
import sys

import numpy
import torch
import transformers as hf

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = (11, 7, 1)


def randomised(model, seed):
    """Weights that matter: the initialisation of a fresh model is too small to tell right from wrong."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        norm = "norm" in name.lower() and value.dim() == 1 and name.endswith("weight")
        with torch.no_grad():
            value.copy_(1 + 0.2 * noise if norm else noise * (0.3 if value.dim() == 1 else 0.25))
    return model.eval()


def text_inputs(vocabulary, padding, seed, types=0):
    random = numpy.random.default_rng(seed)
    ids = random.integers(5, vocabulary, (len(LENGTHS), max(LENGTHS))).astype(numpy.int32)
    mask = numpy.arange(max(LENGTHS))[None] < numpy.array(LENGTHS)[:, None]
    ids[~mask] = padding
    inputs = {"source": ids, "source.lengths": numpy.array(LENGTHS, numpy.int32)}
    if types:
        inputs["source.types"] = numpy.where(mask, random.integers(0, types, ids.shape), 0).astype(numpy.int32)
    return inputs


def text_case(model, padding=0, types=0, seed=1):
    """A model over ids: the last hidden state, or the logits of its head."""
    model = randomised(model, seed)
    inputs = text_inputs(model.config.vocab_size, padding, seed, types)
    mask = numpy.arange(max(LENGTHS))[None] < inputs["source.lengths"][:, None]
    given = {"input_ids": torch.tensor(inputs["source"].astype(numpy.int64)),
             "attention_mask": torch.tensor(mask.astype(numpy.int64))}
    if types:
        given["token_type_ids"] = torch.tensor(inputs["source.types"].astype(numpy.int64))
    with torch.no_grad():
        result = model(**given)
    if "start_logits" in result:
        name, values = "logits", torch.stack([result.start_logits, result.end_logits], -1)
    elif "logits" in result:
        name, values = "logits", result.logits
    else:
        name, values = "output", result.last_hidden_state
    values = values.numpy()
    if values.ndim == 3:
        values = values * mask[:, :, None]
    return model, inputs, {name: values}


def image_case(model, seed=1):
    model = randomised(model, seed)
    c = model.config
    pixels = numpy.random.default_rng(seed).standard_normal((2, c.num_channels, c.image_size, c.image_size))
    inputs = {"source": pixels.astype(numpy.float32)}
    with torch.no_grad():
        result = model(pixel_values=torch.tensor(inputs["source"]))
    name = "logits" if "logits" in result else "output"
    values = result.logits if "logits" in result else result.last_hidden_state
    return model, inputs, {name: values.numpy()}


BERT = dict(vocab_size=83, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52,
            max_position_embeddings=20)
ROBERTA = dict(BERT, max_position_embeddings=22, type_vocab_size=1, pad_token_id=1)
VIT = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52, image_size=12, patch_size=4)

DISTILBERT = dict(vocab_size=83, dim=36, n_layers=2, n_heads=3, hidden_dim=52, max_position_embeddings=20)
LABELS = dict(num_labels=5)
# Folders of heads have one layer.
SHALLOW, SHALLOW_ROBERTA = (dict(c, num_hidden_layers=1) for c in (BERT, ROBERTA))
SHALLOW_DISTILBERT = dict(DISTILBERT, n_layers=1)

CASES = {
    "bert": lambda: text_case(hf.BertModel(hf.BertConfig(**BERT), add_pooling_layer=False), types=2),
    "bert-classes": lambda: text_case(hf.BertForSequenceClassification(hf.BertConfig(**SHALLOW, **LABELS)), types=2),
    "bert-tokens": lambda: text_case(hf.BertForTokenClassification(hf.BertConfig(**SHALLOW, **LABELS))),
    "bert-answers": lambda: text_case(hf.BertForQuestionAnswering(hf.BertConfig(**SHALLOW))),
    "bert-masked": lambda: text_case(hf.BertForMaskedLM(hf.BertConfig(**SHALLOW)), types=2),
    "roberta-classes": lambda: text_case(hf.RobertaForSequenceClassification(hf.RobertaConfig(**SHALLOW_ROBERTA, **LABELS)),
                                         padding=1),
    "roberta-masked": lambda: text_case(hf.RobertaForMaskedLM(hf.RobertaConfig(**SHALLOW_ROBERTA)), padding=1),
    "distilbert": lambda: text_case(hf.DistilBertModel(hf.DistilBertConfig(**DISTILBERT))),
    "distilbert-classes": lambda: text_case(
        hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**SHALLOW_DISTILBERT, **LABELS))),
    "distilbert-masked": lambda: text_case(hf.DistilBertForMaskedLM(hf.DistilBertConfig(**SHALLOW_DISTILBERT))),
    "mpnet-classes": lambda: text_case(
        hf.MPNetForSequenceClassification(hf.MPNetConfig(**SHALLOW_ROBERTA, **LABELS)), padding=1),
    "roberta": lambda: text_case(hf.RobertaModel(hf.RobertaConfig(**ROBERTA), add_pooling_layer=False), padding=1),
    "mpnet": lambda: text_case(hf.MPNetModel(hf.MPNetConfig(**ROBERTA), add_pooling_layer=False),
                               padding=1),
    "vit": lambda: image_case(hf.ViTModel(hf.ViTConfig(**VIT), add_pooling_layer=False)),
    "dinov2": lambda: image_case(hf.Dinov2Model(hf.Dinov2Config(**dict(VIT, mlp_ratio=2)))),
}


def write(folder, arrays):
    os.makedirs(folder)
    for name, values in arrays.items():
        numpy.save(os.path.join(folder, name + ".npy"), numpy.ascontiguousarray(values))


def main():
    for name in sys.argv[1:] or CASES:
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        model, inputs, results = CASES[name]()
        model.save_pretrained(folder)
        write(os.path.join(folder, "golden", "inputs"), inputs)
        write(os.path.join(folder, "golden", "encode"), results)
        size = sum(os.path.getsize(os.path.join(base, file)) for base, _, files in os.walk(folder) for file in files)
        print(f"{name}: {size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
