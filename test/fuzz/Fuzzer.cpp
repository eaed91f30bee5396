//===- Fuzzer.cpp - One reader under libFuzzer -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once a target, HEDDLE_FUZZ_TARGET being its number in the list.
#include "Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heddle::fuzz::targets[HEDDLE_FUZZ_TARGET].read({reinterpret_cast<const char *>(data), size});
  return 0;
}
