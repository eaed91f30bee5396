# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of encoder-decoders: translations and speech, shapes as data, the work of each. No package needed."""
from dataclasses import dataclass

from .formats import FORMATS
from .row import Row

PEERS = ("ctranslate2",)
DTYPES = ("f32", "int8")
SENTENCE, LENGTHS = 24, (8, 40)  # tokens of the one sentence, of the shortest and the longest of many
WRITTEN = 32  # tokens of a translation; no end is among them, so that everyone writes as many
SAID = 64  # tokens that are said of 30 seconds
FRAMES, HEARD = 3000, 1500  # of 10 ms, and the rows that the encoder makes of them
KINDS = ("texts", "sound", "speech")


@dataclass(frozen=True)
class Shape:
    name: str
    family: str  # the model_type of the folder
    layers: int  # of the encoder, and as many of the decoder
    size: int
    ffn: int
    heads: int
    words: int
    bands: int = 0  # of sound

    def square(self):
        return self.size * self.size

    def layer_elements(self, attentions):
        return 4 * attentions * self.square() + 2 * self.size * self.ffn

    def encoder_flops(self, rows):
        """Of `rows` tokens, or of as many rows behind the convolutions."""
        stem = 2.0 * 3 * self.size * (self.bands * FRAMES + self.size * rows) if self.bands else 0
        return stem + self.layers * (2.0 * rows * self.layer_elements(1) + 4.0 * rows * rows * self.size)

    def memory_flops(self, rows):
        return self.layers * 4.0 * rows * self.square()  # keys and values of the encoder's rows

    def token_elements(self):
        """Weights that a token reads: of the encoder's rows, keys and values are there already."""
        return self.layers * (self.layer_elements(2) - 2 * self.square()) + self.words * self.size

    def text_bytes(self, dtype, written):
        """Weights that one text reads: those of the encoder and of the memory once, those of a token each time."""
        once = self.layers * (self.layer_elements(1) + 2 * self.square())
        return (once + written * self.token_elements()) * FORMATS[dtype].bytes


SHAPES = {shape.name: shape for shape in (
    Shape("translate", "marian", 6, 512, 2048, 8, 32000),
    Shape("whisper-tiny", "whisper", 4, 384, 1536, 6, 51865, bands=80),
    Shape("whisper-small", "whisper", 12, 768, 3072, 12, 51865, bands=80),
)}


def row(shape, name, kind, dtype, flops, **sizes):
    bytes_ = sizes.pop("bytes", 0)
    return Row(f"{shape.name}.{name}.{dtype}", kind, dtype, {"shape": shape.name, **sizes}, flops, bytes_, gated=kind != "speech", peers=PEERS)


def written_flops(shape, rows, tokens):
    """Of `tokens` tokens behind one encoder's rows, attention to these included."""
    return tokens * (2.0 * shape.token_elements() + shape.layers * 4.0 * shape.size * (rows + tokens / 2))


def rows():
    for dtype in DTYPES:
        shape = SHAPES["translate"]
        one = shape.encoder_flops(SENTENCE) + shape.memory_flops(SENTENCE) + written_flops(shape, SENTENCE, WRITTEN)
        yield row(shape, "greedy", "texts", dtype, one, texts=1, beam=1, bytes=shape.text_bytes(dtype, WRITTEN))
        mean = sum(LENGTHS) / 2
        many = 32 * (shape.encoder_flops(mean) + shape.memory_flops(mean) + 4 * written_flops(shape, mean, WRITTEN))
        yield row(shape, "beam4x32", "texts", dtype, many, texts=32, beam=4)
        for name in ("whisper-tiny", "whisper-small"):
            shape = SHAPES[name]
            yield row(shape, "encode", "sound", dtype, shape.encoder_flops(HEARD))
            said = written_flops(shape, HEARD, SAID)
            yield row(shape, "speech", "speech", dtype, shape.encoder_flops(HEARD) + shape.memory_flops(HEARD) + said, beam=1)
