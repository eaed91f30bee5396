# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models that read a text and write another, for scripts/random-folder: their sizes, how they are told to write, and whether
`heddle translate` writes what Transformers writes."""
import json
import os
import subprocess

import make
import transformers as hf

LONGEST = 18  # tokens of an answer


def settings_of(c, vocabulary, end):
    """A folder's own settings of beams, all that are followed."""
    # Each token serves one setting, so that no forced token is also forbidden.
    tokens = c.random.sample(range(5, vocabulary - 1), 11)
    some = lambda count: [tokens.pop() for _ in range(count)]
    settings = dict(num_beams=4, max_length=c.of(12, LONGEST), early_stopping=c.of(True, False, "never"),
                    length_penalty=c.of(0.0, 0.5, 1.0, 2.0), no_repeat_ngram_size=c.of(0, 2, 3), min_length=c.of(0, 5, 9))
    settings |= c.of({}, dict(forced_bos_token_id=some(1)[0]))
    settings |= c.of({}, dict(forced_eos_token_id=end))
    settings |= c.of({}, dict(suppress_tokens=some(5)), dict(bad_words_ids=[[token] for token in some(3)]))
    settings |= c.of({}, dict(begin_suppress_tokens=[*some(2), end]))
    return settings | c.of({}, dict(renormalize_logits=True))


def writing(c, model, padding):
    """A model's case, with the settings of its folder and what they make of 30 texts."""
    ends = make.ends_of(model)
    return make.with_beams(make.translating_case(model, padding), **settings_of(c, model.config.vocab_size, ends[0]))


def t5_like(name, **more):
    def make_case(c):
        config = dict(vocab_size=c.vocabulary, d_model=2 * c.random.randint(6, 25), d_kv=c.head, d_ff=c.ffn, num_layers=c.layers,
                      # For more, the caches of Transformers have too few layers.
                      num_decoder_layers=c.random.randint(1, c.layers),
                      num_heads=c.heads, relative_attention_num_buckets=2 * c.random.randint(3, 8),
                      relative_attention_max_distance=c.random.randint(10, 24), layer_norm_epsilon=c.norm, decoder_start_token_id=0,
                      feed_forward_proj=c.of("relu", "gated-gelu", "gated-silu"), **{key: value(c) for key, value in more.items()})
        return writing(c, getattr(hf, name + "ForConditionalGeneration")(getattr(hf, name + "Config")(**config)), 0)
    return make_case


def bart_like(name, padding=1, model_class="ForConditionalGeneration", **more):
    def make_case(c):
        heads = c.of(*[n for n in range(1, 5) if c.size % n == 0])
        own = {key: value(c) if callable(value) else value for key, value in more.items()}
        config = dict(vocab_size=c.vocabulary, d_model=c.size, encoder_layers=c.layers, decoder_layers=c.of(1, 2),
                      encoder_attention_heads=c.heads, decoder_attention_heads=heads, encoder_ffn_dim=c.ffn, decoder_ffn_dim=c.ffn + 3,
                      max_position_embeddings=LONGEST + c.random.randint(1, 9), scale_embedding=c.of(True, False),
                      activation_function=c.of("gelu", "relu", "swish", "gelu_new"), attn_implementation="eager") | own
        model = getattr(hf, name + model_class)(getattr(hf, name + "Config")(**config))
        if hasattr(model, "final_logits_bias"):
            make.with_logits_bias(model).final_logits_bias.mul_(0.3)  # texts still differ
        return writing(c, model, config.get("pad_token_id", padding))
    return make_case


FAMILIES = {
    "t5": t5_like("T5", tie_word_embeddings=lambda c: c.of(True, False)),
    "mt5": t5_like("MT5", tie_word_embeddings=lambda c: c.of(True, False)),
    "umt5": t5_like("UMT5"),
    "bart": bart_like("Bart"),
    "mbart": bart_like("MBart", decoder_start_token_id=lambda c: c.random.randint(3, 20)),
    "pegasus": bart_like("Pegasus", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0),
    "marian": bart_like("Marian", model_class="MTModel", pad_token_id=lambda c: c.vocabulary - 1, eos_token_id=0,
                        decoder_start_token_id=lambda c: c.vocabulary - 1),
    "m2m_100": bart_like("M2M100"),
}


def words_of(ids):
    return " ".join(f"t{id}" for id in ids if id >= 0)


def write_tokenizer(folder, vocabulary):
    """A tokenizer whose words are numbers."""
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump({"model": {"type": "WordLevel", "unk_token": "t0", "vocab": {f"t{id}": id for id in range(vocabulary)}},
                   "pre_tokenizer": {"type": "WhitespaceSplit"}}, file)


def check_texts(heddle, folder, model, device):
    """How many texts are Transformers', of how many, and what was wrong first."""
    sources = "".join(words_of(row) + "\n" for row in model.beams["sources"].tolist())
    run = subprocess.run([heddle, "translate", folder, f"--device={device}", "--batch=7"], input=sources, capture_output=True, text=True)
    if run.returncode:
        return 0, len(model.beams["sources"]), run.stderr.strip()
    ends = make.ends_of(model)
    right, wrong = 0, ""
    for number, (found, row) in enumerate(zip(run.stdout.splitlines(), model.beams["answers"].tolist())):
        expected = [id for id in row if id >= 0]
        while expected and expected[-1] in ends:  # end tokens are not part of the text
            expected.pop()
        right += found == words_of(expected)
        if found != words_of(expected) and not wrong:
            wrong = f"text {number}: expected {words_of(expected)}, found {found}"
    return right, len(model.beams["answers"]), wrong
