# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small tokenizer of each kind that models have, and writes what the package `tokenizers` makes of hard texts.

usage: DIR/bin/python test/data/tokenizers/make.py [--train] [NAME ...]     DIR: made by scripts/tokenizers-setup

Without --train what is there is kept: training gives another vocabulary each time.

test/data/tokenizers/texts.json.gz       the texts, a list
test/data/tokenizers/NAME/tokenizer.json  or tokenizer.model, of SentencePiece
test/data/tokenizers/NAME/golden.gz      a line a text: ids, and hashes of spans, of words, and of the decoded text with and without
                                    special tokens; then a line a pair of neighbours: a hash of its ids, types and spans; then
                                    those of every tenth pair cut to several lengths. Long lists of ids are hashes as well.
test/data/tokenizers/NAME/pieces.gz      of a SentencePiece model: a line a text, its ids as SentencePiece gives them
"""

import base64
import gzip
import io
import json
import pathlib
import sys
import unicodedata

import sentencepiece
from tokenizers import Tokenizer, trainers

import texts as source

HERE = pathlib.Path(__file__).parent
PAIRS = 300
LONGEST = 48  # ids that are written out


def fnv(values):
    value = 0xCBF29CE484222325
    for byte in " ".join(map(str, values)).encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def short(values):
    return fnv(values)[:8]


#===- Components -----------------------------------------------------------===#

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = ("|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"]))
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
DEEPSEEK = [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+"]


def byte_level(prefix=False, regex=True, trim=True):
    return dict(type="ByteLevel", add_prefix_space=prefix, trim_offsets=trim, use_regex=regex)


def bert_normalizer(lower=True, accents=None, chinese=True):
    return dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower)


def metaspace(scheme="always", split=True):
    return dict(type="Metaspace", replacement="▁", prepend_scheme=scheme, split=split)


def sequence(key, *steps):
    return {"type": "Sequence", key: list(steps)}


def normalizers(*steps):
    return sequence("normalizers", *steps)


def split(regex, behavior="Isolated", invert=False):
    return dict(type="Split", pattern=dict(Regex=regex), behavior=behavior, invert=invert)


def replace(old, new, kind="String"):
    return dict(type="Replace", pattern={kind: old}, content=new)


def template(single, pair, specials):
    def pieces(text):
        out = []
        for piece in text.split():
            name, _, kind = piece.partition(":")
            body = dict(id=name.strip("$"), type_id=int(kind or 0))
            out.append({"Sequence" if name.startswith("$") else "SpecialToken": body})
        return out
    tokens = {name: dict(id=name, ids=[number], tokens=[name]) for name, number in specials.items()}
    return dict(type="TemplateProcessing", single=pieces(single), pair=pieces(pair), special_tokens=tokens)


def added(content, number, special=True, **flags):
    fields = dict(id=number, content=content, single_word=False, lstrip=False, rstrip=False, normalized=not special, special=special)
    return {**fields, **flags}


def simple(kind):
    return dict(type=kind)


#===- Training -------------------------------------------------------------===#

def character_rules():
    """Characters of NFKC that texts are likely to hold, and what they become."""
    rows = []
    blocks = [(0xa0, 0x17f), (0x1c4, 0x1cc), (0x1e00, 0x1eff), (0x2000, 0x203f), (0x2070, 0x209f), (0x2100, 0x2189), (0x2460, 0x24ea),
              (0x3000, 0x3001), (0x3131, 0x3140), (0xfb00, 0xfb06), (0xff01, 0xff9f), (0x1d56c, 0x1d59f)]
    points = [c for first, last in blocks for c in range(first, last + 1)]
    for c in points:
        text = unicodedata.normalize("NFKC", chr(c))
        if text != chr(c) and len(text) <= 4:
            rows.append((chr(c), text))
        parts = unicodedata.normalize("NFD", chr(c))
        if len(parts) == 2 and c < 0x180:
            rows.append((parts, chr(c)))
    rows += [(chr(c), " ") for c in (0x9, 0xa, 0xc, 0xd, 0x1680, 0x200b, 0x200e, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd)]
    rows += [(chr(c), "") for c in (1, 2, 3, 0x1b, 0x7f, 0xad)] + [("ﷺ", "صلى الله عليه وسلم"), ("か\u3099", "が")]
    return dict(rows)


def charsmap(**options):
    """A model of SentencePiece with a table of these characters."""
    return trained_pieces(character_rules(), **options)


def trained_pieces(rules, lines=None, **options):
    """A model of SentencePiece whose characters are normalised by rules."""
    table = HERE / "charsmap.tsv"
    table.write_text("".join(" ".join(f"{ord(c):x}" for c in old) + "\t" + " ".join(f"{ord(c):x}" for c in new) + "\n"
                             for old, new in sorted(rules.items())))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines or source.corpus()), model_writer=model, minloglevel=2, normalization_rule_tsv=str(table),
        hard_vocab_limit=False, **{"vocab_size": 700, "character_coverage": 0.98, **options})
    table.unlink()
    return model.getvalue()


_charsmap = None


def precompiled():
    global _charsmap
    if not _charsmap:
        from sentencepiece import sentencepiece_model_pb2 as proto
        parsed = proto.ModelProto()
        parsed.ParseFromString(charsmap())
        map_bytes = parsed.normalizer_spec.precompiled_charsmap
        _charsmap = dict(type="Precompiled", precompiled_charsmap=base64.b64encode(map_bytes).decode())
    return _charsmap


def trained(model, trainer, **sections):
    """A tokenizer as a dictionary, its model trained."""
    file = dict(version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None, pre_tokenizer=None, post_processor=None,
                decoder=None, model=model)
    file.update(sections)
    early = {**file, "post_processor": None, "added_tokens": []}
    tokenizer = Tokenizer.from_str(json.dumps(early))
    tokenizer.train_from_iterator(source.corpus(), trainer=trainer)
    file["model"] = json.loads(tokenizer.to_str())["model"]
    return file


def with_specials(file, specials, **flags):
    vocab = file["model"]["vocab"]
    names = [entry[0] for entry in vocab] if isinstance(vocab, list) else vocab
    number = {name: i for i, name in enumerate(names)} if isinstance(vocab, list) else vocab
    file["added_tokens"] = [added(name, number[name], **flags.get(name, {})) for name in specials]
    return number


def bpe(**fields):
    base = dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False,
                byte_fallback=False, ignore_merges=False, vocab={}, merges=[])
    return {**base, **fields}


def byte_alphabet():
    from tokenizers.pre_tokenizers import ByteLevel
    return sorted(ByteLevel.alphabet())


def bpe_trainer(size, specials, alphabet=(), **more):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), initial_alphabet=list(alphabet), show_progress=False, **more)


def word_piece(**sections):
    model = dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab={})
    trainer = trainers.WordPieceTrainer(vocab_size=1000, show_progress=False, limit_alphabet=250,
                                        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return trained(model, trainer, pre_tokenizer=simple("BertPreTokenizer"),
                   decoder=dict(type="WordPiece", prefix="##", cleanup=True), **sections)


def unigram(specials, size=700, unk="<unk>", **sections):
    model = dict(type="Unigram", unk_id=None, vocab=[], byte_fallback=False)
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=list(specials), unk_token=unk, show_progress=False, max_piece_length=12)
    file = trained(model, trainer, **sections)
    file["model"]["vocab"] = [[token, round(score, 6)] for token, score in file["model"]["vocab"]]
    return file


def with_bytes(file):
    """Puts the tokens of bytes behind the first three."""
    model = file["model"]
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    if isinstance(model["vocab"], list):
        model["vocab"][3:3] = [[name, 0.0] for name in names]
    else:
        order = sorted(model["vocab"], key=model["vocab"].get)
        order[3:3] = names
        model["vocab"] = {name: i for i, name in enumerate(order)}
    model["byte_fallback"] = True
    return file


#===- The kinds ------------------------------------------------------------===#

def make_bert():
    file = word_piece(normalizer=bert_normalizer())
    ids = with_specials(file, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    file["post_processor"] = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": ids["[CLS]"], "[SEP]": ids["[SEP]"]})
    file["truncation"] = dict(direction="Right", max_length=128, strategy="LongestFirst", stride=0)
    file["padding"] = dict(strategy=dict(Fixed=128), direction="Right", pad_to_multiple_of=None, pad_id=0, pad_type_id=0, pad_token="[PAD]")
    return file


def make_bert_cased():
    file = word_piece(normalizer=bert_normalizer(lower=False, chinese=False))
    ids = with_specials(file, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    file["post_processor"] = dict(type="BertProcessing", sep=["[SEP]", ids["[SEP]"]], cls=["[CLS]", ids["[CLS]"]])
    return file


def make_mpnet():
    file = word_piece(normalizer=bert_normalizer(accents=False))
    ids = with_specials(file, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], **{"[MASK]": dict(lstrip=True)})
    file["post_processor"] = dict(type="RobertaProcessing", sep=["[SEP]", ids["[SEP]"]], cls=["[CLS]", ids["[CLS]"]], trim_offsets=True,
                                  add_prefix_space=False)
    return file


def make_word_level():
    model = dict(type="WordLevel", vocab={}, unk_token="[UNK]")
    trainer = trainers.WordLevelTrainer(vocab_size=900, special_tokens=["[UNK]", "[PAD]"], show_progress=False)
    file = trained(model, trainer, normalizer=normalizers(simple("NFKC"), dict(type="Strip", strip_left=True, strip_right=False),
                                                          simple("Lowercase")),
                   pre_tokenizer=sequence("pretokenizers", simple("Whitespace"), dict(type="Digits", individual_digits=False),
                                          dict(type="Punctuation", behavior="MergedWithPrevious")))
    file["added_tokens"] = [added("[PAD]", 1), added("Word", 900, special=False, single_word=True),
                            added("keep", 901, special=False, normalized=False, rstrip=True), added("@Word", 902, special=False)]
    return file


def make_roberta():
    file = trained(bpe(), bpe_trainer(700, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], byte_alphabet()), pre_tokenizer=byte_level(),
                   decoder=byte_level())
    ids = with_specials(file, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], **{"<mask>": dict(lstrip=True)})
    file["post_processor"] = dict(type="RobertaProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]], trim_offsets=True,
                                  add_prefix_space=False)
    return file


def make_gpt2():
    file = trained(bpe(), bpe_trainer(700, ["<|endoftext|>"], byte_alphabet()), pre_tokenizer=byte_level(prefix=True), decoder=byte_level())
    with_specials(file, ["<|endoftext|>"])
    file["post_processor"] = byte_level(prefix=True, trim=True)
    # As older files write merges.
    file["model"]["merges"] = [" ".join(merge) for merge in file["model"]["merges"]]
    return file


def make_modernbert():
    file = trained(bpe(), bpe_trainer(700, ["[CLS]", "[SEP]", "[PAD]", "[MASK]"], byte_alphabet()), normalizer=simple("NFC"),
                   pre_tokenizer=byte_level(), decoder=byte_level())
    ids = with_specials(file, ["[CLS]", "[SEP]", "[PAD]", "[MASK]"], **{"[MASK]": dict(lstrip=True)})
    file["added_tokens"] += [added("   ", 700, special=False, normalized=True), added("  ", 701, special=False, normalized=True),
                             added("|||IP|||", 702, special=False)]
    file["post_processor"] = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", {"[CLS]": ids["[CLS]"], "[SEP]": ids["[SEP]"]})
    return file


def make_starcoder():
    file = trained(bpe(), bpe_trainer(700, ["<|endoftext|>"], byte_alphabet()),
                   pre_tokenizer=sequence("pretokenizers", dict(type="Digits", individual_digits=True), byte_level()), decoder=byte_level())
    with_specials(file, ["<|endoftext|>"])
    return file


def make_xlm_roberta():
    file = unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], normalizer=precompiled(),
                   pre_tokenizer=sequence("pretokenizers", simple("WhitespaceSplit"), metaspace()), decoder=metaspace())
    ids = with_specials(file, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], **{"<mask>": dict(lstrip=True)})
    file["post_processor"] = template("<s> $A </s>", "<s> $A </s> </s> $B </s>", {"<s>": ids["<s>"], "</s>": ids["</s>"]})
    return file


def make_t5():
    file = unigram(["<pad>", "</s>", "<unk>", "<extra_id_0>"],
                   normalizer=normalizers(precompiled(), replace(" {2,}", " ", "Regex")), pre_tokenizer=metaspace(), decoder=metaspace())
    ids = with_specials(file, ["<pad>", "</s>", "<unk>", "<extra_id_0>"], **{"<extra_id_0>": dict(rstrip=True)})
    file["post_processor"] = template("$A </s>", "$A </s> $B </s>", {"</s>": ids["</s>"]})
    return file


def make_albert():
    file = unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
                   normalizer=normalizers(replace("``", '"'), replace("''", '"'), simple("NFKD"), simple("StripAccents"), simple("Lowercase"),
                                          precompiled(), replace(" {2,}", " ", "Regex")),
                   pre_tokenizer=sequence("pretokenizers", simple("WhitespaceSplit"), metaspace()), decoder=metaspace())
    ids = with_specials(file, ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], **{"[MASK]": dict(lstrip=True)})
    file["post_processor"] = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": ids["[CLS]"], "[SEP]": ids["[SEP]"]})
    return file


def make_deberta():
    file = unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], unk="[UNK]",
                   normalizer=normalizers(simple("Lowercase"), dict(type="Strip", strip_left=True, strip_right=True), precompiled(),
                                          replace(" {2,}", " ", "Regex")),
                   pre_tokenizer=sequence("pretokenizers", dict(type="Punctuation", behavior="Isolated"), metaspace()), decoder=metaspace())
    ids = with_specials(file, ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    file["post_processor"] = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": ids["[CLS]"], "[SEP]": ids["[SEP]"]})
    return file


def make_unigram_bytes():
    file = with_bytes(unigram(["<unk>", "<s>", "</s>"], size=800, normalizer=normalizers(simple("NFD"), replace(" ", "▁")),
                              pre_tokenizer=None,
                              decoder=sequence("decoders", replace("▁", " "), simple("ByteFallback"), metaspace("never"))))
    with_specials(file, ["<unk>", "<s>", "</s>"])
    return file


def make_nllb():
    file = trained(bpe(unk_token="<unk>", fuse_unk=True), bpe_trainer(800, ["<s>", "<pad>", "</s>", "<unk>"], limit_alphabet=200),
                   normalizer=normalizers(precompiled(), replace(" {2,}", " ", "Regex")), pre_tokenizer=metaspace(), decoder=metaspace())
    ids = with_specials(file, ["<s>", "<pad>", "</s>", "<unk>"])
    file["added_tokens"].append(added("eng_Latn", 800))
    file["post_processor"] = template("eng_Latn $A </s>", "eng_Latn $A $B </s>", {"eng_Latn": 800, "</s>": ids["</s>"]})
    return file


LLAMA_DECODER = sequence("decoders", replace("▁", " "), simple("ByteFallback"), simple("Fuse"), dict(type="Strip", content=" ", start=1, stop=0))


def make_llama():
    file = with_bytes(trained(bpe(unk_token="<unk>", fuse_unk=True), bpe_trainer(500, ["<unk>", "<s>", "</s>"], limit_alphabet=120),
                              normalizer=normalizers(dict(type="Prepend", prepend="▁"), replace(" ", "▁")), decoder=LLAMA_DECODER,
                              pre_tokenizer=split("▁", "MergedWithNext")))
    file["pre_tokenizer"] = None  # only the training needs words
    ids = with_specials(file, ["<unk>", "<s>", "</s>"])
    file["post_processor"] = template("<s> $A", "<s> $A <s>:1 $B:1", {"<s>": ids["<s>"]})
    return file


def make_mistral():
    file = with_bytes(trained(bpe(unk_token="<unk>", fuse_unk=True), bpe_trainer(500, ["<unk>", "<s>", "</s>"], limit_alphabet=120),
                              pre_tokenizer=metaspace("first"), decoder=LLAMA_DECODER))
    file["pre_tokenizer"]["split"] = False
    ids = with_specials(file, ["<unk>", "<s>", "</s>"])
    file["post_processor"] = template("<s> $A", "<s> $A <s>:1 $B:1", {"<s>": ids["<s>"]})
    return file


def make_gemma():
    file = with_bytes(trained(bpe(unk_token="<unk>", fuse_unk=True), bpe_trainer(500, ["<pad>", "<eos>", "<bos>", "<unk>"], limit_alphabet=120),
                              normalizer=replace(" ", "▁"),
                              pre_tokenizer=dict(type="Split", pattern=dict(String="▁"), behavior="MergedWithPrevious", invert=False),
                              decoder=sequence("decoders", replace("▁", " "), simple("ByteFallback"), simple("Fuse"))))
    file["pre_tokenizer"]["pattern"] = dict(String=" ")
    ids = with_specials(file, ["<pad>", "<eos>", "<bos>", "<unk>"])
    file["added_tokens"] += [added("\n\n", 800, special=False, normalized=False), added("▁▁", 801, special=False, normalized=False)]
    file["post_processor"] = template("<bos> $A", "<bos> $A <bos>:1 $B:1", {"<bos>": ids["<bos>"]})
    return file


def make_llama3():
    file = trained(bpe(ignore_merges=True), bpe_trainer(700, [], byte_alphabet()),
                   pre_tokenizer=sequence("pretokenizers", split(CL100K % "{1,3}"), byte_level(regex=False)), decoder=byte_level())
    # A word that no merges make.
    file["model"]["vocab"]["Ġexpected"] = len(file["model"]["vocab"])
    start = len(file["model"]["vocab"])
    file["added_tokens"] = [added("<|endoftext|>", start), added("<|a|>", start + 1), added("<|a|>b", start + 2, special=False)]
    file["post_processor"] = sequence("processors", byte_level(prefix=True, trim=False, regex=True),
                                      template("<|endoftext|> $A", "<|endoftext|> $A <|endoftext|>:1 $B:1", {"<|endoftext|>": start}))
    return file


def make_qwen():
    file = trained(bpe(continuing_subword_prefix="", end_of_word_suffix=""), bpe_trainer(700, [], byte_alphabet()), normalizer=simple("NFC"),
                   pre_tokenizer=sequence("pretokenizers", split(CL100K % ""), byte_level(regex=False)), decoder=byte_level())
    start = len(file["model"]["vocab"])
    file["added_tokens"] = [added("<|endoftext|>", start), added("<|im_start|>", start + 1)]
    file["post_processor"] = byte_level(trim=False, regex=False)
    return file


def make_gpt_oss():
    file = trained(bpe(), bpe_trainer(600, [], byte_alphabet()),
                   pre_tokenizer=sequence("pretokenizers", split(O200K), byte_level(regex=False)), decoder=byte_level())
    file["added_tokens"] = [added("<|endoftext|>", len(file["model"]["vocab"]))]
    return file


def make_deepseek():
    steps = [split(regex) for regex in DEEPSEEK] + [dict(type="Digits", individual_digits=True), byte_level(regex=False)]
    file = trained(bpe(), bpe_trainer(600, [], byte_alphabet()), normalizer=normalizers(),
                   pre_tokenizer=sequence("pretokenizers", *steps), decoder=byte_level())
    file["added_tokens"] = [added("<|endoftext|>", len(file["model"]["vocab"]), normalized=True)]
    return file


def make_clip():
    file = trained(bpe(unk_token="<|endoftext|>", end_of_word_suffix="</w>"),
                   bpe_trainer(1200, [], byte_alphabet(), end_of_word_suffix="</w>"),
                   normalizer=normalizers(simple("NFC"), replace(r"\s+", " ", "Regex"), simple("Lowercase")),
                   pre_tokenizer=sequence("pretokenizers", split(CLIP, "Removed", True), byte_level()), decoder=byte_level())
    model = file["model"]
    for c in byte_alphabet():
        model["vocab"].setdefault(c + "</w>", len(model["vocab"]))
    start = len(model["vocab"])
    model["vocab"]["<|startoftext|>"] = start
    model["vocab"]["<|endoftext|>"] = start + 1
    file["added_tokens"] = [added("<|startoftext|>", start), added("<|endoftext|>", start + 1)]
    file["post_processor"] = dict(type="RobertaProcessing", sep=["<|endoftext|>", start + 1], cls=["<|startoftext|>", start],
                                  trim_offsets=False, add_prefix_space=False)
    return file


def make_suffixes():
    """What no large model has, but files may say."""
    file = trained(bpe(unk_token="[UNK]", continuing_subword_prefix="@@", end_of_word_suffix="</w>"),
                   bpe_trainer(700, ["[UNK]"], continuing_subword_prefix="@@", end_of_word_suffix="</w>", limit_alphabet=100),
                   normalizer=normalizers(simple("NFKD"), simple("StripAccents"), dict(type="Strip", strip_left=False, strip_right=True)),
                   pre_tokenizer=sequence("pretokenizers", simple("WhitespaceSplit"),
                                          dict(type="Punctuation", behavior="Contiguous"),
                                          split(r"[A-Z]", "MergedWithNext"), split(r"\d\w?", "Removed")),
                   decoder=dict(type="BPEDecoder", suffix="</w>"))
    file["added_tokens"] = [added("[UNK]", 0), added("Word", 999, special=False, single_word=True, lstrip=True, rstrip=True)]
    return file


#===- Goldens --------------------------------------------------------------===#

def flat(spans):
    return [place for span in spans for place in span]


def ids_text(ids):
    return " ".join(map(str, ids)) if len(ids) <= LONGEST else f"{len(ids)}:{fnv(ids)}"


def pair_line(encoding):
    return short(encoding.ids + encoding.type_ids + flat(encoding.offsets) + encoding.special_tokens_mask)


def golden(file, texts):
    tokenizer = Tokenizer.from_str(file)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    for text in texts:
        encoding = tokenizer.encode(text)
        words = [-1 if word is None else word for word in encoding.word_ids]
        fields = [ids_text(encoding.ids), short(flat(encoding.offsets)), short(words)]
        for skip in (True, False):
            fields.append(short(tokenizer.decode(encoding.ids, skip_special_tokens=skip).encode()) if encoding.ids else "")
        yield "\t".join(fields)
    for i in range(PAIRS):
        yield pair_line(tokenizer.encode(texts[-1 - i], texts[-2 - i], add_special_tokens=i % 3 != 0))
    for i in range(0, PAIRS, 10):
        for length in (6, 9, 20):
            for strategy in ("longest_first", "only_first", "only_second"):
                for direction in ("right", "left"):
                    tokenizer.enable_truncation(length, strategy=strategy, direction=direction)
                    try:
                        yield pair_line(tokenizer.encode(texts[-1 - i], texts[-2 - i]))
                    except Exception:
                        yield "error"


def piece_lines(model, texts):
    """Texts with the names of control pieces are left out: Hugging Face reads those in texts, SentencePiece does not."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    for text in texts:
        left_out = any(name in text for name in ("<s>", "</s>", "<unk>", "<0x", "\0"))
        yield "-" if left_out else ids_text(processor.encode(text))


