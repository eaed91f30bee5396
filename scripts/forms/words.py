# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms in which tokenizers are published: files of vocabularies, tokenizer.json, and what stands next to them. A new form is one
function, a new option one entry, a new family one line."""
import json
import os
import shutil
import sys
import types

import sentencepiece
import tokenizers
import transformers as hf

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/data/tokenizers"))
import texts as source

FOLDERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/data/tokenizers/folders")

# Added tokens: a special one, a normalized one, one that takes the blanks around it, and one that
# matches whole words.
ADDED = [tokenizers.AddedToken("[E1]", special=True, normalized=False), tokenizers.AddedToken("Loomish", normalized=True),
         tokenizers.AddedToken("<gap>", lstrip=True, rstrip=True, normalized=False), tokenizers.AddedToken("knot", single_word=True, normalized=False)]
TEXTS = ["", " ", "the River runs", " two  blanks", "The [E1] river<gap> knot knots Loomish loomish", "a[E1]b", "<|im_start|>user hi<|im_end|>",
         "Don't they're it's 12345 coins!", "naïve CAFÉ déjà vu — Straße", "神奈川県 日本語 中文字符", "I love 😀 and 👨‍👩‍👧‍👦", "<s>a</s>", "[CLS] a [SEP]",
         "</s>", "<mask> x", " [MASK] x", "<unk> y", "<|endoftext|>z", "ﬁ ﬃ ① ½ e\u0301", "\ttab\r", "x\u3000y\u00a0z", "A B C", "[E9]a",
         "a <mask> b", "a [MASK] b", "a <pad> [PAD] b", "x <extra_id_3> y", "a <mask_1> <mask_2> <unk_7> b", "<s>NOTUSED a <unk>NOTUSED",
         "en_XX a __fr__ b", ">>fra<< a >>fra<< b", "<unk> [UNK]", "a [e1] loomish"]
TEXTS += [text for text in source.hard_texts(420)[60:] if "\n" not in text and len(text) < 300][::9]
PAIRS = 2


# Vocabularies.

def word_pieces(folder, specials=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), file="vocab.txt", size=700):
    """Words in capital and in small letters, so that every option has something to find."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    lines = source.corpus(lines=100) + ["The River CAFÉ cafe river runs [E1] café straße strasse"] * 3
    backend.train_from_iterator(lines + [line.lower() for line in lines], tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, limit_alphabet=size // 2, special_tokens=list(specials), show_progress=False))
    vocabulary = backend.get_vocab()
    write_lines(folder, file, sorted(vocabulary, key=vocabulary.get))


def write_lines(folder, file, lines):
    with open(os.path.join(folder, file), "w", encoding="utf-8", newline="\n") as out:
        out.writelines(line + "\n" for line in lines)


def bytes_of(*specials):
    def build(folder, size=500):
        backend = tokenizers.Tokenizer(tokenizers.models.BPE())
        backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.train_from_iterator(source.corpus(lines=100), tokenizers.trainers.BpeTrainer(
            vocab_size=size, special_tokens=list(specials), show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
        backend.model.save(folder)
    return build


def clip_bytes(folder):
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    backend.normalizer = tokenizers.normalizers.Lowercase()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(source.corpus(lines=100), tokenizers.trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<|startoftext|>", "<|endoftext|>"] + [c + "</w>" for c in sorted(alphabet)], show_progress=False,
        initial_alphabet=alphabet, end_of_word_suffix="</w>"))
    backend.model.save(folder)


def pieces(file, **options):
    def build(folder):
        settings = dict(vocab_size=500, hard_vocab_limit=False, character_coverage=0.98, minloglevel=2) | options
        with open(os.path.join(folder, file), "wb") as out:
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(source.corpus(lines=100)), model_writer=out, **settings)
    return build


def kept(name):
    """A vocabulary of test/data/tokenizers/folders."""
    def build(folder):
        for file in os.listdir(os.path.join(FOLDERS, name)):
            if "config" not in file:
                shutil.copy(os.path.join(FOLDERS, name, file), folder)
    return build


ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
T5_IDS = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
LLAMA = dict(model_type="bpe", byte_fallback=True, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, split_digits=True, vocab_size=800,
             normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True)
GEMMA = LLAMA | dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, add_dummy_prefix=False)
VOCABULARIES = {
    "word pieces": word_pieces, "mpnet": lambda folder: word_pieces(folder, ("<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>")),
    "roberta": bytes_of(*ROBERTA), "gpt2": bytes_of("<|endoftext|>"), "qwen": bytes_of("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    "clip": clip_bytes, "albert": pieces("spiece.model", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]"),
    "deberta": pieces("spm.model", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]"),
    "llama": pieces("tokenizer.model", **LLAMA), "gemma": pieces("tokenizer.model", **GEMMA),
    "camembert": pieces("sentencepiece.bpe.model", vocab_size=400),
} | {name: kept(name) for name in ("t5", "mt5", "xlm-roberta", "mbart", "pegasus", "marian", "m2m-100")}

