//===- PieceFolders.cpp - Folders of SentencePiece models -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   spiece.model, vocab.json, …  ->  pieces with their numbers, added tokens, a template
//
// The rules are those that Transformers' classes of these names apply to
// folders without tokenizer.json.
#include "PieceFolders.h"

#include "LanguageCodes.h"
#include "PieceFolderBuilder.h"
#include "TokenizerClasses.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>

namespace heddle::tokenizers {

namespace fs = std::filesystem;

struct PieceFamily {
  const char *className; ///< class of Transformers, without the suffix Tokenizer
  std::vector<const char *> modelTypes;
  std::vector<const char *> files; ///< all are needed; the first splits input texts
  /// Numbers the pieces, adds tokens and sets the template.
  Status (*build)(PieceFolderBuilder &builder);
  const char *cutsWritten = nullptr; ///< splits output texts, if it is another file
  /// The class makes the components around the model, as for a tokenizer.json. Other classes
  /// split with SentencePiece itself and leave special tokens without ids as text.
  bool makesComponents = false;
};

namespace {

//===- Families ------------------------------------------------------------===//

/// T5: the pieces, then the sentinel tokens in descending order.
Status buildT5(PieceFolderBuilder &builder) {
  const JsonField settings = builder.settings();
  if (!HEDDLE_TRY(settings.flagAt("legacy", true)))
    return settings.find("legacy")->expected(
        "true, or tokenizer.json with spiece.model, which says where blanks are put");
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
void numberAsFairseq(PieceFolderBuilder &builder, std::span<const char *const> languages,
                     bool masks) {
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

Status buildXlmRoberta(PieceFolderBuilder &builder) {
  numberAsFairseq(builder, {}, true);
  builder.surround("<s> $A </s>", "<s> $A </s> </s> $B </s>");
  return {};
}

/// The pieces keep the numbers of the file, and the mask has the next one.
Status buildDebertaV2(PieceFolderBuilder &builder) {
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

Status buildAlbert(PieceFolderBuilder &builder) {
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
Status buildCamembert(PieceFolderBuilder &builder) {
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

void surroundBehind(PieceFolderBuilder &builder, const std::string &language) {
  builder.surround("$A </s> " + language, "$A $B </s> " + language);
}
void surroundInFront(PieceFolderBuilder &builder, const std::string &language) {
  builder.surround(language + " $A </s>", language + " $A $B </s>");
}

Status buildMbart(PieceFolderBuilder &builder) {
  numberAsFairseq(builder, std::span(mbartLanguages).first(mbartLanguagesAtFirst), true);
  surroundBehind(builder, HEDDLE_TRY(builder.sourceLanguage("en_XX")));
  return {};
}
Status buildMbart50(PieceFolderBuilder &builder) {
  numberAsFairseq(builder, mbartLanguages, true);
  surroundInFront(builder, HEDDLE_TRY(builder.sourceLanguage("en_XX")));
  return {};
}

/// The folder itself numbers the languages and the mask.
Status buildNllb(PieceFolderBuilder &builder) {
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
Status buildPegasus(PieceFolderBuilder &builder) {
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

void cutOutKnown(PieceFolderBuilder &builder, std::initializer_list<const char *> tokens) {
  for (const char *token : tokens)
    if (builder.find(token))
      builder.cutOut(token);
}

/// vocab.json numbers the pieces, and the languages follow them. A language token is text unless the
/// folder names it as a special one.
Status buildM2m100(PieceFolderBuilder &builder) {
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
    if (builder.isSpecial(token))
      builder.cutOut(token);
  }
  cutOutKnown(builder, {"<s>", "<pad>", "</s>", "<unk>"});
  surroundInFront(builder, HEDDLE_TRY(builder.sourceLanguage("en", "__", "__")));
  return {};
}

/// Marian has one SentencePiece model per side. One vocab.json numbers the pieces of both sides, or
/// each side has its own file. The target language precedes an input text: >>deu<<.
Status buildMarian(PieceFolderBuilder &builder) {
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
    {"T5", {"t5", "mt5", "umt5", "longt5"}, {"spiece.model"}, buildT5, nullptr, true},
    {"MT5", {}, {"spiece.model"}, buildT5, nullptr, true},
    {"XLMRoberta",
     {"xlm-roberta", "xlm-roberta-xl"},
     {"sentencepiece.bpe.model"},
     buildXlmRoberta,
     nullptr,
     true},
    {"DebertaV2", {"deberta-v2"}, {"spm.model"}, buildDebertaV2, nullptr, true},
    {"Albert", {"albert"}, {"spiece.model"}, buildAlbert, nullptr, true},
    {"Camembert", {"camembert"}, {"sentencepiece.bpe.model"}, buildCamembert, nullptr, true},
    {"MBart", {"mbart"}, {"sentencepiece.bpe.model"}, buildMbart},
    {"MBart50", {}, {"sentencepiece.bpe.model"}, buildMbart50, nullptr, true},
    {"Nllb", {"nllb-moe"}, {"sentencepiece.bpe.model"}, buildNllb, nullptr, true},
    {"Pegasus", {"pegasus"}, {"spiece.model"}, buildPegasus, nullptr, true},
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
  PieceFolderBuilder builder(settings, written);
  for (const char *file : family.files)
    if (!isThere(builder.path(file)))
      return inputError(builder.path(file) + ": expected a file of a folder of " +
                        family.className + "Tokenizer, found none");
  HEDDLE_TRY(builder.open(written && family.cutsWritten ? family.cutsWritten : family.files[0]));
  HEDDLE_TRY(family.build(builder));
  builder.addOwnTokens();
  if (family.makesComponents)
    builder.addNamedTokens();
  std::vector<std::string> warnings = builder.warnings();
  Json json = HEDDLE_TRY(builder.take(family.makesComponents ? family.className : ""));
  HEDDLE_TRY(applyOwnKeys(settings, json));
  return TokenizerFile{
      .json = json.dump(), .name = builder.file(), .warnings = std::move(warnings)};
}

bool writesAsItReads(const PieceFamily &family) { return !family.cutsWritten; }

} // namespace heddle::tokenizers
