#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny Hugging Face folders with random weights, and what Transformers computes with them.

usage: DIR/bin/python test/data/folders/make.py [NAME …]     DIR: see scripts/goldens-setup; without names, all folders

test/data/folders/NAME is the folder as save_pretrained writes it; golden/inputs and golden/encode (decode, of a decoder) beside
it hold arrays by name; of a decoder golden/greedy also has a prompt and the 64 likeliest tokens behind it. A file golden/cpu: the tests run the folder on the CPU alone, since others have its primitives. Rows behind a text's length are no results and are written as 0.
"""
import json
import os
import re
import shutil
import sys

import numpy
import PIL.Image
import PIL.ImageOps
import safetensors.torch
import tokenizers
import torch
import transformers as hf
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

import plain

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = (11, 7, 1)


def norms_around(model):
    """What stored weights of norms lie around: those of these families multiply by 1 + weight."""
    return 0 if any(word in type(model).__name__ for word in ("Gemma", "Nemotron")) else 1


def randomised(model, seed):
    """Weights that matter: the initialisation of a fresh model is too small to tell right from wrong."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        if not value.requires_grad:  # sinusoids
            continue
        norm = "norm" in name.lower() and value.dim() == 1 and name.endswith("weight")
        with torch.no_grad():
            value.copy_(norms_around(model) + 0.2 * noise if norm else noise * (0.3 if value.dim() == 1 else 0.25))
    return model.eval()


def text_inputs(vocabulary, padding, seed, types=0):
    random = numpy.random.default_rng(seed)
    ids = random.integers(5, vocabulary, (len(LENGTHS), max(LENGTHS))).astype(numpy.int32)
    mask = numpy.arange(max(LENGTHS))[None] < numpy.array(LENGTHS)[:, None]
    ids[~mask] = padding
    inputs = {"source": ids, "source.lengths": numpy.array(LENGTHS, numpy.int32)}
    if types:
        inputs["source.types"] = numpy.where(mask, random.integers(0, types, ids.shape), 0).astype(numpy.int32)
    return inputs


def masks_both_ways(mask, window):
    """What Transformers makes of a mask where rows see both ways, some of them within a window."""
    seen = torch.tensor(mask)[:, None, None, :].expand(-1, 1, mask.shape[1], -1)
    place = torch.arange(mask.shape[1])
    near = (place[:, None] - place[None]).abs() < window
    added = lambda pairs: torch.where(pairs, 0.0, torch.finfo(torch.float32).min)
    return {"full_attention": added(seen), "sliding_attention": added(seen & near)}


def ids_of(inputs, side):
    """Ids of a side as Transformers takes them, and which of them are a text's."""
    places = numpy.arange(inputs[side].shape[1])[None]
    mask = places < inputs[side + ".lengths"][:, None]
    return torch.tensor(inputs[side].astype(numpy.int64)), mask


def named_result(result):
    """The one result that is compared, and its name."""
    if "start_logits" in result:
        return "logits", torch.stack([result.start_logits, result.end_logits], -1).numpy()
    return next((name, result[key].numpy()) for name, key in RESULTS if key in result)


def features_of(made):
    """Vectors of texts or images, which Transformers 5 gives beside others."""
    return made if torch.is_tensor(made) else made.pooler_output


def text_results(model, inputs):
    """The logits of a model's head, else its vectors, else its last hidden state."""
    ids, mask = ids_of(inputs, "source")
    given = {"input_ids": ids, "attention_mask": torch.tensor(mask.astype(numpy.int64))}
    if getattr(model.config, "masks_given", False):
        given["attention_mask"] = masks_both_ways(mask, model.config.sliding_window)
    if "source.types" in inputs:
        given["token_type_ids"] = torch.tensor(inputs["source.types"].astype(numpy.int64))
    if hasattr(model, "get_text_features"):  # both halves of CLIP
        return {"output": features_of(model.get_text_features(**given)).numpy()}
    name, values = named_result(model(**given))
    return {name: values * mask[:, :, None] if values.ndim == 3 else values}


RESULTS = (("logits", "logits"), ("logits", "prediction_logits"), ("output", "text_embeds"), ("output", "image_embeds"),
           ("output", "last_hidden_state"))


def results_of(model, inputs):
    """What a model of any kind gives for inputs: arrays by name, f32; rows behind a text's length are 0."""
    with torch.no_grad():
        if "target" not in inputs and inputs["source"].ndim == 4:
            made = model(pixel_values=torch.tensor(inputs["source"]))
            return {"output": made.pooler_output.numpy()} if isinstance(model, hf.SiglipVisionModel) else dict([named_result(made)])
        if "target" not in inputs:
            return text_results(model, inputs)
        target, mask = ids_of(inputs, "target")
        if "source" not in inputs:
            return {"logits": model(input_ids=target).logits.float().numpy() * mask[:, :, None]}
        if inputs["source"].ndim == 3:
            made = model(input_features=torch.tensor(inputs["source"]), decoder_input_ids=target)
            return {"memory": made.encoder_last_hidden_state.numpy(), "logits": made.logits.numpy() * mask[:, :, None]}
        source, kept = ids_of(inputs, "source")
        made = model(input_ids=source, attention_mask=torch.tensor(kept.astype(numpy.int64)), decoder_input_ids=target)
        return {"memory": made.encoder_last_hidden_state.numpy() * kept[:, :, None], "logits": made.logits.numpy() * mask[:, :, None]}


def text_case(model, padding=0, types=0, seed=1):
    """A model over ids: the last hidden state, or the logits of its head."""
    model = randomised(model, seed)
    inputs = text_inputs(model.config.vocab_size, padding, seed, types)
    both_ways = getattr(model.config, "use_bidirectional_attention", False)
    model.config.masks_given = both_ways
    results = results_of(model, inputs)
    del model.config.masks_given
    if both_ways and model.config.to_dict()["sliding_window"] == model.config.sliding_window:  # Transformers 5 does it itself
        model.config.sliding_window = 2 * (model.config.sliding_window - 1)  # halved again by who reads it
    return model, inputs, results


