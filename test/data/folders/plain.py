# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encoders that Transformers 4.57 has no class for, in plain PyTorch, from what their authors publish.

A model is a table of tensors under the checkpoint's names and a function from ids to rows, for one text at a time:
there is no padding, and nothing to mask.
"""
import json
import os

import numpy
import safetensors.torch
import torch
from torch.nn import functional as F


class Plain:
    """What make.py writes: configuration and tensors, saved like a model of Transformers."""

    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors

    def save_pretrained(self, folder):
        os.makedirs(folder)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(self.config, file, indent=2)
        safetensors.torch.save_file(self.tensors, os.path.join(folder, "model.safetensors"))


class Tensors(dict):
    """Random tensors, made when they are first named."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    @staticmethod
    def scale_of(shape):
        return 0.25

    def of(self, name, *shape):
        if name not in self:
            noise = torch.randn(shape, generator=self.generator)
            norm = len(shape) == 1 and name.endswith("weight")
            self[name] = 1 + 0.2 * noise if norm else noise * (0.3 if len(shape) == 1 else self.scale_of(shape))
        return self[name]

    def linear(self, name, x, size, bias=True):
        return F.linear(x, self.of(name + ".weight", size, x.shape[-1]), self.of(name + ".bias", size) if bias else None)

    def norm(self, name, x, epsilon, rms=False):
        size = x.shape[-1:]
        if rms:
            return x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon) * self.of(name + ".weight", *size)
        return F.layer_norm(x, size, self.of(name + ".weight", *size), self.of(name + ".bias", *size), epsilon)


