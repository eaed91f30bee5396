//===- TokenizerJson.cpp - Parts of a tokenizer.json ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TokenizerJson.h"

namespace heddle::tokenizers {

Json sequenceJson(const char *list, Json steps) {
  return {{"type", "Sequence"}, {list, std::move(steps)}};
}

Json replaceJson(const char *kind, const char *pattern, const char *content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

Json splitJson(const char *regex, const char *behavior, bool inverts) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", behavior},
          {"invert", inverts}};
}

Json byteLevelJson(bool prefix, bool cutsWords) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix},
          {"trim_offsets", true},
          {"use_regex", cutsWords}};
}

Json precompiledOf(const Json &normalizer) {
  if (!normalizer.is_object())
    return Json();
  if (normalizer.value("type", Json()) == "Precompiled")
    return normalizer;
  if (auto inner = normalizer.find("normalizers"); inner != normalizer.end())
    for (const Json &one : *inner)
      if (const Json found = precompiledOf(one); !found.is_null())
        return found;
  return Json();
}

Json tokenId(const Json &tokenizer, const std::string &content) {
  if (auto added = tokenizer.find("added_tokens"); added != tokenizer.end())
    for (const Json &one : *added)
      if (const std::string *known = tokenText(one); known && *known == content)
        return one.value("id", Json());
  const Json &model = tokenizer["model"];
  const auto vocab = model.find("vocab");
  if (vocab == model.end())
    return Json();
  if (vocab->is_object())
    return vocab->value(content, Json());
  for (size_t id = 0; id < vocab->size(); ++id)
    if (const Json &piece = (*vocab)[id]; piece.is_array() && !piece.empty() && piece[0] == content)
      return id;
  return Json();
}

void TemplateBuilder::addText(Json &list, const std::string &text, int type) {
  list.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
}

void TemplateBuilder::addToken(Json &list, const std::string &token, const Json &id, int type) {
  tokens[token] = {{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}};
  list.push_back({{"SpecialToken", {{"id", token}, {"type_id", type}}}});
}

Json TemplateBuilder::take(Json single, Json pair) {
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(tokens)}};
}

} // namespace heddle::tokenizers
