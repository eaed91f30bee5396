//===- GgufTokenizer.cpp - Tokenizers in GGUF files -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata has tokens, scores or merges, and names for the rest: the kind of
// model, and how a text is cut before it. What a name stands for is written here.
#include "GgufTokenizer.h"

#include "Scanners.h"
#include "SentencePiece.h"
#include "Utf8.h"
#include "Vocabulary.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>

namespace heddle::tokenizers {

namespace {

constexpr const char *tokensKey = "tokenizer.ggml.tokens";

/// Tokens with their kinds, and the tokens that keys name by their ids.
struct GgufVocabulary {
  std::vector<ScoredPiece> pieces;
  std::optional<int64_t> start, end, unknown, separator, classes;
  std::vector<bool> isSpecial;
};

Expected<std::optional<int64_t>> tokenId(const Gguf &file, const char *word, size_t tokens) {
  const std::string key = "tokenizer.ggml." + std::string(word) + "_token_id";
  const std::optional<int64_t> id = HEDDLE_TRY(file.integer(key));
  // Files of models without such a token may say -1.
  if (id && (*id < -1 || *id >= static_cast<int64_t>(tokens)) && *id != int64_t(UINT32_MAX))
    return file.mistaken(key, "an id below " + std::to_string(tokens));
  return id && *id >= 0 && *id != int64_t(UINT32_MAX) ? id : std::optional<int64_t>();
}

Status readKinds(const Gguf &file, std::vector<ScoredPiece> &pieces) {
  constexpr const char *key = "tokenizer.ggml.token_type";
  if (!file.find(key))
    return {};
  const std::vector<double> kinds = HEDDLE_TRY(file.numbers(key));
  if (kinds.size() != pieces.size())
    return file.mistaken(key, "a list of " + std::to_string(pieces.size()) + " numbers");
  for (size_t id = 0; id < kinds.size(); ++id) {
    if (!(kinds[id] >= 0 && kinds[id] <= 6))
      return inputError(file.name() + ": " + key + ": expected kinds up to 6, found " +
                        std::to_string(kinds[id]) + " of token " + std::to_string(id));
    pieces[id].kind = static_cast<PieceKind>(std::max(1, static_cast<int>(kinds[id])));
  }
  return {};
}

Expected<GgufVocabulary> readVocabulary(const Gguf &file) {
  GgufVocabulary vocabulary;
  const std::vector<std::string_view> texts = HEDDLE_TRY(file.texts(tokensKey));
  if (texts.empty() || texts.size() > INT32_MAX)
    return file.mistaken(tokensKey, "tokens");
  for (std::string_view text : texts) {
    HEDDLE_TRY(checkUtf8(text, file.name() + ": " + tokensKey));
    vocabulary.pieces.push_back({std::string(text)});
  }
  HEDDLE_TRY(readKinds(file, vocabulary.pieces));
  vocabulary.isSpecial.resize(texts.size());
  for (auto [word, place] : {std::pair("bos", &vocabulary.start),
                             {"eos", &vocabulary.end},
                             {"unknown", &vocabulary.unknown},
                             {"seperator", &vocabulary.separator}, // the format spells it so
                             {"cls", &vocabulary.classes},
                             {"padding", nullptr},
                             {"mask", nullptr}}) {
    const std::optional<int64_t> id = HEDDLE_TRY(tokenId(file, word, texts.size()));
    if (place)
      *place = id;
    if (id)
      vocabulary.isSpecial[static_cast<size_t>(*id)] = true;
  }
  for (size_t id = 0; id < texts.size(); ++id)
    if (vocabulary.pieces[id].kind == PieceKind::Control)
      vocabulary.isSpecial[id] = true;
  return vocabulary;
}

/// Tokens and their ids; fillers of the table are no tokens.
Expected<Json> vocabJson(const Gguf &file, const std::vector<ScoredPiece> &pieces) {
  Json vocab = Json::object();
  TextMap<size_t> known;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].kind == PieceKind::Unused)
      continue;
    if (!known.emplace(pieces[id].text, id).second)
      return inputError(file.name() + ": " + tokensKey + ": expected each token once, found " +
                        quotedText(pieces[id].text) + " twice");
    vocab.get_ref<Json::object_t &>().push_back({pieces[id].text, id});
  }
  return vocab;
}

