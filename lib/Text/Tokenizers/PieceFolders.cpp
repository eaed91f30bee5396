//===- PieceFolders.cpp - Folders of SentencePiece models -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   spiece.model, vocab.json, …  ->  pieces with their numbers, added tokens, a template
//
// The rules are those that Transformers' classes of these names apply to
// folders without tokenizer.json.
#include "PieceFolders.h"

#include "ClassComponents.h"
#include "LanguageCodes.h"
#include "PieceFolderBuilder.h"
#include "TokenizerClasses.h"
#include "TokenizerJson.h"

#include "heddle/Support/Text.h"
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
  /// A class that splits with SentencePiece leaves special tokens without ids as text.
  PieceSplitter splitter = PieceSplitter::SentencePiece;
};

namespace {

//===- Families ------------------------------------------------------------===//

/// Warns if a list of special tokens replaces the class's, which `token` is one of.
void warnOfList(PieceFolderBuilder &builder, const std::string &token) {
  if (!builder.isSpecial(token))
    builder.warn("extra_special_tokens",
                 "expected the special tokens of the class, such as " + quotedText(token) +
                     ", in a list of special tokens, found others alone; Transformers 5 reads " +
                     quotedText(token) + " as text, and so does Heddle; Transformers 4 did not");
}

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
    builder.numberPiece(token, builder.size() + count - 1 - i);
    if (!builder.listsTokens())
      builder.cutOut(token, {{"lstrip", true}, {"rstrip", true}});
    else if (i == 0)
      warnOfList(builder, token);
  }
  const std::string end = builder.special("eos_token", "</s>");
  for (const auto &[key, usual] :
       {std::pair("pad_token", "<pad>"), {"unk_token", "<unk>"}, {"eos_token", "</s>"}})
    builder.cutOut(builder.special(key, usual));
  builder.surround("$A " + end, "$A " + end + " $B " + end);
  return {};
}

/// Numbers tokens as fairseq does. Its four tokens replace SentencePiece's three; the languages and
/// the mask follow the pieces. `start` is the key of the first token.
void numberAsFairseq(PieceFolderBuilder &builder, std::span<const char *const> languages,
                     bool masks, const char *start = "bos_token") {
  int64_t id = 0;
  for (const auto &[key, usual] : {std::pair(start, "<s>"),
                                   {"pad_token", "<pad>"},
                                   {"eos_token", "</s>"},
                                   {"unk_token", "<unk>"}}) {
    const std::string token = builder.special(key, usual);
    builder.numberPiece(token, id++);
    builder.cutOut(token);
  }
  builder.numberPieces(3, 1);
  id = builder.size() + 1;
  for (const char *language : languages) {
    builder.numberPiece(language, id++);
    builder.cutOut(language);
  }
  if (!masks)
    return;
  const std::string mask = builder.special("mask_token", "<mask>");
  builder.numberPiece(mask, id);
  builder.cutOut(mask, {{"lstrip", true}});
}

void surroundAsRoberta(PieceFolderBuilder &builder) {
  const std::string start = builder.special("bos_token", "<s>"),
                    end = builder.special("eos_token", "</s>");
  builder.surround(start + " $A " + end, start + " $A " + end + " " + end + " $B " + end);
}

