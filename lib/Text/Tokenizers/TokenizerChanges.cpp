//===- TokenizerChanges.cpp - A folder's settings over tokenizer.json -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json says how a text is cut. Transformers reads tokenizer_config.json too,
// and some of its keys rule over the file. Changing each key of each class under
// Transformers 4.57 and 5.24 showed which keys do.
#include "ClassComponents.h"
#include "TokenizerClasses.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

/// The texts of `added_tokens`.
std::vector<std::string> knownTokens(const Json &tokenizer) {
  std::vector<std::string> known;
  const Json added = tokenizer.value("added_tokens", Json());
  for (const Json &token : added)
    if (const std::string *text = tokenText(token))
      known.push_back(*text);
  return known;
}

/// Ids of tokens. A token that the model lacks gets the next free id.
class Numbers {
public:
  /// `known`: added tokens, numbered first.
  Numbers(const Json &tokenizer, const std::vector<std::string> &known) {
    const Json &model = tokenizer["model"];
    if (auto vocab = model.find("vocab"); vocab != model.end())
      readVocabulary(*vocab);
    next = static_cast<int64_t>(ids.size());
    for (const std::string &text : known)
      of(text);
  }
  int64_t of(const std::string &text) {
    const auto [known, isNew] = ids.emplace(text, next);
    next += isNew;
    return known->second;
  }

private:
  /// Reads tokens with their ids, or pieces with their scores.
  void readVocabulary(const Json &vocab) {
    if (vocab.is_object()) {
      for (const auto &[token, id] : vocab.items())
        ids.emplace(token, id.is_number_integer() ? id.get<int64_t>() : 0);
      return;
    }
    int64_t id = 0;
    for (const Json &piece : vocab)
      if (piece.is_array() && !piece.empty() && piece[0].is_string())
        ids.insert_or_assign(piece[0].get<std::string>(), id++);
  }

  TextMap<int64_t> ids;
  int64_t next = 0;
};

/// Applies the settings to one tokenizer.
class SettingsWriter {
public:
  SettingsWriter(const TokenizerSettings &settings, Json &tokenizer,
                 std::vector<std::string> &warnings)
      : settings(settings), field(settings.field()), tokenizer(tokenizer), warnings(warnings) {}

  /// Writes the settings of decoding and of lengths to keys of Heddle's own.
  Status writeOwnKeys() {
    if (HEDDLE_TRY(cleansUp()))
      set(tokenizer["clean_up"], true);
    if (HEDDLE_TRY(field.flagAt("split_special_tokens", false)))
      set(tokenizer["split_special_tokens"], true);
    if (auto side = field.find("truncation_side")) {
      static constexpr std::pair<const char *, bool> sides[] = {{"left", true}, {"right", false}};
      if (HEDDLE_TRY(choiceOf(*side, sides)))
        set(tokenizer["truncation_side"], "left");
    }
    return writeTypes();
  }
  Expected<bool> write() {
    if (!tokenizer.contains("model") || !tokenizer["model"].is_object())
      return false; // reading it says so
    addTokens();
    HEDDLE_TRY(writeClass());
    HEDDLE_TRY(writeOwnKeys());
    return changed;
  }

private:
  bool hasFile() const { return isThere(settings.folder() / "tokenizer.json"); }
  void warn(const std::string &text) { warnings.push_back(settings.path() + ": " + text); }
  void warnOfClass(const std::string &text) {
    warnings.push_back(settings.classPlace() + ": " + text);
  }

  void set(Json &place, Json value) {
    if (place == value)
      return;
    place = std::move(value);
    changed = true;
  }

