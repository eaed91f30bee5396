# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps in PyTorch: modules made from a row's description, as their authors would write them, and fused Adam."""
import json
import math
import struct

import numpy
import torch
import torch.nn.functional as F
from torch import nn

GELU = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"), "tanh": torch.tanh}


def read_tensors(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        return {name: torch.from_numpy(numpy.fromfile(file, numpy.float32, math.prod(entry["shape"])).reshape(entry["shape"]))
                for name, entry in header.items()}


class Parts:
    """Modules from the tensors of a description."""

    def __init__(self, tensors, description, rates):
        self.tensors, self.d, self.rates = tensors, description, rates

    def linear(self, *names):
        """One linear layer of the rows of several."""
        weight = torch.cat([self.tensors[f"{name}.weight"] for name in names])
        biased = f"{names[0]}.bias" in self.tensors
        layer = nn.Linear(weight.shape[1], weight.shape[0], biased, device="meta")
        layer.weight = nn.Parameter(weight)
        if biased:
            layer.bias = nn.Parameter(torch.cat([self.tensors[f"{name}.bias"] for name in names]))
        return layer

    def norm(self, name, settings):
        layer = nn.LayerNorm(self.d["size"], settings.get("epsilon", 1e-5))
        layer.weight, layer.bias = (nn.Parameter(self.tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return layer

    def table(self, name):
        return nn.Embedding.from_pretrained(self.tensors[f"{name}.weight"], freeze=False)

    def dropout(self, place):
        return nn.Dropout(self.rates.get(place, 0))


class Attention(nn.Module):
    def __init__(self, parts, name, causal, cross):
        super().__init__()
        self.heads, self.causal, self.rate = parts.d["attention"]["heads"], causal, parts.rates.get("attention", 0)
        both = [f"{name}.key", f"{name}.value"]
        self.queries = parts.linear(f"{name}.query") if cross else None
        self.others = parts.linear(*both) if cross else parts.linear(f"{name}.query", *both)
        self.output = parts.linear(f"{name}.output")

    def forward(self, x, memory):
        q, k, v = self.others(x).chunk(3, -1) if memory is None else (self.queries(x), *self.others(memory).chunk(2, -1))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate if self.training else 0.0, is_causal=self.causal)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Ffn(nn.Module):
    def __init__(self, parts, name):
        super().__init__()
        self.first, self.last, self.dropout = parts.linear(f"{name}.in"), parts.linear(f"{name}.out"), parts.dropout("ffn")
        self.activation = GELU[parts.d["ffn"].get("activation", "relu")]

    def forward(self, x, _):
        return self.last(self.dropout(self.activation(self.first(x))))


class Sublayer(nn.Module):
    def __init__(self, parts, name, body):
        super().__init__()
        settings = parts.d.get("norm", {})
        self.body, self.norm, self.dropout = body, parts.norm(f"{name}.norm", settings), parts.dropout("sublayer")
        self.pre = settings.get("place") == "pre"

    def forward(self, x, memory=None):
        return x + self.dropout(self.body(self.norm(x), memory)) if self.pre else self.norm(x + self.dropout(self.body(x, memory)))


class Stack(nn.Module):
    """Embeddings and layers of one side."""

    def __init__(self, parts, name, side):
        super().__init__()
        d = parts.d
        embedding, position = d.get("embedding", {}), d.get("position", {}) or {}
        self.table, self.scale = parts.table(f"{side}.embedding"), embedding.get("scale", 1)
        self.positions = parts.table(f"{side}.position") if position.get("kind") == "learned" else None
        self.norm = parts.norm(f"{side}.embedding.norm", embedding["norm"]) if "norm" in embedding else nn.Identity()
        self.dropout, self.layers = parts.dropout("embedding"), nn.ModuleList()
        for layer in range(d[name]["layers"]):
            place, causal = f"{name}.{layer}", name == "decoder"
            self.layers.append(Sublayer(parts, f"{place}.attention", Attention(parts, f"{place}.attention", causal, False)))
            if causal and "encoder" in d:
                self.layers.append(Sublayer(parts, f"{place}.cross", Attention(parts, f"{place}.cross", False, True)))
            self.layers.append(Sublayer(parts, f"{place}.ffn", Ffn(parts, f"{place}.ffn")))
        after = d.get("norm", {}).get("after-stack")
        self.last = parts.norm(f"{name}.norm", d["norm"]) if after else nn.Identity()

    def added(self, rows):
        if self.positions is not None:
            return self.positions.weight[:rows]
        size = self.table.weight.shape[1]
        angle = torch.arange(rows)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(self.table.weight)

    def forward(self, ids, memory=None):
        x = self.dropout(self.norm(self.table(ids) * self.scale + self.added(ids.shape[1])))
        for layer in self.layers:
            crosses = isinstance(layer.body, Attention) and layer.body.queries is not None
            x = layer(x, memory) if crosses else layer(x)
        return self.last(x)


class Trained(nn.Module):
    """The loss of a batch."""

    def __init__(self, tensors, description, rates):
        super().__init__()
        parts, c = Parts(tensors, description, rates), description["classifier"]
        self.encoder = Stack(parts, "encoder", "source") if "encoder" in description else None
        self.decoder = Stack(parts, "decoder", "target") if "decoder" in description else None
        self.hidden = parts.linear("classifier.hidden") if "hidden" in c else None
        self.tied, self.dropout = c.get("tied"), parts.dropout("classifier")
        self.classifier = None if self.tied else parts.linear("classifier")
        self.pool, self.start = description.get("encoder", {}).get("pool"), description.get("target", {}).get("start", 2)
        self.smoothing = description["training"]["loss"]["smoothing"]

    def forward(self, source=None, reference=None, labels=None):
        x = None if source is None else self.encoder(source)
        if reference is None:
            x = x[:, 0] if self.pool == "cls" else x.mean(1)
            x = x if self.hidden is None else torch.tanh(self.hidden(x))
            return F.cross_entropy(self.classifier(self.dropout(x)), labels, label_smoothing=self.smoothing)
        x = self.decoder(F.pad(reference[:, :-1], (1, 0), value=self.start), x)
        x = self.dropout(x)
        logits = F.linear(x, self.decoder.table.weight) if self.tied else self.classifier(x)
        return F.cross_entropy(logits.flatten(0, 1), reference.flatten(), label_smoothing=self.smoothing)


def trained(model, rates):
    """The module of a folder's description."""
    description = json.loads(model.read_text())
    return Trained(read_tensors(model.parent / "weights.safetensors"), description, rates), description["training"]["optimizer"]


def loss64(home, batch):
    """The loss of the first step in f64, without dropout."""
    network, _ = trained(home / "model.json", {})
    with torch.no_grad():
        return network.double()(**{name: torch.from_numpy(values).long() for name, values in batch.items()}).reshape(1).numpy()


class Step:
    """A training step as a call, whose value is the loss of the first step without dropout. `compiled` wraps the loss, the update too."""

    def __init__(self, model, batch, rates, compiled=lambda function: function):
        torch.set_grad_enabled(True)
        self.network, settings = trained(model, rates)
        self.batch, self.clip = batch, settings["clip"]
        with torch.no_grad():
            self.first = self.network.eval()(**batch).reshape(1)
        self.network.train()
        self.weights = list(self.network.parameters())
        self.optimizer = torch.optim.Adam(self.weights, 1e-4, settings["betas"], settings["epsilon"], fused=True)
        self.loss = compiled(self.network)

    def __call__(self):
        self.loss(**self.batch).backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.weights, self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return self.first
