//===- GgufKeys.h - What is read of a tokenizer's metadata -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Gguf.h"

namespace heddle::tokenizers {

/// A line for each key of tokenizer.* that a tokenizer of kind `model` does not follow and that may
/// change its ids. Keys that change nothing have none.
std::vector<std::string> unreadTokenizerKeys(const Gguf &file, std::string_view model);

} // namespace heddle::tokenizers