Status buildXlmRoberta(PieceFolderBuilder &builder) {
  numberAsFairseq(builder, {}, true);
  surroundAsRoberta(builder);
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

/// Sets the template that add_bos_token and add_eos_token ask for, if the folder has one of these
/// keys.
Status surroundAsAsked(PieceFolderBuilder &builder, const char *start, const char *end) {
  const JsonField settings = builder.settings();
  const char *given = nullptr;
  for (const char *key : {"add_eos_token", "add_bos_token"})
    if (settings.value().contains(key))
      given = key;
  if (!given)
    return {};
  const std::string first = HEDDLE_TRY(settings.flagAt("add_bos_token", false))
                                ? builder.special("bos_token", start) + " "
                                : std::string(),
                    last = HEDDLE_TRY(settings.flagAt("add_eos_token", false))
                               ? " " + builder.special("eos_token", end)
                               : std::string();
  builder.surround(first + "$A" + last, first + "$A" + last + " " + first + "$B" + last, 1);
  builder.warn(given, "Transformers 5 puts the tokens around a text that add_bos_token and "
                      "add_eos_token ask for, and so does Heddle; Transformers 4 did not follow "
                      "these keys");
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
  return surroundAsAsked(builder, "[CLS]", "[SEP]");
}

/// Five tokens precede all pieces of the file except the unknown one. Text may contain the unused
/// ones.
Status buildCamembert(PieceFolderBuilder &builder) {
  constexpr int64_t offset = 4;
  const std::string padding = builder.special("pad_token", "<pad>"),
                    unknown = builder.special("unk_token", "<unk>"),
                    mask = builder.special("mask_token", "<mask>");
  int64_t id = 0;
  for (const std::string &token :
       {std::string("<s>NOTUSED"), padding, std::string("</s>NOTUSED"), unknown})
    builder.numberPiece(token, id++);
  constexpr double rarest = -100;
  builder.numberPiece("<unk>NOTUSED", id, rarest);
  builder.numberPieces(1, offset);
  builder.numberPiece(mask, builder.size() + offset);
  for (const std::string &token : {padding, unknown, std::string("<s>"), std::string("</s>")})
    builder.cutOut(token);
  builder.cutOut(mask, {{"lstrip", true}});
  surroundAsRoberta(builder);
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
  numberAsFairseq(builder, mbartLanguages, true, "cls_token");
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

/// Warns if Transformers 5 numbers the masks otherwise. It gives the mask the first number and leaves
/// one of two equal masks out, which moves all pieces. `sentence` is mask_token_sent; empty: missing
/// or null.
void warnOfMasks(PieceFolderBuilder &builder, const std::string &sentence) {
  const std::string first = builder.special("mask_token", "<mask_1>"),
                    second = sentence.empty() ? "<mask_2>" : sentence;
  const bool isNull = builder.isNull("mask_token_sent");
  if (!isNull && first == "<mask_1>" && second == "<mask_2>")
    return;
  builder.warn(isNull ? "mask_token_sent" : "mask_token",
               std::string("Transformers 5 gives other numbers to ") +
                   (isNull || first == second ? "all pieces" : "the masks") +
                   "; Heddle numbers them as Transformers 4 does");
}

/// Tokens of pretraining have the first numbers.
Status buildPegasus(PieceFolderBuilder &builder) {
  int64_t offset = 103;
  if (auto chosen = builder.settings().find("offset"))
    offset = HEDDLE_TRY(chosen->number(0, 1 << 20));
  int64_t id = 0;
  auto add = [&](const std::string &token, bool isSpecial = true, double score = 0) {
    builder.numberPiece(token, id++, score);
    if (isSpecial)
      builder.cutOut(token);
  };
  const bool namesMasks = !builder.listsTokens();
  const std::string end = builder.special("eos_token", "</s>");
  add(builder.special("pad_token", "<pad>"));
  add(end);
  const auto given = builder.settings().find("mask_token_sent");
  const std::string named = given ? HEDDLE_TRY(given->text()) : std::string();
  warnOfMasks(builder, named);
  if (builder.isNull("mask_token_sent")) {
    id += 2; // without masks, their numbers stay unused
  } else if (offset > 0) {
    add(given ? named : "<mask_1>", namesMasks);
    add(builder.special("mask_token", "<mask_2>"));
  }
  if (!namesMasks)
    warnOfList(builder, "<unk_2>");
  constexpr double rarest = -100;
  for (int64_t i = 2; i < offset; ++i)
    add("<unk_" + std::to_string(i) + ">", namesMasks, rarest);
  builder.numberPieces(2, offset);
  builder.cutOut(builder.special("unk_token", "<unk>"));
  builder.surround("$A " + end, "$A $B " + end);
  return {};
}

/// vocab.json numbers the pieces, and the languages follow them. A language token is text unless the
/// folder names it as a special one. The class numbers further special tokens as if there were no
/// languages.
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
    builder.numberLanguage(token, id++);
    if (builder.isSpecial(token))
      builder.cutOut(token);
  }
  for (const auto &[key, usual] : {std::pair("bos_token", "<s>"),
                                   {"eos_token", "</s>"},
                                   {"sep_token", "</s>"},
                                   {"pad_token", "<pad>"},
                                   {"unk_token", "<unk>"}})
    builder.cutOutNamed(key, usual);
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
  for (const auto &[key, usual] :
       {std::pair("eos_token", "</s>"), {"pad_token", "<pad>"}, {"unk_token", "<unk>"}})
    builder.cutOutNamed(key, usual);
  builder.surround("$A " + end, "$A $B " + end);
  return {};
}

