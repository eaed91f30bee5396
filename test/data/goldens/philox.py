# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Philox4x32-10, the counter-based generator of dropout. The functions take integers or NumPy arrays of uint64.

usage: philox.py     checks the known answers of Random123; needs no package
"""

FACTORS, WEYL, WORD = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 0xFFFFFFFF
ZERO, ONES = (0, 0, 0, 0), (WORD, WORD, WORD, WORD)
# (counter, key, words): Random123's kat_vectors.
KNOWN = [(ZERO, ZERO[:2], (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
         (ONES, ONES[:2], (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
         ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1))]


def philox(counter, key):
    """Four random words from a counter of four words and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        first, second = c0 * FACTORS[0], c2 * FACTORS[1]
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & WORD, (first >> 32) ^ c3 ^ k1, first & WORD
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def check():
    for counter, key, words in KNOWN:
        found = philox(counter, key)
        assert found == words, f"philox({counter}, {key}): expected {words}, found {found}"


if __name__ == "__main__":
    check()
    print(f"{len(KNOWN)} known answers of Random123 agree")