def likeliest_tokens(model, words, count=64, prompts=48, length=11):
    """A prompt and the likeliest tokens behind it, each by a whole forward pass, whatever ends a text: of many prompts the one with
    the most different tokens in front of the first place where the two largest scores are near each other. As many as the model has
    positions for, where they are a table."""
    tables = [p.shape[0] - 2 for name, p in model.named_parameters() if re.search(r"(wpe|embed_positions)\.weight$", name)]
    count = min([count, *(rows - length for rows in (*tables, *filter(None, [getattr(model.config, "max_seq_len", None)])))])
    texts = torch.tensor(numpy.random.default_rng(7).integers(5, words, (prompts, length)))
    clear = torch.full((prompts,), count)  # tokens in front of the first that may be another
    for step in range(count):
        with torch.no_grad():
            best = model(input_ids=texts).logits[:, -1].topk(2)
        near = (best.values[:, 0] - best.values[:, 1] < 3e-3) | (best.indices[:, 0] >= words)
        clear[near & (clear == count)] = step
        texts = torch.cat([texts, best.indices[:, :1].clamp(max=words - 1)], 1)
    different = [len(set(texts[row, length:length + clear[row]].tolist())) for row in range(prompts)]
    row = max(range(prompts), key=lambda row: (clear[row] >= count * 3 // 4, different[row]))
    ids = texts[row].numpy().astype(numpy.int32)
    print(f"  {clear[row]} clear tokens, {different[row]} different ones")
    return {"prompt": ids[:length], "answer": ids[length:]}


def decoder_case(model, padding=0, seed=1, words=None):
    """A model that continues texts: the logits at all positions. `words`: ids of texts are below, where others are images."""
    model = randomised(model, seed)
    model.greedy = likeliest_tokens(model, words or model.config.vocab_size)
    inputs = {name.replace("source", "target"): value
              for name, value in text_inputs(words or model.config.vocab_size, padding, seed).items()}
    return model, inputs, results_of(model, inputs)


def mixture_case(model, first=1):
    """A model with experts, with weights for which rounding to bf16 chooses no other expert: its logits remain near."""
    for seed in range(first, 100):
        inputs = {name.replace("source", "target"): value for name, value in text_inputs(model.config.vocab_size, 0, seed).items()}
        exact = results_of(randomised(model, seed), inputs)["logits"]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = results_of(model, inputs)["logits"]
        if abs(rounded - exact).max() < 0.02 * abs(exact).max():
            return decoder_case(model, seed=seed)
    sys.exit("expected weights whose choices are clear, found none")


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def packed(case):
    """The same folder with the matrices of its experts as MXFP4: a tensor of codes and one of scales each."""
    model, inputs, _ = case
    pairs = {}
    for name, value in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        rows = value.data.transpose(1, 2)
        groups = rows.reshape(*rows.shape[:2], -1, 32)
        exponents = torch.floor(torch.log2(groups.abs().amax(-1))) - 2
        codes = (groups[..., None] / 2 ** exponents[..., None, None] - FP4).abs().argmin(-1)
        value.data = (FP4[codes] * 2 ** exponents[..., None]).reshape(rows.shape).transpose(1, 2).contiguous()
        pairs[name + "_blocks"] = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
        pairs[name + "_scales"] = (exponents + 127).to(torch.uint8)
        read = convert_moe_packed_tensors(pairs[name + "_blocks"], pairs[name + "_scales"], dtype=torch.float32)
        assert torch.equal(read, value.data)
    model.greedy = likeliest_tokens(model, model.config.vocab_size)
    results = results_of(model, inputs)

    def extra(folder):
        path = os.path.join(folder, "model.safetensors")
        tensors = {name: value for name, value in safetensors.torch.load_file(path).items() if name + "_blocks" not in pairs}
        safetensors.torch.save_file(tensors | pairs, path, {"format": "pt"})
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            config = json.load(file)
        config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
        write_json(folder, "config.json", config)

    model.extra = extra
    return model, inputs, results


def translating_case(model, padding, seed=1):
    """A model that reads a text and writes another: the memory, and the logits at all positions."""
    model = randomised(model, seed)
    for name, value in model.named_parameters():
        if name.endswith("Attention.q.weight"):  # T5 does not scale scores: its queries are small instead
            value.data.mul_(model.config.d_kv ** -0.5)
    vocabulary = model.config.vocab_size
    inputs = text_inputs(vocabulary, padding, seed)
    inputs |= {name.replace("source", "target"): value for name, value in text_inputs(vocabulary, padding, seed + 1).items()}
    return model, inputs, results_of(model, inputs)


def speech_case(model, seed=1):
    """A model that reads frames of sound and writes a text: the memory, and the logits at all positions."""
    model = randomised(model, seed)
    c = model.config
    frames = numpy.random.default_rng(seed).standard_normal((len(LENGTHS), c.num_mel_bins, 2 * c.max_source_positions))
    inputs = {"source": frames.astype(numpy.float32)}
    inputs |= {name.replace("source", "target"): value for name, value in text_inputs(c.vocab_size, c.pad_token_id, seed + 1).items()}
    return model, inputs, results_of(model, inputs)


def with_beams(case, texts=30, **settings):
    """The same folder with settings of generation, and what they make of texts: golden/beams, rows of ids that end with -1. Texts whose
    answer depends on how sums are rounded are left out."""
    model, _, _ = case
    for key, value in (dict(num_beams=4, max_length=18) | settings).items():
        setattr(model.generation_config, key, value)
    random = numpy.random.default_rng(11)
    vocabulary = model.config.vocab_size - 1  # padding, where it is the last id, would be masked
    kept = []
    for number in range(4 * texts):
        if len(kept) == texts:
            break
        source = torch.tensor(random.integers(3, vocabulary, (1, 1 + number % 13)))
        answers = [model.generate(input_ids=source, logits_processor=rounding)[0, 1:].tolist() for rounding in ([], *[[rounded_otherwise]] * 4)]
        if all(answer == answers[0] for answer in answers):
            kept.append((source[0].tolist(), answers[0]))
    rows = max(len(ids) for pair in kept for ids in pair)
    model.beams = {name: numpy.array([pair[place] + [-1] * (rows - len(pair[place])) for pair in kept], numpy.int32)
                   for place, name in enumerate(("sources", "answers"))}
    print(f"  {len(kept)} texts, {len(set(map(str, (answer for _, answer in kept))))} different answers of "
          f"{min(len(answer) for _, answer in kept)} to {max(len(answer) for _, answer in kept)} tokens")
    return case


def rounded_otherwise(_, scores):
    return scores + 1e-5 * torch.randn_like(scores)


def ends_of(model):
    ends = model.generation_config.eos_token_id
    return ends if isinstance(ends, list) else [ends]


def with_logits_bias(model):
    """The same model with numbers in `final_logits_bias`, which is no parameter; texts end sooner."""
    model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(4))
    model.final_logits_bias[0, model.config.eos_token_id] += 2
    return model


def without_start(model_class):
    """The class without initial weights, where it fails to make those that `randomised` replaces. Transformers 5 does not, and makes
    the angles of positions there."""
    if hf.__version__ >= "5":
        return model_class
    model_class.__mro__[1]._init_weights = lambda self, module: None
    return model_class


def on_cpu(case):
    """The same folder, of which no primitive needs a test on another device."""
    case[0].on_cpu = True
    return case


def unmasked(model):
    """ViT-MAE that masks no patch and keeps their order."""
    whole = model.forward
    patches = (model.config.image_size // model.config.patch_size) ** 2
    model.forward = lambda pixel_values: whole(
        pixel_values, noise=torch.arange(patches, dtype=torch.float32).expand(len(pixel_values), -1))
    return model


def image_case(model, seed=1):
    model = randomised(model, seed)
    c = model.config
    pixels = numpy.random.default_rng(seed).standard_normal((2, c.num_channels, c.image_size, c.image_size))
    inputs = {"source": pixels.astype(numpy.float32)}
    return model, inputs, results_of(model, inputs)


PICTURES = ["rgb.png", "rgb.jpg", "alpha.png", "held-3.jpg", "grey.jpg"]


def pixels_of(processor):
    """The pictures of test/data/images, held upright, as a model takes them."""
    pictures = [PIL.ImageOps.exif_transpose(PIL.Image.open(os.path.join(HERE, "../images", name))).convert("RGB")
                for name in PICTURES]
    return processor(pictures, return_tensors="pt")["pixel_values"]


def with_images(case, processor):
    """The same folder with steps for images, and golden/classes.txt: what `classify --all` says of PICTURES."""
    model, inputs, results = case
    with torch.no_grad():
        rows = model(pixel_values=pixels_of(processor)).logits.softmax(-1).numpy()

    def extra(folder):
        processor.save_pretrained(folder)
        lines = ["".join(f"{model.config.id2label[i]}\t{row[i]:.6f}\n" for i in numpy.argsort(-row)) for row in rows]
        with open(os.path.join(folder, "golden", "classes.txt"), "w") as file:
            file.write("\n".join(lines))

    model.extra = extra
    return model, inputs, results


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "warp", "weft", "loom", "thread", "cloth", "weaver",
         "hand", "blue", "red", "fine", "and", "over", "under", "goes", "a", "of", "one", "two", "knot", "end"]
WORDS += [c for c in "bcdefghijklmnopqrstuvwxyz"] + ["##" + c for c in "abcdefghijklmnopqrstuvwxyz"] + [".", ",", "!"]
TEXTS = ["The warp goes over one thread, and the weft under two.", "A weaver!", "blue and red knots of fine cloth"]


def word_pieces():
    """A tokenizer as BERT's, of few words."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    backend.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    backend.add_special_tokens(WORDS[:5])
    return hf.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", mask_token="[MASK]")


def with_tokenizer(case):
    """The same folder with a tokenizer, so that it takes texts: its model also has encode_packed."""
    model, inputs, results = case
    model.extra = lambda folder: word_pieces().backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
    return model, inputs, results


def command_case(model, texts, pair_first=None, answers=None, seed=1):
    """A folder for a text command: golden/texts.txt, and golden/answers.txt as Transformers' pipelines decide them.
    `answers` maps the numbers and the tokens of one text to lines; `pair_first` is a query before each text."""
    tokenizer = word_pieces()
    model = randomised(model, seed)
    given = [[pair_first] * len(texts), texts] if pair_first else [texts]
    tokens = tokenizer(*given, padding=True, return_tensors="pt", return_token_type_ids=True)
    with torch.no_grad():
        result = model(**tokens)
    values = torch.stack([result.start_logits, result.end_logits], -1) if "start_logits" in result else result.logits
    mask = tokens["attention_mask"]
    if values.dim() == 3:
        values = values * mask[:, :, None]
    lines = [answers(values[i].double().numpy(), tokens[i], texts[i]) for i in range(len(texts))]

    def extra(folder):
        word_pieces().backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
        write_json(folder, "tokenizer_config.json", {"mask_token": "[MASK]"})
        write_answers(folder, texts, lines)

    model.extra = extra
    inputs = {"source": tokens["input_ids"].numpy().astype(numpy.int32),
              "source.lengths": mask.sum(1).numpy().astype(numpy.int32),
              "source.types": tokens["token_type_ids"].numpy().astype(numpy.int32)}
    return model, inputs, {"logits": values.numpy()}


def write_answers(folder, texts, lines):
    for name, written in (("texts", [text + "\n" for text in texts]), ("answers", lines)):
        with open(os.path.join(folder, "golden", name + ".txt"), "w") as file:
            file.writelines(written)


PAIRS = """{% set system = messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("over") -%}
[CLS] {{ system }} [SEP] {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }} \
[SEP] {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }} [SEP] the end"""


def tokens_case(model, yes, no, seed=1):
    """A reranker that is a language model: how far the score of one token lies above that of another, behind a pair as its template
    writes it. What Sentence-Transformers' CrossEncoder says of the folder."""
    tokenizer, model = word_pieces(), randomised(model, seed)
    tokenizer.chat_template = PAIRS
    asked = [[dict(role="query", content="who goes under?"), dict(role="document", content=text)] for text in TEXTS]
    rows = [tokenizer.apply_chat_template(messages) for messages in asked]
    rest = max(map(len, rows))
    ids = numpy.array([row + [0] * (rest - len(row)) for row in rows], numpy.int32)
    lengths = numpy.array([len(row) for row in rows], numpy.int32)
    with torch.no_grad():
        logits = torch.stack([model(torch.tensor([row])).logits[0, -1, [yes, no]] for row in rows]).numpy()
    lines = [f"{1 / (1 + numpy.exp(no - yes)):.6f}\t{text}\n" for (yes, no), text in zip(logits.astype(float), TEXTS)]

    def extra(folder):
        tokenizer.save_pretrained(folder)
        write_json(folder, "modules.json", [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
            {"idx": 1, "name": "1", "path": "1_LogitScore",
             "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])
        write_json(folder, "1_LogitScore/config.json", {"true_token_id": yes, "false_token_id": no})
        write_json(folder, "sentence_bert_config.json", {
            "transformer_task": "text-generation", "module_output_name": "causal_logits",
            "modality_config": {name: {"method": "forward", "method_output_name": "logits"} for name in ("text", "message")}})
        write_json(folder, "config_sentence_transformers.json", {
            "prompts": {"thread": "a thread of one hand"}, "default_prompt_name": None, "model_type": "CrossEncoder"})
        write_answers(folder, TEXTS, lines)

    model.extra = extra
    return model, {"source": ids, "source.lengths": lengths}, {"logits": logits}


def clip_case(model_class=hf.CLIPModel, seed=1):
    """Both halves of CLIP, or of a family like it, in one folder; golden/vision is the other part's."""
    text = dict(vocab_size=61, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=40,
                max_position_embeddings=16, pad_token_id=1, bos_token_id=0, eos_token_id=60)
    vision = dict(hidden_size=28, num_hidden_layers=1, num_attention_heads=2, intermediate_size=36, image_size=12, patch_size=4)
    model = randomised(model_class(model_class.config_class(text_config=text, vision_config=vision, projection_dim=20)), seed)
    inputs = text_inputs(60, 1, seed)
    for row, length in enumerate(LENGTHS):
        inputs["source"][row, length - 1] = 60  # the end, whose row is the text's
    pixels = numpy.random.default_rng(seed).standard_normal((2, 3, 12, 12)).astype(numpy.float32)
    mask = numpy.arange(max(LENGTHS))[None] < inputs["source.lengths"][:, None]
    with torch.no_grad():
        texts = features_of(model.get_text_features(
            input_ids=torch.tensor(inputs["source"].astype(numpy.int64)), attention_mask=torch.tensor(mask.astype(numpy.int64))))
        images = features_of(model.get_image_features(pixel_values=torch.tensor(pixels)))
        processor = hf.CLIPImageProcessor(size={"shortest_edge": 14}, crop_size=12)
        pictures = features_of(model.get_image_features(pixel_values=pixels_of(processor)))

    def extra(folder):
        processor.save_pretrained(folder)
        numpy.save(os.path.join(folder, "golden", "pictures.npy"), pictures.numpy())
        write(os.path.join(folder, "golden", "vision", "inputs"), {"source": pixels})
        write(os.path.join(folder, "golden", "vision", "encode"), {"output": images.numpy()})

    model.extra = extra
    return model, inputs, {"output": texts.numpy()}


def siglip_classes():
    """Classes of images in a folder whose configuration has texts too."""
    vision = dict(hidden_size=28, num_hidden_layers=1, num_attention_heads=2, intermediate_size=36, image_size=12, patch_size=4)
    names = {0: "loom", 1: "yarn", 2: "dye"}
    model = randomised(hf.SiglipForImageClassification(hf.SiglipConfig(text_config=dict(vocab_size=61), vision_config=vision, id2label=names)), 1)
    inputs = {"source": numpy.random.default_rng(1).standard_normal((2, 3, 12, 12)).astype(numpy.float32)}
    return model, inputs, results_of(model, inputs)


def softmax(values):
    shares = numpy.exp(values - values.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def pairs_case():
    """A cross-encoder: one number for a pair."""
    def answers(values, tokens, text):
        return f"{1 / (1 + numpy.exp(-values[0])):.6f}\t{text}\n"

    return command_case(hf.BertForSequenceClassification(hf.BertConfig(**TALK, num_labels=1)), TEXTS,
                        pair_first="who goes under?", answers=answers)


def topics_case():
    """Several labels of one text."""
    config = hf.BertConfig(**TALK, problem_type="multi_label_classification",
                           id2label=dict(enumerate(["loom", "yarn", "dye", "hand"])))

    def answers(values, tokens, text):
        scores = 1 / (1 + numpy.exp(-values))
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        return ("\n" if text != TEXTS[0] else "") + "".join(f"{config.id2label[i]}\t{scores[i]:.6f}\n" for i in order)

    return command_case(hf.BertForSequenceClassification(config), TEXTS, answers=answers)


def words_case():
    """A label for each word, by its first token."""
    config = hf.BertConfig(**TALK, id2label=dict(enumerate(["O", "THING", "COLOUR"])))

    def answers(values, tokens, text):
        lines, last = ["\n"] if text != TEXTS[0] else [], None
        for i, word in enumerate(tokens.word_ids):
            if word is not None and word != last:
                begin = tokens.offsets[i][0]
                end = max(o[1] for o, w in zip(tokens.offsets, tokens.word_ids) if w == word)
                scores = softmax(values[i])
                lines.append(f"{text[begin:end]}\t{config.id2label[int(scores.argmax())]}\t{scores.max():.6f}\n")
            last = word
        return "".join(lines)

    return command_case(hf.BertForTokenClassification(config), TEXTS, answers=answers)


def masks_case():
    """The three likeliest tokens of each mask."""
    texts = ["the [MASK] goes under", "[MASK] fine [MASK]!"]
    tokenizer = word_pieces()

    def answers(values, tokens, text):
        blocks = []
        for i, id in enumerate(tokens.ids):
            if id == tokenizer.mask_token_id:
                scores = softmax(values[i])
                best = sorted(range(len(scores)), key=lambda j: -scores[j])[:3]
                blocks.append("".join(f"{tokenizer.decode([j])}\t{scores[j]:.6f}\n" for j in best))
        return ("\n" if text != texts[0] else "") + "\n".join(blocks)

    config = hf.BertConfig(**dict(TALK, vocab_size=len(WORDS)))
    return command_case(hf.BertForMaskedLM(config), texts, answers=answers)


def answers_case():
    """The likeliest span of at most 15 tokens of a text."""
    def answers(values, tokens, text):
        inside = [i for i in range(len(tokens.ids)) if tokens.sequence_ids[i] == 1]
        start, end = softmax(values[inside, 0]), softmax(values[inside, 1])
        score, i, j = max(((start[i] * end[j], i, j) for i in range(len(inside))
                           for j in range(i, min(len(inside), i + 15))), key=lambda span: span[0])
        return f"{score:.6f}\t{text[tokens.offsets[inside[i]][0]:tokens.offsets[inside[j]][1]]}\n"

    return command_case(hf.BertForQuestionAnswering(hf.BertConfig(**TALK)), TEXTS, pair_first="what goes over?",
                        answers=answers)


def sentence_case(seed=1, poolings=("mean",)):
    """A folder of Sentence-Transformers: a model, its tokenizer, poolings of rows, a linear layer, length 1."""
    tokenizer, texts = word_pieces(), TEXTS
    model = randomised(hf.BertModel(hf.BertConfig(**dict(BERT, num_hidden_layers=1, vocab_size=83)), add_pooling_layer=False), seed)
    assert len(WORDS) <= model.config.vocab_size
    given = tokenizer(texts, padding=True, return_tensors="pt")
    width = 36 * len(poolings)
    dense = randomised(torch.nn.Sequential(torch.nn.Linear(width, 20)), seed)[0]

    def vectors_of(texts, left_out=0):
        """`left_out` tokens in front are not pooled, as those of a prompt where `include_prompt` is false."""
        given = tokenizer(texts, padding=True, return_tensors="pt")
        mask = given["attention_mask"][:, :, None].float()
        mask[:, :left_out] = 0
        with torch.no_grad():
            rows = model(**given).last_hidden_state
            pooled = {"cls": rows[:, 0], "max": rows.masked_fill(mask == 0, -torch.inf).amax(1),
                      "mean": (rows * mask).sum(1) / mask.sum(1)}
            return torch.nn.functional.normalize(torch.tanh(dense(torch.cat([pooled[p] for p in poolings], 1)))).numpy()

    def extra(folder):
        word_pieces().backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
        modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
        write_json(folder, "modules.json", [
            {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + type}
            for i, (path, type) in enumerate(modules)])
        write_json(folder, "config_sentence_transformers.json", {
            "prompts": {"query": "the warp: ", "document": ""}, "default_prompt_name": None})
        write_json(folder, "sentence_bert_config.json", {"max_seq_length": 18, "do_lower_case": False})
        write_json(folder, "1_Pooling/config.json", {
            "word_embedding_dimension": 36, "pooling_mode_cls_token": "cls" in poolings, "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": "max" in poolings, "pooling_mode_mean_sqrt_len_tokens": False})
        write_json(folder, "2_Dense/config.json", {
            "in_features": width, "out_features": 20, "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh"})
        safetensors.torch.save_file({"linear.weight": dense.weight.data, "linear.bias": dense.bias.data},
                                    os.path.join(folder, "2_Dense", "model.safetensors"))
        with open(os.path.join(folder, "golden", "texts.txt"), "w") as file:
            file.writelines(text + "\n" for text in texts)
        numpy.save(os.path.join(folder, "golden", "empty.npy"), vectors_of([""]))
        queries = ["the warp: " + text for text in texts[1:]]
        numpy.save(os.path.join(folder, "golden", "query.npy"), vectors_of(queries))
        prompt = len(tokenizer("the warp: ")["input_ids"]) - 1  # as Sentence-Transformers counts: but for the last [SEP]
        numpy.save(os.path.join(folder, "golden", "query-left-out.npy"), vectors_of(queries, prompt))

    model.extra = extra
    inputs = {"source": given["input_ids"].numpy().astype(numpy.int32),
              "source.lengths": given["attention_mask"].sum(1).numpy().astype(numpy.int32)}
    return model, inputs, {"output": vectors_of(texts)}


def plain_case(name):
    """A model of plain.py."""
    config = plain.CASES[name][0]
    inputs = text_inputs(config["vocab_size"], config["pad_token_id"], 1, config.get("type_vocab_size", 0) > 1 and 2)
    model, values = plain.plain_case(name, inputs)
    rows = name.split("-")[-1] in plain.CASES  # the base model
    return model, inputs, {"output" if rows else "logits": values}


BERT = dict(vocab_size=83, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52,
            max_position_embeddings=20)
ROBERTA = dict(BERT, max_position_embeddings=22, type_vocab_size=1, pad_token_id=1)
VIT = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52, image_size=12, patch_size=4)

DISTILBERT = dict(vocab_size=83, dim=36, n_layers=2, n_heads=3, hidden_dim=52, max_position_embeddings=20)
LABELS = dict(num_labels=5)
# Folders of heads have one layer.
SHALLOW, SHALLOW_ROBERTA = (dict(c, num_hidden_layers=1) for c in (BERT, ROBERTA))
SHALLOW_DISTILBERT = dict(DISTILBERT, n_layers=1)
TALK = dict(SHALLOW, max_position_embeddings=32)

ELECTRA = dict(BERT, embedding_size=20)
ALBERT = dict(BERT, embedding_size=20, num_hidden_layers=3, num_hidden_groups=2)
MODERN = dict(vocab_size=83, hidden_size=36, num_hidden_layers=3, num_attention_heads=3, intermediate_size=48,
              max_position_embeddings=20, local_attention=6, global_attn_every_n_layers=3, pad_token_id=0, cls_token_id=1,
              bos_token_id=1, sep_token_id=2, eos_token_id=2, reference_compile=False, attn_implementation="eager")
QWEN = dict(vocab_size=83, hidden_size=36, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            intermediate_size=52, max_position_embeddings=20, pad_token_id=0, attn_implementation="eager")
LLAMA = dict(vocab_size=83, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
             intermediate_size=52, max_position_embeddings=80, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager")
GEMMA = dict(QWEN, hidden_size=28, intermediate_size=40, num_hidden_layers=3, query_pre_attn_scalar=24, sliding_window=4, bos_token_id=2, eos_token_id=1,
             layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_local_base_freq=100.0,
             rope_scaling=dict(rope_type="linear", factor=4.0))
# Decoders that have nothing in common with the bases above but small numbers.
TINY = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=44, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, max_position_embeddings=80, attn_implementation="eager")
GROUPED = dict(TINY, num_key_value_heads=2)
HEAD = dict(GROUPED, head_dim=12)
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", factor=3.0, original_max_position_embeddings=8)
LONG = dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 1.5, 2.5, 4.0])
GPT2 = dict(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=80, bos_token_id=1, eos_token_id=2, attn_implementation="eager")
SIGLIP = dict(hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, image_size=8, patch_size=4)


EXPERTS = dict(vocab_size=61, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=80, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, attn_implementation="eager")


# Limits that gates reach.
OSS = dict(EXPERTS, num_hidden_layers=2, head_dim=12, intermediate_size=16, num_local_experts=5, num_experts_per_tok=2, sliding_window=4,
           swiglu_limit=1.0, rope_parameters=dict(YARN, truncate=False, rope_theta=1e4))


MIXED_LONG = dict(LONG, short_mscale=1.1, long_mscale=1.3, original_max_position_embeddings=80)


def pickled(case):
    """The same folder with its tensors in a file of torch.save."""
    def extra(folder):
        path = os.path.join(folder, "model.safetensors")
        torch.save(safetensors.torch.load_file(path), os.path.join(folder, "pytorch_model.bin"))
        os.remove(path)

    case[0].extra = extra
    return case


def corrected(model):
    """The model, with corrections of its routers that matter."""
    generator = torch.Generator().manual_seed(9)
    for name, value in model.state_dict().items():
        if "correction" in name:
            value.copy_(torch.randn(value.shape, generator=generator) * 0.2)
    return model


def mixtures():
    """A folder of each family of decoders with experts, by name. The first layer of some has none."""
    c, all_layers = mixture_case, dict(EXPERTS, num_hidden_layers=1, intermediate_size=16)
    whole, mixed = dict(all_layers, num_experts_per_tok=2), dict(EXPERTS, num_hidden_layers=2, intermediate_size=44, moe_intermediate_size=16)
    return {
        "mixtral": lambda: on_cpu(c(hf.MixtralForCausalLM(hf.MixtralConfig(**whole, num_local_experts=5, sliding_window=4)))),
        "qwen2_moe": lambda: c(hf.Qwen2MoeForCausalLM(hf.Qwen2MoeConfig(
            **mixed, num_experts_per_tok=2, mlp_only_layers=[0], num_experts=5, shared_expert_intermediate_size=32))),
        "qwen3_moe": lambda: on_cpu(c(hf.Qwen3MoeForCausalLM(hf.Qwen3MoeConfig(
            **mixed, num_experts_per_tok=2, decoder_sparse_step=2, num_experts=5, norm_topk_prob=True, head_dim=12)))),
        "olmoe": lambda: on_cpu(c(hf.OlmoeForCausalLM(hf.OlmoeConfig(**whole, num_experts=5)))),
        "flex_olmo": lambda: on_cpu(c(hf.FlexOlmoForCausalLM(hf.FlexOlmoConfig(**whole, num_experts=5)))),
        "granitemoe": lambda: on_cpu(c(hf.GraniteMoeForCausalLM(hf.GraniteMoeConfig(
            **whole, num_local_experts=5, residual_multiplier=0.6, logits_scaling=4.0)))),
        "granitemoeshared": lambda: on_cpu(c(hf.GraniteMoeSharedForCausalLM(hf.GraniteMoeSharedConfig(
            **whole, num_local_experts=5, residual_multiplier=0.6, shared_intermediate_size=32)))),
        "ernie4_5_moe": lambda: on_cpu(c(corrected(hf.Ernie4_5_MoeForCausalLM(hf.Ernie4_5_MoeConfig(
            **mixed, moe_k=2, moe_num_experts=5, moe_layer_start_index=1))))),
        "glm4_moe": lambda: c(corrected(hf.Glm4MoeForCausalLM(hf.Glm4MoeConfig(
            **mixed, num_experts_per_tok=2, head_dim=12, n_routed_experts=5, routed_scaling_factor=1.5, use_qk_norm=True)))),
        "glm4_moe-groups": lambda: on_cpu(c(corrected(hf.Glm4MoeForCausalLM(hf.Glm4MoeConfig(
            **mixed, num_experts_per_tok=2, head_dim=12, n_routed_experts=6, n_group=3, topk_group=2, routed_scaling_factor=1.5))))),
        "phimoe": lambda: c(hf.PhimoeForCausalLM(hf.PhimoeConfig(
            **whole, num_local_experts=5, router_jitter_noise=0.2, attention_bias=True, lm_head_bias=True, rope_scaling=MIXED_LONG)), first=2),
        "gpt_oss": lambda: c(hf.GptOssForCausalLM(hf.GptOssConfig(**OSS)), first=2),
        "gpt_oss-packed": lambda: packed(c(hf.GptOssForCausalLM(hf.GptOssConfig(**dict(OSS, intermediate_size=32, num_local_experts=3))))),
        "hunyuan_v1_moe": lambda: c(hf.HunYuanMoEV1ForCausalLM(hf.HunYuanMoEV1Config(
            **all_layers, num_experts=5, moe_topk=2, head_dim=12))),
    }


# Without a start token of its own, a folder would have one that no row of the tables is.
ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
SLIDING = dict(sliding_window=4, layer_types=["sliding_attention", "full_attention"])
MINISTRAL = dict(HEAD, max_position_embeddings=240, sliding_window=None, rope_parameters=dict(
    YARN, rope_theta=1e4, original_max_position_embeddings=80, llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0))
GPT = dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=80, **ENDS)


