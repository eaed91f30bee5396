# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A description (docs/model-description.md) as a PyTorch model of plain functions, in f64 or f32.

make.py computes results with it, make_gradients.py differentiates it. Tensors have the names of the description. A key that the twin does
not know is an error, never ignored.
"""
import json
import math
import os
import re

import numpy as np
import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "relu": F.relu, "gelu": F.gelu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"), "quick-gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu2": lambda x: F.relu(x).square(),
}
SIDES = {"encoder": "source", "decoder": "target"}
# Keys that the twin knows. A key of another object is read where it is used.
KEYS = {
    "attention": {"heads", "key-value-heads", "head-size", "value-size", "score-scale", "bias", "norm", "activation", "output-projection",
                  "per-head-projection", "hidden-score", "softcap", "return-weights"},
    "ffn": {"size", "gated", "activation", "bias", "norm", "as"},
    "norm": {"kind", "epsilon", "place", "after-stack", "root"},
    "embedding": {"scale", "norm", "padding-row", "shared"},
    "position": {"kind", "scale", "length", "base", "fraction"},
    "model": {"heddle", "kind", "size", "weights", "layout", "source", "target", "embedding", "position", "attention", "ffn", "norm", "encoder",
              "decoder", "classifier", "training"},
    "layer": {"mask", "cross-mask", "cross", "attention", "ffn", "norm", "position"},
    "stack": {"layers", "mask", "cross-mask", "cross", "pool", "attention", "ffn", "norm", "embedding", "position"},
    "classifier": {"hidden", "bias", "tied", "size", "labels", "softmax", "softcap", "loss", "scale"},
}
TERM = re.compile(r"(!?)\s*(\w+)\s*(?:\(([^()]*)\))?")


def uniform(seed, name, shape, fan_in):
    """The documented generator: ten lines, the same in lib/Pack."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    z = np.arange(math.prod(shape), dtype=np.uint64) ^ np.uint64(state ^ seed)
    with np.errstate(over="ignore"):
        z += np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    u = ((z ^ z >> np.uint64(31)) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0
    return (u.astype(np.float32) * np.float32(math.sqrt(3.0 / fan_in))).reshape(shape)


def seeded(seed, name, shape, fan_in):
    if ".norm." in name:
        return np.full(shape, 1.0 if name.endswith("weight") else 0.0, np.float32)
    return uniform(seed, name, shape, fan_in)


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for _, value in sorted(tensors.items())))


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name}: expected F32, found {entry['dtype']}")
        first, last = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin + first:begin + last], np.float32).reshape(entry["shape"])
    return tensors


def merged(outer, inner):
    """`inner` overrides `outer` key by key; None removes the object."""
    if inner is None or outer is None:
        return inner
    both = {key: merged(outer[key], value) if isinstance(value, dict) and isinstance(outer.get(key), dict) else value
            for key, value in inner.items()}
    return {**outer, **both}


def checked(place, found, known):
    if unknown := set(found) - KEYS[known]:
        raise ValueError(f"{place}: expected only keys that the twin knows, found {', '.join(sorted(unknown))}")
    return found


