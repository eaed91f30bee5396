# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines that a GPU's compiler makes of SPIR-V without the GPU: what the driver says of each, and its code."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import nvidia

FAMILIES = {True: ["polaris10", "vega10", "navi21", "navi31", "gfx1150"], False: ["polaris10", "vega10", "navi21"]}
INSTALLED = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"


@dataclass(frozen=True)
class Shimmed:
    """A GPU of which `with-shim` of sid's folder (scripts/drivers) gives its driver a stand-in."""
    driver: str
    variables: dict = field(default_factory=dict)


SHIMMED = {
    **{name: Shimmed("nouveau", {"NOUVEAU_CHIPSET": chip}) for name, chip in (("turing", "162"), ("ampere", "172"), ("ada", "192"), ("blackwell", "1b2"))},
    "gfx1201": Shimmed("radeon", {"AMDGPU_GPU_ID": "gfx1201"}),
    "adreno750": Shimmed("freedreno", {"FD_GPU_ID": "750"}),
    "m1": Shimmed("asahi"),
}


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Driver:
    """`root` is a release's folder made by scripts/drivers, or None for the installed driver; `tool` is heddle-gpu-pipelines. Without `code`
    NVIDIA's compiler prints no code, which takes it seconds a kernel."""
    tool: Path
    root: Path | None = None
    code: bool = True

    def pipelines(self, family, files, constants=(), subgroup=None):
        """For each file (statistics, lines of code), or None if the driver refused it. Constants are texts ID=VALUE."""
        environment = dict(os.environ, MESA_SHADER_CACHE_DISABLE="true")
        command = [str(self.tool), *constants, *([f"@{subgroup}"] if subgroup else []), *map(str, files)]
        if family in SHIMMED:
            environment.update(SHIMMED[family].variables, **({"NAK_DEBUG": "print"} if self.code else {}))
            command = [str(self.root / "with-shim"), SHIMMED[family].driver, *command]
        elif self.root:
            environment.update(RADV_FORCE_FAMILY=family)
            command = [str(self.root / "with"), "radeon", *command]
        else:
            environment.update(RADV_FORCE_FAMILY=family, VK_DRIVER_FILES=INSTALLED, VK_ICD_FILENAMES=INSTALLED)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Failure(f"{family}: expected pipelines from {self.tool}, found status {done.returncode}: {done.stderr.strip()[-300:]}")
        made = [_statistics_and_code(text.splitlines()) for text in done.stdout.split("module ")[1:]]
        return self._with_dumps(family, files, made, done.stderr, constants, subgroup)

    def _with_dumps(self, family, files, made, printed, constants, subgroup):
        """NVIDIA's code, which Mesa's compiler prints beside the statistics, in the order of the files. A file that is refused may have
        code too: then each is compiled by itself."""
        if family not in SHIMMED or SHIMMED[family].driver != "nouveau" or not self.code:
            return made
        dumps = nvidia.dumps(printed)
        if len(dumps) == len(made):
            return [one and (one[0], dump) for one, dump in zip(made, dumps)]
        if len(files) > 1:
            return [self.pipelines(family, [file], constants, subgroup)[0] for file in files]
        return [one and (one[0], dumps[-1] if dumps else []) for one in made]

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
