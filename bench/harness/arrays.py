# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers in and out: seeded inputs, checkpoints, and what f64 says of the steps that every row has."""
import json
import math
import struct

import numpy


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


def normal(random, *shape, scale=1.0):
    return (random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(scale)).astype(numpy.float32)


def difference(found, expected):
    return float(numpy.abs(found.astype(numpy.float64) - expected).max() / numpy.abs(expected).max())


def attend64(q, k, v, bias=0.0):
    """softmax(q k' / sqrt(size) + bias) v over the last two dimensions; a bias of -inf hides a pair."""
    scores = q @ numpy.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]) + bias
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v / weights.sum(-1, keepdims=True)


def gelu64(x):
    return 0.5 * x * (1 + numpy.vectorize(math.erf, otypes=[numpy.float64])(x / math.sqrt(2)))


def gelu_tanh64(x):
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def norm64(x, gamma, beta, epsilon=1e-12):
    centred = x - x.mean(-1, keepdims=True)
    return centred / numpy.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon) * gamma + beta
