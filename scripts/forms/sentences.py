# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layouts of folders that versions 1 to 6 of Sentence-Transformers wrote. A layout is a dict of what differs from LAYOUT; a new one is
one entry."""
import json
import os
import shutil
import sys

import families
import make
import numpy
import safetensors.torch
import torch
import transformers as hf
import words

SIZE, POSITIONS, VOCABULARY = 36, 24, 1000
TEXTS = ["the River runs", "The RIVER runs past the café", "a", "two blanks  and numbers 12345", "",
         "I love knots and " + "words of one long text that goes on " * 6, "x " * 9]
MODES = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
         "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
NAMES = [f"sentence_{name}_config.json" for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")]


def old_pooling(*modes, **more):
    return {"word_embedding_dimension": SIZE} | {f"pooling_mode_{MODES[mode]}": True for mode in modes} | more


def dense(**more):
    return {"in_features": SIZE, "out_features": 20, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"} | more


LAYOUT = dict(
    inner="",                                           # the folder of the model
    lengths={"sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": False}},
    tokenizer={},                                       # keys of tokenizer_config.json
    truncation=None,                                    # max_length of tokenizer.json
    pooling=old_pooling("mean"), dense=None, normalize=False, config=None,
    types="sentence_transformers.models.{}", tail="", prompt=None,
    # A layout with equal results, for layouts that the library cannot read.
    like=None)

NEW = dict(types="sentence_transformers.{}.modules.{}.{}", pooling={"embedding_dimension": SIZE, "pooling_mode": "mean", "include_prompt": True})
PROMPTS = {"prompts": {"query": "the river: ", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
LAYOUTS = {
    "version 1, 0_Transformer": dict(inner="0_Transformer"),
    "version 2": dict(config={"__version__": {"sentence_transformers": "2.0.0", "transformers": "4.7.0", "pytorch": "1.9.0+cu102"}}),
    "version 3": dict(config=PROMPTS | {"__version__": {"sentence_transformers": "3.0.0", "transformers": "4.41.2", "pytorch": "2.3.1"}}),
    "version 5": dict(config=PROMPTS | {"model_type": "SentenceTransformer"}),
    "version 6": dict(NEW, config=PROMPTS | {"model_type": "SentenceTransformer"}, tokenizer={"model_max_length": 12}, lengths={
        "sentence_bert_config.json": {"transformer_task": "feature-extraction", "modality_config": {
            "text": {"method": "forward", "method_output_name": "last_hidden_state"}}, "module_output_name": "token_embeddings"}}),
    "without a length": dict(lengths={}),
    "a length of null": dict(lengths={"sentence_bert_config.json": {"max_seq_length": None, "do_lower_case": False}}),
    "a length beyond the positions": dict(like="without a length", lengths={"sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False}}),
    "model_max_length alone": dict(lengths={}, tokenizer={"model_max_length": 9}),
    "model_max_length below": dict(tokenizer={"model_max_length": 9}),
    "model_max_length above": dict(tokenizer={"model_max_length": 20}),
    "model_max_length huge": dict(lengths={}, tokenizer={"model_max_length": 1000000000000000019884624838656}),
    "truncation of tokenizer.json alone": dict(lengths={}, truncation=8),
    "truncation of tokenizer.json beside a length": dict(truncation=8),
    "model_max_length and truncation": dict(lengths={}, truncation=8, tokenizer={"model_max_length": 14}),
    "do_lower_case": dict(lengths={"sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": True}}),
    "do_lower_case of tokenizer_config.json": dict(tokenizer={"do_lower_case": True}),
    "Dense": dict(dense=dense()), "Dense without bias": dict(dense=dense(bias=False)),
    "Normalize": dict(normalize=True), "Dense and Normalize": dict(dense=dense(), normalize=True),
    "Dense of version 6": dict(NEW, dense=dense(module_input_name="sentence_embedding", module_output_name="sentence_embedding")),
    "Dense with a residual": dict(dense=dense(out_features=SIZE, use_residual=True)),
    "Dense on tokens": dict(dense=dense(module_input_name="token_embeddings")),
    "pytorch_model.bin of Dense": dict(dense=dense(), tail="pickled"),
    "include_prompt false": dict(pooling=old_pooling("mean", include_prompt=False), config=PROMPTS, prompt="query"),
    "a prompt": dict(config=PROMPTS, prompt="query"),
    "a default prompt": dict(config=PROMPTS | {"default_prompt_name": "query"}),
    "similarity dot": dict(config=PROMPTS | {"similarity_fn_name": "dot"}),
    "no pooling mode is true": dict(pooling={"word_embedding_dimension": SIZE, "pooling_mode_mean_tokens": False}),
    "a list of poolings": dict(NEW, pooling={"embedding_dimension": SIZE, "pooling_mode": ["max", "cls"], "include_prompt": True}),
    "StaticEmbedding": dict(tail="static"), "StaticEmbedding and Normalize": dict(tail="static", normalize=True),
    "StaticEmbedding of version 6": dict(NEW, tail="static"),
    "LayerNorm": dict(tail="LayerNorm"), "Dropout": dict(tail="Dropout"), "WordWeights": dict(tail="WordWeights"),
    "CLIPModel": dict(tail="clip"), "without modules.json": dict(tail="alone"),
}
LAYOUTS |= {f"the length in {name}": dict(lengths={name: {"max_seq_length": 12, "do_lower_case": False}}) for name in NAMES[1:]}
LAYOUTS |= {f"pooling {mode}": dict(pooling=old_pooling(mode)) for mode in MODES}
LAYOUTS |= {f"pooling {mode} of version 6": dict(NEW, pooling=NEW["pooling"] | {"pooling_mode": mode}) for mode in MODES}
LAYOUTS |= {f"pooling {mode}, include_prompt false": dict(pooling=old_pooling(mode, include_prompt=False), config=PROMPTS, prompt="query")
            for mode in MODES}
LAYOUTS |= {f"Dense, {name}": dict(dense=dense(activation_function="torch.nn.modules." + name)) for name in (
    "linear.Identity", "activation.ReLU", "activation.GELU", "activation.Sigmoid", "activation.SiLU", "activation.LeakyReLU")}
FAMILIES = {"sentence-transformers": LAYOUTS}


def model_of():
    torch.manual_seed(1)
    config = hf.BertConfig(vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=1, num_attention_heads=3, intermediate_size=52,
                           max_position_embeddings=POSITIONS)
    return families.randomised(hf.BertModel(config), 1)


def put(folder, file, value):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
        json.dump(value, out, indent=2)


def write_tokenizer(scratch, folder, layout):
    context = words.Context(scratch, "bert")
    tokenizer = context.made(True, do_lower_case=False)
    tokenizer.save_pretrained(folder)
    config = json.load(open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8"))
    config.pop("model_max_length", None)
    put(folder, "tokenizer_config.json", config | layout["tokenizer"])
    if layout["truncation"]:
        value = json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))
        value["truncation"] = dict(direction="Right", max_length=layout["truncation"], strategy="LongestFirst", stride=0)
        put(folder, "tokenizer.json", value)


def module_type(layout, name):
    base = "base" if name in ("Transformer", "Dense", "Normalize") else "sentence_transformer"
    file = {"StaticEmbedding": "static_embedding"}.get(name, name.lower())
    return layout["types"].format(name) if layout["types"].count("{}") == 1 else layout["types"].format(base, file, name)


def write_layout(scratch, out, layout):
    if layout["tail"] == "clip":
        return write_clip(scratch, out)
    static = layout["tail"] == "static"
    inner = os.path.join(out, "0_StaticEmbedding" if static else layout["inner"])
    if static:
        os.makedirs(inner)
        words.Context(scratch, "bert").made(True).backend_tokenizer.save(os.path.join(inner, "tokenizer.json"))
        table = torch.randn(VOCABULARY, SIZE, generator=torch.Generator().manual_seed(3))
        safetensors.torch.save_file({"embedding.weight": table}, os.path.join(inner, "model.safetensors"))
    else:
        model_of().save_pretrained(inner)
        write_tokenizer(scratch, inner, layout)
        for file, value in layout["lengths"].items():
            put(inner, file, value)
    if layout["tail"] == "alone":
        return
    modules = [("StaticEmbedding", "0_StaticEmbedding")] if static else [("Transformer", layout["inner"]), ("Pooling", "1_Pooling")]
    if not static:
        put(os.path.join(out, "1_Pooling"), "config.json", layout["pooling"])
    if layout["dense"]:
        modules.append(("Dense", f"{len(modules)}_Dense"))
        write_dense(os.path.join(out, modules[-1][1]), layout)
    if layout["tail"] in ("LayerNorm", "Dropout", "WordWeights"):
        modules.append((layout["tail"], f"{len(modules)}_{layout['tail']}"))
        write_other(os.path.join(out, modules[-1][1]), layout["tail"])
    if layout["normalize"]:
        modules.append(("Normalize", f"{len(modules)}_Normalize"))
        os.makedirs(os.path.join(out, modules[-1][1]))
    put(out, "modules.json", [dict(idx=i, name=str(i), path=path, type=module_type(layout, name)) for i, (name, path) in enumerate(modules)])
    if layout["config"]:
        put(out, "config_sentence_transformers.json", layout["config"])


def write_clip(scratch, out):
    """As the models of images and texts were written."""
    inner = os.path.join(out, "0_CLIPModel")
    context = words.Context(scratch, "clip_text_model")
    context.raw(inner, {"model_max_length": 20})
    size = len(context.made(True))
    parts = dict(hidden_size=SIZE, num_hidden_layers=1, num_attention_heads=3, intermediate_size=40)
    torch.manual_seed(1)
    config = hf.CLIPConfig(text_config=parts | dict(vocab_size=size, max_position_embeddings=20, eos_token_id=1, bos_token_id=0),
                           vision_config=parts | dict(image_size=12, patch_size=4), projection_dim=20)
    families.randomised(hf.CLIPModel(config), 1).save_pretrained(inner)
    put(inner, "preprocessor_config.json", dict(image_processor_type="CLIPImageProcessor", size={"shortest_edge": 12}, crop_size=12))
    put(out, "modules.json", [dict(idx=0, name="0", path="0_CLIPModel", type="sentence_transformers.models.CLIPModel")])


def write_dense(folder, layout):
    settings = layout["dense"]
    put(folder, "config.json", settings)
    generator = torch.Generator().manual_seed(5)
    tensors = {"linear.weight": 0.2 * torch.randn(settings["out_features"], settings["in_features"], generator=generator)}
    if settings["bias"]:
        tensors["linear.bias"] = 0.2 * torch.randn(settings["out_features"], generator=generator)
    if settings.get("use_residual") and settings["in_features"] != settings["out_features"]:
        tensors["residual.weight"] = torch.ones(settings["out_features"], settings["in_features"])
    if layout["tail"] == "pickled":
        torch.save(tensors, os.path.join(folder, "pytorch_model.bin"))
    else:
        safetensors.torch.save_file(tensors, os.path.join(folder, "model.safetensors"))


def write_other(folder, name):
    settings = {"LayerNorm": {"dimension": SIZE}, "Dropout": {"dropout": 0.2},
                "WordWeights": {"vocab": ["a"], "word_weights": {"a": 2.0}, "unknown_word_weight": 1}}[name]
    put(folder, "config.json", settings)
    if name == "LayerNorm":
        generator = torch.Generator().manual_seed(6)
        safetensors.torch.save_file({"norm.weight": torch.rand(SIZE, generator=generator), "norm.bias": torch.rand(SIZE, generator=generator)},
                                    os.path.join(folder, "model.safetensors"))


# Layouts that the installed version also reads and saves again.
SAVED = ["version 3", "a length beyond the positions", "do_lower_case", "Dense and Normalize", "StaticEmbedding", "pooling cls",
         "pooling mean_sqrt_len_tokens", "include_prompt false", "a list of poolings", "without a length", "without modules.json"]


def case_of(scratch, family, form, writer, folder, layout):
    texts = os.path.join(scratch, "sentences.txt")
    if not os.path.exists(texts):
        with open(texts, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in TEXTS)
    flags = [f"--prompt={layout['prompt']}"] if layout["prompt"] else []
    same = layout["like"] and os.path.join(scratch, writer, family, layout["like"])
    return dict(kind="sentences", family=family, head="vectors", form=form, writer=writer, folder=folder, same=same, texts=texts, flags=flags,
                prompt=layout["prompt"])


def write(scratch, writer, family, done):
    for name, changes in FAMILIES[family].items():
        layout = LAYOUT | changes
        folder = os.path.join(scratch, writer, family, name)
        if name not in done:
            write_layout(scratch, folder, layout)
            yield case_of(scratch, family, name, writer, folder, layout)
        if name in SAVED:
            try:
                yield case_of(scratch, family, f"as saved, {name}", writer, save_again(scratch, writer, family, name, layout), layout)
            except Exception as error:  # this version cannot read its own earlier layout
                print(f"{family} {name}: {type(error).__name__}: {error}", file=sys.stderr)


def save_again(scratch, writer, family, name, layout):
    from sentence_transformers import SentenceTransformer
    before, folder = os.path.join(scratch, writer, family, "before"), os.path.join(scratch, writer, family, "as saved, " + name)
    shutil.rmtree(before, ignore_errors=True)
    write_layout(scratch, before, layout)
    SentenceTransformer(before, device="cpu").save(folder)
    return folder


def read(case):
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(case["folder"], device="cpu", model_kwargs={} if "Static" in case["form"] else {"torch_dtype": torch.float32})
    texts = open(case["texts"], encoding="utf-8").read().split("\n")[:-1]
    more = {"prompt_name": case["prompt"]} if case["prompt"] else {}
    return {"output": numpy.asarray(model.encode(texts, batch_size=1, convert_to_numpy=True, **more), numpy.float32)}
