# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains small SentencePiece models, puts each into a folder as a family of models has it, and writes what Transformers' classes make of
the hard texts.

usage: DIR/bin/python test/data/tokenizers/make-folders.py [--train] [NAME ...]     DIR: made by scripts/goldens-setup, with Transformers 5;
                                                                               mbart: with Transformers 4, since version 5 loses the table of characters

Without --train models that are there are kept.

test/data/tokenizers/folders/NAME/       the folder: one or two models, a vocabulary, tokenizer_config.json
test/data/tokenizers/folders/NAME.gz     a line a text: a hash of its ids; then one a pair of neighbours; then one a text of the first
                                    300 that are not empty: a hash of its ids decoded without special tokens
"""
import gzip
import json
import pathlib
import sys

import sentencepiece
import transformers as hf
from transformers.models.m2m_100 import tokenization_m2m_100 as m2m

import make
import texts as source

HERE = pathlib.Path(__file__).parent
FOLDERS = HERE / "folders"
PAIRS = 100
DECODED = 300


def short(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"[:6]


# nmt_nfkc also drops the control characters.
RULES = {**make.character_rules(), **{chr(c): "" for c in (*range(1, 9), 0xb, *range(0xe, 0x20), 0x7f, 0x8f, 0x9f)}}


def trained(path, lines, **options):
    if not path.exists() or "--train" in sys.argv:
        path.write_bytes(make.trained_pieces(RULES, lines, **{"vocab_size": 500, **options}))


LINES = source.corpus()
ENGLISH = [line for line in LINES if line.isascii()]


def pieces_of(path):
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.IdToPiece(i) for i in range(len(model))]


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def config(folder, name, **more):
    write_json(folder / "tokenizer_config.json", dict(tokenizer_class=name + "Tokenizer", **more))


T5_IDS = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def t5(folder):
    trained(folder / "spiece.model", LINES, **T5_IDS)
    write_json(folder / "config.json", dict(model_type="t5"))
    return hf.T5Tokenizer


def mt5(folder):
    trained(folder / "spiece.model", LINES, byte_fallback=True, vocab_size=700, **T5_IDS)
    config(folder, "T5", extra_ids=0)
    return hf.T5Tokenizer


def xlm_roberta(folder):
    trained(folder / "sentencepiece.bpe.model", LINES)
    config(folder, "XLMRoberta")
    return hf.XLMRobertaTokenizer


def mbart(folder):
    trained(folder / "sentencepiece.bpe.model", LINES)
    config(folder, "MBart", src_lang="de_DE")
    return hf.MBartTokenizer


def mbart50(folder):
    trained(folder / "sentencepiece.bpe.model", LINES)
    config(folder, "MBart50")
    return hf.MBart50Tokenizer


def nllb(folder):
    trained(folder / "sentencepiece.bpe.model", LINES, model_type="bpe")
    languages = ["ace_Arab", "eng_Latn", "fra_Latn", "zho_Hans", "<mask>"]
    first = len(pieces_of(folder / "sentencepiece.bpe.model")) + 1
    own = {str(i): dict(content=token, lstrip=False, rstrip=False, single_word=False, normalized=False, special=True)
           for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>"])}
    own.update({str(first + i): dict(content=token, lstrip=token == "<mask>", rstrip=False, single_word=False, normalized=False,
                                     special=True) for i, token in enumerate(languages)})
    config(folder, "Nllb", added_tokens_decoder=own, additional_special_tokens=languages[:-1], src_lang="fra_Latn")
    return hf.NllbTokenizer


def pegasus(folder):
    trained(folder / "spiece.model", LINES, **T5_IDS)
    config(folder, "Pegasus")
    return hf.PegasusTokenizer


def m2m_100(folder):
    trained(folder / "sentencepiece.bpe.model", LINES, model_type="bpe")
    pieces = pieces_of(folder / "sentencepiece.bpe.model")[3:]
    # Not all pieces have a number, and they stand in another order.
    write_json(folder / "vocab.json", {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + pieces[:-20][::-1])})
    write_json(folder / "config.json", dict(model_type="m2m_100"))
    languages = m2m.FAIRSEQ_LANGUAGE_CODES["m2m100"]
    write_json(folder / "tokenizer_config.json", dict(additional_special_tokens=[f"__{language}__" for language in languages]))
    return hf.M2M100Tokenizer


def marian(folder):
    trained(folder / "source.spm", ENGLISH, vocab_size=200, character_coverage=1.0)
    trained(folder / "target.spm", LINES)
    pieces = sorted(set(pieces_of(folder / "source.spm")[3:-10] + pieces_of(folder / "target.spm")[3:]))
    write_json(folder / "vocab.json", {token: i for i, token in enumerate(["</s>", "<unk>", ">>deu<<", ">>fra<<"] + pieces + ["<pad>"])})
    write_json(folder / "config.json", dict(model_type="marian"))
    return hf.MarianTokenizer


KINDS = [t5, mt5, xlm_roberta, mbart, mbart50, nllb, pegasus, m2m_100, marian]


def written_ids(tokenizer, text):
    """The ids of a text as the model would write it."""
    return tokenizer(text_target=text).input_ids if isinstance(tokenizer, hf.MarianTokenizer) else tokenizer(text).input_ids


def golden(tokenizer, texts):
    listed = lambda ids: short(" ".join(map(str, ids)))
    for text in texts:
        yield listed(tokenizer(text).input_ids)
    for i in range(PAIRS):
        yield listed(tokenizer(texts[-1 - i], texts[-2 - i]).input_ids)
    for text in [text for text in texts if text.strip()][-DECODED:]:
        yield short(tokenizer.decode(written_ids(tokenizer, text), skip_special_tokens=True))


def main():
    texts = source.hard_texts()
    names = [name for name in sys.argv[1:] if name != "--train"]
    for kind in KINDS:
        name = kind.__name__.replace("_", "-")
        if names and name not in names:
            continue
        folder = FOLDERS / name
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = kind(folder).from_pretrained(str(folder))
        if hasattr(tokenizer, "_add_eos_if_not_present"):  # behind a text that spells the end; the class says that it will do so
            tokenizer._add_eos_if_not_present = lambda ids, end=tokenizer.eos_token_id: ids + [end]
        lines = list(golden(tokenizer, texts))
        with open(FOLDERS / (name + ".gz"), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
            file.write("".join(line + "\n" for line in lines).encode())
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(name, size, (FOLDERS / (name + ".gz")).stat().st_size, len(tokenizer), flush=True)


if __name__ == "__main__":
    main()
