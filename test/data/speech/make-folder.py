#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny, a folder of Whisper with random weights, a tokenizer and all settings of a real one, and tiny/answers.json: what
Transformers' `generate` makes of the sounds of sounds.py, greedily and with beams. tiny/asked.json has settings of a
generation_config.json that asks for more, and the answers then.

usage: make-folder.py          (in the environment of scripts/goldens-setup)

Windows are one second. Tokens of other text than printable ASCII are suppressed, so that an answer is the same text everywhere. Answers
that depend on how sums are rounded are left out.
"""
import copy
import json
import os
import shutil
import sys
import tempfile
import wave

import numpy as np
import tokenizers
import torch
import transformers as hf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sounds

FOLDER = os.path.join(HERE, "tiny")
LANGUAGES = ["en", "zh", "de", "haw"]
TEXTS = ["the quick brown fox jumps over the lazy dog", "a model hears words and writes them", "nothing is said here, or is it?"] * 3
WINDOW = 100  # frames
BEAM = 4
# What another generation_config.json asks for; MORE with beams of its own, LESS without.
MORE = dict(num_beams=3, length_penalty=0.4, early_stopping=True, no_repeat_ngram_size=3, repetition_penalty=1.2, min_new_tokens=6,
            bad_words_ids=[[72], [79]], return_timestamps=True, condition_on_prev_tokens=False, logprob_threshold=-4.0, no_speech_threshold=0.0)
LESS = dict(no_repeat_ngram_size=2, repetition_penalty=1.3, min_length=12, max_new_tokens=20, condition_on_prev_tokens=False,
            forced_bos_token_id=75)


def tokenizer():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    special = ["<|endoftext|>", "<|startoftranscript|>", *[f"<|{language}|>" for language in LANGUAGES], "<|translate|>", "<|transcribe|>",
               "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    made.add_special_tokens(special)
    made.add_tokens([tokenizers.AddedToken(f"<|{i * 0.02:.2f}|>", special=False, normalized=False) for i in range(WINDOW // 2 + 1)])
    return made


def randomised(model, seed):
    """Weights that f16 holds exactly, loud enough for sounds to make a difference."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        norm = "norm" in name and name.endswith("weight")
        value.data.copy_((1 + 0.2 * noise if norm else (1.2 if "encoder_attn" in name else 0.5) * noise).half().float())
    return model.eval()


def made_model(tokens):
    id_of = tokens.token_to_id
    model = randomised(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        vocab_size=tokens.get_vocab_size(), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=20, decoder_ffn_dim=24, num_mel_bins=10, max_source_positions=WINDOW // 2, max_target_positions=36,
        pad_token_id=id_of("<|endoftext|>"), bos_token_id=id_of("<|endoftext|>"), eos_token_id=id_of("<|endoftext|>"),
        decoder_start_token_id=id_of("<|startoftranscript|>"), attn_implementation="eager", begin_suppress_tokens=None, suppress_tokens=None)), 4)
    strange = [token for token in range(id_of("<|endoftext|>")) if not tokens.decode([token]).isascii() or not tokens.decode([token]).isprintable()]
    never = [id_of(token) for token in ("<|startoftranscript|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>")]
    model.generation_config = hf.GenerationConfig(
        begin_suppress_tokens=[id_of("\u0120"), id_of("<|endoftext|>")], suppress_tokens=sorted(strange + never), is_multilingual=True,
        bos_token_id=id_of("<|endoftext|>"), eos_token_id=id_of("<|endoftext|>"), pad_token_id=id_of("<|endoftext|>"),
        decoder_start_token_id=id_of("<|startoftranscript|>"), no_timestamps_token_id=id_of("<|notimestamps|>"),
        prev_sot_token_id=id_of("<|startofprev|>"), max_initial_timestamp_index=20, max_length=36, return_timestamps=False,
        forced_decoder_ids=[[1, None], [2, id_of("<|transcribe|>")]],
        lang_to_id={f"<|{language}|>": id_of(f"<|{language}|>") for language in LANGUAGES},
        task_to_id={task: id_of(f"<|{task}|>") for task in ("translate", "transcribe")})
    return model


