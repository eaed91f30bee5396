//===- SentenceModules.h - modules.json of a folder ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of Sentence-Transformers lists its stages in modules.json: the model, then
// pooling, linear layers and rows of length 1. The stages after the model become
// `encoder.pool` and `encoder.output` of the description, whatever the architecture
// is. Rerankers list LogitScore (TokenScores.h).
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

/// The kind of the first module.
enum class FirstModule : uint8_t {
  Transformer, ///< a model of Transformers
  Clip,        ///< both models of CLIP, which give vectors by themselves
  Static,      ///< a table of words' vectors; a text's vector is their mean
};

struct SentenceModules {
  FirstModule first = FirstModule::Transformer;
  std::string modelFolder;               ///< the folder of the first module
  std::vector<std::string> pool;         ///< words of `encoder.pool`
  Json output = Json::array();           ///< stages of `encoder.output`
  std::map<size_t, std::string> folders; ///< of the linear layers among them, by stage
  std::optional<LogitScore> score;       ///< in place of all these
  bool ofHead = false;        ///< nothing stands after the model: its own head gives the numbers
  bool promptIsPooled = true; ///< rows of a prompt count: include_prompt of the pooling
  bool lowers = false;        ///< letters become small before the tokenizer sees them
  std::optional<int64_t> longest;    ///< max_seq_length: tokens of a text, special ones included
  std::vector<std::string> warnings; ///< settings that are not taken over
};

/// The tokens of a text that the tokenizer's settings of a model's folder allow, special ones
/// included; none: they say nothing.
Expected<std::optional<int64_t>> tokenizerLength(const std::string &folder);

/// None where the folder has no modules.json. Appends files that are read to `files`.
Expected<std::optional<SentenceModules>> readSentenceModules(const std::string &folder,
                                                             std::vector<std::string> &files);

} // namespace heddle
