//===- PieceFolders.cpp - Folders of SentencePiece models -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   spiece.model, vocab.json, …  ->  pieces with their numbers, added tokens, a template
//
// The rules are those that Transformers' classes of these names apply to
// folders without tokenizer.json. Both split texts with SentencePiece itself.
#include "PieceFolders.h"

#include "FolderFiles.h"
#include "LanguageCodes.h"
#include "SentencePiece.h"
#include "TokenizerClasses.h"
#include "Vocabulary.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace heddle::tokenizers {

namespace fs = std::filesystem;

namespace {

class FolderBuilder;

} // namespace

struct PieceFamily {
  const char *className; ///< class of Transformers, without the suffix Tokenizer
  std::vector<const char *> modelTypes;
  std::vector<const char *> files; ///< all are needed; the first splits input texts
  /// Numbers the pieces, adds tokens and sets the template.
  Status (*build)(FolderBuilder &builder);
  const char *cutsWritten = nullptr; ///< splits output texts, if it is another file
};

namespace {

/// Collects the parts of a folder's tokenizer.
class FolderBuilder {
public:
  FolderBuilder(const TokenizerSettings &facts, bool written) : written(written), facts(facts) {}

  Status open(const PieceFamily &family) {
    for (const char *file : family.files)
      if (!isThere(path(file)))
        return inputError(path(file) + ": expected a file of a folder of " + family.className +
                          "Tokenizer, found none");
    name = path(written && family.cutsWritten ? family.cutsWritten : family.files[0]);
    model = HEDDLE_TRY(readPieceModel(HEDDLE_TRY(readText(name)), name));
    return {};
  }

  std::string path(const char *file) const { return (facts.folder() / file).string(); }
  JsonField settings() const { return facts.field(); }
  int64_t size() const { return static_cast<int64_t>(model.pieces.size()); }
  /// True if the settings give null, which differs from a missing key.
  bool isNull(const char *key) const { return facts.isNull(key); }
  /// The text of a special token by its key, or `otherwise`.
  std::string special(const char *key, const char *otherwise) const {
    return facts.specialText(key, otherwise);
  }

  /// Numbers a token. The first number of a token counts.
  void number(const std::string &token, int64_t id) {
    if (known.emplace(token, id).second)
      vocab.get_ref<Json::object_t &>().push_back({token, id});
  }
  /// Numbers the pieces from `first` on by their index plus `offset`.
  void numberPieces(int64_t first, int64_t offset) {
    for (int64_t i = first; i < size(); ++i)
      number(model.pieces[static_cast<size_t>(i)].text, i + offset);
  }
  /// Numbers tokens as a JSON file does.
  Status numberAs(const char *file) {
    const std::string place = path(file);
    const Json json = HEDDLE_TRY(parseJson(HEDDLE_TRY(readText(place)), place));
    HEDDLE_TRY(JsonField(json, place).checkObject());
    for (const auto &[token, id] : json.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
        return inputError(place + ": " + token + ": expected an id from 0 to 2147483647, found " +
                          foundText(id));
      number(token, id.get<int64_t>());
    }
    return {};
  }

  int64_t count() const { return static_cast<int64_t>(known.size()); }
  const std::string &file() const { return name; }
  std::optional<int64_t> find(const std::string &token) const {
    auto at = known.find(token);
    return at == known.end() ? std::nullopt : std::optional(at->second);
  }
  /// Adds a token that is cut out of texts before normalisation; `flags` holds lstrip and the like.
  void cutOut(const std::string &token, const Json &flags = Json::object()) {
    Json entry = {{"content", token}, {"special", true}, {"normalized", false}};
    entry.update(flags);
    added[token] = std::move(entry);
  }

  /// Adds Marian's language tokens, which only match at the beginning of a text.
  void cutOutLanguages() {
    for (const auto &[token, id] : known)
      if (token.starts_with(">>") && token.ends_with("<<"))
        cutOut(token, {{"at_start", true}});
  }

  /// Sets the templates of one text and of two: tokens, "$A" and "$B", separated by blanks. The
  /// second text and the tokens after it have the type `second`.
  void surround(const std::string &one, const std::string &two, int second = 0) {
    single = one;
    pair = two;
    secondType = second;
  }
  /// Sets steps that run before SentencePiece's own normalizer.
  void normalizeFirst(Json steps) { early = std::move(steps); }

