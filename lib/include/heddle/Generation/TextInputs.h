//===- TextInputs.h - Texts as inputs of functions -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of a function's inputs, and the tensors of a batch of texts.
// TextDecoder, TextEncoder and AttentionReader use them.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// True if a function takes `name`. Returns an error if the model lacks the function.
Expected<bool> takesInput(const Session &session, const char *function, std::string_view name);

/// Returns an error if a required input is not one of `known`, since text commands cannot provide
/// it.
Status checkInputs(const Session &session, const char *function,
                   std::initializer_list<std::string_view> known);

/// The result that scores tokens, "logits" or "probabilities". Returns an error if a function
/// lacks it.
Expected<std::string> scoresName(const Session &session, const char *function);

/// Rows of numbers as a tensor [rows, longest], or [longest, rows] if sequence-first, padded on the
/// right.
Tensor padRows(const std::vector<TokenIds> &rows, int32_t padding, bool sequenceFirst);

/// Number of ids of a text without the padding after it.
int64_t lengthOf(const TokenIds &source, const TextModel &model);

/// Number of ids of the longest text.
size_t longestOf(std::span<const EncodedText *const> texts);

/// Ids [B, S] (or [S, B], sequence-first), shorter rows padded on the right, and lengths [B]
/// without padding.
struct SourceTensors {
  SourceTensors(const std::vector<TokenIds> &sources, const TextModel &model);
  Tensor ids, lengths;
};

} // namespace heddle