  /// Replaces the components that the folder's class of Transformers 5 makes itself.
  Status writeClass() {
    const std::string name = classOfFile(settings, tokenizer);
    if (!hasFile()) {
      if (name == "Qwen2Tokenizer")
        plainTokens();
      return {};
    }
    const ClassComponents made = HEDDLE_TRY(componentsOf(name, settings, tokenizer));
    if (!made.otherModel.empty() && !settings.className().empty())
      warnOfClass("expected a class with a model of the type " +
                  foundText(tokenizer["model"]["type"]) + ", found " + name + ", whose model is " +
                  std::string(made.otherModel) + "; tokenizer.json is read as it is");
    if (makesOtherComponents(name))
      warnOfClass(name + " of Transformers 5 makes components that Heddle does not " +
                  "have; tokenizer.json is read as it is, as Transformers 4 does");
    if (made.losesTable)
      warnOfClass(lostTableText(name, "tokenizer.json"));
    std::vector<std::string> others;
    if (name == "Qwen2Tokenizer" && made.otherModel.empty() && plainTokens())
      others.push_back("added_tokens");
    writeSteps("normalizer", made.normalizer, others);
    writeSteps("pre_tokenizer", made.preTokenizer, others);
    writeSteps("decoder", made.decoder, others);
    Json &processor = tokenizer["post_processor"];
    if (made.postProcessor && !sameAround(*made.postProcessor, processor)) {
      set(processor, *made.postProcessor);
      constexpr std::string_view unread[] = {"GPTNeoXTokenizer", "MBartTokenizer",
                                             "MBart50Tokenizer"};
      if (std::ranges::find(unread, name) == std::end(unread)) // nor does Transformers 4 read it
        others.push_back("post_processor");
    }
    for (const auto &[key, value] : made.model)
      if (Json &place = tokenizer["model"][key]; place != value) {
        if (!isUsual(place, value) && !isUsual(value, place) && key != std::string_view("dropout"))
          others.push_back(std::string("model.") + key);
        set(place, value);
      }
    if (!others.empty())
      warnOfClass(
          name + " of Transformers 5 makes " + listOf(others) +
          " itself, and Heddle follows it; Transformers 4 took what tokenizer.json says, which "
          "differs");
    return warnOfStartAndEnd();
  }

  /// Takes the flags from special tokens that the settings name, as Qwen2Tokenizer does. Returns
  /// whether that changes anything.
  bool plainTokens() {
    bool changes = false;
    const std::vector<FolderToken> special = settings.specialTokens();
    for (Json &entry : tokenizer["added_tokens"]) {
      const std::string *text = tokenText(entry);
      if (!text || std::ranges::find(special, *text, &FolderToken::content) == special.end())
        continue;
      for (const auto &[key, value] : {std::pair("special", true),
                                       {"normalized", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"single_word", false}}) {
        changes |= entry.value(key, Json(false)) != value;
        set(entry[key], value);
      }
    }
    return changes;
  }

  static std::string listOf(const std::vector<std::string> &names) {
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
      text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
  }

  /// Whether a key that is missing has the value anyway.
  static bool isUsual(const Json &place, const Json &value) {
    return place.is_null() &&
           (value == false || value.is_null() || value == "" || value == "##" || value == 100);
  }

  /// Replaces a section. `others` gets its name if Transformers 4 read something else.
  void writeSteps(const char *section, const std::optional<Json> &made,
                  std::vector<std::string> &others) {
    if (!made)
      return;
    Json &place = tokenizer[section];
    const bool isDecoder = section == std::string_view("decoder");
    if (sameSteps(place, *made, isDecoder))
      return;
    const bool isMissing = isDecoder && place.is_null();
    Json followed = place;
    followKeys(followed, *made);
    if (!isMissing && !sameSteps(followed, *made, isDecoder) && !lowersBefore(place, *made) &&
        !writesBlanks(place, *made))
      others.push_back(section);
    set(place, *made);
  }

  /// Applies the keys of tokenizer_config.json that Transformers 4 followed too: case, accents and
  /// ideographs of BERT, and add_prefix_space of ByteLevel.
  static void followKeys(Json &step, const Json &made) {
    if (!step.is_object())
      return;
    const Json type = step.value("type", Json());
    if (type == "BertNormalizer" && made.is_object() && made.value("type", Json()) == type)
      step = made;
    if (type == "ByteLevel")
      step["add_prefix_space"] = prefixOf(made);
    if (auto inner = step.find("pretokenizers"); inner != step.end())
      for (Json &one : *inner)
        followKeys(one, made);
  }
  static bool prefixOf(const Json &step) {
    if (!step.is_object())
      return false;
    if (auto inner = step.find("pretokenizers"); inner != step.end())
      return std::ranges::any_of(*inner, prefixOf);
    return step.value("type", Json()) == "ByteLevel" && step.value("add_prefix_space", true);
  }

  /// Whether `made` is CLIP's decoder, which Transformers 4 applied too.
  static bool writesBlanks(const Json &decoder, const Json &made) {
    return made == clipDecoder() && decoder.is_object() &&
           decoder.value("type", Json()) == "ByteLevel";
  }

