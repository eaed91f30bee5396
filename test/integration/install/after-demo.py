#!/usr/bin/env python3
"""What scripts/demo builds is enough for `cmake --install`, and the exported targets are those of lib/ alone.

usage: after-demo.py BUILD

Every file that an install script demands is built for the targets heddle and heddle-run, is no output of the build, or is
marked OPTIONAL."""
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
demo = pathlib.Path(__file__).parents[3] / "scripts/demo"
targets = re.search(r"scripts/build dev (.*)", demo.read_text())[1].split()


def ninja(*arguments):
    return set(subprocess.run(["ninja", "-C", build, "-t", *arguments], check=True, capture_output=True,
                              text=True).stdout.splitlines())


built = ninja("inputs", *targets) | {f"bin/{target}" for target in targets}
outputs = {line.rsplit(": ", 1)[0] for line in ninja("targets", "all")}
faults = []
scripts = [build / "cmake_install.cmake"] + list((build / "lib").rglob("cmake_install.cmake"))
for script in scripts:
    for options, names in re.findall(r'file\(INSTALL DESTINATION "[^"]*" TYPE (.*?) FILES(.*?)\)', script.read_text(), re.S):
        for name in re.findall(r'"([^"]+)"', names):
            path = pathlib.Path(name)
            output = str(path.relative_to(build)) if path.is_relative_to(build) else ""
            if output in outputs and output not in built and "OPTIONAL" not in options:
                faults.append(f"{output}: installed, but {' and '.join(targets)} do not need it")
for export in build.glob("CMakeFiles/Export/*/*Targets.cmake"):
    for name in re.findall(r"add_library\(Heddle::(\S+)", export.read_text()):
        if not name.startswith("Heddle"):
            faults.append(f"{export.name}: expected libraries of lib/, found {name}")
print("\n".join(faults) or f"{len(scripts)} install scripts, {len(built)} files that the demo builds")
sys.exit(bool(faults))
