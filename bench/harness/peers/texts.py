# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers of bench/texts: a BERT with mean pooling and normalised vectors, from texts; sorted by length, in padded batches."""
import json
import tempfile
from pathlib import Path

import numpy

from .clock import timed
from .serve import NotHere, Server, answer_all


class Padded:
    """Texts to vectors by batches: `run(ids, mask)` gives the vectors of one padded batch."""

    def __init__(self, folder, batch):
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(512)
        self.batch = batch

    def encode(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: -len(encoded[i].ids))
        batches = [order[i:i + self.batch] for i in range(0, len(order), self.batch)]
        vectors = None
        for rows, found in self.run_all(batches, encoded):
            vectors = numpy.empty((len(texts), found.shape[1]), numpy.float32) if vectors is None else vectors
            vectors[rows] = found
        return vectors

    def run_all(self, batches, encoded):
        for rows in batches:
            yield rows, self.run(*self.padded(rows, encoded))

    @staticmethod
    def padded(rows, encoded):
        longest = max(len(encoded[row].ids) for row in rows)
        ids = numpy.zeros((len(rows), longest), numpy.int64)
        mask = numpy.zeros((len(rows), longest), numpy.int64)
        for place, row in enumerate(rows):
            length = len(encoded[row].ids)
            ids[place, :length] = encoded[row].ids
            mask[place, :length] = 1
        return ids, mask


def sentence_model(folder):
    """The torch module that peers convert: ids and mask to normalised means."""
    import torch
    from transformers import AutoModel

    class Sentences(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

        def forward(self, ids, mask):
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)

    return Sentences().eval(), (torch.ones(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64))


def exported(folder, to):
    import torch
    model, example = sentence_model(folder)
    axes = {0: "batch", 1: "length"}
    with torch.no_grad():
        torch.onnx.export(model, example, str(to), input_names=["ids", "mask"], output_names=["vectors"], opset_version=17,
                          dynamic_axes={"ids": axes, "mask": axes, "vectors": {0: "batch"}})


class OnnxRuntime(Padded):
    """The graph through ONNX Runtime's transformer optimiser: fused attention, layer norms and GELU."""

    def __init__(self, folder, dtype, batch, streams, threads):
        super().__init__(folder, batch)
        import onnxruntime
        from onnxruntime.transformers.optimizer import optimize_model
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as work:
            plain, fused = Path(work) / "plain.onnx", Path(work) / "fused.onnx"
            exported(folder, plain)
            optimised = optimize_model(str(plain), model_type="bert", num_heads=config["num_attention_heads"], hidden_size=config["hidden_size"])
            optimised.save_model_to_file(str(fused))
            self.kernel = ", ".join(f"{count} {name}" for name, count in optimised.get_fused_operator_statistics().items() if count)
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
            self.session = onnxruntime.InferenceSession(str(fused), settings, providers=["CPUExecutionProvider"])

    def run(self, ids, mask):
        return self.session.run(None, {"ids": ids, "mask": mask})[0]


class OpenVino(Padded):
    """The same graph in OpenVINO; with streams, batches run side by side, one thread each."""

    def __init__(self, folder, dtype, batch, streams, threads):
        super().__init__(folder, batch)
        import openvino
        with tempfile.TemporaryDirectory() as work:
            plain = Path(work) / "plain.onnx"
            exported(folder, plain)
            core = openvino.Core()
            self.compiled = core.compile_model(core.read_model(str(plain)), "CPU", {
                "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams, "INFERENCE_PRECISION_HINT": dtype,
                "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT"})
        chosen = self.compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if chosen != dtype:  # the plugin falls back in silence
            raise NotHere(dtype)
        self.kernel = f"{chosen}, {self.compiled.get_property('NUM_STREAMS')} streams"
        self.request = self.compiled.create_infer_request()
        self.queue = openvino.AsyncInferQueue(self.compiled, streams) if streams > 1 else None

    def run_all(self, batches, encoded):
        if not self.queue:
            for rows in batches:
                ids, mask = self.padded(rows, encoded)
                yield rows, self.request.infer({0: ids, 1: mask})[self.compiled.output(0)]
            return
        found = []
        self.queue.set_callback(lambda request, rows: found.append((rows, request.get_output_tensor(0).data.copy())))
        for rows in batches:
            ids, mask = self.padded(rows, encoded)
            self.queue.start_async({0: ids, 1: mask}, rows)
        self.queue.wait_all()
        yield from found


class SentenceTransformers:
    """As its users call it: it sorts by length itself."""

    def __init__(self, folder, dtype, batch, streams, threads):
        import torch
        from sentence_transformers import SentenceTransformer
        torch.set_num_threads(threads)
        self.model, self.batch = SentenceTransformer(folder, device="cpu"), batch
        self.kernel = "torch " + torch.__version__

    def encode(self, texts):
        return self.model.encode(texts, batch_size=self.batch, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)


class TextServer(Server):
    """A request opens one contender, and times all texts."""

    def open(self, request):
        from ..texts import PEERS
        module, dtype, batch, streams = PEERS[request["name"]]
        kinds = {"sentence_transformers": SentenceTransformers, "onnxruntime": OnnxRuntime, "openvino": OpenVino}
        self.peer = kinds[module](request["folder"], dtype, batch, streams, request["threads"])
        self.texts = Path(request["texts"]).read_text(encoding="utf-8").splitlines()
        return {"kernel": self.peer.kernel}

    def time(self, request):
        found = []
        seconds = timed(lambda: found.append(self.peer.encode(self.texts)), 1)
        numpy.save(request["to"], found[0])
        return {"seconds": seconds}


if __name__ == "__main__":
    answer_all(lambda: TextServer(None))