def kin():
    """A folder of each family of decoders that differs from another in names and small choices, by name."""
    c = decoder_case
    made = {
        "seed_oss": lambda: c(hf.SeedOssForCausalLM(hf.SeedOssConfig(**HEAD))),
        "arcee": lambda: c(hf.ArceeForCausalLM(hf.ArceeConfig(**GROUPED))),
        "helium": lambda: c(hf.HeliumForCausalLM(hf.HeliumConfig(**dict(HEAD, head_dim=8)))),
        "olmo": lambda: c(hf.OlmoForCausalLM(hf.OlmoConfig(**GROUPED)), seed=2),
        "olmo3": lambda: c(hf.Olmo3ForCausalLM(hf.Olmo3Config(**GROUPED, **SLIDING))),
        "glm": lambda: c(hf.GlmForCausalLM(hf.GlmConfig(**HEAD))),
        "cohere2": lambda: c(hf.Cohere2ForCausalLM(hf.Cohere2Config(**GROUPED, **SLIDING))),
        "hunyuan_v1_dense": lambda: c(hf.HunYuanDenseV1ForCausalLM(hf.HunYuanDenseV1Config(
            **HEAD, rope_scaling={"type": "dynamic", "alpha": 50.0, "factor": 1.0}))),
        "vaultgemma": lambda: c(hf.VaultGemmaForCausalLM(hf.VaultGemmaConfig(**HEAD, **SLIDING, query_pre_attn_scalar=12))),
        "gptj": lambda: c(hf.GPTJForCausalLM(hf.GPTJConfig(**GPT, rotary_dim=4))),
        "codegen": lambda: c(hf.CodeGenForCausalLM(hf.CodeGenConfig(**dict(GPT, n_head=4), rotary_dim=4))),
        "gpt_neo": lambda: c(hf.GPTNeoForCausalLM(hf.GPTNeoConfig(
            vocab_size=61, hidden_size=24, num_layers=2, num_heads=3, max_position_embeddings=80, window_size=4,
            attention_types=[[["global", "local"], 1]], **ENDS))),
        "gpt_bigcode": lambda: c(hf.GPTBigCodeForCausalLM(hf.GPTBigCodeConfig(**GPT))),
        "xglm": lambda: c(hf.XGLMForCausalLM(hf.XGLMConfig(
            vocab_size=61, d_model=24, ffn_dim=44, num_layers=2, attention_heads=3, max_position_embeddings=80, **ENDS))),
        "biogpt": lambda: c(hf.BioGptForCausalLM(hf.BioGptConfig(
            vocab_size=61, hidden_size=24, intermediate_size=44, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=80,
            pad_token_id=1, bos_token_id=0, eos_token_id=2)), padding=1),
        "persimmon": lambda: c(hf.PersimmonForCausalLM(hf.PersimmonConfig(
            vocab_size=61, hidden_size=24, intermediate_size=44, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=80,
            **ENDS))),
        # Of Transformers 5.
        "cwm": lambda: c(hf.CwmForCausalLM(hf.CwmConfig(**HEAD, **SLIDING, rope_parameters=dict(rope_type="default", rope_theta=1e4)))),
        "ministral": lambda: c(hf.MinistralForCausalLM(hf.MinistralConfig(**HEAD, **SLIDING))),
        "ministral3": lambda: c(hf.Ministral3ForCausalLM(hf.Ministral3Config(**MINISTRAL))),
        "mistral3": lambda: c(hf.Mistral3ForConditionalGeneration(hf.Mistral3Config(
            text_config=dict(MINISTRAL, model_type="ministral3", num_hidden_layers=1, vocab_size=67, tie_word_embeddings=False),
            vision_config=dict(SIGLIP, model_type="pixtral", head_dim=6, num_channels=3), image_token_index=66, spatial_merge_size=1,
            attn_implementation="eager", tie_word_embeddings=False)), words=64),
        "apertus": lambda: c(hf.ApertusForCausalLM(hf.ApertusConfig(**GROUPED, rope_parameters=dict(LLAMA3, rope_theta=1e4)))),
        "nanochat": lambda: c(hf.NanoChatForCausalLM(hf.NanoChatConfig(**GROUPED))),
        "jais2": lambda: c(hf.Jais2ForCausalLM(hf.Jais2Config(**HEAD))),
    }
    primitives = ("apertus", "nanochat")  # an activation and rotations of their own
    return {name: case if name in primitives else lambda case=case: on_cpu(case()) for name, case in made.items()}