  /// The token of the input's language: `src_lang`, or `otherwise` without that key.
  Expected<std::string> sourceLanguage(const std::string &otherwise, const std::string &before = "",
                                       const std::string &behind = "") const {
    std::string language = otherwise;
    if (auto chosen = settings().find("src_lang"))
      language = HEDDLE_TRY(chosen->text());
    const std::string token = before + language + behind;
    if (!known.contains(token))
      return inputError(facts.path() + ": src_lang: expected a language of the tokenizer, found " +
                        quotedText(language));
    return token;
  }

  /// Adds the tokens that the folder itself numbers. Its numbers override the class's. A token of
  /// added_tokens.json is special only if the folder or the class says so; other tokens remain in
  /// text that is decoded without special tokens.
  void addOwnTokens() {
    for (const FolderToken &token : facts.addedTokens()) {
      number(token.content, *token.id);
      if (int64_t &numbered = known[token.content]; numbered != *token.id)
        vocab[token.content] = numbered = *token.id;
      Json own = token.toJson();
      own["special"] = token.isSpecial || (isListed() && added.contains(token.content));
      own["normalized"] = false;
      cutOut(token.content, own);
    }
  }

  Expected<Json> take() {
    Json json = HEDDLE_TRY(sentencePieceJson(model, name));
    if (!early.empty()) {
      early.push_back(std::move(json["normalizer"]));
      json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(early)}};
    }
    const std::string unknown = special("unk_token", "<unk>");
    if (!known.contains(unknown))
      return inputError(name + ": expected a vocabulary with the token " + quotedText(unknown) +
                        ", found none");
    json["post_processor"] = HEDDLE_TRY(postProcessor());
    json["model"] = {{"type", "Numbered"},
                     {"unk_token", unknown},
                     {"vocab", std::move(vocab)},
                     {"model", std::move(json["model"])}};
    json["added_tokens"] = Json::array();
    for (auto &[token, entry] : added)
      json["added_tokens"].push_back(std::move(entry));
    json["decoder"] = decoder();
    return json;
  }

  /// Warnings about special tokens of the folder that have no number.
  std::vector<std::string> warnings() const {
    std::vector<std::string> lines;
    for (const auto &[token, file] : facts.tokenFiles())
      if (!known.contains(token))
        lines.push_back(file + ": expected special tokens with numbers, found " +
                        quotedText(token) + " without one, which stays text");
    return lines;
  }

  const bool written;

private:
  /// True if added_tokens.json, which has no flags, lists the folder's own tokens.
  bool isListed() const { return !facts.field().find("added_tokens_decoder"); }

  /// Converts tokens to text: marks become blanks, and blanks at both ends are removed.
  Json decoder() const {
    Json steps = Json::array();
    if (std::ranges::any_of(model.pieces,
                            [](const ScoredPiece &p) { return p.kind == PieceKind::Byte; }))
      steps.push_back({{"type", "ByteFallback"}});
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}});
    steps.push_back({{"type", "Fuse"}});
    steps.push_back({{"type", "StripBlanks"}});
    return {{"type", "Sequence"}, {"decoders", steps}};
  }

  Expected<Json> postProcessor() const {
    Json specials = Json::object();
    auto pieces = [&](const std::string &text) -> Expected<Json> {
      Json list = Json::array();
      int type = 0;
      for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        const std::string token = text.substr(at, end - at);
        at = end + 1;
        const bool isText = token == "$A" || token == "$B";
        if (token == "$B")
          type = secondType;
        list.push_back({{isText ? "Sequence" : "SpecialToken",
                         {{"id", isText ? token.substr(1) : token}, {"type_id", type}}}});
        if (isText)
          continue;
        const auto id = find(token);
        if (!id)
          return inputError(name + ": expected the token " + quotedText(token) +
                            " of what stands around a text, found none");
        specials[token] = {
            {"id", token}, {"ids", Json::array({*id})}, {"tokens", Json::array({token})}};
      }
      return list;
    };
    Json result = {{"type", "TemplateProcessing"}};
    result["single"] = HEDDLE_TRY(pieces(single));
    result["pair"] = HEDDLE_TRY(pieces(pair));
    result["special_tokens"] = std::move(specials);
    return result;
  }

  const TokenizerSettings &facts;
  std::string name;
  PieceModel model;
  Json vocab = Json::object();
  TextMap<int64_t> known;
  std::map<std::string, Json> added; ///< sorted, so the order does not depend on the folder's
  std::string single, pair;
  int secondType = 0;
  Json early = Json::array();
};

