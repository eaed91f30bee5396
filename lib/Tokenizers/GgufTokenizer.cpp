//===- GgufTokenizer.cpp - Tokenizers in GGUF files -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata has tokens, scores or merges, and names for the rest: the kind of
// model, and how a text is cut before it (GgufCuts.h).
#include "GgufTokenizer.h"

#include "GgufCuts.h"
#include "SentencePiece.h"
#include "Utf8.h"
#include "Vocabulary.h"

#include "heddle/Support/Text.h"
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
                        formatted("%g", kinds[id]) + " of token " + std::to_string(id));
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
    const std::optional<int64_t> id = HEDDLE_TRY(ggufTokenId(file, word, texts.size()));
    if (place)
      *place = id;
    if (id)
      vocabulary.isSpecial[static_cast<size_t>(*id)] = true;
  }
  for (size_t id = 0; id < texts.size(); ++id)
    if (const PieceKind kind = vocabulary.pieces[id].kind;
        kind == PieceKind::Control || kind == PieceKind::Unknown)
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

/// Tokens around a text, and around each of two.
struct Surroundings {
  std::optional<int64_t> start, end;
  std::optional<int64_t> second; ///< in front of the second of two texts
  int secondType = 1;
};

/// Null where there are none.
Json templateJson(const GgufVocabulary &vocabulary, const Surroundings &around) {
  if (!around.start && !around.end)
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
    append(*list, around.start, 0);
    list->push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    append(*list, around.end, 0);
  }
  append(pair, around.second, around.secondType);
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", around.secondType}}}});
  append(pair, around.end, around.secondType);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

/// The token that a key such as add_bos_token asks for. Without the key there is none.
Expected<std::optional<int64_t>> addedToken(const Gguf &file, const char *key,
                                            std::optional<int64_t> id, bool otherwise = false) {
  const bool adds = HEDDLE_TRY(file.flag(key, otherwise));
  if (adds && !id)
    return inputError(file.name() + ": " + key + ": expected the id of that token, found none");
  return adds ? id : std::optional<int64_t>();
}

/// What the keys add. `separates`: as in RoBERTa, a second text begins with a separator behind the end
/// of the first, and with no start.
Expected<Surroundings> surroundingsOf(const Gguf &file, const GgufVocabulary &vocabulary,
                                      bool separates) {
  Surroundings around;
  around.start = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_bos_token", vocabulary.start));
  around.end = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_eos_token", vocabulary.end));
  const auto separator = vocabulary.separator ? vocabulary.separator : vocabulary.end;
  around.second = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_sep_token", separator,
                                        separates && around.start && around.end));
  if (around.second)
    around.secondType = 0;
  else
    around.second = around.start;
  return around;
}

//===- gpt2: byte-level BPE ------------------------------------------------===//

Expected<Json> byteLevelJson(const Gguf &file, const GgufVocabulary &vocabulary) {
  const GgufCut cut = HEDDLE_TRY(ggufCut(file));
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", false));
  const auto lines = HEDDLE_TRY(file.texts("tokenizer.ggml.merges"));
  Json merges = Json::array();
  for (std::string_view line : lines) {
    HEDDLE_TRY(checkUtf8(line, file.name() + ": tokenizer.ggml.merges"));
    merges.push_back(std::string(line));
  }
  const Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, cut.separates));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer", cut.composes ? Json{{"type", "NFC"}} : Json()},
              {"pre_tokenizer", cutJson(cut, prefix)},
              {"post_processor", templateJson(vocabulary, around)},
              {"decoder", {{"type", "ByteLevel"}}},
              {"model",
               {{"type", "BPE"},
                {"ignore_merges", cut.wholeWords},
                {"vocab", std::move(vocab)},
                {"merges", std::move(merges)}}}};
}

//===- llama: SentencePiece's BPE ------------------------------------------===//

/// Scores of the pieces, and which one stands for unknown characters: its kind says so, else a key.
Status readScores(const Gguf &file, GgufVocabulary &vocabulary) {
  constexpr const char *key = "tokenizer.ggml.scores";
  const std::vector<double> scores = HEDDLE_TRY(file.numbers(key));
  if (scores.size() != vocabulary.pieces.size())
    return file.mistaken(key, "a list of " + std::to_string(vocabulary.pieces.size()) + " numbers");
  for (size_t id = 0; id < scores.size(); ++id) {
    if (!std::isfinite(scores[id]))
      return inputError(file.name() + ": " + key + ": expected finite scores, found " +
                        std::to_string(scores[id]) + " of token " + std::to_string(id));
    vocabulary.pieces[id].score = static_cast<float>(scores[id]);
    if (vocabulary.pieces[id].kind == PieceKind::Unknown)
      vocabulary.unknown = static_cast<int64_t>(id);
  }
  if (vocabulary.unknown)
    vocabulary.isSpecial[static_cast<size_t>(*vocabulary.unknown)] = true;
  return {};
}

