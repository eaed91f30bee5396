#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny folders for retrieval with random weights, and what Sentence-Transformers computes with them.

usage: DIR/bin/python test/data/retrieval/make.py     DIR: see scripts/goldens-setup DIR 5

test/data/retrieval/NAME is the folder as save_pretrained writes it; golden/texts.txt beside it has a text a line, and golden/*.npy
hold the vectors of these texts.
"""
import os
import shutil
import sys
import tempfile

import numpy
import transformers as hf
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "folders"))
import make as folders  # noqa: E402

TEXTS = ["The warp goes over one thread, and the weft under two.", "A weaver!", "blue and red knots of fine cloth", ""]
BERT = dict(vocab_size=80, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=28,
            max_position_embeddings=32)


def module_of(model, **settings):
    """A first module with these weights, and a tokenizer as BERT's."""
    folder = tempfile.mkdtemp()
    folders.randomised(model, 1).save_pretrained(folder)
    folders.word_pieces().save_pretrained(folder)
    return Transformer(folder, **settings)


def write(name, model, arrays):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, create_model_card=False)
    os.makedirs(os.path.join(folder, "golden"))
    with open(os.path.join(folder, "golden", "texts.txt"), "w") as file:
        file.writelines(text + "\n" for text in TEXTS)
    for array, values in arrays.items():
        numpy.save(os.path.join(folder, "golden", array + ".npy"), values)


def sparse():
    """Vectors of the vocabulary's size: for each pooling and function, and with all but seven numbers left out."""
    first = module_of(hf.BertForMaskedLM(hf.BertConfig(**BERT)), transformer_task="fill-mask", max_seq_length=18)
    prompts = {"query": "the warp: ", "document": ""}

    def encoder(*pooling, most=None):
        return SparseEncoder(modules=[first, SpladePooling(*pooling)], max_active_dims=most, prompts=prompts)

    def rows(model, **settings):
        return model.encode(TEXTS, convert_to_sparse_tensor=False, **settings).numpy()

    arrays = {f"{pooling}-{function}": rows(encoder(pooling, function))
              for pooling in ("max", "sum") for function in ("relu", "log1p_relu")}
    arrays["seven"] = rows(encoder("max", most=7))
    arrays["query"] = rows(encoder("max"), prompt_name="query")
    arrays["scores"] = encoder("max").similarity(arrays["query"][2:3], arrays["max-relu"])[0].numpy()
    write("sparse", encoder("max"), arrays)


if __name__ == "__main__":
    sparse()
