# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny models with random weights for tokenizers of test/data/tokenizers/folders, and what Transformers writes with both: texts of
languages and of tasks.

usage: DIR/bin/python test/data/languages/make.py [NAME ...]     DIR: see scripts/goldens-setup; NAME: of a folder

test/data/languages/NAME/              the folder without its tokenizer, which is test/data/tokenizers/folders/NAME
test/data/languages/NAME/answers.json  a list of texts, with what stands for --from, --to and --task, and the answer
test/data/languages/t5/vectors.json    texts and the mean of the rows of T5's encoder
test/data/languages/bart-classes       a model of three classes with the tokenizer test/data/tokenizers/roberta; classes.json: what the pipelines
                                  text-classification and zero-shot-classification make of texts
"""
import json
import os
import shutil
import sys

import torch
import transformers as hf

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["the quick brown fox jumps over the lazy dog", "a model reads words; it doesn't know them", "She said: “I'm here!”",
         "def compute(values): return 3", "İ would like 10 apples"]
SMALL = dict(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
             decoder_ffn_dim=16, max_position_embeddings=64, attn_implementation="eager")


def randomised(model, seed):
    """Weights that f16 holds exactly, so that the file is small and the numbers are those of Transformers."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        if value.requires_grad:
            noise = torch.randn(value.shape, generator=generator)
            value.data.copy_((1 + 0.2 * noise if "norm" in name and name.endswith("weight") else 0.4 * noise).half().float())
    return model.eval()


def rounded_otherwise(_, scores):
    return scores + 1e-4 * torch.randn_like(scores)


def written(model, ids, **settings):
    """What the model writes; none where it depends on how sums are rounded."""
    answers = [model.generate(input_ids=ids, logits_processor=rounding, **settings)[0].tolist()
               for rounding in ([], *[[rounded_otherwise]] * 3)]
    return answers[0] if all(answer == answers[0] for answer in answers) else None


def languages(tokenizer, model, pairs, settings_of):
    """Texts of each pair of languages; none in a pair: as the folder says."""
    usual = getattr(tokenizer, "src_lang", None)
    for source, target in pairs:
        if hasattr(tokenizer, "set_src_lang_special_tokens"):
            tokenizer.src_lang = source or usual
        settings, before = settings_of(target)
        for text in TEXTS:
            answer = written(model, tokenizer(before + text, return_tensors="pt").input_ids, **settings)
            if answer is not None:
                yield {"from": source, "to": target, "text": text, "answer": tokenizer.decode(answer, skip_special_tokens=True)}


def forced(tokenizer, spelled="{}"):
    def settings(target):
        return ({"forced_bos_token_id": tokenizer.convert_tokens_to_ids(spelled.format(target))} if target else {}), ""
    return settings


def tasks(tokenizer, model):
    for task, params in (model.config.task_specific_params or {}).items():
        settings = {key: value for key, value in params.items() if key != "prefix"}
        for text in TEXTS:
            answer = written(model, tokenizer(params.get("prefix", "") + text, return_tensors="pt").input_ids, **settings)
            if answer is not None:
                yield {"task": task, "text": text, "answer": tokenizer.decode(answer, skip_special_tokens=True)}


def mbart(tokenizer):
    model = hf.MBartForConditionalGeneration(hf.MBartConfig(**SMALL, vocab_size=len(tokenizer), scale_embedding=True))
    model.generation_config.update(decoder_start_token_id=tokenizer.convert_tokens_to_ids("ro_RO"), no_repeat_ngram_size=2, max_length=14, num_beams=2)
    start = lambda target: ({"decoder_start_token_id": tokenizer.convert_tokens_to_ids(target)} if target else {}, "")
    return model, start, [(None, None), ("en_XX", None), (None, "fr_XX"), ("zh_CN", "de_DE")]


def mbart50(tokenizer):
    model = hf.MBartForConditionalGeneration(hf.MBartConfig(**SMALL, vocab_size=len(tokenizer)))
    model.generation_config.update(decoder_start_token_id=2, no_repeat_ngram_size=2, max_length=14, num_beams=2)
    return model, forced(tokenizer), [(None, "fr_XX"), ("sl_SI", "en_XX")]


def m2m_100(tokenizer):
    model = hf.M2M100ForConditionalGeneration(hf.M2M100Config(**SMALL, vocab_size=len(tokenizer)))
    model.generation_config.update(decoder_start_token_id=2, no_repeat_ngram_size=2, max_length=14, num_beams=1)
    return model, forced(tokenizer, "__{}__"), [(None, "fr"), ("de", "zu")]


