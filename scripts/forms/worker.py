# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/published runs under each witness: it writes folders in all forms, and says what the witness reads in them.

usage: worker.py write SCRATCH WRITER KIND [FAMILY …]   a line of JSON a folder on standard output; SCRATCH/done.json: forms that are there
       worker.py again SCRATCH WRITER < lines           the same for folders that this version reads and saves again
       worker.py packages SCRATCH PACKAGES              the same for tokenizers that packages ship
       worker.py read SCRATCH READER < lines            a line of JSON a folder, {"folder", "results" or "error"}
"""
import contextlib
import json
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
warnings.filterwarnings("ignore")
import families
import make
import models
import numpy
import sentences
import torch
import transformers as hf
import translators
import words

hf.logging.set_verbosity_error()
torch.set_num_threads(1)  # more threads are slower on small models
make.likeliest_tokens = lambda *arguments: {}
make.with_beams = lambda case, **settings: case

MODELS = families.FAMILIES | translators.FAMILIES
# Additional heads, which scripts/random-folder does not draw.
MORE_HEADS = {name: ["ForPreTraining"] for name in ("bert", "albert", "electra", "ernie", "megatron-bert")}
MORE_HEADS["bert"] += ["ForNextSentencePrediction"]


def heads_of(family):
    return getattr(MODELS[family], "heads", ["ForConditionalGeneration"]) + MORE_HEADS.get(family, [])


WORDS_HEADS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "MTModel")


def drawn(family, head):
    """A model with a head; of those whose matrix of words may be the table's, one of each."""
    tied = set()
    for seed in range(8 if head in WORDS_HEADS else 1):
        torch.manual_seed(1)
        case = MODELS[family](families.Choice(f"{family} {head} {seed}", head))
        state = getattr(case[0].config, "tie_word_embeddings", True)
        if state not in tied:
            yield (f"{head} (tied)" if tied and state else f"{head} (untied)" if tied else head), case
        tied.add(state)


def heads_drawn(family):
    for head in heads_of(family):
        try:
            yield from drawn(family, head)
        except (AttributeError, ImportError) as error:  # this version lacks the class
            print(f"{family} {head}: {error}", file=sys.stderr)


def write_models(scratch, writer, family, done):
    """Every head as this version saves it, and each form on one of the heads."""
    bases = []
    for head, (model, inputs, results) in heads_drawn(family):
        # Transformers cannot save a model of plain.py.
        by_authors = isinstance(model.config, dict)
        if by_authors and done:
            continue
        place = os.path.join(scratch, writer, family, head)
        folder = os.path.join(place, "as saved")
        model.save_pretrained(folder)
        make.write(os.path.join(place, "inputs"), inputs)
        make.write(os.path.join(place, "golden"), results)
        config = model.config if by_authors else model.config.to_dict()
        bases.append((place, folder, prefix_of(model), config, head, by_authors))
        yield dict(kind="model", family=family, head=head, form="as saved", writer="its authors" if by_authors else writer, folder=folder,
                   same=None, place=place)
    for number, (form, (change, same)) in enumerate(models.FORMS.items()):
        if form in done:
            continue
        for place, folder, prefix, config, head, by_authors in bases[number % len(bases):] + bases[:number % len(bases)] if bases else []:
            draft = models.Draft(folder, prefix, json.loads(json.dumps(config)))
            if change(draft):
                changed = os.path.join(place, form)
                draft.write(changed)
                yield dict(kind="model", family=family, head=head, form=form, writer="its authors" if by_authors else writer, folder=changed,
                           same=folder if same else None, place=place)
                break


def prefix_of(model):
    """What a class with a head puts in front of the names of its base; plain.py has no classes."""
    if isinstance(model.config, dict):
        return {"nomic_bert": "bert", "new": "new", "eurobert": "model"}[model.config["model_type"]]
    return model.base_model_prefix


def load(folder, seed=1):
    """The model that a folder's configuration names, and what of it the folder does not have."""
    config = json.load(open(os.path.join(folder, "config.json")))
    name = (config.get("architectures") or [None])[0]
    kind = getattr(hf, name, None) if name else hf.AutoModel
    if kind is None:
        raise ValueError(f"no class {name}")
    # The eager attention of falcon adds the slopes of its positions twice.
    how = "sdpa" if config["model_type"] == "falcon" else "eager"
    torch.manual_seed(seed)
    with contextlib.redirect_stdout(sys.stderr):
        model, told = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation=how, output_loading_info=True)
    return model.eval(), told["missing_keys"]


def save_again(case, scratch, writer):
    model, missing = load(case["folder"])
    folder = os.path.join(scratch, writer, case["family"], case["head"], f"saved again after {case['writer']}")
    model.save_pretrained(folder)
    return dict(case, form=f"as saved again by {writer}, after {case['writer']}", writer=writer, folder=folder)


def read_model(case):
    place = os.path.join(case["place"], "inputs")
    inputs = {name[:-4]: numpy.load(os.path.join(place, name)) for name in os.listdir(place)}
    model, missing = load(case["folder"])
    found = make.results_of(model, inputs)
    if missing:
        again = make.results_of(load(case["folder"], seed=2)[0], inputs)
        if any(not numpy.array_equal(found[name], again[name]) for name in found):
            raise ValueError("random weights for " + ", ".join(sorted(missing)[:3]))
    return found


READERS = {"model": read_model, "tokens": words.read, "sentences": sentences.read}


def read(case, scratch, reader):
    """Arrays go to files next to the folder; what is not an array stands in the line."""
    try:
        results = READERS[case["kind"]](case)
    except Exception as error:  # any error: the library cannot read the folder
        return dict(folder=case["folder"], error=f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")
    if isinstance(results, dict) and all(isinstance(value, numpy.ndarray) for value in results.values()):
        out = f"{case['folder']}.{reader}"
        os.makedirs(out, exist_ok=True)
        for name, values in results.items():
            numpy.save(os.path.join(out, name + ".npy"), numpy.ascontiguousarray(values, numpy.float32))
        results = out
    return dict(folder=case["folder"], results=results)


def all_families(kind):
    return {"model": MODELS, "tokens": words.TOKENIZERS, "sentences": sentences.FAMILIES}[kind]


def write(scratch, writer, kind, *names):
    done = json.load(open(os.path.join(scratch, "done.json")))
    function = {"model": write_models, "tokens": words.write, "sentences": sentences.write}[kind]
    for family in all_families(kind):
        if not names or family in names:
            yield from function(scratch, writer, family, done.get(f"{kind} {family}", []))


def again(scratch, writer):
    for case in map(json.loads, sys.stdin):
        if case["kind"] == "model":
            try:
                yield save_again(case, scratch, writer)
            except Exception as error:  # any error: this version cannot read the folder
                print(f"{case['folder']}: {type(error).__name__}: {error}", file=sys.stderr)


def main(command, scratch, *rest):
    if command == "read":
        lines = (read(json.loads(line), scratch, *rest) for line in sys.stdin)
    else:
        lines = {"write": write, "again": again, "packages": words.packages}[command](scratch, *rest)
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
