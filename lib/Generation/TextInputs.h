//===- TextInputs.h - Texts as inputs of a function ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the classes that run models on text share: questions about a function's
// inputs, and a batch of texts as tensors.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Whether a function takes `name`; an error if the model lacks the function.
Expected<bool> takesInput(const Session &session, const char *function, std::string_view name);

/// Every input that must be given is one of `known`.
Status checkInputs(const Session &session, const char *function,
                   std::initializer_list<std::string_view> known);

/// Rows of ids, shorter ones padded on the right, and how many of each are text.
struct SourceTensors {
  SourceTensors(const std::vector<TokenIds> &sources, const TextModel &model);
  Tensor ids, lengths;
};

} // namespace heddle
