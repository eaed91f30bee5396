"""Compares what `heddle-run transcribe` says of sounds with the answers of Transformers.

usage: transcribe.py MODEL.heddle SOUNDS ANSWERS.json [FLAG …]
"""
import json
import os
import subprocess
import sys

model, sounds, answers, *flags = sys.argv[1:]
segments = 0
with open(answers) as file:
    cases = json.load(file)
for case in cases:
    command = ["heddle-run", "transcribe", model, os.path.join(sounds, case["sound"] + ".wav"), "--temperature=0", "--task=" + case["task"], *flags]
    command += ["--language=" + case["language"]] if case["language"] else []
    command += ["--format=json"] if case["timestamps"] else []
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Transformers goes on over the silence that fills the last window.
    said = [segment for segment in case["segments"] if segment["start"] < case["seconds"]]
    whole = "".join(segment["text"] for segment in said).strip()
    if not case["timestamps"]:
        assert found == whole + "\n", (case, found)
        continue
    found = json.loads(found)
    expected = [dict(segment, text=segment["text"].strip(), end=min(segment["end"], case["seconds"])) for segment in said]
    assert found["segments"] == expected, (case, found)
    assert found["language"] == case["heard"] and found["text"] == whole, (case, found)
    segments += len(expected)
print(f"{len(cases)} answers, {segments} segments")
