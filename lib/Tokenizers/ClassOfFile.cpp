//===- ClassOfFile.cpp - The class that reads a tokenizer.json --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AutoTokenizer of Transformers 5.24 chooses a class by the type of the model and by
// the class that the folder names.
#include "ClassComponents.h"
#include "TokenizerClasses.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

/// Types of models whose folders Transformers 5 reads with TokenizersBackend, whatever class they name.
constexpr std::string_view typesOfBackend[] = {"arctic",
                                               "aria",
                                               "bigbird_pegasus",
                                               "ernie4_5",
                                               "flex_olmo",
                                               "glm",
                                               "glm4",
                                               "glm4_moe",
                                               "glm4v",
                                               "gpt_bigcode",
                                               "granite",
                                               "granitemoe",
                                               "internlm2",
                                               "internlm3",
                                               "granitemoehybrid",
                                               "granitemoeshared",
                                               "jamba",
                                               "kimi_linear",
                                               "kosmos-2",
                                               "llava",
                                               "minicpm3",
                                               "llava_next",
                                               "mimo_v2_flash",
                                               "minimax_m2",
                                               "ministral",
                                               "ministral3",
                                               "mistral",
                                               "mistral3",
                                               "mixtral",
                                               "modernbert",
                                               "modernbert-decoder",
                                               "molmo",
                                               "nemotron",
                                               "nystromformer",
                                               "olmo2",
                                               "olmo3",
                                               "persimmon",
                                               "olmo_hybrid",
                                               "pegasus_x",
                                               "phi3",
                                               "phi3_v",
                                               "phimoe",
                                               "pixtral",
                                               "smolvlm",
                                               "stablelm",
                                               "umt5",
                                               "vipllava",
                                               "xlm-roberta-xl",
                                               "ernie4_5_moe"};

/// The class of a model's type where no file names one. TokenizerClasses.cpp has the classes of
/// other vocabularies.
constexpr std::pair<std::string_view, std::string_view> pieceClasses[] = {
    {"albert", "AlbertTokenizer"},
    {"camembert", "CamembertTokenizer"},
    {"cohere", "CohereTokenizer"},
    {"deberta-v2", "DebertaV2Tokenizer"},
    {"gemma", "GemmaTokenizer"},
    {"gemma2", "GemmaTokenizer"},
    {"gemma3", "GemmaTokenizer"},
    {"gemma3_text", "GemmaTokenizer"},
    {"gte", "XLMRobertaTokenizer"},
    {"mbart", "MBartTokenizer"},
    {"mt5", "T5Tokenizer"},
    {"pegasus", "PegasusTokenizer"},
    {"t5", "T5Tokenizer"},
    {"whisper", "WhisperTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"}};

bool contains(const auto &list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool hasByteLevel(const Json &step) {
  if (step.is_object() && step.value("type", Json()) == "ByteLevel")
    return true;
  return step.is_structured() && std::ranges::any_of(step, hasByteLevel);
}

} // namespace

std::string classOfFile(const TokenizerSettings &settings, const Json &tokenizer) {
  const std::string &type = settings.modelType();
  std::string name = settings.className();
  if (contains(typesOfBackend, type))
    return {};
  if (type == "qwen2")
    return "Qwen2Tokenizer";
  if (name.empty()) {
    const auto *piece =
        std::ranges::find(pieceClasses, type, [](auto &known) { return known.first; });
    if (const TokenizerClass *known = tokenizerClassOf(settings))
      name = nameOf(*known);
    else if (piece != std::end(pieceClasses))
      name = piece->second;
  }
  constexpr const char *sections[] = {"normalizer", "pre_tokenizer", "post_processor", "decoder"};
  const bool hasBytes = std::ranges::any_of(sections, [&](const char *section) {
    return hasByteLevel(tokenizer.value(section, Json()));
  });
  return name == "LlamaTokenizer" && hasBytes ? std::string() : name;
}

} // namespace heddle::tokenizers
