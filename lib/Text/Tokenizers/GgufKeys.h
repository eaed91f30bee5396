//===- GgufKeys.h - Known keys of a tokenizer ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Gguf.h"

namespace heddle::tokenizers {

/// Warnings, one for each tokenizer.* key that may change ids and that a tokenizer of kind `model`
/// does not follow.
std::vector<std::string> unreadTokenizerKeys(const Gguf &file, std::string_view model);

} // namespace heddle::tokenizers
