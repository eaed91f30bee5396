//===- SentenceModules.h - modules.json of a folder ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Sentence-Transformers folder lists its stages in modules.json: the model, then pooling, linear
// layers and normalization. The stages after the model become `encoder.pool` and `encoder.output`
// of the description for any architecture. Rerankers list LogitScore (TokenScores.h), models of
// sparse vectors SpladePooling, which pools the logits of the head for masked words.
#pragma once

#include "Schema.h"
#include "TokenVectors.h"

#include "heddle/Support/TextFacts.h"

#include <map>

namespace heddle {

/// A module LogitScore, which scores a text by next-token logits of a language model.
struct LogitScore {
  std::string file;          ///< file that defines the module
  int64_t yes = 0;           ///< token whose logit after the text is the score
  std::optional<int64_t> no; ///< token whose logit is subtracted
};

/// Kind of the first module.
enum class FirstModule : uint8_t {
  Transformer, ///< a model of Transformers
  Clip,        ///< both models of CLIP, whose outputs are vectors already
  Static,      ///< a table of word vectors; a text's vector is their mean
};

/// Contents of modules.json.
struct SentenceModules {
  FirstModule first = FirstModule::Transformer;
  std::string modelFolder;               ///< folder of the first module
  std::vector<std::string> pool;         ///< words of `encoder.pool`
  Json output = Json::array();           ///< stages of `encoder.output`
  std::map<size_t, std::string> folders; ///< folders of the linear layers, by stage
  std::optional<LogitScore> score;       ///< replaces pooling and stages
  bool givesLogits = false;              ///< the head for masked words gives the rows
  std::optional<SparseFacts> sparse;     ///< replaces pooling and stages
  bool perToken = false;                 ///< stages give a vector for each token
  bool perText = false;                  ///< a stage names the text's vector as its input
  TokenSettings tokens;                  ///< with `perToken`
  bool ofHead = false;                   ///< no stages: the model's own head gives the result
  bool promptIsPooled = true;            ///< include_prompt of the pooling: prompt rows count
  bool lowers = false;                   ///< lowercases texts before tokenization
  std::optional<int64_t> longest;    ///< max_seq_length: tokens per text, including special tokens
  std::vector<std::string> warnings; ///< settings that are not supported
};

/// Maximum number of tokens per text, including special tokens, by the tokenizer's settings of a
/// model folder; none if they set no limit.
Expected<std::optional<int64_t>> tokenizerLength(const std::string &folder);

/// Reads modules.json; none if the folder has no such file. Appends the files that were read to
/// `files`.
Expected<std::optional<SentenceModules>> readSentenceModules(const std::string &folder,
                                                             std::vector<std::string> &files);

} // namespace heddle
