//===- GgufTokenizer.cpp - Tokenizers in GGUF files -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates the metadata of a GGUF file to a tokenizer.json. The metadata
// lists tokens, and scores or merges. It names the kind of model and the
// pre-tokenizer (GgufCuts.h).
#include "GgufTokenizer.h"

#include "GgufCuts.h"
#include "GgufKeys.h"
#include "SentencePiece.h"
#include "TokenizerJson.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/GgufVocabulary.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>

namespace heddle::tokenizers {

namespace {

constexpr const char *tokensKey = "tokenizer.ggml.tokens";

/// The tokens as pieces, and which of them are special.
struct PieceVocabulary : GgufVocabulary {
  std::vector<ScoredPiece> pieces;
  std::vector<bool> isSpecial;
};

Expected<PieceVocabulary> readVocabulary(const Gguf &file) {
  if (!file.find(tokensKey))
    return file.mistaken(tokensKey, "a list of texts");
  PieceVocabulary vocabulary{HEDDLE_TRY(GgufVocabulary::read(file)), {}, {}};
  vocabulary.isSpecial.resize(vocabulary.texts.size());
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string_view text = vocabulary.texts[id];
    HEDDLE_TRY(checkUtf8(text, file.name() + ": " + tokensKey));
    const auto kind = static_cast<PieceKind>(vocabulary.kinds[id]); // the numbers are the same
    vocabulary.pieces.push_back(
        {.text = std::string(text), .kind = text.empty() ? PieceKind::Unused : kind});
    vocabulary.isSpecial[id] = kind == PieceKind::Control || kind == PieceKind::Unknown;
  }
  for (std::optional<int64_t> id :
       {vocabulary.start, vocabulary.end, vocabulary.unknown, vocabulary.separator,
        vocabulary.classes, vocabulary.padding, vocabulary.mask})
    if (id)
      vocabulary.isSpecial[static_cast<size_t>(*id)] = true;
  return vocabulary;
}

/// The `vocab` object, without the unused entries of the table. A token that is there twice is an
/// error.
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

/// Tells which tokens strip the blanks next to them. No key says so: llama.cpp decides by the names
/// of the model and of the tokenizer, and RoBERTa's tokenizer.json strips blanks before its mask.
struct TokenBlanks {
  explicit TokenBlanks(const Gguf &file) {
    auto textOf = [&](const char *key) {
      const GgufValue *value = file.find(key);
      return std::string(value ? value->text().value_or("") : "");
    };
    std::string name = textOf("general.name");
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    auto has = [&](const char *word) { return name.find(word) != std::string::npos; };
    isPhi3 = has("phi-3") || has("phi3");
    isModernBert = !isPhi3 && (has("modern-bert") || textOf("tokenizer.ggml.pre") == "modern-bert");
  }
  bool before(std::string_view text) const {
    return text == "<mask>" || (isModernBert && text == "[MASK]");
  }
  bool after(std::string_view text) const {
    return isPhi3 && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
  }

  bool isPhi3, isModernBert;
};

Json addedJson(const Gguf &file, const PieceVocabulary &vocabulary) {
  const TokenBlanks blanks(file);
  Json added = Json::array();
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    const ScoredPiece &piece = vocabulary.pieces[id];
    const bool special = vocabulary.isSpecial[id];
    if (piece.kind == PieceKind::Unused || (!special && piece.kind != PieceKind::UserDefined))
      continue;
    added.push_back({{"id", id},
                     {"content", piece.text},
                     {"special", special},
                     {"normalized", false},
                     {"lstrip", blanks.before(piece.text)},
                     {"rstrip", blanks.after(piece.text)}});
  }
  return added;
}

/// Special tokens around one text, and around each of two.
struct Surroundings {
  std::optional<int64_t> start, end;
  std::optional<int64_t> second; ///< before the second of two texts
  int secondType = 1;
};

/// The template that adds these tokens; null without any.
Json templateJson(const PieceVocabulary &vocabulary, const Surroundings &around) {
  if (!around.start && !around.end)
    return nullptr;
  TemplateBuilder built;
  Json single = Json::array(), pair = Json::array();
  auto append = [&](Json &list, std::optional<int64_t> id, int type) {
    if (id)
      built.addToken(list, vocabulary.pieces[static_cast<size_t>(*id)].text, *id, type);
  };
  for (Json *list : {&single, &pair}) {
    append(*list, around.start, 0);
    TemplateBuilder::addText(*list, "A", 0);
    append(*list, around.end, 0);
  }
  append(pair, around.second, around.secondType);
  TemplateBuilder::addText(pair, "B", around.secondType);
  append(pair, around.end, around.secondType);
  return built.take(std::move(single), std::move(pair));
}

