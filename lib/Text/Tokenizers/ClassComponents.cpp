//===- ClassComponents.cpp - Components that a class makes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ClassComponents.h. Source: the classes of Transformers 5.24.
#include "ClassComponents.h"

#include "TokenizerClasses.h"
#include "TokenizerJson.h"
#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

Json metaspace(const char *scheme, bool splits = true) {
  return {{"type", "Metaspace"},
          {"replacement", blankMark},
          {"prepend_scheme", scheme},
          {"split", splits}};
}
Json step(const char *type) { return {{"type", type}}; }

/// An element of a template: a text, or the token of a key with its default.
struct Item {
  const char *key = nullptr;
  const char *usual = nullptr;
  int type = 0;
  int ofNull = -1; ///< the id if the key is null; -1: the template cannot be built
};
constexpr Item text{};

/// Builds the components of one class.
class Maker {
public:
  /// `losesTable`: the class drops the table of characters.
  Maker(const TokenizerSettings &settings, const Json &tokenizer, bool losesTable)
      : settings(settings), field(settings.field()), tokenizer(tokenizer),
        table(precompiledOf(tokenizer.value("normalizer", Json()))) {
    made.losesTable = losesTable && !table.is_null();
  }

  Status llama() {
    const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true)),
               legacy = HEDDLE_TRY(field.flagAt("legacy", false));
    made.normalizer = Json();
    made.preTokenizer = metaspace(prefix ? (legacy ? "always" : "first") : "never", false);
    made.decoder = fallbackDecoder(prefix);
    fallbackModel(Json());
    return {};
  }
  Status codeLlama() {
    const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true));
    made.normalizer = Json();
    made.preTokenizer = metaspace(prefix ? "first" : "never", false);
    made.decoder = fallbackDecoder(true);
    fallbackModel(token("unk_token", "<unk>"));
    return {};
  }
  Status gemma() {
    made.normalizer = replaceJson("String", " ", blankMark);
    made.preTokenizer = {{"type", "Split"},
                         {"pattern", {{"String", " "}}},
                         {"behavior", "MergedWithPrevious"},
                         {"invert", false}};
    made.decoder = fallbackDecoder(false);
    fallbackModel(token("unk_token", "<unk>"));
    return {};
  }
  Status xlmRoberta() {
    made.normalizer = table;
    unknownAt(3);
    around({{"bos_token", "<s>"}, text, {"eos_token", "</s>"}}, {{"bos_token", "<s>"},
                                                                 text,
                                                                 {"eos_token", "</s>"},
                                                                 {"eos_token", "</s>"},
                                                                 text,
                                                                 {"eos_token", "</s>"}});
    return wordsAndBlanks();
  }
  Status camembert() {
    HEDDLE_TRY(xlmRoberta());
    made.model.clear();
    const Json &model = tokenizer["model"];
    const std::string unknown = settings.isNull("unk_token") ? "None" : token("unk_token", "<unk>");
    if (auto vocab = model.find("vocab"); vocab != model.end()) {
      const auto found = std::ranges::find_if(*vocab, [&](const Json &piece) {
        return piece.is_array() && !piece.empty() && piece[0] == unknown;
      });
      unknownAt(found == vocab->end() ? 0 : static_cast<size_t>(found - vocab->begin()));
    }
    return {};
  }
  Status t5() {
    made.normalizer = table;
    unknownAt(2);
    around({text, {"eos_token", "</s>"}},
           {text, {"eos_token", "</s>"}, text, {"eos_token", "</s>"}});
    setBlanks("always", true);
    return {};
  }
  Status albert() {
    Json steps =
        Json::array({replaceJson("String", "``", "\""), replaceJson("String", "''", "\"")});
    if (!HEDDLE_TRY(flag("keep_accents", false)))
      steps.insert(steps.end(), {step("NFKD"), step("StripAccents")});
    if (HEDDLE_TRY(flag("do_lower_case", true)))
      steps.push_back(step("Lowercase"));
    if (!table.is_null())
      steps.push_back(table);
    made.normalizer = sequenceJson("normalizers", std::move(steps));
    unknownAt(1);
    if (tokenizer.value("post_processor", Json()).is_null())
      aroundOfBert({"cls_token", "[CLS]"}, {"sep_token", "[SEP]"});
    return wordsAndBlanks();
  }
  /// The class drops the table of characters, which Heddle keeps.
  Status debertaV2() {
    Json steps = Json::array(), cuts = Json::array();
    const bool lowers = HEDDLE_TRY(flag("do_lower_case", false));
    if (lowers)
      steps.push_back(step("Lowercase"));
    steps.insert(steps.end(),
                 {replaceJson("Regex", R"(\s{2,}|[\n\r\t])", " "), step("NFC"),
                  Json{{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}});
    made.normalizer =
        made.losesTable ? lowered(lowers) : sequenceJson("normalizers", std::move(steps));
    if (HEDDLE_TRY(flag("split_by_punct", false)))
      cuts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
    const char *scheme = HEDDLE_TRY(prefixes()) ? "always" : "first";
    cuts.push_back(metaspace(scheme));
    made.preTokenizer = sequenceJson("pretokenizers", std::move(cuts));
    made.decoder = metaspace(scheme);
    const Json unknown = Json::array({token("unk_token", "[UNK]"), 0.0});
    const size_t usual = static_cast<size_t>(HEDDLE_TRY(field.numberOr("unk_id", 1, 0, INT32_MAX)));
    const Json &model = tokenizer["model"];
    if (auto vocab = model.find("vocab"); vocab != model.end()) {
      const auto found = std::ranges::find(*vocab, unknown);
      unknownAt(found == vocab->end() ? usual : static_cast<size_t>(found - vocab->begin()));
    }
    aroundOfBert({"cls_token", "[CLS]", 0, 0}, {"sep_token", "[SEP]", 0, 0});
    return {};
  }
  /// The class drops the table of characters, which Heddle keeps.
  Status mbart() {
    if (!made.losesTable)
      made.normalizer = Json();
    unknownAt(3);
    around({text, {"eos_token", "</s>"}, language()},
           {text, text, {"eos_token", "</s>"}, language()});
    setBlanks("always", true);
    return {};
  }
  Status mbart50() {
    made.normalizer = withoutRuns();
    unknownAt(3);
    around({language(), text, {"eos_token", "</s>"}},
           {language(), text, text, {"eos_token", "</s>"}});
    setBlanks("always", false);
    return {};
  }
  Status nllb() {
    made.normalizer = table.is_null() ? Json() : withoutRuns();
    setBlanks("always", false);
    return {};
  }
  Status pegasus() {
    const std::string unknown = settings.isNull("unk_token") ? "None" : token("unk_token", "<unk>");
    const Json &vocab = tokenizer["model"]["vocab"];
    const auto found = std::find(vocab.empty() ? vocab.end() : vocab.begin() + 1, vocab.end(),
                                 Json::array({unknown, 0.0}));
    if (found == vocab.end())
      return inputError(settings.path() + ": unk_token: expected a token of the vocabulary with " +
                        "the score 0, which PegasusTokenizer needs, found " + quotedText(unknown));
    unknownAt(static_cast<size_t>(found - vocab.begin()));
    made.normalizer = table.is_null()
                          ? sequenceJson("normalizers", {replaceJson("Regex", "\n", " "), runs()})
                          : withoutRuns();
    around({text, {"eos_token", "</s>"}}, {text, text, {"eos_token", "</s>"}});
    setBlanks("always", false);
    return {};
  }
  Status cohere() {
    made.normalizer = step("NFC");
    made.preTokenizer =
        sequenceJson("pretokenizers",
                     {Json{{"type", "Digits"}, {"individual_digits", true}},
                      byteLevelJson(HEDDLE_TRY(field.flagAt("add_prefix_space", false)), true)});
    made.decoder = step("ByteLevel");
    byteModel("");
    return {};
  }
  Status whisper() {
    made.normalizer = Json();
    made.preTokenizer = byteLevelJson(HEDDLE_TRY(field.flagAt("add_prefix_space", false)), true);
    made.decoder = step("ByteLevel");
    byteModel("");
    return {};
  }

  /// Components of a class whose vocabulary is not from SentencePiece.
  Status vocabularyClass(const TokenizerClass &type) {
    const ClassSteps steps = HEDDLE_TRY(classSteps(type, settings));
    made.normalizer = steps.normalizer;
    made.preTokenizer = steps.preTokenizer;
    made.decoder = steps.decoder;
    if (usesWordPiece(type))
      made.model = {{"continuing_subword_prefix", "##"}, {"max_input_chars_per_word", 100}};
    else
      byteModel(nameOf(type) == "CLIPTokenizer" ? "</w>" : "");
    if (steps.unknown && !settings.isNull("unk_token"))
      made.model.emplace_back("unk_token", token("unk_token", steps.unknown));
    switch (steps.around) {
    case Around::Bert:
      aroundOfBert({"cls_token", steps.first, 0, 2}, {"sep_token", steps.last, 0, 3});
      break;
    case Around::Roberta:
      HEDDLE_TRY(aroundOfRoberta(steps));
      break;
    case Around::Asked:
      if (nameOf(type) == "GPTNeoXTokenizer")
        made.postProcessor = Json();
      break;
    }
    return {};
  }

  ClassComponents take() { return std::move(made); }

private:
  std::string token(const char *key, const char *usual) const {
    return settings.specialText(key, usual);
  }

  /// A boolean key. Null counts as false.
  Expected<bool> flag(const char *key, bool otherwise) const {
    if (settings.isNull(key))
      return false;
    return field.flagAt(key, otherwise);
  }
  Expected<bool> prefixes() const { return flag("add_prefix_space", true); }

  /// The language of the input in mBART. Null counts as missing.
  Item language() const { return {settings.isNull("src_lang") ? "" : "src_lang", "en_XX"}; }

  static Json fallbackDecoder(bool strips) {
    Json steps =
        Json::array({replaceJson("String", blankMark, " "), step("ByteFallback"), step("Fuse")});
    if (strips)
      steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return sequenceJson("decoders", std::move(steps));
  }

  /// Sets the keys of a BPE model with byte fallback. A vocabulary with byte pieces has no unknown
  /// token.
  void fallbackModel(Json unknown) {
    made.model = {{"dropout", nullptr},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"fuse_unk", true},
                  {"byte_fallback", true},
                  {"ignore_merges", false}};
    if (!tokenId(tokenizer, "<0x00>").is_number())
      made.model.emplace_back("unk_token", std::move(unknown));
  }
  void byteModel(const char *ending) {
    made.model = {{"dropout", nullptr},           {"continuing_subword_prefix", ""},
                  {"end_of_word_suffix", ending}, {"fuse_unk", false},
                  {"byte_fallback", false},       {"ignore_merges", false}};
    if (!*ending)
      made.model.emplace_back("unk_token", nullptr);
  }
  void unknownAt(size_t id) {
    const Json &model = tokenizer["model"];
    if (auto vocab = model.find("vocab"); vocab != model.end() && id < vocab->size())
      made.model = {{"unk_id", id}};
  }

  static Json runs() { return replaceJson("Regex", " {2,}", " "); }
  /// The normalizer of the file, with or without Lowercase in front.
  Json lowered(bool lowers) const {
    Json steps = lowers ? Json::array({step("Lowercase")}) : Json::array();
    const Json &own = tokenizer["normalizer"];
    for (const Json &one : own.value("normalizers", Json::array({own})))
      if (one != step("Lowercase"))
        steps.push_back(one);
    return sequenceJson("normalizers", std::move(steps));
  }
  Json withoutRuns() const {
    return table.is_null() ? runs() : sequenceJson("normalizers", {table, runs()});
  }

  void setBlanks(const char *scheme, bool splitsWords) {
    made.preTokenizer =
        splitsWords ? sequenceJson("pretokenizers", {step("WhitespaceSplit"), metaspace(scheme)})
                    : metaspace(scheme);
    made.decoder = metaspace(scheme);
  }
  Status wordsAndBlanks() {
    setBlanks(HEDDLE_TRY(prefixes()) ? "always" : "never", true);
    return {};
  }

  void aroundOfBert(const Item &start, const Item &end) {
    Item last = end, second = text;
    last.type = second.type = 1;
    around({start, text, end}, {start, text, end, second, last});
  }

  Status aroundOfRoberta(const ClassSteps &steps) {
    const std::string start = token(steps.startKey, steps.first),
                      end = token(steps.endKey, steps.last);
    const Json startId = tokenId(tokenizer, start), endId = tokenId(tokenizer, end);
    if (!startId.is_number() || !endId.is_number() || settings.isNull(steps.startKey) ||
        settings.isNull(steps.endKey))
      return {};
    const bool trims = steps.trims && HEDDLE_TRY(field.flagAt("trim_offsets", true)),
               prefix = steps.trims && HEDDLE_TRY(field.flagAt("add_prefix_space", false));
    made.postProcessor = Json{{"type", "RobertaProcessing"},
                              {"sep", Json::array({end, endId})},
                              {"cls", Json::array({start, startId})},
                              {"trim_offsets", trims},
                              {"add_prefix_space", prefix}};
    return {};
  }

  /// Sets the template of one text and of two. The post-processor of tokenizer.json stays if a token
  /// has no id.
  void around(const std::vector<Item> &single, const std::vector<Item> &pair) {
    TemplateBuilder built;
    bool isWhole = true;
    auto pieces = [&](const std::vector<Item> &items) {
      Json list = Json::array();
      const char *sequence = "A";
      for (const Item &item : items) {
        if (!item.key) {
          TemplateBuilder::addText(list, sequence, item.type);
          sequence = "B";
          continue;
        }
        const bool isNull = settings.isNull(item.key);
        const std::string content = isNull ? "None" : token(item.key, item.usual);
        const Json id = isNull ? Json(item.ofNull) : tokenId(tokenizer, content);
        isWhole &= id.is_number() && id >= 0;
        built.addToken(list, content, id, item.type);
      }
      return list;
    };
    Json one = pieces(single), two = pieces(pair);
    if (isWhole)
      made.postProcessor = built.take(std::move(one), std::move(two));
  }

  const TokenizerSettings &settings;
  const JsonField field;
  const Json &tokenizer;
  const Json table;
  ClassComponents made;
};

