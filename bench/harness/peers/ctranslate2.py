# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translations and speech in CTranslate2, on models that are made from the folder's weights without its tokenizers."""
import tempfile
from pathlib import Path

import ctranslate2
import numpy
from ctranslate2.specs import TransformerSpec, WhisperSpec, common_spec

from .. import checkpoints, sequence_rows, sequences
from .serve import NotHere, serve

TYPES = {"f32": "float32", "int8": "int8_float32"}


class Weights:
    """A folder's tensors in f32, as CTranslate2's specification has them: projections that read the same rows are one."""

    def __init__(self, home):
        self.tensors = checkpoints.Tensors(home)

    def wide(self, name):
        return numpy.array(self.tensors.wide(name))

    def bias(self, name):
        rows = self.tensors.places[name + ".weight"][2][0]
        return self.wide(name + ".bias") if name + ".bias" in self.tensors.names() else numpy.zeros(rows, numpy.float32)

    def linear(self, spec, *names):
        spec.weight = numpy.concatenate([self.wide(name + ".weight") for name in names])
        spec.bias = numpy.concatenate([self.bias(name) for name in names])

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.wide(name + ".weight"), self.wide(name + ".bias")

    def attention(self, spec, place, own):
        groups = (("q", "k", "v"), ("out",)) if own else (("q",), ("k", "v"), ("out",))
        for linear, group in zip(spec.linear, groups):
            self.linear(linear, *(f"{place}.{name}_proj" for name in group))
        self.norm(spec.layer_norm, f"{place}_layer_norm")

    def layers(self, specs, side):
        for number, spec in enumerate(specs):
            place = f"model.{side}.layers.{number}"
            self.attention(spec.self_attention, f"{place}.self_attn", own=True)
            if side == "decoder":
                self.attention(spec.attention, f"{place}.encoder_attn", own=False)
            self.linear(spec.ffn.linear_0, f"{place}.fc1")
            self.linear(spec.ffn.linear_1, f"{place}.fc2")
            self.norm(spec.ffn.layer_norm, f"{place}.final_layer_norm")


def word(number):
    return f"w{number}"


def translation(shape, weights):
    spec = TransformerSpec.from_config((shape.layers, shape.layers), shape.heads, activation=common_spec.Activation.SWISH, pre_norm=False)
    table = weights.wide("model.shared.weight")
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    spec.decoder.projection.bias = weights.wide("final_logits_bias")[0]
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.position_encodings.encodings = sequence_rows.sinusoids(sequence_rows.POSITIONS, shape.size).astype(numpy.float32)
        weights.layers(side.layer, name)
    words = ["</s>", *map(word, range(1, shape.words - 1)), "<pad>"]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.eos_token, spec.config.decoder_start_token, spec.config.bos_token, spec.config.unk_token = "</s>", "<pad>", "<pad>", "</s>"
    return spec


def speech(shape, weights):
    spec = WhisperSpec(shape.layers, shape.heads, shape.layers, shape.heads)
    for name, conv in (("conv1", spec.encoder.conv1), ("conv2", spec.encoder.conv2)):
        conv.weight, conv.bias = weights.wide(f"model.encoder.{name}.weight"), weights.wide(f"model.encoder.{name}.bias")
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.position_encodings.encodings = weights.wide(f"model.{name}.embed_positions.weight")
        weights.layers(side.layer, name)
        weights.norm(side.layer_norm, f"model.{name}.layer_norm")
    table = weights.wide("model.decoder.embed_tokens.weight")
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    names = {sequence_rows.START: "<|startoftranscript|>", sequence_rows.END: "<|endoftext|>", sequence_rows.NO_TIMES: "<|notimestamps|>"}
    spec.register_vocabulary([names.get(number, word(number)) for number in range(shape.words)])
    spec.config.suppress_ids = spec.config.suppress_ids_begin = spec.config.lang_ids = []
    spec.config.alignment_heads = [(0, 0)]
    return spec


def saved(shape, home, dtype):
    folder = home / f"ctranslate2.{dtype}"
    if not (folder / "model.bin").exists():
        spec = (speech if shape.bands else translation)(shape, Weights(home))
        spec.validate()
        spec.optimize(quantization=TYPES[dtype])
        folder.mkdir(exist_ok=True)
        spec.save(str(folder))
    return str(folder)


class Peer:
    def __init__(self, threads):
        self.threads = threads

    def open(self, row, folder):
        if row["kind"] not in sequences.KINDS:
            raise NotHere(row["kind"])
        shape = sequences.SHAPES[row["sizes"]["shape"]]
        model = saved(shape, Path(row["model"]), row["dtype"])
        make = ctranslate2.models.Whisper if shape.bands else ctranslate2.Translator
        runner = make(model, device="cpu", compute_type=TYPES[row["dtype"]], intra_threads=self.threads, inter_threads=1)
        call = (self.sound if shape.bands else self.texts)(runner, row, folder)
        found = {}
        return lambda: found.update(result=call()), lambda: result_of(row, found["result"]), f"{runner.compute_type}"

    @staticmethod
    def texts(translator, row, folder):
        decode = row["decode"]
        texts = [[*map(word, ids[:-1]), "</s>"] for ids in decode["texts"]]
        return lambda: translator.translate_batch(texts, beam_size=decode["beam"], length_penalty=1, max_decoding_length=decode["tokens"],
                                                  min_decoding_length=decode["tokens"])

    @staticmethod
    def sound(whisper, row, folder):
        frames = ctranslate2.StorageView.from_array(numpy.load(folder / "frames.npy"))
        if row["kind"] == "sound":
            return lambda: whisper.encode(frames, to_cpu=True)
        decode = row["decode"]  # of max_length, half are new tokens
        return lambda: whisper.generate(frames, [decode["prompt"]], beam_size=decode["beam"], max_length=2 * decode["tokens"],
                                        suppress_blank=False, suppress_tokens=[sequence_rows.END])

    def empty(self):
        return lambda: None


def result_of(row, result):
    if row["kind"] == "sound":
        return numpy.array(result)
    if row["kind"] == "speech":
        return numpy.array([answer.sequences_ids[0] for answer in result])
    return numpy.array([[int(name[1:]) for name in answer.hypotheses[0]] for answer in result])


if __name__ == "__main__":
    serve(Peer)