# family -> (class that its folders name, vocabulary)
TOKENIZERS = {
    "bert": ("BertTokenizer", "word pieces"), "distilbert": ("DistilBertTokenizer", "word pieces"),
    "electra": ("ElectraTokenizer", "word pieces"), "mpnet": ("MPNetTokenizer", "mpnet"), "roberta": ("RobertaTokenizer", "roberta"),
    "bart": ("BartTokenizer", "roberta"), "gpt2": ("GPT2Tokenizer", "gpt2"), "opt": ("GPT2Tokenizer", "roberta"),
    "qwen2": ("Qwen2Tokenizer", "qwen"), "phi": ("CodeGenTokenizer", "gpt2"), "gpt_neox": ("GPTNeoXTokenizer", "gpt2"),
    "whisper": ("WhisperTokenizer", "gpt2"), "clip_text_model": ("CLIPTokenizer", "clip"), "albert": ("AlbertTokenizer", "albert"),
    "xlm-roberta": ("XLMRobertaTokenizer", "xlm-roberta"), "camembert": ("CamembertTokenizer", "camembert"), "t5": ("T5Tokenizer", "t5"),
    "mt5": ("T5Tokenizer", "mt5"), "mbart": ("MBartTokenizer", "mbart"), "pegasus": ("PegasusTokenizer", "pegasus"),
    "marian": ("MarianTokenizer", "marian"), "m2m_100": ("M2M100Tokenizer", "m2m-100"), "deberta-v2": ("DebertaV2Tokenizer", "deberta"),
    "llama": ("LlamaTokenizer", "llama"), "gemma": ("GemmaTokenizer", "gemma"),
}
MODEL_TYPES = {"clip_text_model": "clip"}  # model types that differ from the family's name

