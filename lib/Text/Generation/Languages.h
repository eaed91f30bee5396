//===- Languages.h - Languages and tasks of a translation ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of several languages has a token for each, whose place differs
// between models. A model of several tasks reads the task as words in front of
// a text.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/TextModel.h"

namespace heddle {

/// Applies `--from`, `--to` and `--task` to the sides of a model. Returns the prefix of each source
/// text. An unknown language or task is a usage error that lists the known ones.
Expected<std::string> chooseLanguages(const TranslateCommand &command, TextModel &model);

} // namespace heddle
