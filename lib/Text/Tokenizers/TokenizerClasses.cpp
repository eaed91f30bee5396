//===- TokenizerClasses.cpp - Classes of tokenizers as data ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a tokenizer.json from a class and a vocabulary. Sources: the classes
// of Transformers 4.57 and 5.24, which build the same components.
#include "TokenizerClasses.h"

#include "GgufCuts.h"
#include "TokenizerJson.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/FolderFiles.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

/// How a class splits a text before the model.
enum class Cut : uint8_t {
  Bert,     ///< words and punctuation; also Japanese `basic` words
  Japanese, ///< as Bert, but composed first and without blanks around ideographs
  Words,    ///< GPT-2's expression
  Qwen,
  Clip,
};

/// A tokenizer class and its default special tokens; null: none.
struct TokenizerClass {
  std::string_view name;
  Cut cut;
  Around around;
  const char *first, *last, *unknown, *padding, *mask;
  bool composes = false;   ///< normalizes to NFC
  bool lowers = true;      ///< default of do_lower_case
  bool givesTypes = true;  ///< the model takes token types: 1 in the second text of a pair
  bool maskStrips = false; ///< the mask strips the blanks before it
};

namespace {

constexpr TokenizerClass bertOf(std::string_view name) {
  return {name, Cut::Bert, Around::Bert, "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"};
}
constexpr TokenizerClass robertaOf(std::string_view name) {
  return {name, Cut::Words, Around::Roberta, "<s>", "</s>", "<unk>", "<pad>", "<mask>"};
}
constexpr TokenizerClass gpt2Of(std::string_view name) {
  constexpr const char *end = "<|endoftext|>";
  return {name, Cut::Words, Around::Asked, end, end, end, nullptr, nullptr};
}

constexpr TokenizerClass classes[] = {
    bertOf("BertTokenizer"),
    bertOf("ElectraTokenizer"),
    bertOf("MobileBertTokenizer"),
    bertOf("SqueezeBertTokenizer"),
    bertOf("ConvBertTokenizer"),
    bertOf("LayoutLMTokenizer"),
    bertOf("LxmertTokenizer"),
    bertOf("DPRQuestionEncoderTokenizer"),
    bertOf("DPRContextEncoderTokenizer"),
    bertOf("DPRReaderTokenizer"),
    {"DistilBertTokenizer", Cut::Bert, Around::Bert, "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]",
     false, true, false},
    {"BertJapaneseTokenizer", Cut::Japanese, Around::Bert, "[CLS]", "[SEP]", "[UNK]", "[PAD]",
     "[MASK]", false, false},
    {"MPNetTokenizer", Cut::Bert, Around::Roberta, "<s>", "</s>", "[UNK]", "<pad>", "<mask>", false,
     true, true, true},
    robertaOf("RobertaTokenizer"),
    robertaOf("BartTokenizer"),
    robertaOf("LongformerTokenizer"),
    robertaOf("LEDTokenizer"),
    robertaOf("MvpTokenizer"),
    gpt2Of("GPT2Tokenizer"),
    gpt2Of("CodeGenTokenizer"),
    {"GPTNeoXTokenizer", Cut::Words, Around::Asked, "<|endoftext|>", "<|endoftext|>",
     "<|endoftext|>", "<|padding|>", nullptr, true},
    {"Qwen2Tokenizer", Cut::Qwen, Around::Asked, nullptr, "<|endoftext|>", "<|endoftext|>",
     "<|endoftext|>", nullptr, true},
    {"CLIPTokenizer", Cut::Clip, Around::Roberta, "<|startoftext|>", "<|endoftext|>",
     "<|endoftext|>", "<|endoftext|>", nullptr},
};

/// The class of each `model_type`, for folders that name no class.
constexpr std::pair<std::string_view, std::string_view> classesOfTypes[] = {
    {"bert", "BertTokenizer"},          {"distilbert", "BertTokenizer"},
    {"electra", "BertTokenizer"},       {"ernie", "BertTokenizer"},
    {"megatron-bert", "BertTokenizer"}, {"nomic_bert", "BertTokenizer"},
    {"convbert", "BertTokenizer"},      {"squeezebert", "BertTokenizer"},
    {"mobilebert", "BertTokenizer"},    {"mpnet", "MPNetTokenizer"},
    {"roberta", "RobertaTokenizer"},    {"roberta-prelayernorm", "RobertaTokenizer"},
    {"longformer", "RobertaTokenizer"}, {"bart", "RobertaTokenizer"},
    {"gpt2", "GPT2Tokenizer"},          {"gpt_neo", "GPT2Tokenizer"},
    {"gptj", "GPT2Tokenizer"},          {"opt", "GPT2Tokenizer"},
    {"phi", "GPT2Tokenizer"},           {"starcoder2", "GPT2Tokenizer"},
    {"gpt_neox", "GPTNeoXTokenizer"},   {"mpt", "GPTNeoXTokenizer"},
    {"qwen2", "Qwen2Tokenizer"},        {"qwen3", "Qwen2Tokenizer"},
    {"clip", "CLIPTokenizer"},          {"clip_text_model", "CLIPTokenizer"},
};

//===- Vocabularies --------------------------------------------------------===//

/// Reads lines without their line ends.
Expected<std::vector<std::string>> readLines(const std::string &path) {
  const std::string text = HEDDLE_TRY(readText(path));
  HEDDLE_TRY(checkUtf8(text, path));
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r'))
      lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

/// Reads the tokens of vocab.txt, one per line, without blanks at their ends, as Transformers 5
/// does. The last of equal tokens counts.
Expected<Json> readTokenLines(const std::string &path) {
  auto lines = HEDDLE_TRY(readLines(path));
  for (std::string &line : lines)
    line.erase(line.find_last_not_of(" \t") + 1);
  TextMap<size_t> last;
  for (size_t id = 0; id < lines.size(); ++id)
    last.insert_or_assign(lines[id], id);
  Json vocab = Json::object();
  // Appended directly: the functions of ordered_json search for the key each time.
  auto &entries = vocab.get_ref<Json::object_t &>();
  for (size_t id = 0; id < lines.size(); ++id)
    if (last.at(lines[id]) == id)
      entries.push_back({lines[id], id});
  return vocab;
}

Expected<Json> readTokenObject(const std::string &path) {
  Json vocab = HEDDLE_TRY(parseJson(HEDDLE_TRY(readText(path)), path));
  HEDDLE_TRY(JsonField(vocab, path).checkObject());
  return vocab;
}

Expected<Json> readMerges(const std::string &path) {
  Json merges = Json::array();
  const auto lines = HEDDLE_TRY(readLines(path));
  for (const std::string &line : lines)
    if (!line.empty() && !line.starts_with("#version"))
      merges.push_back(line);
  return merges;
}

//===- Components ----------------------------------------------------------===//

/// Builds the tokenizer.json of one class.
class ClassBuilder {
public:
  ClassBuilder(const TokenizerClass &type, const TokenizerSettings &settings)
      : type(type), settings(settings), field(settings.field()) {}

  Expected<Json> build() const {
    const std::vector<std::string> files = vocabularyFiles(type);
    for (const std::string &file : files)
      if (!isThere(settings.folder() / file))
        return inputError((settings.folder() / file).string() + ": expected a file of " +
                          std::string(type.name) + ", found none");
    HEDDLE_TRY(checkJapanese());
    const std::string path = (settings.folder() / files[0]).string();
    Json vocab = HEDDLE_TRY(usesWordPiece(type) ? readTokenLines(path) : readTokenObject(path));
    Json json = {{"added_tokens", Json::array()}};
    json["normalizer"] = HEDDLE_TRY(normalizer());
    json["pre_tokenizer"] = HEDDLE_TRY(preTokenizer());
    json["post_processor"] = HEDDLE_TRY(postProcessor(vocab, path));
    json["decoder"] = decoder();
    json["model"] =
        HEDDLE_TRY(usesWordPiece(type) ? wordPiece(std::move(vocab)) : byteLevel(std::move(vocab)));
    return json;
  }

  /// The BertNormalizer that the settings ask for.
  Expected<Json> bertNormalizer() const {
    const bool lowers = HEDDLE_TRY(field.flagAt("do_lower_case", type.lowers));
    const bool japanese = type.cut == Cut::Japanese;
    const bool ideographs =
        japanese ? false : HEDDLE_TRY(field.flagAt("tokenize_chinese_chars", true));
    Json accents; // null: as do_lower_case
    if (field.find("strip_accents"))
      accents = HEDDLE_TRY(field.flagAt("strip_accents", false));
    return Json{{"type", "BertNormalizer"},
                {"clean_text", true},
                {"handle_chinese_chars", ideographs},
                {"strip_accents", accents},
                {"lowercase", lowers}};
  }

  Expected<Json> postProcessor(const Json &vocab, const std::string &path) const {
    if (type.around == Around::Asked)
      return asked(vocab, path);
    const bool clip = type.cut == Cut::Clip;
    const std::string start = token(clip ? "bos_token" : "cls_token", type.first),
                      end = token(clip ? "eos_token" : "sep_token", type.last);
    const Json startId = HEDDLE_TRY(idOf(vocab, start, path)),
               endId = HEDDLE_TRY(idOf(vocab, end, path));
    if (type.around == Around::Bert)
      return templateOf({{start, startId}, {end, endId}}, true, true, false);
    const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", false));
    return Json{{"type", "RobertaProcessing"},
                {"sep", Json::array({end, endId})},
                {"cls", Json::array({start, startId})},
                {"trim_offsets", !clip},
                {"add_prefix_space", prefix && !clip}};
  }

  Expected<Json> normalizer() const {
    switch (type.cut) {
    case Cut::Bert:
      return bertNormalizer();
    case Cut::Japanese:
      return sequenceJson("normalizers", {{{"type", "NFC"}}, HEDDLE_TRY(bertNormalizer())});
    case Cut::Clip:
      return sequenceJson(
          "normalizers",
          {{{"type", "NFC"}}, replaceJson("Regex", "\\s+", " "), {{"type", "Lowercase"}}});
    case Cut::Words:
    case Cut::Qwen:
      break;
    }
    return type.composes ? Json{{"type", "NFC"}} : Json();
  }

  Expected<Json> preTokenizer() const {
    if (usesWordPiece(type))
      return Json{{"type", "BertPreTokenizer"}};
    const bool prefix =
        type.cut == Cut::Clip ? false : HEDDLE_TRY(field.flagAt("add_prefix_space", false));
    Json bytes = byteLevelJson(prefix, type.cut != Cut::Qwen);
    if (type.cut == Cut::Words)
      return bytes;
    constexpr const char *clip = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
    Json words = type.cut == Cut::Qwen ? splitJson(qwenWords) : splitJson(clip, "Removed", true);
    return sequenceJson("pretokenizers", Json::array({words, bytes}));
  }

  Json decoder() const {
    if (usesWordPiece(type))
      return {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", type.cut != Cut::Japanese}};
    if (type.cut != Cut::Clip)
      return {{"type", "ByteLevel"}};
    return clipDecoder();
  }

private:
  std::string token(const char *key, const char *usual) const {
    return settings.specialText(key, usual ? usual : "");
  }

  /// BertJapaneseTokenizer cuts by a program for Japanese unless the folder says otherwise.
  Status checkJapanese() const {
    if (type.cut != Cut::Japanese)
      return {};
    for (const auto &[key, known] :
         {std::pair("word_tokenizer_type", "basic"), {"subword_tokenizer_type", "wordpiece"}}) {
      const std::string found = HEDDLE_TRY(field.textOr(key, known));
      if (found != known)
        return inputError(settings.classPlace() + ": expected a tokenizer that Heddle has, found " +
                          std::string(type.name) + " with " + key + " '" + found + "'" +
                          (found == "mecab" || found == "sudachi" || found == "jumanpp"
                               ? ", a program that cuts Japanese into words"
                               : "") +
                          ", which is not supported");
    }
    return {};
  }

  /// A template of the tokens around one text and around two.
  static Json templateOf(const std::vector<std::pair<std::string, Json>> &around, bool first,
                         bool last, bool between) {
    TemplateBuilder built;
    const auto &[start, startId] = around.front();
    const auto &[end, endId] = around.back();
    Json single = Json::array();
    auto append = [&](Json &list, const char *text, int type, bool begins) {
      if (begins)
        built.addToken(list, start, startId, type);
      TemplateBuilder::addText(list, text, type);
      if (last)
        built.addToken(list, end, endId, type);
    };
    append(single, "A", 0, first);
    Json pair = single;
    append(pair, "B", 1, first && between);
    return built.take(std::move(single), std::move(pair));
  }

  Expected<Json> idOf(const Json &vocab, const std::string &text, const std::string &path) const {
    if (vocab.contains(text))
      return vocab[text];
    for (const FolderToken &own : settings.addedTokens())
      if (own.content == text)
        return Json(*own.id);
    return inputError(path + ": expected the token " + quotedText(text) + ", found none");
  }

  /// The template of the tokens that add_bos_token and add_eos_token ask for; null without any.
  Expected<Json> asked(const Json &vocab, const std::string &path) const {
    const bool first = HEDDLE_TRY(field.flagAt("add_bos_token", false)),
               last = HEDDLE_TRY(field.flagAt("add_eos_token", false));
    const std::string start = token("bos_token", type.first), end = token("eos_token", type.last);
    const bool hasStart = first && !start.empty() && !settings.isNull("bos_token"),
               hasEnd = last && !end.empty() && !settings.isNull("eos_token");
    if (!hasStart && !hasEnd)
      return Json();
    std::vector<std::pair<std::string, Json>> around;
    if (hasStart)
      around.emplace_back(start, HEDDLE_TRY(idOf(vocab, start, path)));
    if (hasEnd)
      around.emplace_back(end, HEDDLE_TRY(idOf(vocab, end, path)));
    return templateOf(around, hasStart, hasEnd, true);
  }

  Expected<Json> wordPiece(Json vocab) const {
    return Json{{"type", "WordPiece"},
                {"unk_token", token("unk_token", type.unknown)},
                {"vocab", std::move(vocab)}};
  }

  Expected<Json> byteLevel(Json vocab) const {
    const std::string file = (settings.folder() / "merges.txt").string();
    const bool clip = type.cut == Cut::Clip;
    if (!clip && vocab.contains("a</w>"))
      return inputError((settings.folder() / "vocab.json").string() +
                        ": expected the byte-level vocabulary of " + std::string(type.name) +
                        ", found one with ends of words, as CLIP has it");
    Json merges = HEDDLE_TRY(readMerges(file));
    Json model = {{"type", "BPE"}};
    if (clip) {
      model["end_of_word_suffix"] = "</w>";
      model["unk_token"] = token("unk_token", type.unknown);
    }
    model["vocab"] = std::move(vocab);
    model["merges"] = std::move(merges);
    return model;
  }

  const TokenizerClass &type;
  const TokenizerSettings &settings;
  const JsonField field;
};

} // namespace

const TokenizerClass *tokenizerClassOf(const TokenizerSettings &settings) {
  std::string_view name = settings.className();
  if (name.empty())
    for (const auto &[type, usual] : classesOfTypes)
      if (settings.modelType() == type)
        name = usual;
  return tokenizerClassOf(name);
}

const TokenizerClass *tokenizerClassOf(std::string_view name) {
  const auto *found = std::ranges::find(classes, name, &TokenizerClass::name);
  return found == std::end(classes) ? nullptr : found;
}

const TokenizerClass *bertClass() { return &classes[0]; }

std::vector<std::string> vocabularyFiles(const TokenizerClass &type) {
  if (usesWordPiece(type))
    return {"vocab.txt"};
  return {"vocab.json", "merges.txt"};
}

bool usesWordPiece(const TokenizerClass &type) {
  return type.cut == Cut::Bert || type.cut == Cut::Japanese;
}

bool givesTypes(const TokenizerClass &type) { return type.givesTypes; }

Expected<ClassSteps> classSteps(const TokenizerClass &type, const TokenizerSettings &settings) {
  const ClassBuilder builder(type, settings);
  const bool clip = type.cut == Cut::Clip;
  return ClassSteps{.normalizer = HEDDLE_TRY(builder.normalizer()),
                    .preTokenizer = HEDDLE_TRY(builder.preTokenizer()),
                    .decoder = builder.decoder(),
                    .around = type.around,
                    .startKey = clip ? "bos_token" : "cls_token",
                    .endKey = clip ? "eos_token" : "sep_token",
                    .first = type.first,
                    .last = type.last,
                    .unknown = usesWordPiece(type) || clip ? type.unknown : nullptr,
                    .trims = !clip};
}

Json clipDecoder() {
  return sequenceJson(
      "decoders",
      {{{"type", "ByteLevel"}}, replaceJson("String", "</w>", " "), {{"type", "StripBlanks"}}});
}

std::string_view nameOf(const TokenizerClass &type) { return type.name; }

DefaultTokens defaultTokens(const TokenizerClass &type) {
  const bool isBert = type.around == Around::Bert, isAsked = type.around == Around::Asked;
  DefaultTokens tokens;
  auto add = [&](const char *key, const char *text, bool leftStrip = false) {
    if (text)
      tokens.emplace_back(key, FolderToken{.content = text, .leftStrip = leftStrip});
  };
  add("bos_token", isBert ? nullptr : type.first);
  add("eos_token", isBert ? nullptr : type.last);
  add("unk_token", type.unknown);
  add("sep_token", isAsked ? nullptr : type.last);
  add("pad_token", type.padding);
  add("cls_token", isAsked ? nullptr : type.first);
  add("mask_token", type.mask, type.maskStrips);
  return tokens;
}

Expected<Json> classJson(const TokenizerClass &type, const TokenizerSettings &settings) {
  Json json = HEDDLE_TRY(ClassBuilder(type, settings).build());
  const std::vector<FolderToken> &added = settings.addedTokens();
  for (const auto &[key, token] : defaultTokens(type)) {
    if (std::ranges::find(added, token.content, &FolderToken::content) != added.end())
      continue; // the flags of added_tokens_decoder rule
    if (!settings.field().value().contains(key) && json["model"]["vocab"].contains(token.content))
      json["added_tokens"].push_back(token.toJson());
  }
  return json;
}

} // namespace heddle::tokenizers