class Model:
    """A description with its weights, and the functions that it means."""

    def __init__(self, path, dtype=torch.float64, creates=False):
        """`creates`: tensors of a weight file are drawn and kept in `stored`, instead of read."""
        with open(path, encoding="utf-8") as file:
            self.json = checked("the description", json.load(file), "model")
        self.dtype, self.creates, self.size = dtype, creates, self.json["size"]
        self.file = self.json["weights"] if isinstance(self.json["weights"], str) else None
        self.stored = read_safetensors(os.path.join(os.path.dirname(path), self.file)) if self.file and not creates else {}
        self.leaves = {}  # tensors that were used, by name
        self.weights = {}  # attention weights, by result name
        self.dropout = None  # a function of a place and its values; None: the identity

    #===--- Settings and weights -------------------------------------------===#

    def of(self, stack, key, layer=None):
        """A shared object as it is for a stack, or for one of its layers; None where it is null."""
        places = [self.json, self.json[stack]]
        layers = self.json[stack]["layers"]
        if layer is not None and isinstance(layers, list):
            places.append(layers[layer])
        found = {}
        for place in places:
            found = merged(found, place[key]) if key in place else found
        return found if found is None else checked(f"{stack}.{key}", found, key)

    def layers(self, stack):
        """The overrides of each layer."""
        layers = checked(stack, self.json[stack], "stack")["layers"]
        return [checked(f"{stack}.layers", layer, "layer") for layer in layers] if isinstance(layers, list) else [{}] * layers

    def cross(self, layer):
        shared = self.of("decoder", "attention", layer)
        for place in (self.json["decoder"], self.layers("decoder")[layer]):
            shared = merged(shared, place["cross"]) if "cross" in place else shared
        return checked("decoder.cross", shared, "attention")

    def values(self, name, shape, fan_in):
        if not self.file:
            return seeded(self.json["weights"]["seed"], name, shape, fan_in)
        if name not in self.stored:
            if not self.creates:
                raise ValueError(f"{self.file}: expected tensor {name}, found none")
            drawn = uniform(5, name, shape, 12 if ".norm." in name else fan_in)
            self.stored[name] = drawn + np.float32(name.endswith("norm.weight"))
        if self.stored[name].shape != shape:
            raise ValueError(f"{self.file}: {name}: expected {shape}, found {self.stored[name].shape}")
        return self.stored[name]

    def weight(self, name, *shape, fan_in=None):
        if name not in self.leaves:
            values = torch.from_numpy(self.values(name, shape, fan_in or shape[-1]).copy())
            self.leaves[name] = values.to(self.dtype).requires_grad_(torch.is_grad_enabled())
        return self.leaves[name]

    def drop(self, place, x):
        return x if self.dropout is None else self.dropout(place, x)

    #===--- Layers ---------------------------------------------------------===#

    def linear(self, name, x, rows, bias, convolution=False):
        columns = x.shape[-1]
        b = self.weight(name + ".bias", rows, fan_in=1 if convolution else columns) if bias else None
        if convolution:
            return F.conv1d(x.transpose(1, 2), self.weight(name + ".weight", rows, columns, 1), b).transpose(1, 2)
        return F.linear(x, self.weight(name + ".weight", rows, columns), b)

    def normal(self, name, x, norm):
        weight, epsilon = self.weight(f"{name}.weight", x.shape[-1]), norm.get("epsilon", 1e-5)
        if norm.get("kind") == "rms":
            return F.rms_norm(x, x.shape[-1:], weight, epsilon)
        bias = self.weight(f"{name}.bias", x.shape[-1])
        if norm.get("root", True):
            return F.layer_norm(x, x.shape[-1:], weight, bias, epsilon)
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + epsilon) * weight + bias

    def project(self, prefix, part, x, a, width):
        """[B, heads, rows, width]; shared keys and values are repeated."""
        heads = a["heads"]
        count = heads if part == "query" else a.get("key-value-heads", heads)
        y = self.linear(f"{prefix}.{part}", x, count * width, a.get("bias", {}).get(part, False))
        y = ACTIVATIONS[a["activation"]](y) if a.get("activation") else y
        if a.get("per-head-projection"):
            y = torch.einsum("btr,hdr->bhtd", y, self.weight(f"{prefix}.{part}.head.weight", count, width, count * width))
        else:
            y = y.view(*y.shape[:2], count, width).transpose(1, 2)
        return y.repeat_interleave(heads // count, 1)

    def rotated(self, x, position):
        """Rotary positions of [B, heads, rows, width]: feature j turns with feature j + half."""
        features = int(x.shape[-1] * position.get("fraction", 1.0))
        half = features // 2
        angle = torch.arange(x.shape[2], dtype=torch.float64)[:, None] / position.get("base", 10000.0) ** (torch.arange(half) * 2 / features)
        cos, sin = angle.cos().to(self.dtype), angle.sin().to(self.dtype)
        low, high = x[..., :half], x[..., half:features]
        return torch.cat([low * cos - high * sin, high * cos + low * sin, x[..., features:]], -1)

    def attention(self, prefix, x, memory, allowed, a, position, result):
        head = a.get("head-size", self.size // a["heads"])
        value = a.get("value-size", head)
        q, k = self.project(prefix, "query", x, a, head), self.project(prefix, "key", memory, a, head)
        if position is not None and position.get("kind") == "rotary":
            q, k = self.rotated(q, position), self.rotated(k, position)
        scores = q @ k.transpose(2, 3) * a["score-scale"] if "score-scale" in a else q @ k.transpose(2, 3) / math.sqrt(head)
        if a.get("softcap"):
            scores = a["softcap"] * torch.tanh(scores / a["softcap"])
        hidden, hidden_score = ~allowed[:, None], a.get("hidden-score")
        nothing = hidden.all(-1, keepdim=True) if hidden_score is None else torch.zeros(1, dtype=torch.bool)
        scores = scores.masked_fill(hidden & ~nothing, -math.inf if hidden_score is None else hidden_score)
        p = scores.softmax(-1).masked_fill(nothing, 0)
        self.weights[result] = p if a.get("return-weights") == "heads" else p.mean(1)
        y = (self.drop("attention", p) @ self.project(prefix, "value", memory, a, value)).transpose(1, 2).flatten(2)
        if not a.get("output-projection", True):
            return y
        return self.linear(f"{prefix}.output", y, self.size, a.get("bias", {}).get("output", True))

    def ffn(self, prefix, x, f):
        bias, convolution = f.get("bias", True), f.get("as") == "conv1x1"
        activation = ACTIVATIONS[f.get("activation", "relu")]
        y = self.linear(f"{prefix}.in", x, f["size"], bias, convolution)
        y = activation(self.linear(f"{prefix}.gate", x, f["size"], bias, convolution)) * y if f.get("gated") else activation(y)
        return self.linear(f"{prefix}.out", self.drop("ffn", y), self.size, bias, convolution)

    def sublayer(self, prefix, x, norm, own, body):
        """A sub-layer with its norm and its residual. `own`: overrides of the norm; None: no norm."""
        place, norm = norm.get("place", "post"), merged(norm, own)

        def normal(name, y):
            return y if norm is None else self.normal(f"{prefix}.{name}", y, norm)

        if place == "post":
            return normal("norm", x + self.drop("sublayer", body(x)))
        if place == "output":
            return x + self.drop("sublayer", normal("norm", body(x)))
        y = body(normal("norm", x))
        return x + self.drop("sublayer", normal("norm-after", y) if place == "both" else y)

    def stack(self, name, x, mask, memory=None):
        """`mask(expression, cross)` gives the pairs [B, queries, keys] that may be seen."""
        for n, layer in enumerate(self.layers(name)):
            p = f"{name}.{n}"
            norm, position, a, f = (self.of(name, key, n) for key in ("norm", "position", "attention", "ffn"))
            allowed = mask(layer.get("mask", self.json[name].get("mask")), False)
            x = self.sublayer(f"{p}.attention", x, norm, a.get("norm", {}), lambda y: self.attention(
                f"{p}.attention", y, y, allowed, a, position, f"{p}.weights"))
            if memory is not None:
                c, seen = self.cross(n), mask(layer.get("cross-mask", self.json[name].get("cross-mask")), True)
                x = self.sublayer(f"{p}.cross", x, norm, c.get("norm", {}), lambda y: self.attention(
                    f"{p}.cross", y, memory, seen, c, None, f"{p}.cross-weights"))
            x = self.sublayer(f"{p}.ffn", x, norm, f.get("norm", {}), lambda y: self.ffn(f"{p}.ffn", y, f))
        norm = self.of(name, "norm")
        return self.normal(f"{name}.norm", x, norm) if norm.get("after-stack") else x

    #===--- Embeddings -----------------------------------------------------===#

    def table(self, side):
        """The embedding table of a side; `embedding.shared` is one table for both sides."""
        shared = side == "target" and (self.json.get("embedding") or {}).get("shared")
        side = "source" if shared else side
        return self.weight(f"{side}.embedding.weight", self.json[side]["vocabulary"], self.size)

    def embed(self, side, x):
        stack = {"source": "encoder", "target": "decoder"}[side]
        if "image" in self.json[side]:
            x = self.patches(x.to(self.dtype))
        embedding, position = self.of(stack, "embedding"), self.of(stack, "position")
        if not x.is_floating_point():
            table = self.table(side)
            if embedding.get("padding-row") == "zero":
                table = table.clone()
                table[self.json[side].get("padding", 0)] = 0
            x = F.embedding(x, table) * embedding.get("scale", 1.0)
        x = x.to(self.dtype)
        if position is not None and position.get("kind") != "rotary":
            x = x + position.get("scale", 1.0) * self.positions(side, position, x.shape[1])
        norm = embedding.get("norm")
        return self.drop("embedding", x if norm is None else self.normal(f"{side}.embedding.norm", x, norm))

    def patches(self, image):
        """A convolution whose stride is its kernel; the class token before its rows."""
        side, p = self.json["source"], self.json["source"]["patch"]
        weight = self.weight("source.patch.weight", self.size, image.shape[1], p, p)
        x = F.conv2d(image, weight, self.weight("source.patch.bias", self.size, fan_in=p), stride=p).flatten(2).transpose(1, 2)
        if not side.get("class-token"):
            return x
        return torch.cat([self.weight("source.class-token", self.size).expand(len(x), 1, -1), x], 1)

    def positions(self, side, position, rows):
        if position.get("kind") == "learned":
            return self.weight(f"{side}.position.weight", position.get("length", rows), self.size)[:rows]
        i = torch.arange(self.size, dtype=torch.float64)
        angle = torch.arange(rows, dtype=torch.float64)[:, None] / 10000 ** (2 * (i // 2) / self.size)
        return torch.where(i % 2 == 0, angle.sin(), angle.cos()).to(self.dtype)

    #===--- Whole functions ------------------------------------------------===#

    def lengths(self, side, inputs, tokens):
        """[B]: the input `tokens`.lengths, else the last id that is not padding, plus 1; None for vectors without lengths."""
        given, ids = inputs.get(f"{tokens}.lengths"), inputs[tokens]
        if given is not None or ids.is_floating_point():
            return given
        real = ids != self.json[side].get("padding", 0)
        return (real * torch.arange(1, ids.shape[1] + 1)).amax(1)

    def mask(self, inputs, lengths, batch, queries, keys):
        """A function from a mask's expression to the pairs [B, queries, keys] that may be seen. `keys`: of the stack, and of the memory."""
        def allowed(expression, cross):
            i, j = torch.arange(queries)[:, None], torch.arange(keys[cross])
            pairs = torch.ones(batch, queries, keys[cross], dtype=torch.bool)
            for term in filter(None, map(str.strip, (expression or "").split("&"))):
                found = TERM.fullmatch(term)
                sign, word, argument = found.groups() if found else ("", "", "")
                if word == "causal" and not argument:
                    part = j <= i
                elif word == "window" and argument.count(",") == 1:
                    before, after = map(int, argument.split(","))
                    part = (j >= i - before) & (j <= i + after)
                elif word == "lengths" and lengths.get(argument) is not None:
                    part = j < lengths[argument][:, None, None]
                elif word in ("keep", "hide") and argument in inputs:
                    part = inputs[argument][:, None, :] == (word == "keep")
                else:
                    raise ValueError(f"mask: expected causal, window(before, after), lengths(side), keep(x) or hide(x), found '{term}'")
                pairs = pairs & (~part if sign else part)
            return pairs
        return allowed

    def encode(self, inputs):
        """The encoder's rows, and the lengths of the source."""
        x = self.embed("source", inputs["source"])
        lengths = {"source": self.lengths("source", inputs, "source")}
        return self.stack("encoder", x, self.mask(inputs, lengths, len(x), x.shape[1], {False: x.shape[1]})), lengths

    def decode(self, target, inputs, lengths, memory=None):
        """The decoder's rows for `target`. `lengths`: of both sides."""
        x = self.embed("target", target)
        keys = {False: x.shape[1], True: 0 if memory is None else memory.shape[1]}
        return self.stack("decoder", x, self.mask(inputs, lengths, len(x), x.shape[1], keys), memory)

    def pool(self, x, lengths):
        """One vector a text, or the rows."""
        words = self.json["encoder"].get("pool")
        if words is None:
            return x
        rows = torch.arange(1, x.shape[1] + 1)
        count = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
        real, count = (rows <= count[:, None])[..., None], count[:, None].to(x.dtype)
        total, weights = (x * real).sum(1), (rows[:, None] * real).to(x.dtype)
        kinds = {
            "cls": lambda: x[:, 0], "sum": lambda: total, "mean": lambda: total / count, "mean-sqrt": lambda: total / count.sqrt(),
            "last": lambda: x[torch.arange(len(x)), count[:, 0].long() - 1], "max": lambda: x.masked_fill(~real, -math.inf).amax(1),
            "weighted-mean": lambda: (x * weights).sum(1) / weights.sum(1),
        }
        return torch.cat([kinds[word]() for word in ([words] if isinstance(words, str) else words)], -1)

    def logits(self, x):
        side, c = "target" if "target" in self.json else "source", checked("classifier", self.json["classifier"], "classifier")
        if (hidden := c.get("hidden")) is not None:
            x = self.linear("classifier.hidden", x, hidden.get("size", self.size), hidden.get("bias", True))
            x = ACTIVATIONS[hidden["activation"]](x) if hidden.get("activation") else x
            x = self.normal("classifier.hidden.norm", x, hidden["norm"]) if hidden.get("norm") else x
        x, classes = self.drop("classifier", x), c.get("size", self.json[side].get("vocabulary"))
        table = self.table(side) if c.get("tied") else self.weight("classifier.weight", classes, x.shape[-1])
        y = F.linear(x, table, self.weight("classifier.bias", classes, fan_in=x.shape[-1]) if c.get("bias") else None)
        y = y * c["scale"] if "scale" in c else y
        return c["softcap"] * torch.tanh(y / c["softcap"]) if c.get("softcap") else y

    def classify(self, x, lengths=None):
        x = self.pool(x, lengths) if "target" not in self.json else x
        if "classifier" not in self.json:
            return {"output": x}
        if self.json["classifier"].get("softmax"):
            return {"probabilities": self.logits(x).softmax(-1)}
        return {"logits": self.logits(x)}
