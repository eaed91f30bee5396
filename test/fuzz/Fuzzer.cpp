//===- Fuzzer.cpp - libFuzzer entry point ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per target; HEDDLE_FUZZ_TARGET is its index in `targets`.
#include "Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heddle::fuzz::targets[HEDDLE_FUZZ_TARGET].read({reinterpret_cast<const char *>(data), size});
  return 0;
}