def rounded_otherwise(_, scores):
    return scores + 1e-4 * torch.randn_like(scores)


def samples_of(name):
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        sounds.write(file.name, sounds.SOUNDS[name]())
        with wave.open(file.name) as sound:
            return np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768


def segments(model, features, tokens, **settings):
    """What is said and when; none where it depends on how sums are rounded."""
    checks = dict(compression_ratio_threshold=1.35, logprob_threshold=-1.0, no_speech_threshold=0.6, condition_on_prev_tokens=True)
    own = {key: getattr(model.generation_config, key, value) for key, value in checks.items()}
    made = []
    for rounding in ([], *[[rounded_otherwise]] * 2):
        out = model.generate(features, logits_processor=list(rounding), return_segments=True, temperature=(0.0,), **own, **settings)
        made.append([[round(float(s["start"]), 3), round(float(s["end"]), 3), s["tokens"].tolist()] for s in out["segments"][0]])
    if any(m != made[0] for m in made):
        return None
    end = model.generation_config.eos_token_id
    return [{"start": start, "end": stop, "text": tokens.decode([t for t in said if t < end])} for start, stop, said in made[0]]


def asked(beams):
    """What a sound is transcribed with: language, task, whether times are wanted (none: as the folder says), and beams."""
    for timestamps in (False, True):
        for language, task in ((None, "transcribe"), ("de", "translate")):
            for beam in beams:
                yield timestamps, language, task, beam


def answers(model, tokens, extractor, cases):
    usual = model.generation_config.return_timestamps
    for name in sounds.SOUNDS:
        samples = samples_of(name)
        features = torch.tensor(extractor(samples, sampling_rate=16000, padding="max_length", truncation=False, return_tensors="np").input_features)
        seconds = len(samples) / sounds.RATE
        heard = model.detect_language(features[:, :, :WINDOW], num_segment_frames=WINDOW)
        heard = next(language for language, token in model.generation_config.lang_to_id.items() if token == int(heard))[2:-2]
        for timestamps, language, task, beam in cases:
            if seconds > 1 and not timestamps:
                continue
            made = segments(model, features, tokens, language=language or heard, task=task, return_timestamps=timestamps or usual,
                            **(dict(num_beams=beam) if beam else {}))
            if made is not None:
                yield dict(sound=name, seconds=seconds, timestamps=timestamps, language=language, task=task, beam=beam, heard=language or heard,
                           segments=made)


def asked_answers(model, tokens, extractor, settings):
    own = copy.deepcopy(model.generation_config)
    for key, value in settings.items():
        setattr(model.generation_config, key, value)
    said = list(answers(model, tokens, extractor, list(asked([None]))))
    model.generation_config = own
    return dict(settings=settings, answers=said)


def write(name, values):
    """A value a line."""
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(value) for value in values) + "]\n")


def main():
    torch.set_num_threads(1)
    tokens = tokenizer()
    model = made_model(tokens)
    extractor = hf.WhisperFeatureExtractor(feature_size=10, chunk_length=1)
    made = list(answers(model, tokens, extractor, list(asked([None, BEAM]))))
    others = [asked_answers(model, tokens, extractor, settings) for settings in (MORE, LESS)]
    shutil.rmtree(FOLDER, ignore_errors=True)
    model.half().save_pretrained(FOLDER)
    extractor.save_pretrained(FOLDER)
    tokens.save(os.path.join(FOLDER, "tokenizer.json"))
    write("answers.json", made)
    write("asked.json", others)
    for said in (made, *(other["answers"] for other in others)):
        texts = {json.dumps(answer["segments"]) for answer in said}
        print(len(said), "answers,", len(texts), "different ones,", sum(len(answer["segments"]) for answer in said), "segments")


if __name__ == "__main__":
    main()
