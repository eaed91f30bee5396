# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the folder of bench/gpu-lab: the queue's models with each plan, small ones for checks, and what runs them. No package needed."""
import json
import shutil
from pathlib import Path

from . import folder, models

SMALL = 1040  # features of a small model, as in lab.py
HERE = Path(__file__).resolve().parent
KEYS = {"name", "question", "call", "plans", "seconds", "priority"}


def queue(only):
    """The entries of the queue whose name contains one of `only`, each with its model and its call."""
    calls = {call.name: (model, call) for model in models.all_models() for call in model.calls}
    found = []
    for entry in json.loads((HERE / "queue.json").read_text(encoding="utf-8")):
        if set(entry) != KEYS or entry["call"] not in calls:
            raise folder.Failure(f"queue.json: expected {', '.join(sorted(KEYS))} and the name of a call, found {json.dumps(entry)}")
        if not only or any(part in entry["name"] for part in only):
            found.append((entry, *calls[entry["call"]]))
    if not found:
        raise folder.Failure(f"--only: expected part of an experiment's name, found '{','.join(only)}'")
    return found


def experiments(chosen, heddle, work, place, small):
    """The queue as the machine runs it: an experiment for each plan. A small model of Heddle's own plan precedes the others."""
    holes, told = {}, []

    def cut(model, plan):
        """The name of the model's cut file."""
        name = f"{model.name} {plan}".strip().replace("/", "-")
        if name not in holes:
            holes[name] = folder.cut_model(model, heddle, work, place / "models" / f"{name}.cut", plan)
        return name

    for entry, model, call in chosen:
        for plan in entry["plans"]:
            one = {"name": entry["name"], "plan": plan, "question": entry["question"], "priority": entry["priority"], "seconds": entry["seconds"],
                   "function": call.function, "dims": call.dims, "dtype": model.dtype}
            if models.is_product(model):
                one |= {"reference": cut(models.small(model, SMALL), ""), "small": cut(models.small(model, SMALL), plan)}
            elif small:
                continue
            if not small:
                one["full"] = cut(model, plan)
            told.append(one)
    return {"holes": holes, "experiments": told}


def make(place, build, only, small):
    """Fills an empty folder; with `small` only models for checks."""
    chosen = queue(only)
    work = place / "work"
    programs = [build / "bin" / name for name in ("heddle", "heddle-run", "heddle-gpu-pipelines")]
    folder.begin(place, programs, [place / "models", work])
    told = experiments(chosen, programs[0], work, place, small)
    shutil.rmtree(work)
    (place / "queue.json").write_text(json.dumps(told), encoding="utf-8")
    folder.copy_programs(place, programs[1:], ("lab.py", "run.py", "pack.py"), "lab")
