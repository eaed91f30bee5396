# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch on CUDA: cuBLAS, its attention, BERT's and Llama's layers. A JSON request a line, a JSON answer a line.

Each call runs eagerly, as a replayed graph, and compiled (`torch.compile`). `ms` is the time of CUDA events around calls back to back, `call`
that of the host's clock around one call and its synchronization; both are medians of the rounds. Without PyTorch or CUDA the first line says so.
"""
import json
import statistics
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError as missing:
    torch, why = None, str(missing)

CALLS = 5  # of a round


def replayed(call):
    """The call as a graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def times(call, rounds):
    """Milliseconds of a call: of several back to back by the device's clock, and of one by the host's."""
    for _ in range(3):  # compilation, and the first use of memory
        call()
    torch.cuda.synchronize()
    device, host = [], []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        device.append(begin.elapsed_time(end) / CALLS)
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        host.append((time.perf_counter() - start) * 1e3)
    return {"ms": statistics.median(device), "call": statistics.median(host)}


def rows(dtype, *shape, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


class Layers:
    """Layers of one shape with seeded weights; `norm` and the place of norms as the family has them."""

    def __init__(self, dtype, layers, size, ffn, heads, kv, gated):
        self.size, self.heads, self.kv, self.head, self.gated = size, heads, kv, size // heads, gated
        inner = (size + 2 * kv * self.head, 2 * ffn if gated else ffn)
        scale = size ** -0.5
        self.weights = [(rows(dtype, inner[0], size, scale=scale), rows(dtype, size, size, scale=scale), rows(dtype, inner[1], size, scale=scale),
                         rows(dtype, size, ffn, scale=ffn ** -0.5)) for _ in range(layers)]
        self.one, self.zero = torch.ones(size, device="cuda", dtype=dtype), torch.zeros(size, device="cuda", dtype=dtype)

    def norm(self, x):
        return functional.rms_norm(x, (self.size,), self.one) if self.gated else functional.layer_norm(x, (self.size,), self.one, self.zero)

    def attend(self, x, weights, past, causal):
        b, s, _ = x.shape
        q, k, v = functional.linear(x, weights[0]).split([self.size, self.kv * self.head, self.kv * self.head], -1)
        q, k, v = (part.view(b, s, -1, self.head).transpose(1, 2) for part in (q, k, v))
        if past:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=causal and not past, enable_gqa=self.kv != self.heads)
        return functional.linear(mixed.transpose(1, 2).reshape(b, s, -1), weights[1])

    def feed(self, x, weights):
        h = functional.linear(x, weights[2])
        if self.gated:
            gate, up = h.chunk(2, -1)
            return functional.linear(functional.silu(gate) * up, weights[3])
        return functional.linear(functional.gelu(h), weights[3])

    def __call__(self, x, caches=None):
        for number, weights in enumerate(self.weights):
            past = caches[number] if caches else None
            if self.gated:
                x = x + self.attend(self.norm(x), weights, past, True)
                x = x + self.feed(self.norm(x), weights)
            else:
                x = self.norm(x + self.attend(x, weights, past, False))
                x = self.norm(x + self.feed(x, weights))
        return x


def product(dtype, asked):
    x, w = rows(dtype, asked["m"], asked["k"]), rows(dtype, asked["n"], asked["k"])
    return lambda: functional.linear(x, w)


def attention(dtype, asked):
    q, k, v = (rows(dtype, 1, asked["heads"], asked["t"], asked["size"]) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(q, k, v)


def bert(dtype, asked):
    layers = Layers(dtype, 12, 768, 3072, 12, 12, gated=False)
    x = rows(dtype, asked["b"], asked["s"], 768)
    return lambda: layers(x)


def decoder(dtype, asked):
    layers = Layers(dtype, 22, 2048, 5632, 32, 4, gated=True)
    words = rows(dtype, 32000, 2048, scale=2048 ** -0.5)
    token = asked["kind"] == "token"
    x = rows(dtype, 1, 1 if token else asked["p"], 2048)
    caches = [tuple(rows(dtype, 1, 4, asked["p"], 64) for _ in range(2)) for _ in range(22)] if token else None
    return lambda: functional.linear(layers(x, caches)[:, -1], words)


MAKERS = {"product": product, "attention": attention, "bert": bert, "token": decoder, "prompt": decoder}
TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def answer(asked):
    if asked["dtype"] not in TYPES:  # PyTorch alone has no quantised layers of these kinds: the nearest is bf16
        name, dtype = "PyTorch bf16", torch.bfloat16
    else:
        name, dtype = "PyTorch", getattr(torch, TYPES[asked["dtype"]])
    found, missing = {}, {}
    with torch.no_grad():
        try:
            call = MAKERS[asked["kind"]](dtype, asked)
        except RuntimeError as error:
            return {"error": str(error).splitlines()[0]}
        for way, form in (("eager", lambda: call), ("graph", lambda: replayed(call)), ("compiled", lambda: torch.compile(call))):
            try:
                found[f"{name} {way}"] = times(form(), asked["rounds"])
            except Exception as error:  # pylint: disable=broad-except  # a compiler may be missing: the other ways remain
                missing[f"{name} {way}"] = (str(error).splitlines() or [type(error).__name__])[0]
    return {"times": found, "missing": missing}


def main():
    if torch is None or not torch.cuda.is_available():
        print(json.dumps({"error": why if torch is None else "PyTorch finds no CUDA device"}), flush=True)
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"device": f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, f32 without TF32"}), flush=True)
    for request in sys.stdin:
        print(json.dumps(answer(json.loads(request))), flush=True)


if __name__ == "__main__":
    main()
