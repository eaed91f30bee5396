//===- TextBatches.h - Texts in, answers out -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts come from arguments or line by line, are answered in batches and leave in
// their order. Batches end early where the model cannot tell padding from text:
// then only texts of equal length go together.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"

namespace heddle {

/// A text as ids, and its number among all texts.
struct NumberedText {
  TokenIds ids;
  uint64_t number;
};

/// Ids of the texts that have any, in order.
std::vector<TokenIds> sourcesOf(const std::vector<NumberedText> &texts);

/// Writes the answers to a batch, a line each.
using AnswerTexts = std::function<Status(const std::vector<NumberedText> &texts)>;

/// Has all texts of a command answered. Notes about cut texts go to `notes`.
Status answerTexts(const TextCommand &command, const TextModel &model, std::istream &in,
                   std::ostream &notes, const AnswerTexts &answer);

/// `error` with the name of the session's file before it.
Error ofModel(const Session &session, Error error);

/// The facts and vocabularies of a session's model; `command` may allow it to cut texts.
Expected<TextModel> textModelOf(const Session &session, const TextCommand &command);

} // namespace heddle