Json addedJson(const GgufVocabulary &vocabulary) {
  Json added = Json::array();
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    const ScoredPiece &piece = vocabulary.pieces[id];
    const bool special = vocabulary.isSpecial[id];
    if (piece.text.empty() || piece.kind == PieceKind::Unused ||
        (!special && piece.kind != PieceKind::UserDefined))
      continue;
    added.push_back({{"id", id},
                     {"content", piece.text},
                     {"special", special},
                     {"normalized", false},
                     {"lstrip", piece.text == "<mask>"}});
  }
  return added;
}

/// Tokens around a text and around each of two; null where there are none.
Json templateJson(const GgufVocabulary &vocabulary, std::optional<int64_t> start,
                  std::optional<int64_t> end, bool startsBoth) {
  if (!start && !end)
    return nullptr;
  Json tokens = Json::object(), single = Json::array(), pair = Json::array();
  auto append = [&](Json &list, std::optional<int64_t> id, int type) {
    if (!id)
      return;
    const std::string &text = vocabulary.pieces[static_cast<size_t>(*id)].text;
    tokens[text] = {{"id", text}, {"ids", Json::array({*id})}, {"tokens", Json::array({text})}};
    list.push_back({{"SpecialToken", {{"id", text}, {"type_id", type}}}});
  };
  for (Json *list : {&single, &pair}) {
    append(*list, start, 0);
    list->push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    append(*list, end, 0);
  }
  append(pair, startsBoth ? start : std::nullopt, 1);
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  append(pair, end, 1);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

/// The token that a key such as add_bos_token asks for. Without the key there is none.
Expected<std::optional<int64_t>> addedToken(const Gguf &file, const char *key,
                                            std::optional<int64_t> id) {
  const bool adds = HEDDLE_TRY(file.flag(key, false));
  if (adds && !id)
    return inputError(file.name() + ": " + key + ": expected the id of that token, found none");
  return adds ? id : std::optional<int64_t>();
}

Expected<Json> startAndEnd(const Gguf &file, const GgufVocabulary &vocabulary) {
  const auto start = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_bos_token", vocabulary.start));
  const auto end = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_eos_token", vocabulary.end));
  return templateJson(vocabulary, start, end, /*startsBoth=*/true);
}

//===- gpt2: byte-level BPE ------------------------------------------------===//

constexpr const char *qwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *llama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *o200kWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *tekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// How a text is cut before the merges.
struct Cut {
  std::string_view name;
  const char *regex = nullptr; ///< null: GPT-2's
  bool digits = false;         ///< each alone, before the expression
  bool composes = false;       ///< the text is brought to NFC first
  bool wholeWords = false;     ///< a word that is a token takes no merges
};
constexpr Cut cuts[] = {{"gpt-2"},
                        {"gpt2"},
                        {"mpt"},
                        {"olmo"},
                        {"phi-2"},
                        {"roberta-bpe"},
                        {"jina-es"},
                        {"jina-de"},
                        {"smollm", nullptr, true},
                        {"starcoder", nullptr, true},
                        {"refact", nullptr, true},
                        {"codeshell", nullptr, true},
                        {"command-r", nullptr, true, true},
                        {"qwen2", qwenWords, false, true},
                        {"deepseek-r1-qwen", qwenWords},
                        {"stablelm2", qwenWords},
                        {"dbrx", llama3Words},
                        {"smaug-bpe", llama3Words},
                        {"llama-bpe", llama3Words, false, false, true},
                        {"llama-v3", llama3Words, false, false, true},
                        {"llama3", llama3Words, false, false, true},
                        {"falcon3", llama3Words, false, false, true},
                        {"gpt-4o", o200kWords},
                        {"llama4", o200kWords},
                        {"tekken", tekkenWords, false, false, true}};

Expected<Cut> cutOf(const Gguf &file) {
  constexpr const char *key = "tokenizer.ggml.pre";
  const std::string_view name = HEDDLE_TRY(file.text(key));
  const auto *found = std::ranges::find(cuts, name, &Cut::name);
  if (found != std::end(cuts))
    return *found;
  std::string known;
  for (const Cut &cut : cuts)
    known.append(known.empty() ? "" : ", ").append(cut.name);
  return file.mistaken(key, "one of " + known);
}

Expected<Json> byteLevelJson(const Gguf &file, const GgufVocabulary &vocabulary) {
  const Cut cut = HEDDLE_TRY(cutOf(file));
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", false));
  const auto lines = HEDDLE_TRY(file.texts("tokenizer.ggml.merges"));
  Json merges = Json::array();
  for (std::string_view line : lines) {
    HEDDLE_TRY(checkUtf8(line, file.name() + ": tokenizer.ggml.merges"));
    merges.push_back(std::string(line));
  }
  auto bytes = [&](bool regex) {
    return Json{{"type", "ByteLevel"},
                {"add_prefix_space", prefix},
                {"trim_offsets", true},
                {"use_regex", regex}};
  };
  Json steps = Json::array();
  if (cut.digits)
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (cut.regex)
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", cut.regex}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  steps.push_back(bytes(cut.regex == nullptr));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer", cut.composes ? Json{{"type", "NFC"}} : Json()},
              {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
              {"post_processor", HEDDLE_TRY(startAndEnd(file, vocabulary))},
              {"decoder", {{"type", "ByteLevel"}}},
              {"model",
               {{"type", "BPE"},
                {"ignore_merges", cut.wholeWords},
                {"vocab", std::move(vocab)},
                {"merges", std::move(merges)}}}};
}

