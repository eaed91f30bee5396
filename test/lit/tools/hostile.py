# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of others that are made for harm, or that cannot be read.

usage: hostile.py unreadable SCRATCH FOLDER NAME…  each file of a folder as a link to itself: an error
       hostile.py steps FOLDER SCRATCH       tokenizers of many steps end soon
       hostile.py layers SCRATCH             the time of a report grows with the layers, not their square
       hostile.py labels FOLDER SCRATCH      labels are one column; a terminal obeys none of them
"""
import json
import os
import pty
import resource
import shutil
import subprocess
import sys


def copy(folder, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(folder, scratch)
    for path, _, names in os.walk(scratch):
        os.chmod(path, 0o755)
        for name in names:
            os.chmod(os.path.join(path, name), 0o644)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def run(*command):
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def failed(result, *parts):
    """Checks that a command ended with one line of error that has these parts."""
    error = result.stderr.decode()
    if result.returncode != 1 or error.count("\n") != 1 or any(p not in error for p in parts):
        sys.exit(f"expected status 1 and one line with {parts}, found {result.returncode}: {error}")


def seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = run(*command)
    if result.returncode != 0:
        sys.exit(result.stderr.decode())
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def unreadable(scratch, folder, *names):
    for name in names:
        copy(folder, scratch)
        path = os.path.join(scratch, name)
        if os.path.exists(path):
            os.remove(path)
        os.symlink(name, path)
        failed(run("heddle", "compile", scratch, "-o", scratch + ".heddle"), name)


def steps(folder, scratch):
    path = os.path.join(scratch, "tokenizer.json")
    cases = {
        "doubling": ("pre_tokenizer", "pretokenizers", 40, {"type": "ByteLevel"}),
        "inserting": ("normalizer", "normalizers", 16,
                      {"type": "Replace", "pattern": {"Regex": ""}, "content": "ab"}),
        "prepending": ("normalizer", "normalizers", 5000, {"type": "Prepend", "prepend": "a"}),
    }
    for section, key, count, step in cases.values():
        copy(folder, scratch)
        # Other classes have normalizers of their own.
        write(os.path.join(scratch, "tokenizer_config.json"),
              {"tokenizer_class": "PreTrainedTokenizerFast"})
        tokenizer = read(path)
        tokenizer[section] = {"type": "Sequence", key: [step] * count}
        write(path, tokenizer)
        failed(run("heddle", "tokenize", scratch, "é weaver " * 200), "steps")


def layers(scratch):
    def report(count):
        path = f"{scratch}.{count}.json"
        write(path, {
            "heddle": 1, "kind": "encoder-decoder", "size": 16, "weights": {"seed": 1},
            "source": {"vocabulary": 9}, "target": {"vocabulary": 9, "limit": 8},
            "attention": {"heads": 1}, "ffn": {"size": 16},
            "encoder": {"layers": 1, "mask": "lengths(source)"},
            "decoder": {"layers": count, "mask": "causal", "cross-mask": "lengths(source)"},
            "classifier": {"softmax": True}})
        return seconds("heddle", "inspect", path)
    few, many = report(100), report(500)
    if many > 10 * few:  # 25 with the square
        sys.exit(f"expected five times the time for five times the layers, found {few} and {many} s")


def onTerminal(*command):
    shown = bytearray()

    def keep(descriptor):
        data = os.read(descriptor, 4096)
        shown.extend(data)
        return data
    silent = os.open("/dev/null", os.O_WRONLY)
    out = os.dup(1)
    os.dup2(silent, 1)
    pty.spawn(["sh", "-c", 'exec "$0" "$@" 2> /dev/null', *command], keep, lambda descriptor: b"")
    os.dup2(out, 1)
    return bytes(shown)


def labels(folder, scratch):
    copy(folder, scratch)
    path = os.path.join(scratch, "config.json")
    config = read(path)
    names = ["\x1b]0;owned\x07\x1b[31mdye", "lo\u202eom", "a\tb\nfake\t0.99", "\u009b31mc1"]
    config["id2label"] = {str(i): names[i % 4] + str(i) for i in range(len(config["id2label"]))}
    config.pop("label2id", None)
    write(path, config)
    piped = run("heddle", "classify", scratch, "--all", "A weaver!").stdout
    lines = piped.decode().splitlines()
    if len(lines) != len(config["id2label"]) or any(line.count("\t") != 1 for line in lines):
        sys.exit(f"expected a label and a number a line, found {lines}")
    for shown in (piped, onTerminal("heddle", "classify", scratch, "--all", "A weaver!")):
        text = shown.replace(b"\r\n", b"\n").decode()
        bad = [c for c in text if c not in "\n\t" and not c.isprintable()]
        if bad or "\\x1b]0;owned\\x07" not in text or "lo\\u202eom" not in text:
            sys.exit(f"expected escapes, found {text!r}")
    long = run("heddle", "classify", "x" * 4000)
    if len(long.stderr) > 2100:
        sys.exit("expected a short line of error")


if __name__ == "__main__":
    {"unreadable": unreadable, "steps": steps, "layers": layers, "labels": labels}[sys.argv[1]](
        *sys.argv[2:])
