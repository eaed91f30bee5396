//===- GgufVocabulary.cpp - Tokens of GGUF files --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of vocabularies. The names and their exceptions are from llama.cpp (llama-vocab.cpp).

#include "heddle/Support/GgufVocabulary.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace heddle {

namespace {

/// Tokens with these names end a text, independent of the keys.
constexpr std::string_view endNames[] = {"<|eot_id|>",
                                         "<|im_end|>",
                                         "<|end|>",
                                         "<|return|>",
                                         "<|call|>",
                                         "<|flush|>",
                                         "<|calls|>",
                                         "<end_of_turn>",
                                         "<|endoftext|>",
                                         "</s>",
                                         "<|eom_id|>",
                                         "<EOT>",
                                         "_<EOT>",
                                         "[EOT]",
                                         "[EOS]",
                                         "<|end_of_text|>",
                                         "<end_of_utterance>",
                                         "<eos>",
                                         "<turn|>",
                                         "<|tool_response>",
                                         "<｜end▁of▁sentence｜>",
                                         "[e~["};

/// Harmony's markers, which a reader of the text needs.
constexpr std::string_view shownNames[] = {"<|channel|>", "<|message|>", "<|start|>",
                                           "<|constrain|>"};

/// A fill-in-the-middle token: named by a key, or else the first token with one of the names.
struct MiddleToken {
  std::string_view word;
  std::string_view names[8];
  bool ends = false; ///< the token ends a text
};
constexpr MiddleToken middleTokens[] = {
    {"fim_pre",
     {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
      "<|code_prefix|>", "<|prefix|>"}},
    {"fim_suf",
     {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
      "<|code_suffix|>", "<|suffix|>"}},
    {"fim_mid",
     {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
      "<|code_middle|>", "<|middle|>"}},
    {"fim_pad", {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}, true},
    {"fim_rep", {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}, true},
    {"fim_sep", {"<|file_sep|>"}, true}};

/// Older names of three keys.
constexpr std::pair<std::string_view, std::string_view> olderWords[] = {
    {"fim_pre", "prefix"}, {"fim_suf", "suffix"}, {"fim_mid", "middle"}};

class VocabularyReader {
public:
  explicit VocabularyReader(const Gguf &file) : file(file) {}

  Expected<GgufVocabulary> read(size_t rows) {
    HEDDLE_TRY(readTexts(rows));
    HEDDLE_TRY(readKinds());
    HEDDLE_TRY(readIds());
    HEDDLE_TRY(readEnds());
    takeExceptions();
    listEnds();
    return std::move(made);
  }

private:
  Status readTexts(size_t rows);
  Status readKinds();
  Status readIds();
  Status readEnds();
  void takeExceptions();
  void listEnds();

  Expected<std::optional<int64_t>> idOf(std::string_view word) const {
    return ggufTokenId(file, word, made.texts.size());
  }
  std::optional<int64_t> tokenOf(std::string_view name) const {
    const auto found = byText.find(name);
    return found == byText.end() ? std::nullopt : std::optional(found->second);
  }
  void setKind(int64_t id, GgufTokenKind kind) { made.kinds[static_cast<size_t>(id)] = kind; }
  bool endsAt(std::string_view name) const {
    const std::optional<int64_t> id = tokenOf(name);
    return id && ends.contains(*id);
  }
  /// Removes `name` from the ends.
  void spare(std::string_view name, GgufTokenKind kind) {
    const int64_t id = *tokenOf(name);
    ends.erase(id);
    setKind(id, kind);
  }

