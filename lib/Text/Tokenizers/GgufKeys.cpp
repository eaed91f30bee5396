//===- GgufKeys.cpp - Known keys of a tokenizer ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GgufKeys.h"

#include "heddle/Support/Text.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

/// Kinds of tokenizers, as bits.
enum : unsigned { gpt2 = 1, llama = 2, t5 = 4, bert = 8, all = 15 };

unsigned kindOf(std::string_view model) {
  return model == "gpt2" ? gpt2 : model == "llama" ? llama : model == "t5" ? t5 : bert;
}

/// A key below `tokenizer.ggml`. `any` lists the kinds that follow it or that it does not affect.
/// `ifFalse` and `ifTrue` list the kinds that behave as this value says anyway.
struct KnownKey {
  std::string_view name;
  unsigned any, ifFalse = 0, ifTrue = 0;
};
constexpr KnownKey knownKeys[] = {
    {"model", all},
    {"pre", all},
    {"tokens", all},
    {"token_type", all},
    {"token_type_count", all},
    {"scores", all},
    {"merges", all},
    {"add_bos_token", all},
    {"add_eos_token", all},
    {"add_sep_token", all},
    {"suppress_tokens", all},
    {"precompiled_charsmap", t5},
    {"add_space_prefix", gpt2 | llama | t5, all},
    {"remove_extra_whitespaces", llama | t5, all}, // llama.cpp reads it for t5
    {"escape_whitespaces", 0, gpt2 | bert, llama | t5},
    {"treat_whitespace_as_suffix", 0, all},
    {"normalizer.lowercase", bert, all},
    {"normalizer.strip_accents", bert, all}};
constexpr std::string_view tokenWords[] = {"bos",       "eos",     "eot",     "eom",     "unknown",
                                           "seperator", "padding", "cls",     "mask",    "fim_pre",
                                           "fim_suf",   "fim_mid", "fim_pad", "fim_rep", "fim_sep",
                                           "prefix",    "suffix",  "middle"};

bool isKnown(std::string_view key, const GgufValue &value, unsigned kind) {
  constexpr std::string_view start = "tokenizer.ggml.", idEnd = "_token_id";
  // Chat templates are read elsewhere.
  if (key == "tokenizer.chat_template" || key.starts_with("tokenizer.chat_template.") ||
      key == "tokenizer.chat_templates")
    return true;
  if (!key.starts_with(start))
    return false;
  key.remove_prefix(start.size());
  if (key.ends_with(idEnd) &&
      std::ranges::find(tokenWords, key.substr(0, key.size() - idEnd.size())) !=
          std::end(tokenWords))
    return true;
  const auto *known = std::ranges::find(knownKeys, key, &KnownKey::name);
  if (known == std::end(knownKeys))
    return false;
  const unsigned without = value.flag() ? (*value.flag() ? known->ifTrue : known->ifFalse) : 0;
  return ((known->any | without) & kind) != 0;
}

} // namespace

std::vector<std::string> unreadTokenizerKeys(const Gguf &file, std::string_view model) {
  std::vector<std::string> lines;
  for (const auto &[key, value] : file.metadata())
    if (key.starts_with("tokenizer.") && !isKnown(key, value, kindOf(model)))
      lines.push_back(file.name() + ": " + printable(key) +
                      ": expected only keys that a tokenizer of kind " + std::string(model) +
                      " follows, found " + value.shown() + ", which is not followed");
  return lines;
}

} // namespace heddle::tokenizers
