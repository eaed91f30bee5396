# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp through its C interface: GGUF files of the row's weights, caches in f16 (f32 in f32), attention in whichever way is faster."""
import ctypes
import re
from pathlib import Path

import llama_cpp
import numpy

from .. import gguf_files, language
from .clock import Refilled, timed
from .serve import NotHere, serve

TYPES = {"f32": ("f32",), "bf16": ("f16", "bf16"), "int8": ("q8_0",), "int4": ("q4_0", "q4_1")}
ATTENTION = {0: "attention of its own", 1: "flash attention"}
CACHES = {"f32": 0, "f16": 1}  # ggml_type
BATCH = 2048  # tokens of a call
PAD = 256  # rows of a cache come in such steps


@llama_cpp.llama_log_callback
def quiet(level, text, data):
    """Standard error is a log already; of its lines only errors are of use."""
    if level == 4:  # GGML_LOG_LEVEL_ERROR
        print(text.decode(errors="replace"), end="", flush=True)


class Context:
    """A model with caches for the texts of a row."""

    def __init__(self, model, words, row, threads, flash):
        b, rows = row["sizes"]["b"], row["sizes"]["p"] + language.STEPS
        self.words, self.cache = words, "f32" if row["dtype"] == "f32" else "f16"
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = b * (-(-rows // PAD) * PAD)
        settings.n_batch, settings.n_seq_max = BATCH, b
        settings.n_threads = settings.n_threads_batch = threads
        settings.flash_attn_type = flash
        settings.type_k = settings.type_v = CACHES[self.cache]
        settings.no_perf = True
        self.context = llama_cpp.llama_init_from_model(model, settings)
        if not self.context:
            raise NotHere(f"{ATTENTION[flash]} in this form")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
        self.scored = 0

    def close(self):
        llama_cpp.llama_batch_free(self.batch)
        llama_cpp.llama_free(self.context)

    def put(self, tokens, first, last_only):
        """A batch of tokens [texts, tokens], which stand from place `first` on."""
        count = 0
        for sequence, row in enumerate(tokens):
            for place, token in enumerate(row):
                self.batch.token[count], self.batch.pos[count] = int(token), first + place
                self.batch.n_seq_id[count], self.batch.seq_id[count][0] = 1, sequence
                self.batch.logits[count] = not last_only or place == len(row) - 1
                count += 1
        self.batch.n_tokens = count
        self.scored = sum(map(bool, self.batch.logits[:count]))

    def run(self):
        if status := llama_cpp.llama_decode(self.context, self.batch):
            raise RuntimeError(f"llama_decode: {status}")
        llama_cpp.llama_synchronize(self.context)

    def logits(self):
        return numpy.ctypeslib.as_array(llama_cpp.llama_get_logits(self.context), (self.scored, self.words)).copy()

    def keep(self, rows):
        for sequence in range(llama_cpp.llama_n_seq_max(self.context)):
            llama_cpp.llama_memory_seq_rm(self.memory, sequence, rows, -1)

    def fill(self, texts):
        """Caches of the texts, one after the other."""
        self.keep(0)
        for sequence, row in enumerate(texts):
            self.put([row], 0, True)
            for place in range(len(row)):
                self.batch.seq_id[place][0] = sequence
            self.run()


class Peer:
    choice = 0  # of a row's types

    def __init__(self, threads):
        self.threads = threads
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.model = self.path = self.context = None

    def empty(self):
        return lambda: None  # calls of C functions alone are within the clock

    def open(self, row, folder):
        if row["kind"] not in ("step", "prompt") or len(TYPES.get(row["dtype"], ())) <= self.choice:
            raise NotHere(row["dtype"])
        kind = TYPES[row["dtype"]][self.choice]
        shape = language.SHAPES[row["sizes"]["shape"]]
        self.load(gguf_files.file_of(shape, Path(row["model"]), kind, folder.parent))
        found = [self.tried(row, folder, shape, flash) for flash in ATTENTION]
        _, self.context, call, flash = min((one for one in found if one), key=lambda one: one[0])
        for _, context, *_ in filter(None, found):
            if context is not self.context:
                context.close()
        return call, self.context.logits, f"{kind}, caches {self.context.cache}, {ATTENTION[flash]}; {self.instructions()}"

    def tried(self, row, folder, shape, flash):
        """Seconds of a call with one kind of attention, its context, the call and the kind; none where the model has no such kind."""
        arrays = {name: numpy.load(folder / f"{name}.npy") for name in ("prompt", "next")}
        try:
            context = Context(self.model, shape.words, row, self.threads, flash)
        except NotHere:
            return None
        call = self.step(context, row, arrays) if row["kind"] == "step" else self.prompt(context, row, arrays)
        call()
        return call.timed(4) if isinstance(call, Refilled) else timed(call, 1), context, call, flash

    def load(self, path):
        """One model at a time."""
        if self.context:
            self.context.close()
            self.context = None
        if path == self.path:
            return
        if self.model:
            llama_cpp.llama_model_free(self.model)
        settings = llama_cpp.llama_model_default_params()
        settings.n_gpu_layers = 0
        self.model, self.path = llama_cpp.llama_model_load_from_file(str(path).encode(), settings), path
        if not self.model:
            self.path = None
            raise RuntimeError(f"{path.name}: cannot be loaded")

    @staticmethod
    def step(context, row, arrays):
        """Caches grow as Heddle's do."""
        p = row["sizes"]["p"]
        context.fill(arrays["prompt"])
        place = [p]

        def call():
            context.run()
            place[0] += 1
            for index in range(len(arrays["next"])):
                context.batch.pos[index] = place[0]

        def refill():
            place[0] = p
            context.keep(p)
            context.put(arrays["next"], p, False)

        return Refilled(call, refill, row["every"])

    @staticmethod
    def prompt(context, row, arrays):
        context.put(arrays["prompt"], 0, True)

        def call():
            context.keep(0)
            context.run()

        return call

    @staticmethod
    def instructions():
        """What it was compiled for."""
        return " ".join(re.findall(r"(\w+) = 1", llama_cpp.llama_print_system_info().decode()))


if __name__ == "__main__":
    serve(Peer)