def decoders():
    """A folder of each family of decoders, by name."""
    c = decoder_case
    return {
        "gemma2": lambda: c(hf.Gemma2ForCausalLM(hf.Gemma2Config(
            **HEAD, query_pre_attn_scalar=24, sliding_window=4, attn_logit_softcapping=3.0, final_logit_softcapping=2.0))),
        "gemma3-text": lambda: on_cpu(c(hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(
            **dict(HEAD, rope_scaling=dict(rope_type="linear", factor=4.0), rope_local_base_freq=100.0, sliding_window=4),
            query_pre_attn_scalar=24, layer_types=["sliding_attention", "full_attention"])))),
        "gemma3": lambda: on_cpu(c(hf.Gemma3ForConditionalGeneration(hf.Gemma3Config(
            text_config=dict(HEAD, num_hidden_layers=1, sliding_window=4, vocab_size=67, tie_word_embeddings=True),
            vision_config=SIGLIP, attn_implementation="eager", mm_tokens_per_image=4, image_token_index=66, boi_token_index=65, eoi_token_index=64)),
            words=64)),
        "phi3": lambda: on_cpu(c(hf.Phi3ForCausalLM(hf.Phi3Config(
            **GROUPED, rope_scaling=dict(LONG), original_max_position_embeddings=8, sliding_window=7)))),
        "gpt2": lambda: on_cpu(c(hf.GPT2LMHeadModel(hf.GPT2Config(**GPT2, scale_attn_by_inverse_layer_idx=True)))),
        "smollm3": lambda: on_cpu(c(hf.SmolLM3ForCausalLM(hf.SmolLM3Config(
            **GROUPED, no_rope_layers=[1, 0], use_sliding_window=True, sliding_window=4)))),
        "gemma": lambda: on_cpu(c(hf.GemmaForCausalLM(hf.GemmaConfig(**HEAD)))),
        "falcon": lambda: on_cpu(c(hf.FalconForCausalLM(hf.FalconConfig(
            **TINY, ffn_hidden_size=44, new_decoder_architecture=True, num_kv_heads=2)))),
        "gpt-neox": lambda: on_cpu(c(hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**TINY, rotary_pct=0.5)))),
        "opt": lambda: on_cpu(c(hf.OPTForCausalLM(hf.OPTConfig(
            **TINY, ffn_dim=44, word_embed_proj_dim=20, do_layer_norm_before=False)))),
        "bloom": lambda: on_cpu(c(hf.BloomForCausalLM(hf.BloomConfig(
            vocab_size=61, hidden_size=24, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=2, pad_token_id=0)))),
        "olmo2": lambda: c(hf.Olmo2ForCausalLM(hf.Olmo2Config(**GROUPED))),
        "starcoder2": lambda: on_cpu(c(hf.Starcoder2ForCausalLM(hf.Starcoder2Config(**GROUPED, sliding_window=4)))),
        "granite": lambda: on_cpu(c(hf.GraniteForCausalLM(hf.GraniteConfig(
            **GROUPED, rope_scaling=dict(LLAMA3), embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.6,
            logits_scaling=4.0, tie_word_embeddings=True, attention_bias=True)))),
        "cohere": lambda: c(hf.CohereForCausalLM(hf.CohereConfig(**GROUPED, use_qk_norm=True, rope_scaling=dict(YARN)))),
        "stablelm": lambda: on_cpu(c(without_start(hf.StableLmForCausalLM)(hf.StableLmConfig(
            **GROUPED, use_qkv_bias=True, qk_layernorm=True, partial_rotary_factor=0.5)))),
        "nemotron": lambda: on_cpu(c(hf.NemotronForCausalLM(hf.NemotronConfig(**HEAD)))),
        "phi": lambda: on_cpu(c(hf.PhiForCausalLM(hf.PhiConfig(**GROUPED, qk_layernorm=True)))),
        "mpt": lambda: on_cpu(c(hf.MptForCausalLM(hf.MptConfig(
            vocab_size=61, d_model=24, n_heads=3, n_layers=2, max_seq_len=80, pad_token_id=0, bos_token_id=1, eos_token_id=2)))),
        "glm4": lambda: on_cpu(c(hf.Glm4ForCausalLM(hf.Glm4Config(**HEAD)))),
        "exaone4": lambda: on_cpu(c(hf.Exaone4ForCausalLM(hf.Exaone4Config(
            **GROUPED, sliding_window=4, sliding_window_pattern=2)))),
        "ernie4_5": lambda: on_cpu(c(hf.Ernie4_5ForCausalLM(hf.Ernie4_5Config(**HEAD, use_bias=True)))),
    }


