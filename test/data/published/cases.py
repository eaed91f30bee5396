# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of scripts/published that needs no Python package: folders of test/data/folders and of vocabularies/ in other forms. cases(out)
writes them and yields what scripts/forms calls cases; expected.json says what the libraries read in those whose results are not the
unchanged folder's."""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = os.path.join(HERE, "../folders")
sys.path.append(os.path.join(HERE, "../../../scripts/forms"))
import models

# Folders of models, and what their classes put in front of the names of the base. A form is tried on the first that it applies to,
# the first of each form being the next.
BASES = {"bert-masked": "bert", "llama-decoder": "model", "t5": "transformer", "bert-classes": "bert", "gpt2-decoder": "transformer",
         "stablelm-decoder": "model", "bert": "bert", "t5-gated": "transformer", "deberta-masked": "deberta"}
# Forms that every one of the listed folders has.
ALSO = {"rope_parameters": ("stablelm-decoder", "llama-decoder", "glm4-decoder", "phi3-decoder"), "gamma and beta": ("bert", "deberta-masked"),
        "num_labels alone": ("bert-classes",), "untied, saved again by Transformers 5": ("t5-gated",),
        "tied, both matrices, which differ": ("t5", "qwen3-decoder"),
        "without the base prefix": ("bert-masked", "llama-decoder", "nomic-masked", "new-classes"),
        "with the base prefix": ("bert", "modernbert", "nomic", "new")}
PREFIXES = {"qwen3-decoder": "model", "glm4-decoder": "model", "phi3-decoder": "model", "nomic-masked": "bert", "new-classes": "new",
            "nomic": "nomic_bert", "new": "gte", "modernbert": "model"}


def model_cases(out):
    bases = list(BASES)
    for number, (form, (change, same)) in enumerate(models.FORMS.items()):
        if form == "pytorch_model.bin":  # needs PyTorch
            continue
        listed = list(ALSO.get(form, ()))
        for folder in listed or bases[number % len(bases):] + bases[:number % len(bases)]:
            base = os.path.join(FOLDERS, folder)
            draft = models.Draft(base, BASES.get(folder, PREFIXES.get(folder)))
            if not change(draft):
                continue
            made = os.path.join(out, f"{form}, {folder}")
            draft.write(made)
            yield dict(kind="model", name=f"{form}, {folder}", folder=made, same=base if same else None, place=os.path.join(base, "golden"))
            if not listed:
                break
    # Transformers 5 saves both biases of an untied head, and uses the one of the decoder.
    base = os.path.join(FOLDERS, "bert-masked")
    draft = models.Draft(base, BASES["bert-masked"])
    kind, shape, data = draft.tensors["cls.predictions.bias"]
    draft.tensors["cls.predictions.decoder.bias"] = kind, shape, data
    draft.tensors["cls.predictions.bias"] = kind, shape, bytes(len(data))
    made = os.path.join(out, "two biases, bert-masked")
    draft.write(made)
    yield dict(kind="model", name="two biases, bert-masked", folder=made, same=base, place=os.path.join(base, "golden"))


# Tokenizers: a vocabulary, files next to it; None: no such file, a text: copied.

def added(first, *contents, special=True):
    return {str(first + i): dict(content=content, lstrip=False, rstrip=False, single_word=False, normalized=False, special=special)
            for i, content in enumerate(contents)}


