//===- ClassOfFile.cpp - The class that reads a tokenizer.json --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the class as AutoTokenizer of Transformers 5.24 does, from model_type and
// tokenizer_class.
#include "ClassComponents.h"
#include "TokenizerClasses.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

/// Model types for which Transformers 5 uses TokenizersBackend and ignores tokenizer_class.
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

/// Default classes of model types with SentencePiece vocabularies. TokenizerClasses.cpp has the
/// other defaults.
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

/// Classes that Transformers 5 runs in Python. They do not read tokenizer.json.
constexpr std::string_view pythonClasses[] = {"BartphoTokenizer",
                                              "BertGenerationTokenizer",
                                              "BertweetTokenizer",
                                              "BioGptTokenizer",
                                              "BlenderbotSmallTokenizer",
                                              "ByT5Tokenizer",
                                              "CTRLTokenizer",
                                              "CanineTokenizer",
                                              "ClvpTokenizer",
                                              "CpmAntTokenizer",
                                              "CpmTokenizer",
                                              "DiaTokenizer",
                                              "EsmTokenizer",
                                              "FSMTTokenizer",
                                              "FastSpeech2ConformerTokenizer",
                                              "FlaubertTokenizer",
                                              "GPTNeoXJapaneseTokenizer",
                                              "GPTSw3Tokenizer",
                                              "MgpstrTokenizer",
                                              "MyT5Tokenizer",
                                              "PLBartTokenizer",
                                              "PerceiverTokenizer",
                                              "PhobertTokenizer",
                                              "ProphetNetTokenizer",
                                              "RoCBertTokenizer",
                                              "Speech2TextTokenizer",
                                              "SpeechT5Tokenizer",
                                              "TapasTokenizer",
                                              "VitsTokenizer",
                                              "Wav2Vec2CTCTokenizer",
                                              "Wav2Vec2PhonemeCTCTokenizer",
                                              "XLMTokenizer"};

/// Classes that build components which Heddle does not implement.
constexpr std::string_view otherClasses[] = {
    "BarthezTokenizer",   "BigBirdTokenizer",    "BlenderbotTokenizer",  "DebertaTokenizer",
    "EsmcTokenizer",      "FNetTokenizer",       "FunnelTokenizer",      "HerbertTokenizer",
    "LasrTokenizer",      "LayoutLMv2Tokenizer", "LayoutLMv3Tokenizer",  "LayoutXLMTokenizer",
    "LukeTokenizer",      "MLukeTokenizer",      "MarkupLMTokenizer",    "NougatTokenizer",
    "OpenAIGPTTokenizer", "ParakeetTokenizer",   "Qwen3_5Tokenizer",     "ReformerTokenizer",
    "RemBertTokenizer",   "RoFormerTokenizer",   "SeamlessM4TTokenizer", "Siglip2Tokenizer",
    "SplinterTokenizer",  "Tipsv2Tokenizer",     "UdopTokenizer",        "VideoPrismTokenizer",
    "XGLMTokenizer",      "XLNetTokenizer"};

bool contains(const auto &list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool hasByteLevel(const Json &step) {
  if (step.is_object() && step.value("type", Json()) == "ByteLevel")
    return true;
  return step.is_structured() && std::ranges::any_of(step, hasByteLevel);
}

} // namespace

bool runsInPython(const TokenizerSettings &settings) {
  return contains(pythonClasses, settings.className()) &&
         !contains(typesOfBackend, settings.modelType());
}

bool makesOtherComponents(std::string_view name) { return contains(otherClasses, name); }

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