/// The token that a key such as add_bos_token asks for. `otherwise` is the default of the key.
Expected<std::optional<int64_t>> addedToken(const Gguf &file, const char *key, const char *idKey,
                                            std::optional<int64_t> id, bool otherwise) {
  const bool adds = HEDDLE_TRY(file.flag(key, otherwise));
  if (adds && !id && file.find(key))
    return inputError(file.name() + ": " + key + ": expected the id of that token, found none");
  if (adds && !id && !file.find(idKey)) // an id of -1 means none
    return file.mistaken(idKey, "the id of the token that such a tokenizer adds");
  return adds ? id : std::optional<int64_t>();
}

/// The defaults of the keys that add tokens around a text.
struct UsualSurroundings {
  bool start = false, end = false;
  bool separates = false;    ///< a separator precedes the second text, as in RoBERTa
  bool endSeparates = false; ///< the end of the first text separates it, as in ModernBERT
};

/// The tokens that the keys add. After a separator, the second text has no start token.
Expected<Surroundings> surroundingsOf(const Gguf &file, const PieceVocabulary &vocabulary,
                                      const UsualSurroundings &usual) {
  constexpr const char *startKey = "tokenizer.ggml.bos_token_id",
                       *endKey = "tokenizer.ggml.eos_token_id";
  Surroundings around;
  around.start = HEDDLE_TRY(
      addedToken(file, "tokenizer.ggml.add_bos_token", startKey, vocabulary.start, usual.start));
  around.end = HEDDLE_TRY(
      addedToken(file, "tokenizer.ggml.add_eos_token", endKey, vocabulary.end, usual.end));
  const auto separator = vocabulary.separator ? vocabulary.separator : vocabulary.end;
  around.second = HEDDLE_TRY(addedToken(file, "tokenizer.ggml.add_sep_token", endKey, separator,
                                        usual.separates && around.start && around.end));
  if (around.second || (usual.endSeparates && around.end))
    around.secondType = 0;
  else
    around.second = around.start;
  return around;
}

//===- gpt2: byte-level BPE ------------------------------------------------===//

Expected<Json> byteLevelTokenizer(const Gguf &file, const PieceVocabulary &vocabulary,
                                  std::vector<std::string> &warnings) {
  const GgufCut cut = HEDDLE_TRY(ggufCut(file, warnings));
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", false));
  const auto lines = HEDDLE_TRY(file.texts("tokenizer.ggml.merges"));
  Json merges = Json::array();
  for (std::string_view line : lines) {
    HEDDLE_TRY(checkUtf8(line, file.name() + ": tokenizer.ggml.merges"));
    merges.push_back(std::string(line));
  }
  const UsualSurroundings usual{
      .start = cut.has(starts), .separates = cut.has(separates), .endSeparates = true};
  const Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, usual));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(file, vocabulary)},
              {"normalizer", cut.has(composes) ? Json{{"type", "NFC"}} : Json()},
              {"pre_tokenizer", cutJson(cut, prefix)},
              {"post_processor", templateJson(vocabulary, around)},
              {"decoder", {{"type", "ByteLevel"}}},
              {"model",
               {{"type", "BPE"},
                {"ignore_merges", cut.has(wholeWords)},
                {"vocab", std::move(vocab)},
                {"merges", std::move(merges)}}}};
}

//===- llama: SentencePiece's BPE ------------------------------------------===//

/// Reads the scores of the pieces. The unknown token is the piece of kind Unknown, or else the
/// key's.
Status readScores(const Gguf &file, PieceVocabulary &vocabulary) {
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

Expected<Json> pieceJson(const Gguf &file, PieceVocabulary vocabulary) {
  HEDDLE_TRY(readScores(file, vocabulary));
  Json unknown;
  if (vocabulary.unknown)
    unknown = vocabulary.pieces[static_cast<size_t>(*vocabulary.unknown)].text;
  const bool hasBytes = std::ranges::find(vocabulary.pieces, PieceKind::Byte, &ScoredPiece::kind) !=
                        vocabulary.pieces.end();
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", true));
  Json normalizers = Json::array(), decoders = Json::array();
  if (prefix)
    normalizers.push_back({{"type", "Prepend"}, {"prepend", blankMark}});
  normalizers.push_back(replaceJson("String", " ", blankMark));
  decoders.push_back(replaceJson("String", blankMark, " "));
  if (hasBytes)
    decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (prefix)
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, {.start = true}));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(file, vocabulary)},
              {"normalizer", sequenceJson("normalizers", normalizers)},
              {"pre_tokenizer", nullptr},
              {"post_processor", templateJson(vocabulary, around)},
              {"decoder", sequenceJson("decoders", decoders)},
              {"model",
               {{"type", "BPE"},
                {"unk_token", unknown},
                {"fuse_unk", true},
                {"byte_fallback", hasBytes},
                {"vocab", std::move(vocab)},
                {"merges", mergesOf(vocabulary.pieces)}}}};
}

//===- t5: SentencePiece's unigram -----------------------------------------===//

/// Bytes of the character map; empty if the file lacks it.
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

