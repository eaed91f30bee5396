# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the contenders of an encoder-decoder's row are given: a folder of seeded weights, texts or frames, and a check in f64.

A text is judged by its own probability: everyone's tokens are given to the decoder in f64, and their error is how much less
likely they are than those of greedy decoding in f64, as a share of its log probability. So rounding may choose another one of
two words that are as likely, a beam may be better than no beam, and nobody may be worse.
"""
import json
import math

import numpy

from . import checkpoints, sequences
from .arrays import attend64, difference, gelu64, norm64

POSITIONS = 512  # of translations
START, NO_TIMES, END = 50258, 50363, 50257  # of speech
EPSILON, NEVER = 1e-5, -1e4


#===----------------------------------------------------------------------===#
# Folders
#===----------------------------------------------------------------------===#


def attention_shapes(place, n, bias_of_keys):
    shapes = {}
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        shapes[f"{place}.{name}.weight"] = (n, n)
        if bias_of_keys or name != "k_proj":
            shapes[f"{place}.{name}.bias"] = (n,)
    return shapes | norm_shapes(f"{place}_layer_norm", n)


def norm_shapes(place, n):
    return {f"{place}.weight": (n,), f"{place}.bias": (n,)}


def side_shapes(shape, side):
    n, shapes = shape.size, {}
    for layer in range(shape.layers):
        place = f"model.{side}.layers.{layer}"
        for attention in ("self_attn", "encoder_attn")[:1 if side == "encoder" else 2]:
            shapes |= attention_shapes(f"{place}.{attention}", n, not shape.bands)
        shapes |= {f"{place}.fc1.weight": (shape.ffn, n), f"{place}.fc1.bias": (shape.ffn,), f"{place}.fc2.weight": (n, shape.ffn), f"{place}.fc2.bias": (n,)}
        shapes |= norm_shapes(f"{place}.final_layer_norm", n)
    if shape.bands:
        shapes |= norm_shapes(f"model.{side}.layer_norm", n)
    return shapes


def shapes_of(shape):
    n = shape.size
    if not shape.bands:
        return {"model.shared.weight": (shape.words, n), "final_logits_bias": (1, shape.words), **side_shapes(shape, "encoder"), **side_shapes(shape, "decoder")}
    stem = {"conv1.weight": (n, shape.bands, 3), "conv1.bias": (n,), "conv2.weight": (n, n, 3), "conv2.bias": (n,), "embed_positions.weight": (sequences.HEARD, n)}
    return {**{f"model.encoder.{name}": sizes for name, sizes in stem.items()}, "model.decoder.embed_tokens.weight": (shape.words, n),
            "model.decoder.embed_positions.weight": (448, n), **side_shapes(shape, "encoder"), **side_shapes(shape, "decoder")}


def values_of(name, sizes):
    """Weights that keep the size of rows, by the tensor's name."""
    values = numpy.random.default_rng(list(name.encode())).standard_normal(sizes, dtype=numpy.float32)
    if name.endswith("norm.weight"):
        return 1 + values * numpy.float32(0.02)
    if name.endswith("bias"):
        values *= numpy.float32(0.02)
        if name == "final_logits_bias":
            values[:, -1] = NEVER  # padding
        return values
    return values / numpy.float32(math.sqrt(math.prod(sizes[1:])))


