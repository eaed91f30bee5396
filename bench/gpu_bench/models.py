# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured: models as text with seeded weights, and the calls of each. No package needed."""
import json
from dataclasses import asdict, dataclass, field

SIZE = 4096  # of a product's weight, both ways
HEADS = {64: 32, 128: 16}  # heads of attention, by their size
LINEAR = """func.func @main(%x: tensor<?x{k}xf32> {{transformer.name = "x", transformer.dims = ["M", {k}]}}) -> (tensor<?x{n}xf32> {{transformer.name = "y"}}) {{
  %w = transformer.weight "w" : tensor<{n}x{k}xf32>
  %y = transformer.linear %x, %w : (tensor<?x{k}xf32>, tensor<{n}x{k}xf32>) -> tensor<?x{n}xf32>
  return %y : tensor<?x{n}xf32>
}}
"""
ATTENTION = """func.func @main({arguments}) -> ({type} {{transformer.name = "y"}}) {{
  %y = transformer.attention %q, %k, %v {{scale = {scale} : f32}} : ({type}, {type}, {type}) -> {type}
  return %y : {type}
}}
"""


@dataclass(frozen=True)
class Call:
    """One line of the table. What peers are told stands in `peer`: a kind, and its sizes."""
    name: str
    function: str
    dims: dict = field(hash=False)
    peer: dict = field(hash=False)
    brief: bool = False  # part of the short run


@dataclass(frozen=True)
class Model:
    name: str  # of the file, with the format
    dtype: str
    text: str = field(repr=False)
    suffix: str = ".mlir"
    tensors: dict = field(default_factory=dict, hash=False)  # weights of dialect text: shapes by name
    calls: tuple = ()

    def told(self):
        return {"name": self.name, "dtype": self.dtype, "calls": [asdict(call) for call in self.calls]}


def product(dtype):
    calls = tuple(Call(f"product.{dtype}.{m}x{SIZE}x{SIZE}", "main", {"M": m}, {"kind": "product", "m": m, "n": SIZE, "k": SIZE}, m in (1, 2048))
                  for m in (1, 8, 128, 512, 2048))
    return Model(f"product.{dtype}", dtype, LINEAR.format(n=SIZE, k=SIZE), tensors={"w": (SIZE, SIZE)}, calls=calls)


def is_product(model):
    return bool(model.tensors)


def small(model, features):
    """A product with fewer features, for checks; its columns are many enough for wide tiles."""
    columns = 2304
    return Model(f"small.{model.name}", model.dtype, LINEAR.format(n=columns, k=features), tensors={"w": (columns, features)})


def attention(dtype, size):
    heads = HEADS[size]
    type_ = f"tensor<1x{heads}x?x{size}xf32>"
    arguments = ", ".join(f'%{name}: {type_} {{transformer.name = "{name}", transformer.dims = [1, {heads}, "T", {size}]}}' for name in "qkv")
    text = ATTENTION.format(arguments=arguments, type=type_, scale=repr(size ** -0.5))
    calls = tuple(Call(f"attention.{dtype}.{size}.T{t}", "main", {"T": t}, {"kind": "attention", "heads": heads, "size": size, "t": t}, t == 2048)
                  for t in (512, 2048, 4096))
    return Model(f"attention.{dtype}.{size}", dtype, text, calls=calls)


BERT = {"heddle": 1, "kind": "encoder", "size": 768, "weights": {"seed": 1}, "source": {"vocabulary": 30522, "padding": 0}, "position": None,
        "attention": {"heads": 12, "bias": {"query": True, "key": True, "value": True, "output": True}},
        "ffn": {"size": 3072, "activation": "gelu"}, "norm": {"kind": "layer", "epsilon": 1e-12, "place": "post"}, "encoder": {"layers": 12}}
LLAMA = {"heddle": 1, "kind": "decoder", "size": 2048, "weights": {"seed": 1}, "target": {"vocabulary": 32000, "limit": 2048},
         "embedding": {"scale": 1}, "position": {"kind": "rotary"}, "attention": {"heads": 32, "key-value-heads": 4},
         "ffn": {"size": 5632, "activation": "silu", "gated": True, "bias": False},
         "norm": {"kind": "rms", "epsilon": 1e-5, "place": "pre", "after-stack": True},
         "decoder": {"layers": 22, "mask": "causal & lengths(target)"}, "classifier": {"bias": False, "tied": False}}


def bert(dtype):
    calls = tuple(Call(f"bert.{dtype}.{b}x{s}", "encode", {"B": b, "S": s}, {"kind": "bert", "b": b, "s": s}, (b, s) == (8, 128))
                  for b, s in ((1, 16), (1, 128), (8, 128), (8, 384)))
    return Model(f"bert.{dtype}", dtype, json.dumps(BERT), ".json", calls=calls)


def llama(dtype):
    token = tuple(Call(f"llama.{dtype}.token.P{p}", "decode_start,decode_prompt,decode_step", {"B": 1, "T": p}, {"kind": "token", "p": p}, p == 128)
                  for p in (128, 1024))
    prompt = Call(f"llama.{dtype}.prompt.512", "decode_start,decode_prompt", {"B": 1, "T": 512}, {"kind": "prompt", "p": 512}, True)
    return Model(f"llama.{dtype}", dtype, json.dumps(LLAMA), ".json", calls=(*token, prompt))


def all_models():
    yield from (product(dtype) for dtype in ("f32", "f16", "bf16", "int8", "int4"))
    yield from (attention(dtype, size) for dtype in ("f32", "f16", "bf16") for size in HEADS)
    yield from (bert(dtype) for dtype in ("f32", "f16", "bf16", "int8"))
    yield from (llama(dtype) for dtype in ("bf16", "int8", "int4"))