# Keys that tokenizer_config.json of a family always has.
CONFIGS = {"opt": {"add_bos_token": True, "bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
           "llama": {"add_bos_token": True}, "gemma": {"add_bos_token": True}}

# Keys of tokenizer_config.json.
OPTIONS = {
    "word pieces": [("do_lower_case", False), ("do_lower_case", True), ("strip_accents", True), ("strip_accents", False),
                    ("tokenize_chinese_chars", False), ("cls_token", "[MASK]")],
    "roberta": [("add_prefix_space", True), ("add_bos_token", True), ("add_bos_token", False), ("add_eos_token", True),
                ("cls_token", "<mask>")],
    "pieces": [("add_bos_token", False), ("add_bos_token", True), ("add_eos_token", True), ("add_eos_token", False), ("add_prefix_space", False),
               ("legacy", False), ("legacy", True), ("do_lower_case", False), ("keep_accents", True), ("src_lang", "fr_XX"), ("extra_ids", 10)],
    "all": [("model_max_length", 7), ("clean_up_tokenization_spaces", True), ("clean_up_tokenization_spaces", False),
            ("split_special_tokens", True), ("additional_special_tokens", ["[E9]"]), ("extra_special_tokens", ["[E9]"]),
            ("extra_special_tokens", {"image_token": "[E9]"}), ("unk_token", "[E9]"), ("bos_token", {
                "__type": "AddedToken", "content": "[E9]", "lstrip": False, "rstrip": False, "single_word": False, "normalized": True})],
}
KIND_OF = {"mpnet": "word pieces", "gpt2": "roberta", "qwen": "roberta", "clip": "roberta", "roberta": "roberta", "word pieces": "word pieces"}


def options_of(vocabulary):
    return OPTIONS[KIND_OF.get(vocabulary, "pieces")] + OPTIONS["all"]


# Forms.

def written(value):
    return json.dumps(value, ensure_ascii=False)


class Context:
    """One family under the version at hand."""

    def __init__(self, scratch, family):
        self.name, vocabulary = TOKENIZERS[family]
        self.files = os.path.join(scratch, "vocabularies", vocabulary)
        if not os.path.exists(self.files):
            os.makedirs(self.files)
            VOCABULARIES[vocabulary](self.files)
        self.config = CONFIGS.get(family, {})
        self.model_type, self.vocabulary, self.scratch = MODEL_TYPES.get(family, family), vocabulary, scratch
        self.slow, self.fast = getattr(hf, self.name, None), getattr(hf, self.name + "Fast", None)
        if self.slow is None:
            self.slow = getattr(hf, self.name + "Fast")
        self.both = self.fast is not None and self.fast is not self.slow and not hasattr(self.slow, "backend_tokenizer")

    def raw(self, out, config=None, typed=True):
        shutil.copytree(self.files, out)
        if typed:
            self.put(out, "config.json", {"model_type": self.model_type})
        if config is not None:
            self.put(out, "tokenizer_config.json", {"tokenizer_class": self.name} | self.config | config)

    @staticmethod
    def put(out, file, value):
        with open(os.path.join(out, file), "w", encoding="utf-8") as written_file:
            json.dump(value, written_file, ensure_ascii=False, indent=2)

    def made(self, fast, **options):
        raw = os.path.join(self.scratch, f"raw {self.name} {self.vocabulary}")
        if not os.path.exists(raw):
            self.raw(raw, {})
        return (self.fast if fast and self.fast else self.slow).from_pretrained(raw, **options)

    def saved(self, out, fast, change=None, **options):
        tokenizer = self.made(fast, **options)
        if change:
            change(tokenizer)
        tokenizer.save_pretrained(out)
        self.put(out, "config.json", {"model_type": self.model_type})

    def edited(self, out, **config):
        """A folder of tokenizer.json whose tokenizer_config.json says something else."""
        self.saved(out, True)
        path = os.path.join(out, "tokenizer_config.json")
        self.put(out, "tokenizer_config.json", json.load(open(path, encoding="utf-8")) | config)

    def has_json(self):
        return self.both or hasattr(self.slow, "backend_tokenizer")


FORMS = {}


def form(name, slow=False, fast=False):
    """`slow`, `fast`: it needs such a class."""
    def put(write):
        FORMS[name] = types.SimpleNamespace(write=write, slow=slow, fast=fast)
        return write
    return put


def add_tokens(tokenizer):
    tokenizer.add_tokens(ADDED[:1], special_tokens=True)
    tokenizer.add_tokens(ADDED[1:])


form("vocabulary, model_type")(lambda t, out: t.raw(out))
form("vocabulary, tokenizer_class")(lambda t, out: t.raw(out, {}, typed=False))
form("vocabulary, tokenizer_class …Fast")(lambda t, out: t.raw(out, {"tokenizer_class": t.name + "Fast"}))
form("slow", slow=True)(lambda t, out: t.saved(out, False))
form("fast", fast=True)(lambda t, out: t.saved(out, True))
form("slow, added tokens", slow=True)(lambda t, out: t.saved(out, False, add_tokens))
form("fast, added tokens", fast=True)(lambda t, out: t.saved(out, True, add_tokens))


@form("tokenizer.json alone", fast=True)
def json_alone(t, out):
    t.saved(out, True)
    for file in os.listdir(out):
        if file not in ("tokenizer.json", "config.json"):
            os.remove(os.path.join(out, file))


@form("tokenizer.json and tokenizer_class", fast=True)
def json_and_class(t, out):
    json_alone(t, out)
    t.put(out, "tokenizer_config.json", {"tokenizer_class": t.name})


@form("tokenizer.json and PreTrainedTokenizerFast", fast=True)
def json_and_base(t, out):
    json_alone(t, out)
    t.put(out, "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})


def size_of(t):
    return len(t.made(False))


@form("vocabulary, added_tokens.json")
def added_file(t, out):
    """As the classes wrote it before added_tokens_decoder."""
    t.raw(out, {})
    first = size_of(t)
    t.put(out, "added_tokens.json", {"[E1]": first, "Loomish": first + 1})
    t.put(out, "special_tokens_map.json", {"additional_special_tokens": ["[E1]"]})


@form("vocabulary, added_tokens_decoder")
def added_decoder(t, out):
    first = size_of(t)
    t.raw(out, {"added_tokens_decoder": decoder_of(first)})


def decoder_of(first):
    return {str(first + i): dict(content=token.content, lstrip=token.lstrip, rstrip=token.rstrip, single_word=token.single_word,
                                 normalized=token.normalized, special=i == 0) for i, token in enumerate(ADDED)}


@form("tokenizer.json, added_tokens_decoder of more", fast=True)
def added_beside(t, out):
    t.edited(out, added_tokens_decoder=decoder_of(size_of(t)))


@form("tokenizer.json, added_tokens.json of more", fast=True)
def added_file_beside(t, out):
    t.saved(out, True)
    t.put(out, "added_tokens.json", {"[E1]": size_of(t), "Loomish": size_of(t) + 1})


@form("vocabulary, special_tokens_map.json")
def map_alone(t, out):
    t.raw(out, {})
    t.put(out, "special_tokens_map.json", {"additional_special_tokens": ["[E9]"], "unk_token": {
        "content": "[E9]", "lstrip": False, "rstrip": False, "single_word": False, "normalized": True}})


@form("tokenizer.json, special_tokens_map.json of more", fast=True)
def map_beside(t, out):
    t.saved(out, True)
    t.put(out, "special_tokens_map.json", {"additional_special_tokens": ["[E9]"]})


@form("tokenizer.json with truncation and padding", fast=True)
def truncated(t, out):
    t.saved(out, True)
    path = os.path.join(out, "tokenizer.json")
    value = json.load(open(path, encoding="utf-8"))
    value["truncation"] = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    value["padding"] = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    t.put(out, "tokenizer.json", value)


def forms_of(t):
    """By name, the options too."""
    yield from FORMS.items()
    for key, value in options_of(t.vocabulary):
        word = f"{key} {value if not isinstance(value, dict) else list(value)[0]}"
        yield f"vocabulary, {word}", types.SimpleNamespace(
            write=lambda t, out, key=key, value=value: t.raw(out, {key: value}), slow=False, fast=False)
        yield f"tokenizer.json beside {word}", types.SimpleNamespace(
            write=lambda t, out, key=key, value=value: t.edited(out, **{key: value}), slow=False, fast=True)
        if not isinstance(value, (dict, list)):
            yield f"saved with {word}", types.SimpleNamespace(
                write=lambda t, out, key=key, value=value: t.saved(out, True, **{key: value}), slow=False, fast=True)


def write(scratch, writer, family, done):
    if family not in TOKENIZERS:
        return
    t = Context(scratch, family)
    for name, form in forms_of(t):
        by_hand = not (name.startswith(("slow", "fast", "saved")))
        if by_hand and name in done or form.slow and not t.both or form.fast and not t.has_json():
            continue
        folder = os.path.join(scratch, writer, family, "tokens", name.replace("/", "_"))
        try:
            form.write(t, folder)
        except Exception as error:  # the class rejects the option
            print(f"{family} {name}: {type(error).__name__}: {error}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            continue
        yield dict(kind="tokens", family=family, head="tokens", form=name, writer=writer, folder=folder, same=None,
                   texts=texts_file(scratch, "texts.json", TEXTS, PAIRS))


def texts_file(scratch, name, texts, pairs):
    path = os.path.join(scratch, name)
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"texts": texts, "pairs": [texts[i + 2:i + 4] for i in range(pairs)]}, file)
    return path


def shipped(path):
    """What a folder of a file's own holds, by name, and its tokenizer_config.json; none where the file is no tokenizer."""
    name = os.path.basename(path)
    try:
        if name.endswith(".json"):
            model = json.load(open(path, encoding="utf-8")).get("model")
            beside = os.path.join(os.path.dirname(path), "tokenizer_config.json")
            config = json.load(open(beside, encoding="utf-8")) if name == "tokenizer.json" and os.path.exists(beside) else None
            return ("tokenizer.json", config) if isinstance(model, dict) and "vocab" in model else None
        if name.endswith(".model"):
            pieces = sentencepiece.SentencePieceProcessor(model_file=path)
            # The file does not name its class. These classes use such a vocabulary as it is.
            end = pieces.eos_id() >= 0 and pieces.bos_id() >= 0
            return ("tokenizer.model", {"tokenizer_class": "LlamaTokenizer"}) if end else ("spiece.model", {"tokenizer_class": "T5Tokenizer"})
        if name.startswith("vocab") and name.endswith(".txt"):
            words = set(open(path, encoding="utf-8").read().split("\n"))
            return ("vocab.txt", {"tokenizer_class": "BertTokenizer", "do_lower_case": False}) if {"[CLS]", "[SEP]", "[UNK]"} <= words else None
    except (ValueError, OSError, AttributeError, RuntimeError):
        return None


def packages(scratch, folder):
    """A folder for every file of unpacked packages that is a tokenizer."""
    texts = [text for text in source.hard_texts() if "\n" not in text]
    for path in sorted(os.path.join(place, file) for place, _, files in os.walk(folder) for file in files):
        found = shipped(path)
        if not found:
            continue
        name = os.path.relpath(path, folder)
        out = os.path.join(scratch, "packages", name)
        os.makedirs(out, exist_ok=True)
        shutil.copy(path, os.path.join(out, found[0]))
        if found[1] is not None:
            Context.put(out, "tokenizer_config.json", found[1])
        yield dict(kind="tokens", family=name.split(os.sep)[0], head="tokens", form=name, writer="a package", folder=out, same=None,
                   texts=texts_file(scratch, "hard-texts.json", texts, PAIRS))


def read(case):
    given = json.load(open(case["texts"], encoding="utf-8"))
    tokenizer = hf.AutoTokenizer.from_pretrained(case["folder"])
    ids = [tokenizer(text)["input_ids"] for text in given["texts"]]
    return {"class": type(tokenizer).__name__, "ids": ids, "pairs": [tokenizer(*pair)["input_ids"] for pair in given["pairs"]],
            "texts": [tokenizer.decode(row, skip_special_tokens=True) for row in ids]}