//===- llama: SentencePiece's BPE ------------------------------------------===//

Expected<Json> pieceJson(const Gguf &file, GgufVocabulary vocabulary) {
  constexpr const char *key = "tokenizer.ggml.scores";
  const std::vector<double> scores = HEDDLE_TRY(file.numbers(key));
  if (scores.size() != vocabulary.pieces.size())
    return file.mistaken(key, "a list of " + std::to_string(vocabulary.pieces.size()) + " numbers");
  Json unknown;
  bool hasBytes = false;
  for (size_t id = 0; id < scores.size(); ++id) {
    ScoredPiece &piece = vocabulary.pieces[id];
    if (!std::isfinite(scores[id]))
      return inputError(file.name() + ": " + key + ": expected finite scores, found " +
                        std::to_string(scores[id]) + " of token " + std::to_string(id));
    piece.score = static_cast<float>(scores[id]);
    hasBytes |= piece.kind == PieceKind::Byte;
    if (piece.kind == PieceKind::Unknown ||
        (unknown.is_null() && vocabulary.unknown == static_cast<int64_t>(id))) {
      unknown = piece.text;
      vocabulary.isSpecial[id] = true;
    }
  }
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", true));
  const bool cleans = HEDDLE_TRY(file.flag("tokenizer.ggml.remove_extra_whitespaces", false));
  Json normalizers = Json::array(), decoders = Json::array();
  auto replace = [](Json pattern, const char *content) {
    return Json{{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", content}};
  };
  if (cleans) {
    normalizers.push_back(replace({{"Regex", "\\A +| +\\z"}}, ""));
    normalizers.push_back(replace({{"Regex", " {2,}"}}, " "));
  }
  if (prefix)
    normalizers.push_back({{"type", "Prepend"}, {"prepend", "▁"}});
  normalizers.push_back(replace({{"String", " "}}, "▁"));
  decoders.push_back(replace({{"String", "▁"}}, " "));
  if (hasBytes)
    decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (prefix)
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
              {"pre_tokenizer", nullptr},
              {"post_processor", HEDDLE_TRY(startAndEnd(file, vocabulary))},
              {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
              {"model",
               {{"type", "BPE"},
                {"unk_token", unknown},
                {"fuse_unk", true},
                {"byte_fallback", hasBytes},
                {"vocab", std::move(vocab)},
                {"merges", mergesOf(vocabulary.pieces)}}}};
}

//===- bert: WordPiece -----------------------------------------------------===//

/// A piece that begins a word has a ▁ in front of it, one within a word nothing; [CLS] and its like
/// stay as they are. The vocabulary of BERT marks the second kind: ##.
std::string wordPiece(const std::string &text) {
  constexpr std::string_view mark = "▁";
  if (text.starts_with('[') && text.ends_with(']'))
    return text;
  return text.starts_with(mark) && text.size() > mark.size() ? text.substr(mark.size())
                                                             : "##" + text;
}

Expected<int64_t> idOf(const Gguf &file, const GgufVocabulary &vocabulary,
                       std::initializer_list<std::optional<int64_t>> given,
                       std::string_view usual) {
  for (std::optional<int64_t> id : given)
    if (id)
      return *id;
  auto found = std::ranges::find(vocabulary.pieces, usual, &ScoredPiece::text);
  if (found == vocabulary.pieces.end())
    return inputError(file.name() + ": " + tokensKey + ": expected the token " +
                      std::string(usual) + ", found none");
  return found - vocabulary.pieces.begin();
}

Expected<Json> wordPieceJson(const Gguf &file, GgufVocabulary vocabulary) {
  bool isCased = false; // a tokenizer that makes letters small never reaches pieces with large ones
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    ScoredPiece &piece = vocabulary.pieces[id];
    if (!vocabulary.isSpecial[id])
      piece.text = wordPiece(piece.text);
    isCased |= !piece.text.starts_with('[') && !vocabulary.isSpecial[id] &&
               std::ranges::any_of(piece.text, [](char c) { return c >= 'A' && c <= 'Z'; });
  }
  const int64_t start =
      HEDDLE_TRY(idOf(file, vocabulary, {vocabulary.classes, vocabulary.start}, "[CLS]"));
  const int64_t end =
      HEDDLE_TRY(idOf(file, vocabulary, {vocabulary.separator, vocabulary.end}, "[SEP]"));
  const int64_t unknown = HEDDLE_TRY(idOf(file, vocabulary, {vocabulary.unknown}, "[UNK]"));
  for (int64_t id : {start, end, unknown})
    vocabulary.isSpecial[static_cast<size_t>(id)] = true;
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer",
               {{"type", "BertNormalizer"},
                {"clean_text", true},
                {"handle_chinese_chars", true},
                {"strip_accents", nullptr},
                {"lowercase", !isCased}}},
              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
              {"post_processor", templateJson(vocabulary, start, end, /*startsBoth=*/false)},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
              {"model",
               {{"type", "WordPiece"},
                {"unk_token", vocabulary.pieces[static_cast<size_t>(unknown)].text},
                {"vocab", std::move(vocab)}}}};
}

} // namespace

Expected<Json> ggufTokenizerJson(const Gguf &file) {
  constexpr const char *key = "tokenizer.ggml.model";
  const std::string_view model = HEDDLE_TRY(file.text(key));
  if (model != "gpt2" && model != "llama" && model != "bert")
    return file.mistaken(key, "gpt2, llama or bert");
  GgufVocabulary vocabulary = HEDDLE_TRY(readVocabulary(file));
  if (model == "gpt2")
    return byteLevelJson(file, vocabulary);
  return model == "llama" ? pieceJson(file, std::move(vocabulary))
                          : wordPieceJson(file, std::move(vocabulary));
}

} // namespace heddle::tokenizers
