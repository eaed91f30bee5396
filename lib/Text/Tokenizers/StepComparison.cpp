//===- StepComparison.cpp - Equality of components -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares components of a tokenizer.json in a canonical form. Versions of the
// package `tokenizers` write defaults and nested sequences in different ways.
#include "ClassComponents.h"

namespace heddle::tokenizers {

namespace {

struct Default {
  const char *type, *key;
  Json value;
};

/// Canonical form of a step: default keys are filled in, keys that affect neither ids nor decoded
/// text are removed, and keys are sorted.
nlohmann::json canonicalStep(const Json &step, bool isDecoder) {
  static const Default defaults[] = {{"ByteLevel", "add_prefix_space", true},
                                     {"ByteLevel", "use_regex", true},
                                     {"Metaspace", "split", true},
                                     {"Split", "invert", false},
                                     {"Punctuation", "behavior", "Isolated"},
                                     {"Digits", "individual_digits", false},
                                     {"WordPiece", "prefix", "##"},
                                     {"WordPiece", "cleanup", true},
                                     {"BertNormalizer", "clean_text", true},
                                     {"BertNormalizer", "handle_chinese_chars", true},
                                     {"BertNormalizer", "strip_accents", nullptr},
                                     {"BertNormalizer", "lowercase", true}};
  nlohmann::json result(step);
  const std::string type = step.value("type", "");
  if (isDecoder && type == "ByteLevel")
    return {{"type", type}};
  if (type == "Metaspace") {
    const bool prefix = result.value("add_prefix_space", true);
    if (!result.contains("prepend_scheme"))
      result["prepend_scheme"] = prefix ? "always" : "never";
    if (isDecoder)
      return {{"type", type}, {"strips", result["prepend_scheme"] != "never"}};
    result.erase("add_prefix_space");
    result.erase("str_rep");
  }
  result.erase("trim_offsets");
  for (const auto &[owner, key, value] : defaults)
    if (type == owner && !result.contains(key))
      result[key] = value;
  // The regular expression of CLIP may begin with its special tokens. They are split off before the
  // expression runs.
  constexpr const char *ends = R"(<\|startoftext\|>|<\|endoftext\|>|)";
  if (type == "Split" && result["pattern"].contains("Regex"))
    if (auto *regex = result["pattern"]["Regex"].get_ptr<std::string *>();
        regex && regex->starts_with(ends))
      regex->erase(0, std::string_view(ends).size());
  return result;
}

void flatten(const Json &step, bool isDecoder, std::vector<nlohmann::json> &steps) {
  if (!step.is_object())
    return;
  for (const char *list : {"normalizers", "pretokenizers", "decoders"})
    if (auto inner = step.find(list); inner != step.end() && inner->is_array()) {
      for (const Json &one : *inner)
        flatten(one, isDecoder, steps);
      return;
    }
  steps.push_back(canonicalStep(step, isDecoder));
}

/// Output of a post-processor for one text or two: pairs of a token id or the name of a text, and its
/// type.
using Placed = std::vector<std::pair<nlohmann::json, nlohmann::json>>;

Placed placedBy(const Json &processor, bool pair) {
  const Placed plain = pair ? Placed{{"A", 0}, {"B", 1}} : Placed{{"A", 0}};
  if (!processor.is_object())
    return plain;
  if (auto inner = processor.find("processors"); inner != processor.end()) {
    for (const Json &one : *inner)
      if (const Placed found = placedBy(one, pair); found != plain)
        return found;
    return plain;
  }
  auto idOf = [&](const char *key) {
    const Json token = processor.value(key, Json());
    return token.is_array() && token.size() == 2 ? nlohmann::json(token[1]) : nlohmann::json();
  };
  if (processor.contains("cls") && processor.contains("sep")) {
    const auto start = idOf("cls"), end = idOf("sep");
    Placed placed = {{start, 0}, {"A", 0}, {end, 0}};
    const bool isBert = processor.value("type", Json()) == "BertProcessing";
    if (pair && !isBert)
      placed.emplace_back(end, 0);
    const int type = isBert ? 1 : 0;
    if (pair)
      placed.insert(placed.end(), {{"B", type}, {end, type}});
    return placed;
  }
  const auto list = processor.find(pair ? "pair" : "single");
  if (list == processor.end() || !list->is_array())
    return plain;
  Placed placed;
  const Json tokens = processor.value("special_tokens", Json::object());
  for (const Json &piece : *list) {
    const bool isToken = piece.is_object() && piece.contains("SpecialToken");
    const Json content = piece.is_object() && !piece.empty() ? piece.front() : Json();
    const Json name = content.value("id", Json());
    const Json known =
        isToken && name.is_string() ? tokens.value(name.get<std::string>(), Json()) : Json();
    const Json ids = known.is_object() ? known.value("ids", Json::array()) : Json::array({name});
    for (const Json &id : ids)
      placed.emplace_back(id, content.value("type_id", Json()));
  }
  return placed;
}

} // namespace

bool sameSteps(const Json &first, const Json &second, bool isDecoder) {
  std::vector<nlohmann::json> lists[2];
  flatten(first, isDecoder, lists[0]);
  flatten(second, isDecoder, lists[1]);
  return lists[0] == lists[1];
}

bool sameAround(const Json &first, const Json &second) {
  return placedBy(first, false) == placedBy(second, false) &&
         placedBy(first, true) == placedBy(second, true);
}

} // namespace heddle::tokenizers