PIECE_MODELS = {"pieces-unigram": dict(model_type="unigram"), "pieces-bpe": dict(model_type="bpe", byte_fallback=True)}


def write_gz(path, text):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
        file.write(text.encode())


def main():
    texts = source.hard_texts()
    write_gz(HERE / "texts.json.gz", json.dumps(texts, ensure_ascii=False))
    kinds = {name[5:].replace("_", "-"): make for name, make in globals().items() if name.startswith("make_")}
    names = [name for name in sys.argv[1:] if name != "--train"]
    for name in names or PIECE_MODELS:
        if name in PIECE_MODELS:
            folder = HERE / name
            folder.mkdir(exist_ok=True)
            path = folder / "tokenizer.model"
            if "--train" in sys.argv or not path.exists():
                path.write_bytes(charsmap(**PIECE_MODELS[name]))
            write_gz(folder / "pieces.gz", "".join(line + "\n" for line in piece_lines(path.read_bytes(), texts)))
    for name in names or kinds:
        if name in PIECE_MODELS:
            continue
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        path = folder / "tokenizer.json"
        if "--train" in sys.argv or not path.exists():
            path.write_text(json.dumps(kinds[name](), ensure_ascii=False, separators=(",", ":")))
        file = path.read_text()
        write_gz(folder / "golden.gz", "".join(line + "\n" for line in golden(file, texts)))
        print(name, len(file.encode()), (folder / "golden.gz").stat().st_size, flush=True)


if __name__ == "__main__":
    main()