/// Texts of the default special tokens of a class; null if it has none.
struct SpecialTexts {
  const char *start, *end, *unknown, *separator = nullptr, *padding = nullptr, *first = nullptr,
                                     *mask = nullptr;
  bool maskStrips = false; ///< the mask strips the blanks before it
};
constexpr SpecialTexts llamaTexts{"<s>", "</s>", "<unk>"};
constexpr SpecialTexts gemmaTexts{"<bos>", "<eos>", "<unk>", nullptr, "<pad>", nullptr, "<mask>"};
constexpr SpecialTexts robertaTexts{"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr SpecialTexts fairseqTexts{"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>", true};
constexpr SpecialTexts t5Texts{nullptr, "</s>", "<unk>", nullptr, "<pad>"};
constexpr SpecialTexts albertTexts{"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr SpecialTexts debertaTexts{"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr SpecialTexts pegasusTexts{nullptr, "</s>",  "<unk>",   nullptr,
                                    "<pad>", nullptr, "<mask_2>"};
constexpr SpecialTexts cohereTexts{
    "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>", "<MASK_TOKEN>"};
constexpr SpecialTexts whisperTexts{"<|endoftext|>", "<|endoftext|>", "<|endoftext|>"};

struct PieceMaker {
  std::string_view name, model;
  Status (Maker::*make)();
  SpecialTexts texts;
};
constexpr PieceMaker pieceMakers[] = {
    {"LlamaTokenizer", "BPE", &Maker::llama, llamaTexts},
    {"CodeLlamaTokenizer", "BPE", &Maker::codeLlama, llamaTexts},
    {"GemmaTokenizer", "BPE", &Maker::gemma, gemmaTexts},
    {"XLMRobertaTokenizer", "Unigram", &Maker::xlmRoberta, robertaTexts},
    {"CamembertTokenizer", "Unigram", &Maker::camembert, fairseqTexts},
    {"T5Tokenizer", "Unigram", &Maker::t5, t5Texts},
    {"AlbertTokenizer", "Unigram", &Maker::albert, albertTexts},
    {"DebertaV2Tokenizer", "Unigram", &Maker::debertaV2, debertaTexts},
    {"MBartTokenizer", "Unigram", &Maker::mbart, fairseqTexts},
    {"MBart50Tokenizer", "Unigram", &Maker::mbart50, fairseqTexts},
    {"NllbTokenizer", "BPE", &Maker::nllb, fairseqTexts},
    {"PegasusTokenizer", "Unigram", &Maker::pegasus, pegasusTexts},
    {"CohereTokenizer", "BPE", &Maker::cohere, cohereTexts},
    {"WhisperTokenizer", "BPE", &Maker::whisper, whisperTexts},
};

const PieceMaker *pieceMakerOf(std::string_view name) {
  const auto *found = std::ranges::find(pieceMakers, name, &PieceMaker::name);
  return found == std::end(pieceMakers) ? nullptr : found;
}

/// Classes whose Precompiled normalizer is missing in Transformers 5.
constexpr std::string_view withoutTable[] = {"DebertaV2Tokenizer", "MBartTokenizer"};

/// The type of a class's model; empty: Heddle does not have the class.
std::string_view modelOf(std::string_view name) {
  if (const TokenizerClass *type = tokenizerClassOf(name))
    return usesWordPiece(*type) ? "WordPiece" : "BPE";
  const PieceMaker *piece = pieceMakerOf(name);
  return piece ? piece->model : std::string_view();
}

} // namespace

bool losesTable(std::string_view name) {
  return std::ranges::find(withoutTable, name) != std::end(withoutTable);
}

std::string lostTableText(const std::string &name, const std::string &file) {
  return name + " of Transformers 5 loses the table of characters of " + file +
         ", which Heddle keeps, as Transformers 4 does";
}

DefaultTokens classTokens(std::string_view name, const Json &tokenizer) {
  const Json model = tokenizer["model"].value("type", Json());
  if (!model.is_null() && model != modelOf(name))
    return {};
  DefaultTokens tokens = classTokens(name);
  if (name == "CamembertTokenizer")
    for (const char *text : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"})
      tokens.emplace_back("additional_special_tokens", FolderToken{.content = text});
  return tokens;
}

DefaultTokens classTokens(std::string_view name) {
  if (const TokenizerClass *type = tokenizerClassOf(name))
    return defaultTokens(*type);
  DefaultTokens tokens;
  const PieceMaker *piece = pieceMakerOf(name);
  if (!piece)
    return tokens;
  const SpecialTexts &texts = piece->texts;
  for (const auto &[key, text] : {std::pair("bos_token", texts.start),
                                  {"eos_token", texts.end},
                                  {"unk_token", texts.unknown},
                                  {"sep_token", texts.separator},
                                  {"pad_token", texts.padding},
                                  {"cls_token", texts.first},
                                  {"mask_token", texts.mask}})
    if (text)
      tokens.emplace_back(
          key, FolderToken{.content = text, .leftStrip = text == texts.mask && texts.maskStrips});
  return tokens;
}

Expected<ClassComponents> componentsOf(const std::string &name, const TokenizerSettings &settings,
                                       const Json &tokenizer) {
  const Json model = tokenizer["model"].value("type", Json());
  const std::string_view expected = modelOf(name);
  const bool isOther = !expected.empty() && !model.is_null() && model != expected;
  Maker maker(settings, tokenizer, !isOther && losesTable(name));
  if (name == "BertJapaneseTokenizer") // written in Python
    return maker.take();
  if (const TokenizerClass *type = isOther ? nullptr : tokenizerClassOf(name))
    HEDDLE_TRY(maker.vocabularyClass(*type));
  else if (const PieceMaker *piece = isOther ? nullptr : pieceMakerOf(name))
    HEDDLE_TRY((maker.*piece->make)());
  ClassComponents made = maker.take();
  if (isOther)
    made.otherModel = expected;
  return made;
}

} // namespace heddle::tokenizers