WORD_PIECES, BYTES, ROBERTA = "word-pieces", "bytes", "roberta"
TOKENIZERS = {
    "BERT's class": (WORD_PIECES, {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}}),
    "BERT by model_type": (WORD_PIECES, {"config.json": {"model_type": "bert"}}),
    "BERT, do_lower_case false": (WORD_PIECES, {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": False}}),
    "BERT, tokens of its own": (WORD_PIECES, {
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "additional_special_tokens": ["[E1]", "[/E1]"]},
        "added_tokens.json": {"[E1]": 300, "[/E1]": 301}}),
    "DistilBERT": (WORD_PIECES, {"tokenizer_config.json": {"tokenizer_class": "DistilBertTokenizer", "strip_accents": False}}),
    "ELECTRA": (WORD_PIECES, {"tokenizer_config.json": {"tokenizer_class": "ElectraTokenizer", "tokenize_chinese_chars": False}}),
    "BertJapanese": (WORD_PIECES, {"tokenizer_config.json": {
        "tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab", "subword_tokenizer_type": "wordpiece"}}),
    "tokenizer.json, do_lower_case false": (WORD_PIECES, {"tokenizer.json": "word-pieces.json", "tokenizer_config.json": {
        "tokenizer_class": "BertTokenizer", "do_lower_case": False}}),
    "tokenizer.json, strip_accents false": (WORD_PIECES, {"tokenizer.json": "word-pieces.json", "tokenizer_config.json": {
        "tokenizer_class": "BertTokenizer", "strip_accents": False}}),
    "GPT-2": (BYTES, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}),
    "GPT-2, add_prefix_space": (BYTES, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}}),
    "GPT-2, add_bos_token": (BYTES, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}}),
    "Qwen 2": (BYTES, {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer"}}),
    "tokenizer.json, added_tokens_decoder of more": (BYTES, {"tokenizer.json": "bytes.json", "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "added_tokens_decoder": added(0, "<|endoftext|>")
        | added(400, "<|im_start|>", "<|im_end|>")}}),
    "RoBERTa": (ROBERTA, {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer"}}),
    "RoBERTa by model_type": (ROBERTA, {"config.json": {"model_type": "roberta"}}),
    "OPT": (ROBERTA, {"config.json": {"model_type": "opt"}, "tokenizer_config.json": {
        "tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>",
        "pad_token": "<pad>"}}),
    "no class is known": (ROBERTA, {}),
}
TEXTS = ["", "the River runs", " two  blanks", "The [E1] river [/E1] runs", "a[E1]b", "<|im_start|>user hi<|im_end|>", "Don't they're 12345!",
         "naïve CAFÉ déjà", "神奈川県", "<s>a</s>", "[CLS] a", " <mask> x", "<|endoftext|>z", "e\u0301", "x\u3000y"]


def token_cases(out):
    texts = os.path.join(out, "texts.json")
    models.write_json(out, "texts.json", {"texts": TEXTS, "pairs": [TEXTS[1:3]]})
    for name, (vocabulary, files) in TOKENIZERS.items():
        folder = os.path.join(out, name)
        place = os.path.join(HERE, "vocabularies", vocabulary)
        if files.get("tokenizer.json"):
            os.makedirs(folder)
        else:
            shutil.copytree(place, folder)
        for file, value in files.items():
            if isinstance(value, str):
                shutil.copy(os.path.join(HERE, "vocabularies", value), os.path.join(folder, file))
            else:
                models.write_json(folder, file, value)
        yield dict(kind="tokens", name=name, folder=folder, same=None, texts=texts)


# Folders of Sentence-Transformers: test/data/folders/sentences with other files; None: without it.

TRANSFORMER = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
BARE = {"modules.json": [TRANSFORMER, POOLING]}
LENGTH, MODES = "sentence_bert_config.json", ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
SENTENCES = {
    "a length in model_max_length": BARE | {LENGTH: None, "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 6}},
    "lengths in two files": BARE | {LENGTH: {"max_seq_length": 12}, "tokenizer_config.json": {
        "tokenizer_class": "BertTokenizer", "model_max_length": 6}},
    "no length": BARE | {LENGTH: None},
    "a length of RoBERTa": BARE | {LENGTH: None, "sentence_roberta_config.json": {"max_seq_length": 5, "do_lower_case": False}},
    "do_lower_case": BARE | {LENGTH: {"max_seq_length": 12, "do_lower_case": True}, "normalizer": None},
    "similarity dot": BARE | {"config_sentence_transformers.json": {"similarity_fn_name": "dot", "prompts": {}}},
} | {f"pooling {mode}": BARE | {"1_Pooling/config.json": {"word_embedding_dimension": 36, "pooling_mode_" + mode: True}} for mode in MODES}
LINES = ["the Warp goes over one thread", "A weaver!", "", "blue and red knots of fine cloth"]


def sentence_cases(out):
    texts = os.path.join(out, "lines.txt")
    with open(texts, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in LINES)
    base = os.path.join(FOLDERS, "sentences")
    for name, files in SENTENCES.items():
        folder = os.path.join(out, name)
        copy_folder(base, folder, files)
        yield dict(kind="sentences", name=name, folder=folder, same=None, texts=texts, prompt=None, form=name)
    yield dict(kind="sentences", name="0_Transformer", folder=first_layout(base, os.path.join(out, "0_Transformer")), same=None, texts=texts,
               prompt=None, form="0_Transformer")
    yield dict(kind="sentences", name="StaticEmbedding", folder=static_layout(os.path.join(out, "StaticEmbedding")), same=None, texts=texts,
               prompt=None, form="StaticEmbedding")


def copy_folder(base, folder, files):
    shutil.copytree(base, folder, ignore=shutil.ignore_patterns("golden"))
    for file, value in files.items():
        path = os.path.join(folder, file)
        if file == "normalizer":
            tokenizer = models.read_json(folder, "tokenizer.json")
            tokenizer["normalizer"]["lowercase"] = False
            models.write_json(folder, "tokenizer.json", tokenizer)
        elif value is None:
            os.remove(path)
        else:
            models.write_json(os.path.dirname(path), os.path.basename(path), value)


def first_layout(base, folder):
    """As version 1 wrote it: the model in a folder of its own."""
    copy_folder(base, os.path.join(folder, "0_Transformer"), {})
    inner = os.path.join(folder, "0_Transformer")
    shutil.move(os.path.join(inner, "1_Pooling"), folder)
    for file in ("2_Dense", "modules.json", "config_sentence_transformers.json"):
        path = os.path.join(inner, file)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    models.write_json(folder, "modules.json", [dict(TRANSFORMER, path="0_Transformer"), POOLING])
    return folder


def static_layout(folder):
    """A table alone: rows of another model's."""
    inner = os.path.join(folder, "0_StaticEmbedding")
    os.makedirs(inner)
    base = os.path.join(FOLDERS, "sentences")
    shutil.copy(os.path.join(base, "tokenizer.json"), inner)
    table = next(value for name, value in models.read_tensors(os.path.join(base, "model.safetensors")).items() if "word_embeddings" in name)
    models.write_tensors(os.path.join(inner, "model.safetensors"), {"embedding.weight": table})
    models.write_json(folder, "modules.json", [{
        "idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"}])
    return folder


def cases(out):
    for kind, made in (("models", model_cases), ("tokens", token_cases), ("sentences", sentence_cases)):
        os.makedirs(os.path.join(out, kind))
        yield from made(os.path.join(out, kind))


def expected():
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        return json.load(file)