  const Gguf &file;
  GgufVocabulary made;
  std::unordered_map<std::string_view, int64_t> byText;
  std::set<int64_t> ends;
};

Status VocabularyReader::readTexts(size_t rows) {
  constexpr const char *key = "tokenizer.ggml.tokens";
  if (!file.find(key)) {
    made.texts.resize(rows);
    return {};
  }
  made.texts = HEDDLE_TRY(file.texts(key));
  if (made.texts.empty() || made.texts.size() > INT32_MAX)
    return file.mistaken(key, "tokens");
  for (size_t id = 0; id < made.texts.size(); ++id)
    byText.emplace(made.texts[id], static_cast<int64_t>(id));
  return {};
}

Status VocabularyReader::readKinds() {
  constexpr const char *key = "tokenizer.ggml.token_type";
  made.kinds.assign(made.texts.size(), GgufTokenKind::Normal);
  if (!file.find(key))
    return {};
  const std::vector<double> kinds = HEDDLE_TRY(file.numbers(key));
  if (kinds.size() != made.texts.size())
    return file.mistaken(key, "a list of " + std::to_string(made.texts.size()) + " numbers");
  for (size_t id = 0; id < kinds.size(); ++id) {
    if (!(kinds[id] >= 0 && kinds[id] <= 6))
      return inputError(file.name() + ": " + key + ": expected kinds up to 6, found " +
                        formatted("%g", kinds[id]) + " of token " + std::to_string(id));
    made.kinds[id] = static_cast<GgufTokenKind>(std::max(1, static_cast<int>(kinds[id])));
  }
  return {};
}

Status VocabularyReader::readIds() {
  for (auto [word, place] : {std::pair("bos", &made.start),
                             {"eos", &made.end},
                             {"unknown", &made.unknown},
                             {"seperator", &made.separator}, // spelled like this in the format
                             {"cls", &made.classes},
                             {"padding", &made.padding},
                             {"mask", &made.mask}})
    *place = HEDDLE_TRY(idOf(word));
  // Defaults of these two kinds of tokenizers if the file does not give the tokens.
  const GgufValue *model = file.find("tokenizer.ggml.model");
  const bool isLlama = model && model->text() == "llama";
  auto otherwise = [&](std::optional<int64_t> &place, std::string_view word, size_t usual) {
    if (!file.find("tokenizer.ggml." + std::string(word) + "_token_id") &&
        usual < made.texts.size())
      place = static_cast<int64_t>(usual);
  };
  if (isLlama)
    otherwise(made.start, "bos", 1);
  if (isLlama || (model && model->text() == "t5"))
    otherwise(made.end, "eos", isLlama ? 2 : 1);
  return {};
}

Status VocabularyReader::readEnds() {
  for (const MiddleToken &token : middleTokens) {
    std::optional<int64_t> id = HEDDLE_TRY(idOf(token.word));
    for (auto [word, older] : olderWords)
      if (word == token.word && !id)
        id = HEDDLE_TRY(idOf(older));
    if (!id) {
      for (std::string_view name : token.names)
        if (const auto found = name.empty() ? std::nullopt : tokenOf(name))
          id = std::min(id.value_or(*found), *found);
      if (id)
        setKind(*id, GgufTokenKind::Control);
    }
    if (id && token.ends)
      ends.insert(*id);
  }
  for (std::string_view name : endNames)
    if (const auto id = tokenOf(name)) {
      ends.insert(*id);
      setKind(*id, GgufTokenKind::Control);
    }
  for (std::string_view word : {"eot", "eom"})
    if (const auto id = HEDDLE_TRY(idOf(word)))
      ends.insert(*id);
  if (made.end)
    ends.insert(*made.end);
  return {};
}

/// Handles names whose meaning depends on the presence of others.
void VocabularyReader::takeExceptions() {
  for (std::string_view name : shownNames)
    if (const auto id = tokenOf(name))
      setKind(*id, GgufTokenKind::UserDefined);
  const bool calls = endsAt("<|call|>") || endsAt("<|calls|>");
  // In Harmony and Solar it ends a message, and the next one follows.
  if (calls && (endsAt("<|return|>") || endsAt("<|flush|>")) && endsAt("<|end|>"))
    spare("<|end|>", GgufTokenKind::UserDefined);
  // An ordinary word in Gemma 4 and PLaMo.
  if ((endsAt("<|tool_response>") || endsAt("<|plamo:eos|>")) && endsAt("</s>"))
    spare("</s>", GgufTokenKind::Normal);
}

void VocabularyReader::listEnds() {
  if (made.end && ends.erase(*made.end))
    made.ends.push_back(*made.end);
  made.ends.insert(made.ends.end(), ends.begin(), ends.end());
}

} // namespace

Expected<GgufVocabulary> GgufVocabulary::read(const Gguf &file, size_t rows) {
  return VocabularyReader(file).read(rows);
}

Expected<std::optional<int64_t>> ggufTokenId(const Gguf &file, std::string_view word,
                                             size_t tokens) {
  const std::string key = "tokenizer.ggml." + std::string(word) + "_token_id";
  const std::optional<int64_t> id = HEDDLE_TRY(file.integer(key));
  const bool isNone = id && (*id == -1 || *id == int64_t(UINT32_MAX));
  if (id && !isNone && (*id < 0 || *id >= static_cast<int64_t>(tokens)))
    return file.mistaken(key, "an id below " + std::to_string(tokens));
  return isNone ? std::optional<int64_t>() : id;
}

} // namespace heddle
