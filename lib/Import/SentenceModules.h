//===- SentenceModules.h - modules.json of a folder ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of Sentence-Transformers list what stands behind the model in modules.json:
// pooling, linear layers, rows of length 1. They become `encoder.pool` and
// `encoder.output` of the description, whatever the architecture is. Rerankers list
// LogitScore (TokenScores.h).
#pragma once

#include "Schema.h"

#include <map>

namespace heddle {

/// What a module LogitScore asks a language model for.
struct LogitScore {
  std::string file;          ///< says so
  int64_t yes = 0;           ///< the token whose score behind a text counts
  std::optional<int64_t> no; ///< less that of this one
};

struct SentenceModules {
  std::vector<std::string> pool;         ///< words of `encoder.pool`
  Json output = Json::array();           ///< stages of `encoder.output`
  std::map<size_t, std::string> folders; ///< of the linear layers among them, by stage
  std::optional<LogitScore> score;       ///< in place of all these
  bool ofHead = false;        ///< nothing stands behind the model: its own head gives the numbers
  bool promptIsPooled = true; ///< rows of a prompt count: include_prompt of the pooling
  std::optional<int64_t> longest;    ///< max_seq_length: tokens of a text, special ones included
  std::vector<std::string> warnings; ///< settings that are not taken over
};

/// None where the folder has no modules.json. Appends files that are read to `files`.
Expected<std::optional<SentenceModules>> readSentenceModules(const std::string &folder,
                                                             std::vector<std::string> &files);

} // namespace heddle