def nllb(tokenizer):
    model = hf.M2M100ForConditionalGeneration(hf.M2M100Config(**SMALL, vocab_size=len(tokenizer)))
    model.generation_config.update(decoder_start_token_id=2, no_repeat_ngram_size=2, max_length=14, num_beams=1)
    return model, forced(tokenizer), [(None, "zho_Hans"), ("ace_Arab", "eng_Latn")]


def marian(tokenizer):
    last = len(tokenizer) - 1
    model = hf.MarianMTModel(hf.MarianConfig(**SMALL, vocab_size=len(tokenizer), pad_token_id=last, eos_token_id=0, decoder_start_token_id=last,
                                             activation_function="swish", scale_embedding=True))
    model.generation_config.update(no_repeat_ngram_size=2, max_length=14, num_beams=2, bad_words_ids=[[last]])
    return model, lambda target: ({}, f">>{target}<< " if target else ""), [(None, None), (None, "deu"), (None, "fra")]


def t5(tokenizer):
    params = {"summarization": {"prefix": "summarize: ", "max_length": 12, "num_beams": 3, "early_stopping": True, "no_repeat_ngram_size": 2},
              "translation_en_to_de": {"prefix": "translate English to German: ", "max_length": 9, "num_beams": 2}}
    model = hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0, task_specific_params=params))
    model.generation_config.update(no_repeat_ngram_size=2, max_length=14)
    return model, lambda target: ({}, ""), [(None, None)]


def vectors(tokenizer, model):
    """The mean of the rows of a text in the encoder, as Sentence-Transformers takes it."""
    for text in TEXTS:
        with torch.no_grad():
            yield {"text": text, "vector": model.encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).tolist()}


def bart_classes():
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(HERE, "..", "tokenizers", "roberta", "tokenizer.json"), bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        sep_token="</s>", cls_token="<s>", unk_token="<unk>", mask_token="<mask>", model_input_names=["input_ids", "attention_mask"])
    model = randomised(hf.BartForSequenceClassification(hf.BartConfig(
        **SMALL, vocab_size=len(tokenizer), id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2})), 5)
    classes = hf.pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None)
    shot = hf.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
    cases = [{"text": text, "scores": {score["label"]: score["score"] for score in classes([text])[0]}} for text in TEXTS]
    for settings in ({}, {"many": True}, {"hypothesis": "It says {}!"}, {"labels": ["one"]}):
        labels = settings.get("labels", ["sports", "the news of today", "love"])
        more = {"hypothesis_template": settings["hypothesis"]} if "hypothesis" in settings else {}
        for text in TEXTS:
            result = shot(text, candidate_labels=labels, multi_label=settings.get("many", False), **more)
            cases.append({"text": text, "labels": labels, **settings, "scores": dict(zip(result["labels"], result["scores"]))})
    folder = os.path.join(HERE, "bart-classes")
    shutil.rmtree(folder, ignore_errors=True)
    model.half().save_pretrained(folder)
    dump(folder, "classes.json", cases)


def dump(folder, name, values):
    with open(os.path.join(folder, name), "w") as file:
        json.dump(values, file, ensure_ascii=False, indent=1)


KINDS = [t5, mbart, mbart50, m2m_100, nllb, marian]


def main():
    for seed, kind in enumerate(KINDS):
        name = kind.__name__.replace("_", "-")
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        tokens = os.path.join(HERE, "..", "tokenizers", "folders", name)
        classes = {"t5": hf.T5Tokenizer, "m2m-100": hf.M2M100Tokenizer, "marian": hf.MarianTokenizer, "mbart": hf.MBartTokenizer,
                   "mbart50": hf.MBart50Tokenizer, "nllb": hf.NllbTokenizer}
        tokenizer = classes[name].from_pretrained(tokens)
        model, settings, pairs = kind(tokenizer)
        model = randomised(model, seed)
        answers = [{key: value for key, value in answer.items() if value is not None}
                   for answer in [*languages(tokenizer, model, pairs, settings), *tasks(tokenizer, model)]]
        rows = list(vectors(tokenizer, model)) if name == "t5" else []
        model.half().save_pretrained(folder)
        dump(folder, "answers.json", answers)
        if rows:
            dump(folder, "vectors.json", rows)
        size = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
        print(f"{name}: {size / 1000:.0f} KB, {len(answers)} answers, {len({answer['answer'] for answer in answers})} different ones")
    if not sys.argv[1:] or "bart-classes" in sys.argv[1:]:
        bart_classes()


if __name__ == "__main__":
    main()
