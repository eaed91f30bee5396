# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Number formats, as the compiler's own table has them: what weights take, what rows are rounded to, how far results may be off."""
import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).parents[2] / "include/heddle/Support/Formats.h"


@dataclass(frozen=True)
class Format:
    rows: str  # element type of activations in a linear
    bytes: float  # of a weight, with the scales that lie beside it
    row_scale: int  # bytes, of a row of weights
    error: float  # of a product, as max |a - b| / max |b| from f64
    deep_error: float  # of an encoder, which may lose more; 0: none is measured
    peak: str  # whose rate its products can reach
    state_bytes: float  # of an element of caches
    classes: str  # the format of linears that score classes


def read(text):
    """By the names of --dtype. A row of elements is `{I8, Code, bits, …}`, a row of formats `{.name = "int8", .rows = I8, …}`."""
    rows = [[field.strip() for field in row.split(",")] for row in re.findall(r"^    \{([A-Z].*)\},$", text, re.MULTILINE)]
    elements = {row[0]: row for row in rows if row[1] in ("Float", "Index", "Code")}
    formats = [dict(re.findall(r"\.(\w+) = ([^,]+?)(?:,|$)", " ".join(row.split())))
               for row in re.findall(r"^    \{(\.name = .*?)\},$", text, re.MULTILINE | re.DOTALL)]

    def weight_bytes(element):  # a panel has 16 rows, a line 64 bytes
        columns, lines = int(elements[element][5]), int(elements[element][6])
        return lines * 64 / (columns * 16)

    return {row["name"].strip('"'): Format(row["rows"], weight_bytes(row["weights"]), 4 if int(row["scales"]) > 1 else 0, float(row["error"]),
                                           float(row["deepError"]), row["peak"].split("::")[1].lower(), int(elements[row["others"]][2]) / 8,
                                           row.get("classes", row["name"]).strip('"')) for row in formats}


FORMATS = read(TABLE.read_text())
