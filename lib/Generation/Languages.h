//===- Languages.h - Languages and tasks of a translation ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that knows several languages has a token for each; where these stand
// differs. A model that does several things is told by words in front of a text.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/TextModel.h"

namespace heddle {

/// Sets what `--from`, `--to` and `--task` say in a model's sides. Usage error for one that the model
/// does not know, which lists those that it does. Returns what stands in front of each text.
Expected<std::string> chooseLanguages(const TranslateCommand &command, TextModel &model);

} // namespace heddle
