# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines that AMD's compiler makes of SPIR-V on null hardware: what the driver says of each, and its code."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FAMILIES = {True: ["polaris10", "vega10", "navi21", "navi31", "gfx1150"], False: ["polaris10", "vega10", "navi21"]}
INSTALLED = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Driver:
    """`root` is a release's folder made by scripts/drivers, or None for the installed driver; `tool` is heddle-gpu-pipelines."""
    tool: Path
    root: Path | None = None

    def pipelines(self, family, files, constants=(), subgroup=None):
        """For each file (statistics, lines of code), or None if the driver refused it. Constants are texts ID=VALUE."""
        environment = dict(os.environ, RADV_FORCE_FAMILY=family, MESA_SHADER_CACHE_DISABLE="true")
        command = [str(self.tool), *constants, *([f"@{subgroup}"] if subgroup else []), *map(str, files)]
        if self.root:
            command = [str(self.root / "with"), "radeon", *command]
        else:
            environment.update(VK_DRIVER_FILES=INSTALLED, VK_ICD_FILENAMES=INSTALLED)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Failure(f"{family}: expected pipelines from {self.tool}, found status {done.returncode}: {done.stderr.strip()}")
        return [_statistics_and_code(text.splitlines()) for text in done.stdout.split("module ")[1:]]

    def distinct_pipelines(self, family, files, constants=(), subgroup=None):
        """As `pipelines`, of equal files one, by as many processes as there are processors."""
        if not files:
            return []
        contents = [file.read_bytes() for file in files]
        first = {content: file for content, file in zip(reversed(contents), reversed(files))}
        distinct, count = list(first.values()), min(os.cpu_count() or 1, len(first))
        parts = [distinct[part::count] for part in range(count)]
        with ThreadPoolExecutor(count) as pool:
            made = list(pool.map(lambda part: self.pipelines(family, part, constants, subgroup), parts))
        by_file = {file: one for part, all_made in zip(parts, made) for file, one in zip(part, all_made)}
        return [by_file[first[content]] for content in contents]


def _statistics_and_code(lines):
    statistics = {m[2]: float(m[1]) for m in (re.match(r"statistic (\S+) (.*)", line) for line in lines) if m}
    code = [line[5:].split(";")[0].strip() for line in lines if line.startswith("code ")]
    return (statistics, [line for line in code if line]) if statistics else None