//===- Families ------------------------------------------------------------===//

/// T5: the pieces, then the sentinel tokens in descending order.
Status buildT5(FolderBuilder &builder) {
  const JsonField settings = builder.settings();
  if (!HEDDLE_TRY(settings.flagAt("legacy", true)))
    return settings.find("legacy")->expected(
        "true, or tokenizer.json beside spiece.model, which says where blanks are put");
  builder.numberPieces(0, 0);
  int64_t count = 100;
  if (auto extra = settings.find("extra_ids"))
    count = HEDDLE_TRY(extra->number(0, 1 << 20));
  for (int64_t i = 0; i < count; ++i) {
    const std::string token = "<extra_id_" + std::to_string(i) + ">";
    builder.number(token, builder.size() + count - 1 - i);
    builder.cutOut(token, {{"lstrip", true}, {"rstrip", true}});
  }
  const std::string end = builder.special("eos_token", "</s>");
  for (const auto &[key, usual] :
       {std::pair("pad_token", "<pad>"), {"unk_token", "<unk>"}, {"eos_token", "</s>"}})
    builder.cutOut(builder.special(key, usual));
  builder.surround("$A " + end, "$A " + end + " $B " + end);
  return {};
}

/// Numbers tokens as fairseq does. Its four tokens replace SentencePiece's three; the languages and
/// the mask follow the pieces.
void numberAsFairseq(FolderBuilder &builder, std::span<const char *const> languages, bool masks) {
  int64_t id = 0;
  for (const char *token : {"<s>", "<pad>", "</s>", "<unk>"}) {
    builder.number(token, id++);
    builder.cutOut(token);
  }
  builder.numberPieces(1, 1);
  id = builder.size() + 1;
  for (const char *language : languages) {
    builder.number(language, id++);
    builder.cutOut(language);
  }
  if (!masks)
    return;
  builder.number("<mask>", id);
  builder.cutOut("<mask>", {{"lstrip", true}});
}

Status buildXlmRoberta(FolderBuilder &builder) {
  numberAsFairseq(builder, {}, true);
  builder.surround("<s> $A </s>", "<s> $A </s> </s> $B </s>");
  return {};
}

/// The pieces keep the numbers of the file, and the mask has the next one.
Status buildDebertaV2(FolderBuilder &builder) {
  for (const char *key : {"do_lower_case", "split_by_punct"})
    if (HEDDLE_TRY(builder.settings().flagAt(key, false)))
      return builder.settings().find(key)->expected(
          "false, or tokenizer.json next to spm.model, which says how");
  builder.numberPieces(0, 0);
  const std::string start = builder.special("cls_token", "[CLS]"),
                    end = builder.special("sep_token", "[SEP]"),
                    mask = builder.special("mask_token", "[MASK]");
  builder.number(mask, builder.size());
  for (const std::string &token : {start, end, mask, builder.special("pad_token", "[PAD]"),
                                   builder.special("unk_token", "[UNK]")})
    builder.cutOut(token);
  builder.surround(start + " $A " + end, start + " $A " + end + " $B " + end, 1);
  return {};
}