T5 = dict(vocab_size=61, d_model=24, d_kv=10, d_ff=36, num_layers=2, num_decoder_layers=1, num_heads=3,
          relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0)
T5_GEMMA = dict(HEAD, query_pre_attn_scalar=24, sliding_window=4, attn_logit_softcapping=3.0, final_logit_softcapping=2.0)
BART = dict(vocab_size=61, d_model=24, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=2,
            encoder_ffn_dim=36, decoder_ffn_dim=44, max_position_embeddings=20, attn_implementation="eager")
MARIAN = dict(BART, pad_token_id=60, eos_token_id=0, decoder_start_token_id=60, activation_function="swish", scale_embedding=True)
WHISPER = dict({key: value for key, value in BART.items() if key != "max_position_embeddings"}, num_mel_bins=10, max_source_positions=9,
               max_target_positions=20, pad_token_id=2, bos_token_id=2, eos_token_id=2, decoder_start_token_id=3,
               begin_suppress_tokens=[5, 2])


# Published configurations of these families have them; their classes do not read them.
OLD_KEYS = dict(normalize_before=True, add_final_layer_norm=True, normalize_embedding=False, static_position_embeddings=True,
                add_bias_logits=False, classif_dropout=0.0, num_hidden_layers=6)


def translators():
    """A folder of each family that reads a text and writes another, by name."""
    c, bart = translating_case, with_logits_bias
    return {
        "t5": lambda: with_beams(c(hf.T5ForConditionalGeneration(hf.T5Config(**T5)), 0)),
        "t5-gated": lambda: on_cpu(c(hf.T5ForConditionalGeneration(hf.T5Config(
            **T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)), 0)),
        "t5-rows": lambda: on_cpu(text_case(hf.T5EncoderModel(hf.T5Config(**T5)))),
        "mt5": lambda: on_cpu(c(hf.MT5ForConditionalGeneration(hf.MT5Config(**T5)), 0)),
        "umt5": lambda: c(hf.UMT5ForConditionalGeneration(hf.UMT5Config(**T5)), 0),
        "t5gemma": lambda: on_cpu(c(hf.T5GemmaForConditionalGeneration(hf.T5GemmaConfig(
            encoder=dict(T5_GEMMA, num_hidden_layers=3, intermediate_size=36, num_attention_heads=2), decoder=T5_GEMMA, vocab_size=61,
            attn_implementation="eager")), 0)),
        "bart": lambda: with_beams(
            c(bart(hf.BartForConditionalGeneration(hf.BartConfig(**BART))), 1), early_stopping=True, length_penalty=2.0,
            no_repeat_ngram_size=3, min_length=6, forced_bos_token_id=7, forced_eos_token_id=2),
        "mbart": lambda: on_cpu(with_beams(
            c(bart(hf.MBartForConditionalGeneration(hf.MBartConfig(**BART, **OLD_KEYS, scale_embedding=True))), 1), decoder_start_token_id=9,
            forced_bos_token_id=9, early_stopping="never", length_penalty=0.5, suppress_tokens=[11, 12, 13, 14, 15])),
        "pegasus": lambda: on_cpu(c(bart(hf.PegasusForConditionalGeneration(hf.PegasusConfig(**BART, **OLD_KEYS))), 0)),
        "marian": lambda: with_beams(
            c(bart(hf.MarianMTModel(hf.MarianConfig(**MARIAN, **OLD_KEYS))), 60), bad_words_ids=[[60]], begin_suppress_tokens=[0, 30],
            suppress_tokens=list(range(3, 50, 2)),
            renormalize_logits=True),
        "marian-two-tables": lambda: on_cpu(c(bart(hf.MarianMTModel(hf.MarianConfig(
            **MARIAN, decoder_vocab_size=61, share_encoder_decoder_embeddings=False, tie_word_embeddings=False))), 60)),
        "whisper": lambda: speech_case(hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER))),
        "m2m_100": lambda: on_cpu(c(hf.M2M100ForConditionalGeneration(hf.M2M100Config(**BART)), 1)),
    }


