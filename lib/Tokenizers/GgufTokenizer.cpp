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
#include <span>

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

// Of DeepSeek: one expression behind the other.
constexpr const char *deepseekLetters = // those with case
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr const char *deepseekMarks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char *deepseekHan = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char *deepseekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class CutKind : uint8_t { Split, EachDigit, Digits, Punctuation, Bytes, WordsAndBytes };
struct CutStep {
  CutKind kind;
  const char *regex = nullptr; ///< of a split, whose matches and gaps are pieces
};
constexpr CutStep gpt2Steps[] = {{CutKind::WordsAndBytes}};
constexpr CutStep digitSteps[] = {{CutKind::EachDigit}, {CutKind::WordsAndBytes}};
constexpr CutStep qwenSteps[] = {{CutKind::Split, qwenWords}, {CutKind::Bytes}};
constexpr CutStep llama3Steps[] = {{CutKind::Split, llama3Words}, {CutKind::Bytes}};
constexpr CutStep o200kSteps[] = {{CutKind::Split, o200kWords}, {CutKind::Bytes}};
constexpr CutStep tekkenSteps[] = {{CutKind::Split, tekkenWords}, {CutKind::Bytes}};
constexpr CutStep bloomSteps[] = {
    {CutKind::Split, R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"},
    {CutKind::Bytes}};
constexpr CutStep falconSteps[] = {{CutKind::Punctuation},
                                   {CutKind::WordsAndBytes},
                                   {CutKind::Digits},
                                   {CutKind::Split, "[0-9][0-9][0-9]"}};
constexpr CutStep deepseekLlmSteps[] = {{CutKind::Split, R"([\r\n])"},
                                        {CutKind::Split, deepseekLetters},
                                        {CutKind::Split, deepseekMarks},
                                        {CutKind::Split, R"(\s+$)"},
                                        {CutKind::Split, deepseekHan},
                                        {CutKind::EachDigit},
                                        {CutKind::Bytes}};
constexpr CutStep deepseekCoderSteps[] = {{CutKind::Split, R"([\r\n])"},
                                          {CutKind::Split, R"(\s?\p{L}+)"},
                                          {CutKind::Split, R"(\s?\p{P}+)"},
                                          {CutKind::Split, deepseekHan},
                                          {CutKind::EachDigit},
                                          {CutKind::Bytes}};
constexpr CutStep deepseek3Steps[] = {
    {CutKind::Split, R"(\p{N}{1,3})"},
    {CutKind::Split, R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {CutKind::Split, deepseekWords},
    {CutKind::Bytes}};

/// How a text is cut before the merges, as tokenizer.json of the models says that have the name.
struct Cut {
  std::string_view name;
  std::span<const CutStep> steps;
  bool composes = false;   ///< the text is brought to NFC first
  bool wholeWords = false; ///< a word that is a token takes no merges
  bool separates = false;  ///< two texts as RoBERTa has them
};
constexpr Cut cuts[] = {{"gpt-2", gpt2Steps},
                        {"gpt2", gpt2Steps},
                        {"phi-2", gpt2Steps},
                        {"roberta-bpe", gpt2Steps, false, false, true},
                        {"mpt", gpt2Steps, true},
                        {"olmo", gpt2Steps, true},
                        {"smollm", digitSteps},
                        {"starcoder", digitSteps},
                        {"refact", digitSteps},
                        {"command-r", digitSteps, true},
                        {"qwen2", qwenSteps, true},
                        {"llama-bpe", llama3Steps, false, true},
                        {"llama-v3", llama3Steps, false, true},
                        {"llama3", llama3Steps, false, true},
                        {"smaug-bpe", llama3Steps},
                        {"dbrx", llama3Steps},
                        {"gpt-4o", o200kSteps},
                        {"llama4", o200kSteps},
                        {"tekken", tekkenSteps, false, true},
                        {"bloom", bloomSteps},
                        {"falcon", falconSteps},
                        {"deepseek-llm", deepseekLlmSteps},
                        {"deepseek-coder", deepseekCoderSteps},
                        {"deepseek-v3", deepseek3Steps}};

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

Json stepJson(const CutStep &step, bool prefix) {
  switch (step.kind) {
  case CutKind::Split:
    return {{"type", "Split"},
            {"pattern", {{"Regex", step.regex}}},
            {"behavior", "Isolated"},
            {"invert", false}};
  case CutKind::EachDigit:
  case CutKind::Digits:
    return {{"type", "Digits"}, {"individual_digits", step.kind == CutKind::EachDigit}};
  case CutKind::Punctuation:
    return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
  case CutKind::Bytes:
  case CutKind::WordsAndBytes:
    break;
  }
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix},
          {"trim_offsets", true},
          {"use_regex", step.kind == CutKind::WordsAndBytes}};
}

Expected<Json> byteLevelJson(const Gguf &file, const GgufVocabulary &vocabulary) {
  const Cut cut = HEDDLE_TRY(cutOf(file));
  const bool prefix = HEDDLE_TRY(file.flag("tokenizer.ggml.add_space_prefix", false));
  const auto lines = HEDDLE_TRY(file.texts("tokenizer.ggml.merges"));
  Json merges = Json::array(), steps = Json::array();
  for (std::string_view line : lines) {
    HEDDLE_TRY(checkUtf8(line, file.name() + ": tokenizer.ggml.merges"));
    merges.push_back(std::string(line));
  }
  for (const CutStep &step : cut.steps)
    steps.push_back(stepJson(step, prefix));
  const Surroundings around = HEDDLE_TRY(surroundingsOf(file, vocabulary, cut.separates));
  Json vocab = HEDDLE_TRY(vocabJson(file, vocabulary.pieces));
  return Json{{"added_tokens", addedJson(vocabulary)},
              {"normalizer", cut.composes ? Json{{"type", "NFC"}} : Json()},
              {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
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