  /// True if a post-processor puts the token before a text (`first`) or after it.
  static bool adds(const Json &processor, const std::string &token, bool first) {
    if (!processor.is_object())
      return false;
    if (auto inner = processor.find("processors"); inner != processor.end())
      return std::ranges::any_of(*inner, [&](const Json &one) { return adds(one, token, first); });
    for (const char *key : {"cls", "sep"}) // BertProcessing and RobertaProcessing
      if (auto pair = processor.find(key); pair != processor.end())
        if (first == (key == std::string_view("cls")))
          return pair->is_array() && !pair->empty() && pair->front() == token;
    bool beforeText = true;
    const Json pieces = processor.value("single", Json());
    for (const Json &piece : pieces) {
      const bool isToken = piece.is_object() && piece.contains("SpecialToken");
      if (isToken && piece["SpecialToken"].value("id", Json()) == token && beforeText == first)
        return true;
      beforeText &= isToken;
    }
    return false;
  }

  /// Transformers 4 put the tokens around a text that these keys ask for under some classes;
  /// Transformers 5 takes the post-processor of tokenizer.json.
  Status warnOfStartAndEnd() {
    constexpr std::string_view asked[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                          "CohereTokenizer", "GPTNeoXTokenizer"};
    if (std::ranges::find(asked, settings.className()) == std::end(asked))
      return {};
    for (const auto &[key, token, first] :
         {std::tuple("add_bos_token", "bos_token", true), {"add_eos_token", "eos_token", false}}) {
      const std::string text = settings.specialText(token, first ? "<s>" : "</s>");
      if (field.find(key) && HEDDLE_TRY(field.flagAt(key, first)) !=
                                 adds(tokenizer.value("post_processor", Json()), text, first))
        warn(std::string(key) +
             ": Transformers 5 puts the tokens around a text that tokenizer.json " +
             "names, and so does Heddle; Transformers 4 followed this key");
    }
    return {};
  }

  /// Whether a normalizer is `made` after letters become small, which Sentence-Transformers saves and
  /// does again when it reads the folder.
  static bool lowersBefore(const Json &normalizer, const Json &made) {
    const Json steps = normalizer.is_object() ? normalizer.value("normalizers", Json()) : Json();
    if (!steps.is_array() || steps.empty() || steps[0] != Json{{"type", "Lowercase"}})
      return false;
    Json rest = normalizer;
    rest["normalizers"].erase(0);
    return sameSteps(rest, made);
  }

  /// The token of the section `padding`. It is pad_token for classes that have none of their own.
  std::optional<std::string> paddingToken() const {
    const std::string name = classOfFile(settings, tokenizer);
    constexpr std::string_view without[] = {"",
                                            "CodeLlamaTokenizer",
                                            "LlamaTokenizer",
                                            "PreTrainedTokenizerFast",
                                            "PreTrainedTokenizer",
                                            "TokenizersBackend",
                                            "WhisperTokenizer"};
    const Json padding = tokenizer.value("padding", Json());
    const Json token = padding.is_object() ? padding.value("pad_token", Json()) : Json();
    if (!token.is_string() || token == "" || settings.field().value().contains("pad_token") ||
        std::ranges::find(without, name) == std::end(without))
      return std::nullopt;
    return token.get<std::string>();
  }

  /// Applies added_tokens_decoder to the added tokens of tokenizer.json. Its flags rule. A class that
  /// Transformers 5 builds anew has no other added tokens than `wanted`, numbered in this order.
  void followDecoder(const std::vector<FolderToken> &wanted) {
    Json &list = tokenizer["added_tokens"];
    Numbers numbers(tokenizer, {});
    TextMap<int64_t> anew;
    for (const FolderToken &token : wanted)
      anew.emplace(token.content, numbers.of(token.content));
    std::vector<std::string> others;
    for (Json &entry : list) {
      const std::string *text = tokenText(entry);
      if (!text)
        continue;
      if (const auto at = anew.find(*text);
          at == anew.end() || entry.value("id", Json()) != at->second)
        others.push_back(*text);
      const auto own = std::ranges::find(settings.addedTokens(), *text, &FolderToken::content);
      if (own == settings.addedTokens().end())
        continue;
      const bool wasSpecial = entry.value("special", Json()) == true;
      const Json flags = own->toJson();
      for (const auto &[key, value] : flags.items())
        if (key != "special" || !wasSpecial)
          set(entry[key], value);
    }
    if (others.empty() || classTokens(classOfFile(settings, tokenizer), tokenizer).empty())
      return;
    warn("added_tokens_decoder: expected the added tokens of tokenizer.json with their numbers, "
         "found others for " +
         firstText(others, 5, [](const std::string &text) { return quotedText(text); }) +
         "; Transformers 5 reads added_tokens_decoder alone and numbers its tokens anew, and so "
         "does Heddle; Transformers 4 kept the tokens of tokenizer.json");
    set(list, Json::array());
  }