/// Reads a key that every file of this kind has.
Expected<bool> flagOf(const Gguf &file, const char *key) {
  return file.find(key) ? file.flag(key, false) : file.mistaken(key, "true or false");
}

Expected<Json> unigramJson(const Gguf &file, PieceVocabulary vocabulary) {
  HEDDLE_TRY(readScores(file, vocabulary));
  PieceModel model;
  model.charsMap = HEDDLE_TRY(charsMapOf(file));
  model.prefixes = HEDDLE_TRY(flagOf(file, "tokenizer.ggml.add_space_prefix"));
  model.removesBlanks = HEDDLE_TRY(flagOf(file, "tokenizer.ggml.remove_extra_whitespaces"));
  const Json added = addedJson(file, vocabulary);
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    ScoredPiece &piece = vocabulary.pieces[id];
    if (vocabulary.unknown == static_cast<int64_t>(id))
      piece.kind = PieceKind::Unknown;
    else if (piece.kind == PieceKind::Unknown)
      piece.kind = PieceKind::Control;
    if (piece.kind == PieceKind::Unused)
      piece.text.clear(); // matches no text
    // The score of unknown characters follows from the lowest score of a piece, and converters give
    // -1000 and less to entries that are not pieces.
    if (piece.kind != PieceKind::Normal)
      piece.score = 0;
  }
  Surroundings around =
      HEDDLE_TRY(surroundingsOf(file, vocabulary, {.end = true, .separates = true}));
  around.secondType = 0; // neither T5 nor XLM-R has token types
  model.pieces = vocabulary.pieces;
  Json json = HEDDLE_TRY(pieceModelJson(model, file.name()));
  if (model.prefixes && model.removesBlanks) {
    // T5's and XLM-R's tokenizer.json look the map up by graphemes and split at all white space.
    Json table = model.charsMap.empty() ? Json() : json["normalizer"]["normalizers"][0];
    if (table.is_object())
      table.erase("longest_match");
    json["normalizer"] = std::move(table);
    json["pre_tokenizer"] = sequenceJson(
        "pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, json["pre_tokenizer"]}));
  }
  json["added_tokens"] = added;
  json["post_processor"] = templateJson(vocabulary, around);
  return json;
}

//===- bert: WordPiece -----------------------------------------------------===//

/// Translates the marks of words. Pieces have ▁ at the start of a word and no mark within it;
/// BERT's vocabulary has ## within a word. Tokens in brackets, such as [CLS], stay as they are.
std::string wordPiece(const std::string &text) {
  constexpr std::string_view mark = "▁";
  if (text.starts_with('[') && text.ends_with(']'))
    return text;
  return text.starts_with(mark) && text.size() > mark.size() ? text.substr(mark.size())
                                                             : "##" + text;
}

Expected<int64_t> idOf(const Gguf &file, const PieceVocabulary &vocabulary,
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

Expected<Json> wordPieceJson(const Gguf &file, PieceVocabulary vocabulary) {
  bool isCased = false; // upper-case pieces are unreachable after lower-casing
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
  const bool lower = HEDDLE_TRY(file.flag("tokenizer.ggml.normalizer.lowercase", !isCased));
  const bool accents = HEDDLE_TRY(file.flag("tokenizer.ggml.normalizer.strip_accents", lower));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(file, vocabulary)},
              {"normalizer",
               {{"type", "BertNormalizer"},
                {"clean_text", true},
                {"handle_chinese_chars", true},
                {"strip_accents", accents},
                {"lowercase", lower}}},
              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
              {"post_processor", templateJson(vocabulary, {.start = start, .end = end})},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
              {"model",
               {{"type", "WordPiece"},
                {"unk_token", vocabulary.pieces[static_cast<size_t>(unknown)].text},
                {"vocab", std::move(vocab)}}}};
}

} // namespace

Expected<Json> ggufTokenizerJson(const Gguf &file, std::vector<std::string> *warnings) {
  constexpr const char *key = "tokenizer.ggml.model";
  const std::string_view model = HEDDLE_TRY(file.text(key));
  if (model != "gpt2" && model != "llama" && model != "t5" && model != "bert")
    return file.mistaken(key, "gpt2, llama, t5 or bert");
  PieceVocabulary vocabulary = HEDDLE_TRY(readVocabulary(file));
  std::vector<std::string> unread = unreadTokenizerKeys(file, model);
  std::vector<std::string> &notes = warnings ? *warnings : unread;
  if (warnings)
    warnings->insert(warnings->end(), unread.begin(), unread.end());
  if (model == "gpt2")
    return byteLevelTokenizer(file, vocabulary, notes);
  if (model == "t5")
    return unigramJson(file, std::move(vocabulary));
  return model == "llama" ? pieceJson(file, std::move(vocabulary))
                          : wordPieceJson(file, std::move(vocabulary));
}

} // namespace heddle::tokenizers