def turned(x, base, scale=1.0):
    """Rotary positions of [heads, rows, features]: feature j turns with feature j + half."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[1])[:, None] / scale * base ** (-torch.arange(half) / half)[None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def attended(q, k, v, heads, kept, base, scale=1.0):
    """Rows of queries [rows, heads * features] over those of keys and values, which have `kept` heads."""
    split = lambda x, n: x.view(len(x), n, -1).transpose(0, 1)
    q, k, v = turned(split(q, heads), base, scale), turned(split(k, kept), base, scale), split(v, kept)
    k, v = (x.repeat_interleave(heads // kept, 0) for x in (k, v))
    weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
    return (weights @ v).transpose(0, 1).reshape(len(q[0]), -1)


def nomic_rows(t, c, ids, types, p=""):
    x = t.of(p + "embeddings.word_embeddings.weight", c["vocab_size"], c["n_embd"])[ids]
    x = x + t.of(p + "embeddings.token_type_embeddings.weight", c["type_vocab_size"], c["n_embd"])[types]
    x = t.norm(p + "emb_ln", x, c["layer_norm_epsilon"])
    for layer in range(c["n_layer"]):
        n = f"{p}encoder.layers.{layer}."
        q, k, v = t.linear(n + "attn.Wqkv", x, 3 * c["n_embd"], c["qkv_proj_bias"]).chunk(3, -1)
        y = attended(q, k, v, c["n_head"], c["n_head"], c["rotary_emb_base"])
        x = t.norm(n + "norm1", x + t.linear(n + "attn.out_proj", y, c["n_embd"], c["qkv_proj_bias"]), c["layer_norm_epsilon"])
        y = t.linear(n + "mlp.fc11", x, c["n_inner"], False) * F.silu(t.linear(n + "mlp.fc12", x, c["n_inner"], False))
        x = t.norm(n + "norm2", x + t.linear(n + "mlp.fc2", y, c["n_embd"], False), c["layer_norm_epsilon"])
    return x


def nomic_masked(t, c, ids, types):
    x = nomic_rows(t, c, ids, types, "bert.")
    x = t.norm("cls.predictions.transform.layer_norm", F.silu(t.linear("cls.predictions.transform.dense", x, c["n_embd"], False)),
               c["layer_norm_epsilon"])
    return x @ t["bert.embeddings.word_embeddings.weight"].T


def nomic_classes(t, c, ids, types):
    x = torch.tanh(t.linear("bert.pooler.dense", nomic_rows(t, c, ids, types, "bert.")[0], c["n_embd"]))
    return t.linear("classifier", x, len(c["id2label"]))


def nomic_tokens(t, c, ids, types):
    return t.linear("classifier", nomic_rows(t, c, ids, types, "bert."), len(c["id2label"]))


def nomic_answers(t, c, ids, types):
    return t.linear("qa_outputs", nomic_rows(t, c, ids, types, "bert."), 2)


def new_rows(t, c, ids, types, p=""):
    size, scaling = c["hidden_size"], c["rope_scaling"]
    x = t.of(p + "embeddings.word_embeddings.weight", c["vocab_size"], size)[ids]
    if c["type_vocab_size"]:
        x = x + t.of(p + "embeddings.token_type_embeddings.weight", c["type_vocab_size"], size)[types]
    x = t.norm(p + "embeddings.LayerNorm", x, c["layer_norm_eps"])
    head = size // c["num_attention_heads"]
    # Su, "Transformer升级之路" 11: the base times the factor, all angles less by the factor to the power 2 / features.
    factor = scaling["factor"] if scaling else 1
    base, scale = c["rope_theta"] * factor, factor ** (2 / head)
    for layer in range(c["num_hidden_layers"]):
        n = f"{p}encoder.layer.{layer}."
        if c["pack_qkv"]:
            q, k, v = t.linear(n + "attention.qkv_proj", x, 3 * size).chunk(3, -1)
        else:
            q, k, v = (t.linear(n + f"attention.{name}_proj", x, size) for name in "qkv")
        y = attended(q, k, v, c["num_attention_heads"], c["num_attention_heads"], base, scale)
        x = t.norm(n + "attn_ln", x + t.linear(n + "attention.o_proj", y, size), c["layer_norm_eps"])
        up, gate = t.linear(n + "mlp.up_gate_proj", x, 2 * c["intermediate_size"], False).chunk(2, -1)
        x = t.norm(n + "mlp_ln", x + t.linear(n + "mlp.down_proj", F.gelu(gate) * up, size), c["layer_norm_eps"])
    return x


def new_tokens(t, c, ids, types):
    return t.linear("classifier", new_rows(t, c, ids, types, "new."), len(c["id2label"]))


def new_classes(t, c, ids, types):
    x = torch.tanh(t.linear("new.pooler.dense", new_rows(t, c, ids, types, "new.")[0], c["hidden_size"]))
    return t.linear("classifier", x, len(c["id2label"]))


def new_masked(t, c, ids, types):
    x = F.gelu(t.linear("lm_head.dense", new_rows(t, c, ids, types, "new."), c["hidden_size"]))
    x = t.norm("lm_head.norm", x, c["layer_norm_eps"])
    return F.linear(x, t["new.embeddings.word_embeddings.weight"], t.of("lm_head.decoder.bias", c["vocab_size"]))


def euro_rows(t, c, ids, types, p=""):
    size, heads, kept, epsilon = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
    x = t.of(p + "embed_tokens.weight", c["vocab_size"], size)[ids]
    for layer in range(c["num_hidden_layers"]):
        n = f"{p}layers.{layer}."
        y = t.norm(n + "input_layernorm", x, epsilon, rms=True)
        q, k, v = (t.linear(n + f"self_attn.{name}_proj", y, count * c["head_dim"], False)
                   for name, count in (("q", heads), ("k", kept), ("v", kept)))
        x = x + t.linear(n + "self_attn.o_proj", attended(q, k, v, heads, kept, c["rope_theta"]), size, False)
        y = t.norm(n + "post_attention_layernorm", x, epsilon, rms=True)
        y = F.silu(t.linear(n + "mlp.gate_proj", y, c["intermediate_size"], False)) * t.linear(
            n + "mlp.up_proj", y, c["intermediate_size"], False)
        x = x + t.linear(n + "mlp.down_proj", y, size, False)
    return t.norm(p + "norm", x, epsilon, rms=True)


def euro_classes(t, c, ids, types):
    """`late`: a hidden layer and the classes of each row, then their mean."""
    rows = F.gelu(t.linear("dense", euro_rows(t, c, ids, types, "model."), c["hidden_size"]))
    return t.linear("classifier", rows, len(c["id2label"])).mean(0)


def euro_tokens(t, c, ids, types):
    return t.linear("classifier", euro_rows(t, c, ids, types, "model."), len(c["id2label"]))


def euro_answers(t, c, ids, types):
    return t.linear("qa_outputs", euro_rows(t, c, ids, types, "model."), 2)


def euro_masked(t, c, ids, types):
    return t.linear("lm_head", euro_rows(t, c, ids, types, "model."), c["vocab_size"], False)


LABELS = {str(n): f"LABEL_{n}" for n in range(5)}
NOMIC = dict(model_type="nomic_bert", vocab_size=60, pad_vocab_size_multiple=4, n_embd=24, n_layer=2, n_head=3, n_inner=40,
             n_positions=64, type_vocab_size=2, activation_function="swiglu", layer_norm_epsilon=1e-12, rotary_emb_base=1000,
             rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_scaling_factor=None,
             qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False, prenorm=False, parallel_block=False,
             use_rms_norm=False, causal=False, scale_attn_weights=True, pad_token_id=0)
NEW = dict(model_type="new", vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
           hidden_act="gelu", type_vocab_size=0, max_position_embeddings=64, layer_norm_eps=1e-12, layer_norm_type="layer_norm",
           position_embedding_type="rope", rope_theta=500.0, rope_scaling=dict(type="ntk", factor=2.0), pack_qkv=True,
           logn_attention_scale=False, logn_attention_clip1=False, pad_token_id=0)
EURO = dict(model_type="eurobert", vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=6, intermediate_size=40, hidden_act="silu", rms_norm_eps=1e-5,
            max_position_embeddings=64, rope_theta=250.0, rope_scaling=None, attention_bias=False, mlp_bias=False,
            tie_word_embeddings=False, pad_token_id=3, clf_pooling="late")

SHALLOW = dict(num_hidden_layers=1)
CASES = {  # configuration, class, function
    "nomic": (NOMIC, "NomicBertModel", nomic_rows),
    "nomic-classes": (dict(NOMIC, n_layer=1, id2label=LABELS, qkv_proj_bias=True), "NomicBertForSequenceClassification", nomic_classes),
    "nomic-tokens": (dict(NOMIC, n_layer=1, id2label=LABELS), "NomicBertForTokenClassification", nomic_tokens),
    "nomic-answers": (dict(NOMIC, n_layer=1), "NomicBertForQuestionAnswering", nomic_answers),
    "nomic-masked": (dict(NOMIC, n_layer=1), "NomicBertForMaskedLM", nomic_masked),
    "new": (NEW, "NewModel", new_rows),
    "new-tokens": (dict(NEW, **SHALLOW, type_vocab_size=1, id2label=LABELS), "NewForTokenClassification", new_tokens),
    "new-classes": (dict(NEW, **SHALLOW, type_vocab_size=2, rope_scaling=None, id2label=LABELS),
                    "NewForSequenceClassification", new_classes),
    "new-masked": (dict(NEW, **SHALLOW, pack_qkv=False), "NewForMaskedLM", new_masked),
    "eurobert": (EURO, "EuroBertModel", euro_rows),
    "eurobert-classes": (dict(EURO, **SHALLOW, id2label=LABELS), "EuroBertForSequenceClassification", euro_classes),
    "eurobert-tokens": (dict(EURO, **SHALLOW, id2label=LABELS), "EuroBertForTokenClassification", euro_tokens),
    "eurobert-answers": (dict(EURO, **SHALLOW), "EuroBertForQuestionAnswering", euro_answers),
    "eurobert-masked": (dict(EURO, **SHALLOW), "EuroBertForMaskedLM", euro_masked),
}


def plain_case(name, inputs, seed=1):
    """The model of a case, and its result for `inputs` (make.py)."""
    config, kind, function = CASES[name]
    tensors, lengths = Tensors(seed), inputs["source.lengths"]
    results = []
    with torch.no_grad():
        for row, length in enumerate(lengths):
            ids = torch.tensor(inputs["source"][row, :length].astype(numpy.int64))
            types = inputs.get("source.types", numpy.zeros_like(inputs["source"]))[row, :length]
            results.append(function(tensors, config, ids, torch.tensor(types.astype(numpy.int64))))
    if results[0].dim() == 2:  # rows behind a text's length are no results
        results = [F.pad(rows, (0, 0, 0, max(lengths) - len(rows))) for rows in results]
    config = dict(config, architectures=[kind])
    return Plain(config, dict(tensors)), torch.stack(results).numpy()
