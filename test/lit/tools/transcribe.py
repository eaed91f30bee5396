"""Compares what `heddle-run transcribe` says of sounds with the answers of Transformers: each way to ask is one call, of all sounds.

usage: transcribe.py SOUNDS MODEL.heddle ANSWERS …                ANSWERS: FILE.json, or FILE.json:N, its Nth set of settings
       transcribe.py --settings FOLDER ANSWERS.json:N …           writes these settings into the folders' generation_config.json
"""
import itertools
import json
import os
import subprocess
import sys


def load(answers):
    name, _, number = answers.partition(".json:")
    with open(name.removesuffix(".json") + ".json") as file:
        found = json.load(file)
    return found[int(number)] if number else dict(answers=found)


def transcribed(model, paths, flags):
    return subprocess.run(["heddle-run", "transcribe", model, *paths, "--temperature=0", *flags], capture_output=True, text=True, check=True).stdout


def texts(model, paths, flags):
    return transcribed(model, paths, flags).removesuffix("\n").split("\n")


def objects(model, paths, flags):
    text, found = transcribed(model, paths, [*flags, "--format=json"]), []
    while text.strip():
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def check(case, found):
    """Whether what was said is Transformers' text, and how many segments it has."""
    # Transformers goes on over the silence that fills the last window, where no segment counts, whenever it begins.
    said = list(itertools.takewhile(lambda segment: segment["start"] < case["seconds"], case["segments"]))
    whole = "".join(segment["text"] for segment in said).strip()
    if not case["timestamps"]:
        assert found == whole, (case, found)
        return 0
    expected = [dict(segment, text=segment["text"].strip(), end=min(segment["end"], case["seconds"])) for segment in said]
    assert found["segments"] == expected, (case, found)
    assert found["language"] == case["heard"] and found["text"] == whole, (case, found)
    return len(expected)


def write_settings(folder, answers):
    path = os.path.join(folder, "generation_config.json")
    with open(path) as file:
        settings = json.load(file) | load(answers)["settings"]
    with open(path, "w") as file:
        json.dump(settings, file)


def compare(sounds, model, answers):
    def asked(case):
        return (["--task=" + case["task"], *(["--language=" + case["language"]] if case["language"] else []),
                 *([f"--beam={case['beam']}"] if case["beam"] else [])], case["timestamps"])

    cases = sorted(load(answers)["answers"], key=asked)
    segments = 0
    for (own, timestamps), group in itertools.groupby(cases, asked):
        group = list(group)
        paths = [os.path.join(sounds, case["sound"] + ".wav") for case in group]
        found = (objects if timestamps else texts)(model, paths, own)
        assert len(found) == len(group), (own, found)
        segments += sum(map(check, group, found))
    print(f"{len(cases)} answers, {segments} segments")


first, *pairs = sys.argv[1:]
for name, answers in zip(pairs[::2], pairs[1::2]):
    if first == "--settings":
        write_settings(name, answers)
    else:
        compare(first, name, answers)