/// By default, ALBERT replaces two kinds of quotation marks by one, removes accents and
/// lower-cases text.
Status buildAlbert(FolderBuilder &builder) {
  const JsonField settings = builder.settings();
  Json steps = Json::array();
  for (const char *quotes : {"``", "''"})
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", quotes}}}, {"content", "\""}});
  if (!HEDDLE_TRY(settings.flagAt("keep_accents", false))) {
    steps.push_back({{"type", "NFKD"}});
    steps.push_back({{"type", "StripAccents"}});
  }
  if (HEDDLE_TRY(settings.flagAt("do_lower_case", true)))
    steps.push_back({{"type", "Lowercase"}});
  builder.normalizeFirst(std::move(steps));
  builder.numberPieces(0, 0);
  const std::string start = builder.special("cls_token", "[CLS]"),
                    end = builder.special("sep_token", "[SEP]");
  for (const std::string &token :
       {start, end, builder.special("pad_token", "<pad>"), builder.special("unk_token", "<unk>")})
    builder.cutOut(token);
  builder.cutOut(builder.special("mask_token", "[MASK]"), {{"lstrip", true}});
  builder.surround(start + " $A " + end, start + " $A " + end + " $B " + end, 1);
  return {};
}

/// fairseq's four tokens precede all pieces of the file except the unknown one.
Status buildCamembert(FolderBuilder &builder) {
  constexpr int64_t offset = 4;
  int64_t id = 0;
  for (const char *token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"})
    builder.number(token, id++);
  builder.numberPieces(1, offset);
  builder.number("<mask>", builder.size() + offset);
  for (const char *token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<s>", "</s>"})
    builder.cutOut(token);
  builder.cutOut("<mask>", {{"lstrip", true}});
  builder.surround("<s> $A </s>", "<s> $A </s> </s> $B </s>");
  return {};
}

void surroundBehind(FolderBuilder &builder, const std::string &language) {
  builder.surround("$A </s> " + language, "$A $B </s> " + language);
}
void surroundInFront(FolderBuilder &builder, const std::string &language) {
  builder.surround(language + " $A </s>", language + " $A $B </s>");
}

Status buildMbart(FolderBuilder &builder) {
  numberAsFairseq(builder, std::span(mbartLanguages).first(mbartLanguagesAtFirst), true);
  surroundBehind(builder, HEDDLE_TRY(builder.sourceLanguage("en_XX")));
  return {};
}
Status buildMbart50(FolderBuilder &builder) {
  numberAsFairseq(builder, mbartLanguages, true);
  surroundInFront(builder, HEDDLE_TRY(builder.sourceLanguage("en_XX")));
  return {};
}

/// The folder itself numbers the languages and the mask.
Status buildNllb(FolderBuilder &builder) {
  numberAsFairseq(builder, {}, false);
  builder.addOwnTokens();
  if (!builder.find("eng_Latn"))
    return inputError(builder.path("tokenizer.json") +
                      ": expected this file, or added_tokens_decoder in tokenizer_config.json, "
                      "which number languages, found neither");
  const std::string language = HEDDLE_TRY(builder.sourceLanguage("eng_Latn"));
  const bool legacy = HEDDLE_TRY(builder.settings().flagAt("legacy_behaviour", false));
  legacy ? surroundBehind(builder, language) : surroundInFront(builder, language);
  return {};
}

/// Tokens of pretraining have the first numbers.
Status buildPegasus(FolderBuilder &builder) {
  int64_t offset = 103;
  if (auto given = builder.settings().find("offset"))
    offset = HEDDLE_TRY(given->number(0, 1 << 20));
  int64_t id = 0;
  auto add = [&](const std::string &token) {
    builder.number(token, id++);
    builder.cutOut(token);
  };
  const std::string end = builder.special("eos_token", "</s>");
  add(builder.special("pad_token", "<pad>"));
  add(end);
  auto sentence = builder.settings().find("mask_token_sent");
  if (builder.isNull("mask_token_sent")) {
    id += 2; // without masks, their numbers stay unused
  } else if (offset > 0) {
    add(sentence ? HEDDLE_TRY(sentence->text()) : "<mask_1>");
    add(builder.special("mask_token", "<mask_2>"));
  }
  for (int64_t i = 2; i < offset; ++i)
    add("<unk_" + std::to_string(i) + ">");
  builder.numberPieces(0, offset);
  builder.cutOut(builder.special("unk_token", "<unk>"));
  builder.surround("$A " + end, "$A $B " + end);
  return {};
}

void cutOutKnown(FolderBuilder &builder, std::initializer_list<const char *> tokens) {
  for (const char *token : tokens)
    if (builder.find(token))
      builder.cutOut(token);
}

/// vocab.json numbers the pieces, and the languages follow them.
Status buildM2m100(FolderBuilder &builder) {
  HEDDLE_TRY(builder.numberAs("vocab.json"));
  static constexpr std::pair<const char *, std::span<const char *const>> lists[] = {
      {"m2m100", m2mLanguages}, {"wmt21", wmt21Languages}};
  std::span<const char *const> languages = m2mLanguages;
  if (auto chosen = builder.settings().find("language_codes"))
    languages = HEDDLE_TRY(choiceOf(*chosen, lists));
  int64_t id = builder.count();
  for (const char *language : languages) {
    const std::string token = "__" + std::string(language) + "__";
    builder.number(token, id++);
    builder.cutOut(token);
  }
  cutOutKnown(builder, {"<s>", "<pad>", "</s>", "<unk>"});
  surroundInFront(builder, HEDDLE_TRY(builder.sourceLanguage("en", "__", "__")));
  return {};
}

/// Marian has one SentencePiece model per side. One vocab.json numbers the pieces of both sides, or
/// each side has its own file. The target language precedes an input text: >>deu<<.
Status buildMarian(FolderBuilder &builder) {
  const bool separate = HEDDLE_TRY(builder.settings().flagAt("separate_vocabs", false));
  HEDDLE_TRY(builder.numberAs(separate && builder.written ? "target_vocab.json" : "vocab.json"));
  const std::string end = builder.special("eos_token", "</s>");
  builder.cutOutLanguages();
  cutOutKnown(builder, {"<pad>", "<unk>"});
  builder.cutOut(end);
  builder.surround("$A " + end, "$A $B " + end);
  return {};
}

const PieceFamily families[] = {
    {"T5", {"t5", "mt5", "umt5", "longt5"}, {"spiece.model"}, buildT5},
    {"MT5", {}, {"spiece.model"}, buildT5},
    {"XLMRoberta", {"xlm-roberta", "xlm-roberta-xl"}, {"sentencepiece.bpe.model"}, buildXlmRoberta},
    {"DebertaV2", {"deberta-v2"}, {"spm.model"}, buildDebertaV2},
    {"Albert", {"albert"}, {"spiece.model"}, buildAlbert},
    {"Camembert", {"camembert"}, {"sentencepiece.bpe.model"}, buildCamembert},
    {"MBart", {"mbart"}, {"sentencepiece.bpe.model"}, buildMbart},
    {"MBart50", {}, {"sentencepiece.bpe.model"}, buildMbart50},
    {"Nllb", {"nllb-moe"}, {"sentencepiece.bpe.model"}, buildNllb},
    {"Pegasus", {"pegasus"}, {"spiece.model"}, buildPegasus},
    {"M2M100", {"m2m_100"}, {"sentencepiece.bpe.model", "vocab.json"}, buildM2m100},
    {"Marian", {"marian"}, {"source.spm", "target.spm", "vocab.json"}, buildMarian, "target.spm"},
};

} // namespace

const PieceFamily *pieceFamilyOf(const TokenizerSettings &settings) {
  const std::string &name = settings.className();
  const std::string type = name.empty() ? settings.modelType() : "";
  for (const PieceFamily &family : families)
    if (name == std::string(family.className) + "Tokenizer" ||
        std::ranges::count(family.modelTypes, type))
      return &family;
  return nullptr;
}

bool holdsFamily(const PieceFamily &family, const std::string &folder) {
  return std::ranges::any_of(family.files,
                             [&](const char *file) { return isThere(fs::path(folder) / file); });
}

Expected<TokenizerFile> readPieceFolder(const PieceFamily &family,
                                        const TokenizerSettings &settings, bool written) {
  FolderBuilder builder(settings, written);
  HEDDLE_TRY(builder.open(family));
  HEDDLE_TRY(family.build(builder));
  builder.addOwnTokens();
  std::vector<std::string> warnings = builder.warnings();
  Json json = HEDDLE_TRY(builder.take());
  HEDDLE_TRY(applyOwnKeys(settings, json));
  return TokenizerFile{
      .json = json.dump(), .name = builder.file(), .warnings = std::move(warnings)};
}

bool writesAsItReads(const PieceFamily &family) { return !family.cutsWritten; }

} // namespace heddle::tokenizers
