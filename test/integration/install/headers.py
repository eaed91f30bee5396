# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles each installed header alone, without the headers of LLVM and nlohmann, and counts them.

usage: headers.py COMPILER INCLUDE-FOLDER
"""
import os
import re
import subprocess
import sys

MOST = 40
NAMES = re.compile(r"\b(mlir|llvm|nlohmann)::|#include [<\"](mlir|llvm|nlohmann)/")


def main():
    compiler, folder = sys.argv[1:]
    headers = sorted(os.path.relpath(os.path.join(place, name), folder)
                     for place, _, names in os.walk(os.path.join(folder, "heddle")) for name in names)
    if not headers or len(headers) > MOST:
        sys.exit(f"expected 1 to {MOST} headers in {folder}, found {len(headers)}")
    status = 0
    for header in headers:
        with open(os.path.join(folder, header)) as file:
            if found := NAMES.search(file.read()):
                print(f"{header}: expected no names of LLVM or nlohmann, found {found.group(0)}")
                status = 1
        command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-I", folder, "-x", "c++", "-"]
        # Included twice, for the guard.
        if subprocess.run(command, input=f'#include "{header}"\n#include "{header}"\n', text=True).returncode:
            print(f"{header}: expected a header that compiles alone")
            status = 1
    return status


sys.exit(main())