Expected<Json> pieceJson(const Gguf &file, GgufVocabulary vocabulary) {
  HEDDLE_TRY(readScores(file, vocabulary));
  Json unknown;
  if (vocabulary.unknown)
    unknown = vocabulary.pieces[static_cast<size_t>(*vocabulary.unknown)].text;
  const bool hasBytes = std::ranges::find(vocabulary.pieces, PieceKind::Byte, &ScoredPiece::kind) !=
                        vocabulary.pieces.end();
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
  const Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, /*separates=*/false));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
              {"pre_tokenizer", nullptr},
              {"post_processor", templateJson(vocabulary, around)},
              {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
              {"model",
               {{"type", "BPE"},
                {"unk_token", unknown},
                {"fuse_unk", true},
                {"byte_fallback", hasBytes},
                {"vocab", std::move(vocab)},
                {"merges", mergesOf(vocabulary.pieces)}}}};
}

//===- t5: SentencePiece's unigram -----------------------------------------===//

/// Bytes of the table of characters; empty where the file has none.
Expected<std::string> charsMapOf(const Gguf &file) {
  constexpr const char *key = "tokenizer.ggml.precompiled_charsmap";
  const GgufValue *value = file.find(key);
  if (!value)
    return std::string();
  if (value->type != GgufType::List ||
      (value->elements != GgufType::U8 && value->elements != GgufType::I8))
    return file.mistaken(key, "a list of bytes");
  return std::string(value->bytes);
}

/// A key that every file of the kind has.
Expected<bool> flagOf(const Gguf &file, const char *key) {
  return file.find(key) ? file.flag(key, false) : file.mistaken(key, "true or false");
}

Expected<Json> unigramJson(const Gguf &file, GgufVocabulary vocabulary) {
  HEDDLE_TRY(readScores(file, vocabulary));
  PieceModel model;
  model.charsMap = HEDDLE_TRY(charsMapOf(file));
  model.prefixes = HEDDLE_TRY(flagOf(file, "tokenizer.ggml.add_space_prefix"));
  model.removesBlanks = HEDDLE_TRY(flagOf(file, "tokenizer.ggml.remove_extra_whitespaces"));
  const Json added = addedJson(vocabulary);
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    ScoredPiece &piece = vocabulary.pieces[id];
    if (vocabulary.unknown == static_cast<int64_t>(id))
      piece.kind = PieceKind::Unknown;
    else if (piece.kind == PieceKind::Unknown)
      piece.kind = PieceKind::Control;
    if (piece.kind == PieceKind::Unused)
      piece.text.clear(); // no text has it
    // The price of an unknown character follows from the lowest score of a piece, and converters write
    // -1000 and less for what is none.
    if (piece.kind != PieceKind::Normal)
      piece.score = 0;
  }
  Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, /*separates=*/true));
  around.secondType = 0; // neither T5 nor XLM-R has types
  model.pieces = vocabulary.pieces;
  Json json = HEDDLE_TRY(pieceModelJson(model, file.name()));
  if (model.prefixes && model.removesBlanks) {
    // tokenizer.json of T5 and XLM-R, which has the table's own way to be asked, and every blank.
    Json table = model.charsMap.empty() ? Json() : json["normalizer"]["normalizers"][0];
    if (table.is_object())
      table.erase("longest_match");
    json["normalizer"] = std::move(table);
    json["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, json["pre_tokenizer"]})}};
  }
  json["added_tokens"] = added;
  json["post_processor"] = templateJson(vocabulary, around);
  return json;
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
              {"post_processor", templateJson(vocabulary, {.start = start, .end = end})},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
              {"model",
               {{"type", "WordPiece"},
                {"unk_token", vocabulary.pieces[static_cast<size_t>(unknown)].text},
                {"vocab", std::move(vocab)}}}};
}

} // namespace

Expected<std::optional<int64_t>> ggufTokenId(const Gguf &file, const char *word, size_t tokens) {
  const std::string key = "tokenizer.ggml." + std::string(word) + "_token_id";
  const std::optional<int64_t> id = HEDDLE_TRY(file.integer(key));
  const bool isNone = id && (*id == -1 || *id == int64_t(UINT32_MAX));
  if (id && !isNone && (*id < 0 || *id >= static_cast<int64_t>(tokens)))
    return file.mistaken(key, "an id below " + std::to_string(tokens));
  return isNone ? std::optional<int64_t>() : id;
}

Expected<Json> ggufTokenizerJson(const Gguf &file) {
  constexpr const char *key = "tokenizer.ggml.model";
  const std::string_view model = HEDDLE_TRY(file.text(key));
  if (model != "gpt2" && model != "llama" && model != "t5" && model != "bert")
    return file.mistaken(key, "gpt2, llama, t5 or bert");
  GgufVocabulary vocabulary = HEDDLE_TRY(readVocabulary(file));
  if (model == "gpt2")
    return byteLevelJson(file, vocabulary);
  if (model == "t5")
    return unigramJson(file, std::move(vocabulary));
  return model == "llama" ? pieceJson(file, std::move(vocabulary))
                          : wordPieceJson(file, std::move(vocabulary));
}

} // namespace heddle::tokenizers