  /// Adds the tokens that the folder's other files name and tokenizer.json lacks, and the default
  /// special tokens of the class.
  void addTokens() {
    std::vector<FolderToken> wanted = settings.addedTokens();
    const std::vector<FolderToken> special =
        settings.specialTokens(classTokens(classOfFile(settings, tokenizer), tokenizer));
    wanted.insert(wanted.end(), special.begin(), special.end());
    if (auto padding = paddingToken())
      wanted.push_back({.content = *padding});
    Json &list = tokenizer["added_tokens"];
    if (!list.is_array())
      list = Json::array();
    if (hasFile() && field.find("added_tokens_decoder"))
      followDecoder(wanted);
    std::vector<std::string> known = knownTokens(tokenizer);
    Numbers numbers(tokenizer, known);
    for (const FolderToken &token : wanted) {
      if (std::ranges::find(known, token.content) != known.end())
        continue;
      const int64_t id = numbers.of(token.content);
      if (token.id && *token.id != id)
        warn("added_tokens_decoder: expected the number " + std::to_string(id) + " for " +
             quotedText(token.content) + ", which Transformers gives it, found " +
             std::to_string(*token.id));
      Json entry = token.toJson();
      entry["id"] = id;
      list.push_back(std::move(entry));
      known.push_back(token.content);
      changed = true;
    }
    std::vector<std::string> others;
    for (const std::string &text : settings.passedOverTokens())
      if (std::ranges::find(known, text) == known.end())
        others.push_back(text);
    if (!others.empty())
      warn("additional_special_tokens: expected no list next to a list extra_special_tokens, found "
           "one with " +
           firstText(others, 5, [](const std::string &text) { return quotedText(text); }) +
           ", which is text; Transformers 5 does not read it either");
  }

  /// True if decoded text is cleaned up. Transformers 5 never cleans up BPE, which keeps the blanks
  /// of the text.
  Expected<bool> cleansUp() {
    const bool asked = HEDDLE_TRY(field.flagAt("clean_up_tokenization_spaces", false)),
               forced = HEDDLE_TRY(field.flagAt(
                   "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
                   false));
    const Json &model = tokenizer["model"];
    // NLLB's class is a BPE model in Transformers; here its numbered pieces surround one.
    const bool isNllb = settings.className() == "NllbTokenizer";
    const Json kind =
        isNllb ? model.value("model", model).value("type", Json()) : model.value("type", Json());
    return asked && (kind != "BPE" || forced);
  }

  /// Turns token types off if `model_input_names` lacks token_type_ids or, without this key, if
  /// the class does not use them.
  Status writeTypes() {
    auto names = field.find("model_input_names");
    const TokenizerClass *type = tokenizerClassOf(settings);
    if (!names && type && !givesTypes(*type))
      set(tokenizer["token_types"], false);
    if (!names)
      return {};
    auto list = HEDDLE_TRY(names->list());
    if (std::ranges::none_of(
            list, [](const JsonField &name) { return name.value() == "token_type_ids"; }))
      set(tokenizer["token_types"], false);
    return {};
  }

  const TokenizerSettings &settings;
  const JsonField field;
  Json &tokenizer;
  std::vector<std::string> &warnings;
  bool changed = false;
};

} // namespace

Expected<bool> applySettings(const TokenizerSettings &settings, Json &tokenizer,
                             std::vector<std::string> &warnings) {
  return SettingsWriter(settings, tokenizer, warnings).write();
}

Status applyOwnKeys(const TokenizerSettings &settings, Json &tokenizer) {
  std::vector<std::string> warnings; // these keys cause no warnings
  return SettingsWriter(settings, tokenizer, warnings).writeOwnKeys();
}

} // namespace heddle::tokenizers
