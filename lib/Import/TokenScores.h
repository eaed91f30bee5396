//===- TokenScores.h - Rerankers that are language models ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module LogitScore of Sentence-Transformers asks a language model for the next
// token: the score of "yes", or how far it lies above that of "no". The model becomes
// an encoder whose last row has these tokens as its classes, so that no other row of
// the vocabulary is stored or computed.
#pragma once

#include "Architecture.h"
#include "SentenceModules.h"

namespace heddle {

class TokenScores {
public:
  /// `config` is that of a folder `folder` that was saved as a language model.
  static Expected<TokenScores> load(const std::string &folder, const Json &config,
                                    const LogitScore &score);

  /// Gives the description of the model without its head the tokens as classes.
  void addTo(Json &description) const;
  /// The view of `wanted`, a tensor of the classes; null if it is another.
  Expected<TensorViewRef> find(const TensorInfo &wanted, const WeightSource &checkpoint);
  /// Checkpoint tensors that `find` read.
  const std::set<std::string, std::less<>> &tensorsRead() const { return language.tensorsRead(); }

private:
  TokenScores(Architecture language, Json classifier, int64_t vocabulary,
              std::vector<int64_t> tokens)
      : language(std::move(language)), classifier(std::move(classifier)), vocabulary(vocabulary),
        tokens(std::move(tokens)) {}

  Architecture language; ///< with its head
  Json classifier;       ///< of that
  int64_t vocabulary;
  std::vector<int64_t> tokens;
};

} // namespace heddle