CLIP_TEXT = dict(vocab_size=83, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52,
                 max_position_embeddings=20, projection_dim=24, pad_token_id=1, bos_token_id=0, eos_token_id=82)
CLIP_VISION = dict(VIT, projection_dim=24)

DEBERTA = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
               max_position_embeddings=20, max_relative_positions=10, position_buckets=6, relative_attention=True,
               pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False,
               pooler_hidden_size=24)
SHALLOW_DEBERTA = dict(DEBERTA, num_hidden_layers=1)

# One layer of 24 features: families that differ from BERT and RoBERTa in little.
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=40,
             max_position_embeddings=20)

CASES = {
    "ernie-masked": lambda: text_case(hf.ErnieForMaskedLM(hf.ErnieConfig(**SMALL, use_task_id=True)), types=2),
    "megatron-bert": lambda: text_case(
        hf.MegatronBertModel(hf.MegatronBertConfig(**SMALL), add_pooling_layer=False), types=2),
    "megatron-bert-classes": lambda: text_case(
        hf.MegatronBertForSequenceClassification(hf.MegatronBertConfig(**SMALL, **LABELS))),
    "roberta-prelayernorm-classes": lambda: text_case(
        hf.RobertaPreLayerNormForSequenceClassification(hf.RobertaPreLayerNormConfig(
            **dict(SMALL, max_position_embeddings=22, type_vocab_size=1, pad_token_id=1), **LABELS)), padding=1),
    "data2vec-masked": lambda: on_cpu(text_case(hf.Data2VecTextForMaskedLM(hf.Data2VecTextConfig(
        **dict(SMALL, max_position_embeddings=22), pad_token_id=1)), padding=1)),
    "xlm-roberta-xl-classes": lambda: on_cpu(text_case(hf.XLMRobertaXLForSequenceClassification(hf.XLMRobertaXLConfig(
        **dict(SMALL, max_position_embeddings=22), pad_token_id=1, **LABELS)), padding=1)),
    "rembert-classes": lambda: on_cpu(text_case(hf.RemBertForSequenceClassification(hf.RemBertConfig(
        **SMALL, input_embedding_size=20, output_embedding_size=28, **LABELS)), types=2)),
    "bert-generation": lambda: on_cpu(text_case(hf.BertGenerationEncoder(hf.BertGenerationConfig(**SMALL)))),
    "roformer-classes": lambda: on_cpu(text_case(hf.RoFormerForSequenceClassification(hf.RoFormerConfig(
        **SMALL, embedding_size=20, **LABELS)), types=2)),
    "roformer-masked": lambda: on_cpu(text_case(hf.RoFormerForMaskedLM(hf.RoFormerConfig(**SMALL, embedding_size=24)), types=2)),
    "deberta": lambda: text_case(hf.DebertaV2Model(hf.DebertaV2Config(**DEBERTA))),
    # v2: no buckets, projections of their own, one of both kinds of terms, positions at the input too.
    "deberta-tokens": lambda: text_case(hf.DebertaV2ForTokenClassification(hf.DebertaV2Config(
        **dict(SHALLOW_DEBERTA, position_buckets=-1, max_relative_positions=-1, share_att_key=False, norm_rel_ebd="none",
               position_biased_input=True, type_vocab_size=2), **LABELS)), types=2),
    "deberta-answers": lambda: text_case(hf.DebertaV2ForQuestionAnswering(hf.DebertaV2Config(
        **dict(SHALLOW_DEBERTA, pos_att_type="c2p", position_buckets=8)))),
    "deberta-classes": lambda: text_case(hf.DebertaV2ForSequenceClassification(hf.DebertaV2Config(
        **dict(SHALLOW_DEBERTA, pos_att_type=["p2c"]), **LABELS))),
    "deberta-masked": lambda: text_case(hf.DebertaV2ForMaskedLM(hf.DebertaV2Config(**SHALLOW_DEBERTA))),
    "deberta-masked-v3": lambda: text_case(hf.DebertaV2ForMaskedLM(hf.DebertaV2Config(
        **dict(SHALLOW_DEBERTA, relative_attention=False, position_biased_input=True), legacy=False, tie_word_embeddings=False))),
    "bert": lambda: text_case(hf.BertModel(hf.BertConfig(**BERT), add_pooling_layer=False), types=2),
    "bert-pickled": lambda: on_cpu(pickled(text_case(hf.BertForSequenceClassification(hf.BertConfig(**SHALLOW, **LABELS)), types=2))),
    "bert-classes": lambda: text_case(hf.BertForSequenceClassification(hf.BertConfig(**SHALLOW, **LABELS)), types=2),
    "bert-tokens": lambda: text_case(hf.BertForTokenClassification(hf.BertConfig(**SHALLOW, **LABELS))),
    "bert-answers": lambda: text_case(hf.BertForQuestionAnswering(hf.BertConfig(**SHALLOW))),
    "bert-masked": lambda: text_case(hf.BertForMaskedLM(hf.BertConfig(**SHALLOW)), types=2),
    "roberta-classes": lambda: text_case(hf.RobertaForSequenceClassification(hf.RobertaConfig(**SHALLOW_ROBERTA, **LABELS)),
                                         padding=1),
    "roberta-masked": lambda: with_tokenizer(
        text_case(hf.RobertaForMaskedLM(hf.RobertaConfig(**SHALLOW_ROBERTA)), padding=1)),
    "distilbert": lambda: text_case(hf.DistilBertModel(hf.DistilBertConfig(**DISTILBERT))),
    "distilbert-classes": lambda: text_case(
        hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**SHALLOW_DISTILBERT, **LABELS))),
    "distilbert-masked": lambda: text_case(hf.DistilBertForMaskedLM(hf.DistilBertConfig(**SHALLOW_DISTILBERT))),
    "mpnet-classes": lambda: text_case(
        hf.MPNetForSequenceClassification(hf.MPNetConfig(**SHALLOW_ROBERTA, **LABELS)), padding=1),
    "roberta": lambda: text_case(hf.RobertaModel(hf.RobertaConfig(**ROBERTA), add_pooling_layer=False), padding=1),
    "mpnet": lambda: text_case(hf.MPNetModel(hf.MPNetConfig(**ROBERTA), add_pooling_layer=False),
                               padding=1),
    "electra": lambda: text_case(hf.ElectraModel(hf.ElectraConfig(**ELECTRA)), types=2),
    "electra-classes": lambda: text_case(
        hf.ElectraForSequenceClassification(hf.ElectraConfig(**dict(ELECTRA, num_hidden_layers=1), **LABELS)), types=2),
    "electra-masked": lambda: text_case(hf.ElectraForMaskedLM(hf.ElectraConfig(**dict(ELECTRA, num_hidden_layers=1)))),
    "albert": lambda: text_case(hf.AlbertModel(hf.AlbertConfig(**ALBERT), add_pooling_layer=False), types=2),
    "albert-classes": lambda: with_tokenizer(text_case(
        hf.AlbertForSequenceClassification(hf.AlbertConfig(**dict(ALBERT, num_hidden_groups=1), **LABELS)))),
    "albert-masked": lambda: text_case(hf.AlbertForMaskedLM(hf.AlbertConfig(**dict(ALBERT, num_hidden_groups=1)))),
    "modernbert": lambda: with_tokenizer(text_case(hf.ModernBertModel(hf.ModernBertConfig(**MODERN)))),
    "modernbert-classes": lambda: with_tokenizer(text_case(hf.ModernBertForSequenceClassification(
        hf.ModernBertConfig(**dict(MODERN, num_hidden_layers=2, classifier_pooling="mean", **LABELS))))),
    "modernbert-masked": lambda: text_case(
        hf.ModernBertForMaskedLM(hf.ModernBertConfig(**dict(MODERN, num_hidden_layers=1)))),
    "qwen3": lambda: text_case(hf.Qwen3Model(hf.Qwen3Config(**QWEN))),
    "qwen3-classes": lambda: with_tokenizer(text_case(hf.Qwen3ForSequenceClassification(
        hf.Qwen3Config(**dict(QWEN, num_hidden_layers=1, use_sliding_window=True, sliding_window=3, max_window_layers=0),
                       **LABELS)))),
    "qwen3-answers": lambda: text_case(hf.Qwen3ForQuestionAnswering(hf.Qwen3Config(**dict(QWEN, num_hidden_layers=1)))),
    "llama-decoder": lambda: decoder_case(hf.LlamaForCausalLM(hf.LlamaConfig(
        **dict(LLAMA, attention_bias=True, mlp_bias=True, rope_scaling=dict(rope_type="linear", factor=2.0))))),
    "mistral-decoder": lambda: decoder_case(hf.MistralForCausalLM(hf.MistralConfig(**LLAMA, sliding_window=4))),
    "qwen2-decoder": lambda: decoder_case(hf.Qwen2ForCausalLM(hf.Qwen2Config(
        **LLAMA, use_sliding_window=True, sliding_window=3, max_window_layers=1, tie_word_embeddings=True))),
    "qwen3-decoder": lambda: decoder_case(hf.Qwen3ForCausalLM(hf.Qwen3Config(
        **dict(QWEN, tie_word_embeddings=True, max_position_embeddings=80)))),
    "gemma3": lambda: text_case(hf.Gemma3TextModel(hf.Gemma3TextConfig(**GEMMA))),
    "gemma3-both-ways": lambda: with_tokenizer(text_case(
        hf.Gemma3TextModel(hf.Gemma3TextConfig(**GEMMA, use_bidirectional_attention=True)))),
    "clip-text": lambda: text_case(hf.CLIPTextModel(hf.CLIPTextConfig(**CLIP_TEXT)), padding=1),
    "clip-vision": lambda: image_case(hf.CLIPVisionModel(hf.CLIPVisionConfig(**CLIP_VISION))),
    "clip-vision-projection": lambda: image_case(hf.CLIPVisionModelWithProjection(hf.CLIPVisionConfig(**CLIP_VISION))),
    "deit": lambda: image_case(hf.DeiTModel(hf.DeiTConfig(**VIT), add_pooling_layer=False)),
    "deit-classes": lambda: image_case(hf.DeiTForImageClassification(hf.DeiTConfig(**VIT, **LABELS))),
    "vit-classes": lambda: with_images(image_case(hf.ViTForImageClassification(hf.ViTConfig(**VIT, **LABELS))),
                                       hf.ViTImageProcessor(size=VIT["image_size"], resample=3)),
    "sentences": sentence_case,
    "texts-pairs": pairs_case,
    "texts-tokens": lambda: tokens_case(hf.Qwen3ForCausalLM(hf.Qwen3Config(
        **dict(QWEN, num_hidden_layers=1, max_position_embeddings=64, tie_word_embeddings=True))), yes=24, no=12),
    "texts-topics": topics_case,
    "texts-words": words_case,
    "texts-masked": masks_case,
    "texts-answers": answers_case,
    "sentences-poolings": lambda: sentence_case(seed=3, poolings=("cls", "max", "mean")),
    "clip": clip_case,
    "siglip-classes": lambda: on_cpu(siglip_classes()),
    "metaclip_2": lambda: on_cpu(clip_case(hf.MetaClip2Model)),
    "chinese_clip": lambda: on_cpu(clip_case(hf.ChineseCLIPModel)),
    "vit": lambda: image_case(hf.ViTModel(hf.ViTConfig(**VIT), add_pooling_layer=False)),
    "dinov2-classes": lambda: image_case(hf.Dinov2ForImageClassification(hf.Dinov2Config(
        **dict(VIT, num_hidden_layers=1, mlp_ratio=2), use_swiglu_ffn=True, **LABELS))),
    "dinov2": lambda: image_case(hf.Dinov2Model(hf.Dinov2Config(**dict(VIT, mlp_ratio=2)))),
    "vit_msn-classes": lambda: on_cpu(image_case(hf.ViTMSNForImageClassification(hf.ViTMSNConfig(**VIT, **LABELS)))),
    "vit_mae": lambda: on_cpu(image_case(unmasked(hf.ViTMAEModel(hf.ViTMAEConfig(**VIT, mask_ratio=0.0))))),
    "ijepa": lambda: on_cpu(image_case(hf.IJepaModel(hf.IJepaConfig(**VIT)))),
    "ijepa-classes": lambda: on_cpu(image_case(hf.IJepaForImageClassification(hf.IJepaConfig(**VIT, **LABELS)))),
    "dinov2-registers": lambda: image_case(hf.Dinov2WithRegistersModel(hf.Dinov2WithRegistersConfig(**dict(VIT, mlp_ratio=2), num_register_tokens=3))),
}
CASES.update({name + "-decoder": case for name, case in (decoders() | kin() | mixtures()).items()} | translators())
CASES.update({name: lambda name=name: plain_case(name) for name in plain.CASES})


def write(folder, arrays):
    os.makedirs(folder)
    for name, values in arrays.items():
        numpy.save(os.path.join(folder, name + ".npy"), numpy.ascontiguousarray(values))


def write_json(folder, name, value):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file, indent=2)


def main():
    for name in sys.argv[1:] or CASES:
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        model, inputs, results = CASES[name]()
        model.save_pretrained(folder)
        write(os.path.join(folder, "golden", "inputs"), inputs)
        write(os.path.join(folder, "golden", "decode" if "target" in inputs else "encode"), results)
        if hasattr(model, "greedy"):
            write(os.path.join(folder, "golden", "greedy"), model.greedy)
        if hasattr(model, "beams"):
            write(os.path.join(folder, "golden", "beams"), model.beams)
        if hasattr(model, "extra"):
            model.extra(folder)
        if getattr(model, "on_cpu", False):
            open(os.path.join(folder, "golden", "cpu"), "w").close()
        size = sum(os.path.getsize(os.path.join(base, file)) for base, _, files in os.walk(folder) for file in files)
        print(f"{name}: {size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