def config(shape):
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder")
             for name, value in (("layers", shape.layers), ("attention_heads", shape.heads), ("ffn_dim", shape.ffn))}
    common = {"model_type": shape.family, "d_model": shape.size, "vocab_size": shape.words, "is_encoder_decoder": True, **sides}
    if shape.bands:
        return {**common, "architectures": ["WhisperForConditionalGeneration"], "num_mel_bins": shape.bands, "max_source_positions": sequences.HEARD,
                "max_target_positions": 448, "activation_function": "gelu", "decoder_start_token_id": START, "eos_token_id": END,
                "bos_token_id": END, "pad_token_id": END, "scale_embedding": False}
    return {**common, "architectures": ["MarianMTModel"], "max_position_embeddings": POSITIONS, "activation_function": "swish", "scale_embedding": True,
            "static_position_embeddings": True, "decoder_start_token_id": shape.words - 1, "pad_token_id": shape.words - 1, "eos_token_id": 0,
            "forced_eos_token_id": None,  # no end among the tokens that are written
            "bos_token_id": None, "decoder_vocab_size": shape.words, "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}


HEARING = {"feature_extractor_type": "WhisperFeatureExtractor", "sampling_rate": 16000, "hop_length": 160, "n_fft": 400, "chunk_length": 30,
           "nb_max_frames": sequences.FRAMES, "n_samples": 480000, "padding_value": 0.0}
SPEAKING = {"decoder_start_token_id": START, "no_timestamps_token_id": NO_TIMES, "eos_token_id": END, "is_multilingual": False}


def folder_of(shape, cache):
    folder = checkpoints.written(cache / f"sequence-{shape.name}", config(shape), shapes_of(shape),
                                 lambda name, sizes: checkpoints.rounded(values_of(name, sizes)))
    if shape.bands:
        (folder / "preprocessor_config.json").write_text(json.dumps({**HEARING, "feature_size": shape.bands}))
        (folder / "generation_config.json").write_text(json.dumps(SPEAKING))
    return folder


#===----------------------------------------------------------------------===#
# In f64
#===----------------------------------------------------------------------===#


class Model64:
    """Both sides of a shape in f64; translations have their norms behind each part, speech before it."""

    def __init__(self, shape, folder):
        self.shape, self.tensors, self.kept = shape, checkpoints.Tensors(folder), {}

    def wide(self, name):
        if name not in self.kept:
            self.kept[name] = self.tensors.wide(name, numpy.float64)
        return self.kept[name]

    def linear(self, x, name):
        y = x @ self.wide(name + ".weight").T
        return y + self.wide(name + ".bias") if name + ".bias" in self.tensors.names() else y

    def norm(self, x, name):
        return norm64(x, self.wide(name + ".weight"), self.wide(name + ".bias"), EPSILON)

    def part(self, x, norm, function):
        if self.shape.bands:
            return x + function(self.norm(x, norm))
        return self.norm(x + function(x), norm)

    def attention(self, x, memory, place, causal=False):
        def heads(rows, name):
            y = self.linear(rows, f"{place}.{name}_proj")
            return y.reshape(len(rows), self.shape.heads, -1).transpose(1, 0, 2)

        q, k, v = heads(x, "q"), heads(memory, "k"), heads(memory, "v")
        added = numpy.triu(numpy.full((len(x), len(memory)), -numpy.inf), 1) if causal else 0.0
        return self.linear(attend64(q, k, v, added).transpose(1, 0, 2).reshape(len(x), -1), f"{place}.out_proj")

    def ffn(self, x, place):
        h = self.linear(x, f"{place}.fc1")
        return self.linear(gelu64(h) if self.shape.bands else h / (1 + numpy.exp(-h)), f"{place}.fc2")

    def side(self, x, side, memory=None):
        for layer in range(self.shape.layers):
            place = f"model.{side}.layers.{layer}"
            own = f"{place}.self_attn"
            x = self.part(x, f"{own}_layer_norm", lambda rows: self.attention(rows, rows, own, memory is not None))
            if memory is not None:
                other = f"{place}.encoder_attn"
                x = self.part(x, f"{other}_layer_norm", lambda rows: self.attention(rows, memory, other))
            x = self.part(x, f"{place}.final_layer_norm", lambda rows: self.ffn(rows, place))
        return self.norm(x, f"model.{side}.layer_norm") if self.shape.bands else x

    def embedded(self, ids):
        if self.shape.bands:
            return self.wide("model.decoder.embed_tokens.weight")[ids] + self.wide("model.decoder.embed_positions.weight")[:len(ids)]
        return self.wide("model.shared.weight")[ids] * math.sqrt(self.shape.size) + sinusoids(len(ids), self.shape.size)

    def convolution(self, x, name, stride):
        """Of three neighbours; x is [frames, channels]."""
        padded = numpy.pad(x, ((1, 1), (0, 0)))
        columns = numpy.concatenate([padded[tap:tap + len(x):stride] for tap in range(3)], 1)
        weight = self.wide(f"model.encoder.{name}.weight").transpose(0, 2, 1)
        return gelu64(columns @ weight.reshape(len(weight), -1).T + self.wide(f"model.encoder.{name}.bias"))

    def encode(self, source):
        if self.shape.bands:
            x = self.convolution(self.convolution(source.T.astype(numpy.float64), "conv1", 1), "conv2", 2)
            return self.side(x + self.wide("model.encoder.embed_positions.weight"), "encoder")
        return self.side(self.embedded(source), "encoder")

    def scores(self, memory, ids, first=0):
        """Log probabilities behind each of `ids` from `first` on, [tokens, words], of all words that a text may hold here."""
        x = self.side(self.embedded(ids), "decoder", memory)[first:]
        logits = x @ self.wide("model.decoder.embed_tokens.weight" if self.shape.bands else "model.shared.weight").T
        if not self.shape.bands:
            logits = logits + self.wide("final_logits_bias")[0]
        logits[:, self.never()] = -numpy.inf
        most = logits.max(-1, keepdims=True)
        return logits - most - numpy.log(numpy.exp(logits - most).sum(-1, keepdims=True))

    def prompt(self):
        return [START, NO_TIMES] if self.shape.bands else [self.shape.words - 1]

    def never(self):
        """The end, which nobody writes here."""
        return END if self.shape.bands else 0

    def likelihood(self, memory, written):
        prompt = self.prompt()
        scores = self.scores(memory, [*prompt, *written[:-1]], len(prompt) - 1)
        return sum(float(scores[place, word]) for place, word in enumerate(written))

    def greedy(self, memory, tokens):
        ids, sum_ = self.prompt(), 0
        for _ in range(tokens):
            last = self.scores(memory, ids, -1)[0]
            ids.append(int(last.argmax()))
            sum_ += float(last.max())
        return sum_


def sinusoids(rows, size):
    """Sines in the first half of a row, cosines in the second."""
    angles = numpy.arange(rows)[:, None] / 10000 ** (numpy.arange(size // 2) / (size // 2))
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], -1)


#===----------------------------------------------------------------------===#
# Rows
#===----------------------------------------------------------------------===#


def sentences(shape, count):
    random = numpy.random.default_rng(30)
    lengths = [sequences.SENTENCE] if count == 1 else random.integers(sequences.LENGTHS[0], sequences.LENGTHS[1] + 1, count)
    return [[*random.integers(1, shape.words - 1, length - 1).tolist(), 0] for length in lengths]


def frames(shape):
    return numpy.random.default_rng(31).standard_normal((1, shape.bands, sequences.FRAMES), dtype=numpy.float32) * numpy.float32(0.5)


def kept(path, make):
    if not path.exists():
        numpy.save(path, make())
    return numpy.load(path)


def shortfall(model, memories, expected, found):
    """The error of texts, see above: the largest of those that are judged."""
    return max(max(0.0, (best - model.likelihood(memory, written)) / abs(best)) for memory, best, written in zip(memories, expected, found))


def make_texts(row, folder, cache):
    shape = sequences.SHAPES[row.sizes["shape"]]
    home = folder_of(shape, cache)
    texts, model = sentences(shape, row.sizes["texts"]), Model64(shape, home)
    asked = sorted({0, len(texts) - 1})  # of many the first and the last
    memories = [model.encode(texts[number]) for number in asked]
    best = kept(home / f"greedy.{len(texts)}.npy", lambda: numpy.array([model.greedy(memory, sequences.WRITTEN) for memory in memories]))
    decode = {"texts": texts, "beam": row.sizes["beam"], "tokens": sequences.WRITTEN}
    spec = {"model": str(home), "weights": "", "compile": True, "inputs": {}, "output": "tokens", "decode": decode}
    return spec, lambda found: shortfall(model, memories, best, found.astype(int).reshape(len(texts), sequences.WRITTEN)[asked].tolist())


def heard(row, folder, cache):
    shape = sequences.SHAPES[row.sizes["shape"]]
    home = folder_of(shape, cache)
    numpy.save(folder / "frames.npy", frames(shape))
    model = Model64(shape, home)
    memory = kept(home / "heard.npy", lambda: model.encode(frames(shape)[0]))
    return home, model, memory, {"model": str(home), "weights": "", "compile": True, "inputs": {"source": "frames.npy"}}


def make_sound(row, folder, cache):
    _, _, memory, spec = heard(row, folder, cache)
    return {**spec, "function": "encode", "output": "memory"}, lambda found: difference(found.reshape(memory.shape), memory)


def make_speech(row, folder, cache):
    home, model, memory, spec = heard(row, folder, cache)
    best = kept(home / "greedy.npy", lambda: numpy.array([model.greedy(memory, sequences.SAID)]))
    decode = {"heard": "source", "prompt": model.prompt(), "beam": 1, "tokens": sequences.SAID}
    return {**spec, "output": "tokens", "decode": decode}, lambda found: shortfall(model, [memory], best, found.astype(int).reshape(1, sequences.SAID).tolist())
