//===- TokenScores.cpp - Language models as rerankers ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TokenScores.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

using namespace heddle;

Expected<TokenScores> TokenScores::load(const std::string &folder, const Json &config,
                                        const LogitScore &score) {
  Architecture language = HEDDLE_TRY(Architecture::load(folder, config));
  if (language.head() != "ForCausalLM")
    return inputError(configPath(folder) +
                      ": architectures: expected a language model (…ForCausalLM), whose tokens "
                      "LogitScore asks for, found " +
                      shown(config.value("architectures", Json())));
  const Json model = HEDDLE_TRY(language.description());
  const auto vocabulary = model["target"]["vocabulary"].get<int64_t>();
  std::vector<int64_t> tokens = {score.yes};
  if (score.no)
    tokens.push_back(*score.no);
  for (int64_t token : tokens)
    if (token < 0 || token >= vocabulary)
      return inputError(score.file + ": expected ids of the model's " + std::to_string(vocabulary) +
                        " tokens, found " + std::to_string(token));
  return TokenScores(std::move(language), model["classifier"], vocabulary, std::move(tokens));
}

void TokenScores::addTo(Json &description) const {
  description["encoder"]["pool"] = "last";
  Json &classes = description["classifier"] = classifier;
  classes.erase("tied");
  classes["size"] = tokens.size();
}

Expected<TensorViewRef> TokenScores::find(const TensorInfo &wanted,
                                          const WeightSource &checkpoint) {
  if (wanted.name != "classifier.weight" && wanted.name != "classifier.bias")
    return TensorViewRef();
  TensorInfo whole = wanted;
  whole.shape[0] = vocabulary;
  if (wanted.name == "classifier.weight" && classifier.value("tied", false))
    whole.name = "target.embedding.weight";
  return gathered(HEDDLE_TRY(language.tensor(whole, checkpoint)), tokens);
}
