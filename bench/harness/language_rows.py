# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the contenders of a language model's row are given: a folder of weights, texts, and logits in f64.

The text of a sequence is the same in all rows of a shape: one pass over its longest part in f64 answers them all."""
import numpy

from . import language
from .arrays import difference
from .checkpoints import BASE, EPSILON, Tensors, folder_of

PLACES = sorted({*language.PAST, language.PROMPT - 1})  # tokens whose logits somebody asks for
LENGTH = PLACES[-1] + 1


def text(shape, number):
    return numpy.random.default_rng([20, number]).integers(3, shape.words, LENGTH).astype(numpy.int32)


def unit64(x, weight):
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def rotated64(x):
    """Halves of each head turned by the place of their row; x is [heads, rows, size]."""
    rows, size = x.shape[1:]
    angles = numpy.arange(rows)[:, None] * BASE ** (-numpy.arange(0, size, 2) / size)
    cos, sin = numpy.cos(angles), numpy.sin(angles)
    low, high = x[..., :size // 2], x[..., size // 2:]
    return numpy.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def attention64(shape, tensors, place, n):
    rows = len(n)

    def heads(name, count):
        x = (n @ tensors.wide(f"{place}self_attn.{name}_proj.weight", numpy.float64).T).reshape(rows, count, shape.head)
        if shape.norms and name != "v":
            x = unit64(x, tensors.wide(f"{place}self_attn.{name}_norm.weight", numpy.float64))
        return x.transpose(1, 0, 2)

    q, k, v = rotated64(heads("q", shape.heads)), rotated64(heads("k", shape.kv)), heads("v", shape.kv)
    hidden = numpy.triu(numpy.full((rows, rows), -numpy.inf), 1)
    mixed = numpy.empty((rows, shape.heads, shape.head))
    for head in range(shape.heads):
        shared = head * shape.kv // shape.heads
        scores = q[head] @ k[shared].T / numpy.sqrt(shape.head) + hidden
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed[:, head] = weights @ v[shared] / weights.sum(-1, keepdims=True)
    return mixed.reshape(rows, -1) @ tensors.wide(place + "self_attn.o_proj.weight", numpy.float64).T


def logits64(shape, tensors, ids, places):
    """Of a causal decoder, [places, words], a layer's weights at a time."""
    def wide(name):
        return tensors.wide(name + ".weight", numpy.float64)

    x = tensors.bits("model.embed_tokens.weight")[ids]
    x = (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    for layer in range(shape.layers):
        place = f"model.layers.{layer}."
        x = x + attention64(shape, tensors, place, unit64(x, wide(place + "input_layernorm")))
        n = unit64(x, wide(place + "post_attention_layernorm"))
        gate = n @ wide(place + "mlp.gate_proj").T
        x = x + (gate / (1 + numpy.exp(-gate)) * (n @ wide(place + "mlp.up_proj").T)) @ wide(place + "mlp.down_proj").T
    x = unit64(x[places], wide("model.norm"))
    return x @ wide("model.embed_tokens" if shape.tied else "lm_head").T


def answers(shape, home, number):
    """Logits of text `number` at PLACES; the pass takes a minute and is kept."""
    path = home / f"answers.{number}.npy"
    if not path.exists():
        numpy.save(path, logits64(shape, Tensors(home), text(shape, number), PLACES))
    return dict(zip(PLACES, numpy.load(path)))


def make_language(row, folder, cache):
    shape = language.SHAPES[row.sizes["shape"]]
    b, p = row.sizes["b"], row.sizes["p"]
    home = folder_of(shape, cache)
    texts = numpy.stack([text(shape, number) for number in range(b)])
    arrays = {"prompt": texts[:, :p], "lengths": numpy.full(b, p, numpy.int32), "next": texts[:, p:p + 1]}
    for name, values in arrays.items():
        numpy.save(folder / f"{name}.npy", numpy.ascontiguousarray(values))
    asked = sorted({0, b - 1})  # of a batch the first and the last
    at = p if row.kind == "step" else p - 1
    expected = numpy.stack([answers(shape, home, number)[at] for number in asked])
    spec = {"model": str(home), "weights": "", "compile": True, "output": "logits", "every": language.STEPS,
            "inputs": {"decode_prompt:target": "prompt.npy", "decode_prompt:target.lengths": "lengths.npy", "decode_step:target": "next.npy"}}
    if row.kind == "step":
        spec |= {"function": "decode_step", "fill": ["decode_start", "decode_prompt"], "keep": [p] * b}
    else:
        spec |= {"function": "decode_prompt", "before": ["decode_start"], "every": 1}
    return spec, lambda found: difference(found.reshape(b, -1)[asked], expected)
