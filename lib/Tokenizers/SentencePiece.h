//===- SentencePiece.h - Models of SentencePiece ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include <string_view>

namespace heddle::tokenizers {

/// A model (a protobuf message, ModelProto) as what a tokenizer.json says. It has no post-processor:
/// which tokens stand around a text is not in the file.
Expected<Json> sentencePieceJson(std::string_view bytes, const std::string &fileName);

} // namespace heddle::tokenizers