/// SigLIP: text without ASCII punctuation, in lower case unless the folder says otherwise.
Status buildSiglip(PieceFolderBuilder &builder) {
  builder.numberPieces(0, 0);
  for (const auto &[key, usual] :
       {std::pair("eos_token", "</s>"), {"pad_token", "</s>"}, {"unk_token", "<unk>"}})
    builder.cutOut(builder.special(key, usual));
  Json steps = Json::array({replaceJson("String", blankMark, " ")});
  if (HEDDLE_TRY(builder.settings().flagAt("do_lower_case", true)))
    steps.push_back({{"type", "Lowercase"}});
  steps.push_back(replaceJson("Regex", "[!-/:-@\\[-`{-~]", ""));
  steps.push_back(replaceJson("Regex", "[\\s\\x{1c}-\\x{1f}]+", " ")); // of Python
  builder.normalizeFirst(std::move(steps));
  const std::string end = builder.special("eos_token", "</s>");
  builder.surround("$A " + end, "$A " + end + " $B " + end);
  return {};
}

constexpr PieceSplitter components = PieceSplitter::Components, python = PieceSplitter::Python;

const PieceFamily families[] = {
    {"T5", {"t5", "mt5", "umt5", "longt5"}, {"spiece.model"}, buildT5, nullptr, components},
    {"MT5", {}, {"spiece.model"}, buildT5, nullptr, components},
    {"XLMRoberta",
     {"xlm-roberta", "xlm-roberta-xl"},
     {"sentencepiece.bpe.model"},
     buildXlmRoberta,
     nullptr,
     components},
    {"DebertaV2", {"deberta-v2"}, {"spm.model"}, buildDebertaV2, nullptr, components},
    {"Albert", {"albert"}, {"spiece.model"}, buildAlbert, nullptr, components},
    {"Camembert", {"camembert"}, {"sentencepiece.bpe.model"}, buildCamembert, nullptr, components},
    {"MBart", {"mbart"}, {"sentencepiece.bpe.model"}, buildMbart},
    {"MBart50", {}, {"sentencepiece.bpe.model"}, buildMbart50, nullptr, components},
    {"Nllb", {"nllb-moe"}, {"sentencepiece.bpe.model"}, buildNllb, nullptr, components},
    {"Pegasus", {"pegasus"}, {"spiece.model"}, buildPegasus, nullptr, components},
    {"Siglip", {"siglip"}, {"spiece.model"}, buildSiglip, nullptr, python},
    {"M2M100",
     {"m2m_100"},
     {"sentencepiece.bpe.model", "vocab.json"},
     buildM2m100,
     nullptr,
     python},
    {"Marian",
     {"marian"},
     {"source.spm", "target.spm", "vocab.json"},
     buildMarian,
     "target.spm",
     python},
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
  const std::string name = family.className == std::string_view("MT5")
                               ? "T5Tokenizer"
                               : std::string(family.className) + "Tokenizer";
  const bool isClass = family.splitter == PieceSplitter::Components;
  PieceFolderBuilder builder(settings, written, family.splitter,
                             isClass ? classTokens(name) : DefaultTokens());
  for (const char *file : family.files)
    if (!isThere(builder.path(file)))
      return inputError(builder.path(file) + ": expected a file of a folder of " +
                        family.className + "Tokenizer, found none");
  HEDDLE_TRY(builder.open(written && family.cutsWritten ? family.cutsWritten : family.files[0]));
  HEDDLE_TRY(family.build(builder));
  builder.addOwnTokens();
  if (family.splitter != PieceSplitter::SentencePiece)
    builder.addNamedTokens();
  std::vector<std::string> warnings = builder.warnings();
  if (losesTable(name) && builder.hasTable())
    warnings.push_back(settings.classPlace() + ": " + lostTableText(name, family.files[0]));
  Json json = HEDDLE_TRY(builder.take(isClass ? name : ""));
  HEDDLE_TRY(applyOwnKeys(settings, json));
  return TokenizerFile{
      .json = json.dump(), .name = builder.file(), .warnings = std::move(warnings)};
}

bool writesAsItReads(const PieceFamily &family) { return !family.cutsWritten; }

} // namespace heddle::tokenizers
