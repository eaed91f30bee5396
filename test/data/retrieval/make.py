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
import torch
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
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
    for base, _, files in os.walk(folder):
        for file in files:
            os.chmod(os.path.join(base, file), 0o644)
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


def tokens():
    """A vector a token, as ColBERT has them: of documents without punctuation, of queries with added [MASK] tokens."""
    prompts = {"query": "the warp: ", "document": "a loom: "}

    def encoder(**expansion):
        first = module_of(hf.BertModel(hf.BertConfig(**BERT), add_pooling_layer=False), max_seq_length=24, **expansion)
        dense = Dense(24, 10, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
        folders.randomised(dense, 1)
        return MultiVectorEncoder(modules=[first, dense, MultiVectorMask(skiplist_words=[".", ",", "!"]),
                                           Normalize(module_input_name="token_embeddings")], prompts=prompts)

    def expanded(attend, length=16):
        return encoder(query_expansion={"strategy": "fixed", "attend": attend, "length": length})

    def rows(vectors):
        return numpy.concatenate([v.numpy() for v in vectors])

    plain = encoder()
    vectors = plain.encode(TEXTS)
    arrays = {"rows": rows(vectors), "documents": rows(plain.encode_document(TEXTS)),
              "starts": numpy.cumsum([0] + [len(v) for v in vectors]).astype(numpy.int32)}
    for name, model in (("plain", plain), ("hidden", expanded(False)), ("seen", expanded(True))):
        query = model.encode_query(TEXTS[1:2])
        arrays["query-" + name] = rows(query)
        arrays["scores-" + name] = model.similarity(query, model.encode_document(TEXTS))[0].numpy()
    write("tokens", expanded(False), arrays)
    pylate(os.path.join(HERE, "tokens"))


def pylate(folder):
    """The same model as PyLate writes it: golden/pylate has the files that differ."""
    config = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "model_type": "ColBERT",
              "query_prefix": "##a ", "document_prefix": "a ", "query_length": 12, "document_length": 20,
              "attend_to_expansion_tokens": False, "skiplist_words": [",", "!"]}
    modules = [("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense")]
    dense = {"in_features": 24, "out_features": 10, "bias": False, "use_residual": False,
             "activation_function": "torch.nn.modules.linear.Identity"}
    files = {"config_sentence_transformers.json": config, "sentence_bert_config.json": {"max_seq_length": 24, "do_lower_case": False},
             "1_Dense/config.json": dense, "modules.json": [
                 {"idx": i, "name": str(i), "path": path, "type": type} for i, (path, type) in enumerate(modules)]}
    written = shutil.copytree(folder, os.path.join(tempfile.mkdtemp(), "pylate"))
    for name, value in files.items():
        folders.write_json(written, name, value)
        folders.write_json(os.path.join(folder, "golden", "pylate"), name, value)
    model = MultiVectorEncoder(written)
    documents = model.encode_document(TEXTS)
    numpy.save(os.path.join(folder, "golden", "documents-pylate.npy"), numpy.concatenate(documents))
    scores = model.similarity(model.encode_query(TEXTS[1:2]), documents)[0].numpy()
    numpy.save(os.path.join(folder, "golden", "scores-pylate.npy"), scores)


if __name__ == "__main__":
    torch.manual_seed(1)  # weights of BERT that no result depends on
    sparse()
    tokens()
