//===- TokenScores.h - Language models as rerankers -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the module LogitScore of Sentence-Transformers: the score is the next-token logit of
// "yes", optionally minus the logit of "no". The model becomes an encoder that classifies its last row;
// the classes are these tokens, so no other row of the vocabulary is stored or computed.
#pragma once

#include "Architecture.h"
#include "SentenceModules.h"

namespace heddle {

/// The two tokens of a LogitScore module as a classifier.
class TokenScores {
public:
  /// Loads the language model's architecture; `config` is the configuration in `folder`.
  static Expected<TokenScores> load(const std::string &folder, const Json &config,
                                    const LogitScore &score);

  /// Adds the tokens as classes to the description of the model without its head.
  void addTo(Json &description) const;
  /// View of `wanted` if it is a tensor of the classes; null otherwise.
  Expected<TensorViewRef> find(const TensorInfo &wanted, const WeightSource &checkpoint);
  /// Checkpoint tensors that `find` read.
  const std::set<std::string, std::less<>> &tensorsRead() const { return language.tensorsRead(); }

private:
  TokenScores(Architecture language, Json classifier, int64_t vocabulary,
              std::vector<int64_t> tokens)
      : language(std::move(language)), classifier(std::move(classifier)), vocabulary(vocabulary),
        tokens(std::move(tokens)) {}

  Architecture language; ///< the language model with its head
  Json classifier;       ///< classifier of `language`
  int64_t vocabulary;
  std::vector<int64_t> tokens;
};

} // namespace heddle
