"""Copies an adapter without the first matrix A: its name becomes one that peft does not load."""
import struct
import sys

source, to = sys.argv[1:]
data = open(source, "rb").read()
(size,) = struct.unpack("<Q", data[:8])
header = data[8:8 + size].replace(b".lora_A.weight", b".original_module.weight", 1)
open(to, "wb").write(struct.pack("<Q", len(header)) + header + data[8 + size:])
