# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms in which a model's weights and config.json are published. A form changes a Draft and says whether it applies to it; a new
form is one function. Standard library only: test/data/published takes the same forms."""
import array
import json
import math
import os
import re
import struct

FLOATS = {"F32": "f", "F64": "d", "F16": "e"}


class Draft:
    """A folder of a model before it is written: its configuration, and its tensors, (type, shape, bytes), by their names."""

    def __init__(self, folder, base, class_config=None):
        self.config = read_json(folder, "config.json")
        self.tensors = read_tensors(os.path.join(folder, "model.safetensors"))
        self.base = base + "." if base else ""  # prefix of the tensors that all heads share
        self.class_config = class_config or self.config  # all keys of its class
        self.tensors_per_file, self.pickled = None, False

    def renamed(self, change):
        """Whether a name changed."""
        names = {name: change(name) for name in self.tensors}
        self.tensors = {names[name]: value for name, value in self.tensors.items()}
        return any(name != new for name, new in names.items())

    def write(self, folder):
        os.makedirs(folder)
        write_json(folder, "config.json", self.config)
        names, count = sorted(self.tensors), self.tensors_per_file
        if self.pickled:
            return write_pickled(os.path.join(folder, "pytorch_model.bin"), self.tensors)
        if not count:
            return write_tensors(os.path.join(folder, "model.safetensors"), self.tensors)
        parts = [names[at:at + count] for at in range(0, len(names), count)]
        places = {}
        for number, part in enumerate(parts):
            file = f"model-{number + 1:05}-of-{len(parts):05}.safetensors"
            write_tensors(os.path.join(folder, file), {name: self.tensors[name] for name in part})
            places |= dict.fromkeys(part, file)
        size = sum(len(data) for _, _, data in self.tensors.values())
        write_json(folder, "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": places})


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (at["dtype"], at["shape"], data[slice(*at["data_offsets"])]) for name, at in header.items()}


def write_tensors(path, tensors):
    header, place = {"__metadata__": {"format": "pt"}}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def write_pickled(path, tensors):
    import torch
    types = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
    torch.save({name: torch.frombuffer(bytearray(data), dtype=types[kind]).reshape(shape) for name, (kind, shape, data) in tensors.items()}, path)


def tensor(shape, value, kind="F32"):
    return kind, list(shape), struct.pack("<f", value) * math.prod(shape)


def cast(value, kind):
    """From f32; to bf16 by leaving out what it has no bits for."""
    if value[0] != "F32":
        return value
    if kind == "BF16":
        data = value[2]
        return kind, value[1], b"".join(data[at + 2:at + 4] for at in range(0, len(data), 4))
    numbers = array.array("f", value[2])
    return kind, value[1], struct.pack(f"<{len(numbers)}{FLOATS[kind]}", *numbers)


FORMS = {}  # name -> (change, whether the results stay equal)


def form(name, same=True):
    def put(change):
        FORMS[name] = change, same
        return change
    return put


# Names of tensors.

@form("gamma and beta")
def gamma_and_beta(draft):
    return draft.renamed(lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"))


@form("without the base prefix")
def without_prefix(draft):
    return draft.base and draft.renamed(lambda name: name.removeprefix(draft.base))


@form("with the base prefix")
def with_prefix(draft):
    """A base model whose tensors are called as under a head."""
    apart = any(name.startswith(draft.base) for name in draft.tensors)
    return draft.base and not apart and draft.renamed(lambda name: draft.base + name)


@form("module.")
def parallel(draft):
    return draft.renamed(lambda name: "module." + name)


@form("_orig_mod.")
def compiled(draft):
    return draft.renamed(lambda name: "_orig_mod." + name)


@form("module. and _orig_mod.")
def parallel_and_compiled(draft):
    return draft.renamed(lambda name: "module._orig_mod." + name)


@form("buffers of old versions")
def buffers(draft):
    rows = draft.config.get("max_position_embeddings") or draft.config.get("n_positions") or 16
    made = {}
    for name in draft.tensors:
        if name.endswith("embeddings.word_embeddings.weight"):
            made[name.replace("word_embeddings.weight", "position_ids")] = ("I64", [1, rows], struct.pack(f"<{rows}q", *range(rows)))
        found = re.match(r"(.*self_attn\.)q_proj\.weight", name)
        if found and ("rope_theta" in draft.class_config or "rope_parameters" in draft.class_config):
            made[found[1] + "rotary_emb.inv_freq"] = tensor([4], 1.0)
        found = re.match(r"(.*\.attn\.)c_attn\.weight", name)
        if found:
            made[found[1] + "bias"] = tensor([1, 1, rows, rows], 1.0)
            made[found[1] + "masked_bias"] = tensor([], -1e9)
    draft.tensors |= made
    return bool(made)


# Files and number formats.

@form("three tensors a file")
def sharded(draft):
    draft.tensors_per_file = max(3, len(draft.tensors) // 4)
    return True


@form("pytorch_model.bin")
def pickled(draft):
    draft.pickled = True
    return True


def of_type(kind):
    def change(draft):
        draft.tensors = {name: cast(value, kind) for name, value in draft.tensors.items()}
        return True
    return change


# F64 holds every weight of scripts/random-folder exactly, so its results stay equal.
for kind in ("F16", "BF16", "F64"):
    form(kind.lower(), same=kind == "F64")(of_type(kind))


# Heads.

WORDS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight", "tok_embeddings.weight", "shared.weight")
HEADS = ("lm_head.weight", "embed_out.weight", "cls.predictions.decoder.weight", "vocab_projector.weight", "decoder.weight",
         "generator_lm_head.weight", "predictions.decoder.weight", "lm_head.decoder.weight", "proj_out.weight")


def table_of(draft):
    return next((name for end in WORDS for name in draft.tensors if name.endswith(end)), None)


def head_of(draft):
    return next((name for name in draft.tensors if name.endswith(HEADS)), None)


def is_tied(draft):
    return draft.class_config.get("tie_word_embeddings", True) and not head_of(draft)


HEAD_OF_CLASS = {"ForCausalLM": "lm_head.weight", "LMHeadModel": "lm_head.weight", "ForConditionalGeneration": "lm_head.weight"}


def head_named(draft):
    """The name under which the class has the matrix of its words, where it has its own."""
    kind = (draft.config.get("architectures") or [""])[0]
    if draft.config["model_type"] == "gpt_neox":
        return "embed_out.weight"
    return next((name for end, name in HEAD_OF_CLASS.items() if kind.endswith(end)), None)


@form("tied, both matrices")
def both_equal(draft):
    if not is_tied(draft) or not head_named(draft):
        return False
    draft.tensors[head_named(draft)] = draft.tensors[table_of(draft)]
    return True


@form("tied, both matrices, which differ", same=False)
def both_differ(draft):
    if not is_tied(draft) or not head_named(draft):
        return False
    kind, shape, data = draft.tensors[table_of(draft)]
    draft.tensors[head_named(draft)] = kind, shape, data[len(data) // 2:] + data[:len(data) // 2]
    return True


@form("tied, without the key", same=False)
def tied_silently(draft):
    return is_tied(draft) and bool(head_named(draft)) and draft.config.pop("tie_word_embeddings", None) is not None


@form("untied, without the matrix", same=False)
def untied_without(draft):
    if not head_named(draft) or head_of(draft):
        return False
    draft.config["tie_word_embeddings"] = False
    return True


@form("untied, saved again by Transformers 5")
def untied_again(draft):
    """T5 says there that its matrices are one, keeps both and says that rows are not scaled."""
    if draft.config["model_type"] not in ("t5", "umt5") or not head_of(draft):
        return False
    draft.config |= {"tie_word_embeddings": True, "scale_decoder_outputs": False}
    return True


@form("table of words under another name")
def other_table(draft):
    """What T5 and BART save where matrices are shared differs from version to version."""
    if "shared.weight" in draft.tensors:
        draft.tensors["encoder.embed_tokens.weight"] = draft.tensors["decoder.embed_tokens.weight"] = draft.tensors.pop("shared.weight")
    elif "model.shared.weight" in draft.tensors:
        draft.tensors["model.encoder.embed_tokens.weight"] = draft.tensors["model.shared.weight"]
        draft.tensors["model.decoder.embed_tokens.weight"] = draft.tensors.pop("model.shared.weight")
    else:
        return False
    return True


@form("a tensor that no class has")
def unknown_tensor(draft):
    draft.tensors["teacher.projection.weight"] = tensor([3, 3], 1.0)
    return True


# config.json.

@form("without architectures")
def without_architectures(draft):
    return bool(draft.config.pop("architectures", None))


@form("num_labels alone")
def labels_counted(draft):
    labels = draft.class_config.get("id2label") or {}
    if "Classification" not in (draft.config.get("architectures") or [""])[0]:
        return False
    draft.config.pop("id2label", None)
    draft.config.pop("label2id", None)
    draft.config["num_labels"] = len(labels)
    return True


@form("pad_token_id -1", same=False)
def no_padding(draft):
    draft.config["pad_token_id"] = -1
    return "vocab_size" in draft.class_config


@form("every key of the class")
def every_key(draft):
    draft.config = draft.class_config | draft.config
    return True


OLD = dict(finetuning_task=None, output_past=True, pruned_heads={}, torchscript=False, use_bfloat16=False, xla_device=None,
           output_attentions=False, output_hidden_states=False, is_encoder_decoder=False, directionality="bidi", gradient_checkpointing=False,
           do_sample=False, early_stopping=False, max_length=20, min_length=0, num_beams=1, temperature=1.0, top_k=50, top_p=1.0,
           repetition_penalty=1.0, length_penalty=1.0, no_repeat_ngram_size=0, bad_words_ids=None, num_return_sequences=1,
           pooler_fc_size=768, pooler_num_attention_heads=12, pooler_num_fc_layers=3, pooler_size_per_head=128,
           pooler_type="first_token_transform", transformers_version="4.6.0", torch_dtype="float32", problem_type=None, use_cache=True)


@form("keys of old versions")
def old_keys(draft):
    draft.config.pop("dtype", None)
    of_decoders = {key: value for key, value in OLD.items() if key not in ("is_encoder_decoder",)}
    draft.config = of_decoders | draft.config | {"torch_dtype": "float32", "transformers_version": "4.6.0"}
    return True


@form("dtype float16 beside f32")
def other_dtype(draft):
    draft.config.pop("torch_dtype", None)
    draft.config["dtype"] = "float16"
    return True


@form("quantization_config", same=False)
def quantized(draft):
    draft.config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    return True


def rope_of(draft):
    """The positions of either version: their parameters, flat. None without them, and for those of several kinds of layers."""
    new = draft.config.get("rope_parameters")
    if new is None:
        old = draft.config.get("rope_scaling") or {}
        theta = draft.config.get("rope_theta")
        return dict(old, rope_theta=theta) if theta is not None and "rope_type" in dict(old, rope_type=1) else None
    return None if any(isinstance(value, dict) for value in new.values()) else dict(new)


@form("rope_theta and rope_scaling")
def rope_old(draft):
    rope = rope_of(draft)
    if not rope or "rope_parameters" not in draft.config:
        return False
    del draft.config["rope_parameters"]
    draft.config["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        draft.config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    draft.config["rope_scaling"] = rope if rope.get("rope_type", "default") != "default" else None
    return True


@form("rope_scaling by the key type")
def rope_typed(draft):
    scaling = draft.config.get("rope_scaling")
    if not scaling or "rope_type" not in scaling:
        return False
    scaling["type"] = scaling.pop("rope_type")
    return True


@form("rope_parameters")
def rope_new(draft):
    rope = rope_of(draft)
    if not rope or "rope_parameters" in draft.config:
        return False
    rope.setdefault("rope_type", rope.get("type", "default"))
    for key in ("rope_theta", "rope_scaling"):
        draft.config.pop(key, None)
    if "partial_rotary_factor" in draft.config:
        rope["partial_rotary_factor"] = draft.config.pop("partial_rotary_factor")
    draft.config["rope_parameters"] = rope
    return True


@form("rope_parameters beside another rope_theta", same=False)
def rope_both(draft):
    rope = rope_of(draft)
    if not rope or "rope_parameters" not in draft.config:
        return False
    draft.config["rope_theta"] = 3.0 * rope["rope_theta"]
    return True


@form("rope_scaling of the default kind")
def rope_default(draft):
    if "rope_theta" not in draft.config or draft.config.get("rope_scaling"):
        return False
    draft.config["rope_scaling"] = {"rope_type": "default", "type": "default"}
    return True
