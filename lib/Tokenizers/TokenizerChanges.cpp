//===- TokenizerChanges.cpp - A folder's settings over tokenizer.json -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a folder's settings to its tokenizer.json. Transformers also reads
// tokenizer_config.json, and some of its keys override the file. Changing each
// key of each class under Transformers 4.57 and 5.24 showed which keys do.
#include "FolderFiles.h"
#include "TokenizerClasses.h"
#include "Vocabulary.h"

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
  explicit Numbers(const Json &tokenizer) {
    const Json &model = tokenizer["model"];
    if (auto vocab = model.find("vocab"); vocab != model.end())
      readVocabulary(*vocab);
    next = static_cast<int64_t>(ids.size());
    for (const std::string &text : knownTokens(tokenizer))
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
      return false; // reading reports it
    HEDDLE_TRY(writeClass());
    addTokens();
    HEDDLE_TRY(writeOwnKeys());
    return changed;
  }

private:
  void warn(const std::string &text) { warnings.push_back(settings.path() + ": " + text); }

  void set(Json &place, Json value) {
    if (place == value)
      return;
    place = std::move(value);
    changed = true;
  }

  /// Applies the keys of a class that override tokenizer.json.
  Status writeClass() {
    const TokenizerClass *type = tokenizerClassOf(settings);
    if (!type)
      return writePieceClass();
    if (nameOf(*type) == "CLIPTokenizer")
      writeEndsOfWords();
    if (rulesOverNormalizer(*type))
      HEDDLE_TRY(writeNormalizer(*type));
    if (rulesOverBlank(*type))
      HEDDLE_TRY(writePrefix());
    return writeAround(*type);
  }

  /// Makes CLIP's class decode the end of a word as a blank.
  void writeEndsOfWords() {
    Json &decoder = tokenizer["decoder"];
    if (decoder.is_object() && decoder.value("type", Json()) == "ByteLevel")
      set(decoder, clipDecoder());
  }

  /// Applies the keys of classes with a SentencePiece vocabulary. Transformers 4 used
  /// tokenizer.json alone.
  Status writePieceClass() {
    const std::string &name = settings.className();
    if (name == "WhisperTokenizer")
      return writePrefix();
    const bool albert = name == "AlbertTokenizer", deberta = name == "DebertaV2Tokenizer";
    if (albert || deberta)
      HEDDLE_TRY(writeStep("do_lower_case", "normalizer", "normalizers", {"Lowercase"}, true));
    if (albert)
      HEDDLE_TRY(
          writeStep("keep_accents", "normalizer", "normalizers", {"NFKD", "StripAccents"}, false));
    if (deberta)
      HEDDLE_TRY(
          writeStep("split_by_punct", "pre_tokenizer", "pretokenizers", {"Punctuation"}, true));
    constexpr std::string_view prefixed[] = {"AlbertTokenizer", "CamembertTokenizer",
                                             "CodeLlamaTokenizer", "LlamaTokenizer",
                                             "XLMRobertaTokenizer"};
    if (std::ranges::find(prefixed, name) != std::end(prefixed))
      HEDDLE_TRY(writePieceBlank());
    return warnOfStartAndEnd();
  }

  void warnOfClass(const char *key) {
    warn(std::string(key) +
         ": Transformers 5 follows this key, and so does Heddle; Transformers 4 " +
         "took tokenizer.json alone, which says otherwise");
  }

  /// Applies a key that adds steps to a sequence if it is `wanted`, and removes them otherwise.
  Status writeStep(const char *key, const char *section, const char *list,
                   const std::vector<std::string> &types, bool wanted) {
    if (!field.find(key))
      return {};
    const bool wants = HEDDLE_TRY(field.flagAt(key, wanted)) == wanted;
    Json &place = tokenizer[section];
    Json steps = place.is_object() && place.contains(list) ? place[list] : Json::array();
    if (!place.is_null() && steps.empty())
      steps.push_back(place);
    Json kept = Json::array();
    size_t found = 0;
    for (const Json &step : steps) {
      const Json type = step.is_object() ? step.value("type", Json()) : Json();
      const bool isOne =
          std::ranges::any_of(types, [&](const std::string &known) { return type == known; });
      found += isOne;
      if (!isOne || wants)
        kept.push_back(step);
    }
    if (wants ? found == types.size() : found == 0)
      return {};
    if (wants)
      for (size_t i = 0; i < types.size(); ++i)
        kept.insert(kept.begin() + static_cast<ptrdiff_t>(i), Json{{"type", types[i]}});
    for (Json &step : kept)
      if (step.value("type", Json()) == "Punctuation")
        step["behavior"] = "Isolated";
    warnOfClass(key);
    set(place, {{"type", "Sequence"}, {list, kept}});
    return {};
  }

  /// Applies add_prefix_space, which puts the mark of a blank before a text.
  Status writePieceBlank() {
    if (!field.find("add_prefix_space"))
      return {};
    const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true));
    const bool before = changed;
    changed = false;
    auto visit = [&](Json &step, const char *list, auto &self) -> void {
      if (!step.is_object())
        return;
      if (step.value("type", Json()) == "Metaspace" && !prefix) {
        set(step["prepend_scheme"], "never");
        step.erase("add_prefix_space");
      }
      if (step.contains(list) && step[list].is_array())
        for (Json &inner : step[list])
          self(inner, list, self);
    };
    visit(tokenizer["pre_tokenizer"], "pretokenizers", visit);
    visit(tokenizer["decoder"], "decoders", visit);
    if (!prefix) {
      removeSteps("normalizer", "normalizers", "Prepend");
      removeSteps("decoder", "decoders", "Strip");
    }
    if (changed)
      warnOfClass("add_prefix_space");
    changed |= before;
    return {};
  }

  void removeSteps(const char *section, const char *list, const char *type) {
    Json &place = tokenizer[section];
    if (!place.is_object() || !place.contains(list) || !place[list].is_array())
      return;
    Json kept = Json::array();
    for (const Json &step : place[list])
      if (!step.is_object() || step.value("type", Json()) != type)
        kept.push_back(step);
    set(place[list], std::move(kept));
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

  /// True if a post-processor puts any token around a text.
  static bool addsAny(const Json &processor) {
    if (!processor.is_object())
      return false;
    if (auto inner = processor.find("processors"); inner != processor.end())
      return std::ranges::any_of(*inner, addsAny);
    const Json pieces = processor.value("single", Json());
    return std::ranges::any_of(pieces, [](const Json &piece) {
      return piece.is_object() && piece.contains("SpecialToken");
    });
  }

  /// Warns of keys that add tokens around a text under some classes of Transformers 4. Transformers
  /// 5 uses the post-processor of tokenizer.json instead.
  Status warnOfStartAndEnd() {
    constexpr std::string_view asked[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                          "CohereTokenizer"};
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

  /// Applies the keys of case, accents and ideographs. In BERT's family of classes they override
  /// the normalizer of tokenizer.json.
  Status writeNormalizer(const TokenizerClass &type) {
    const Json made = HEDDLE_TRY(classNormalizer(type, settings));
    Json &found = tokenizer["normalizer"];
    if (found.is_object() && found.value("type", Json()) == "BertNormalizer") {
      for (const auto &[key, value] : made.items())
        if (key != "clean_text")
          set(found[key], value);
      return {};
    }
    if (found == made || lowersBefore(found, made)) {
      set(found, made);
      return {};
    }
    warn("tokenizer_class: Transformers 5 replaces the normalizer of tokenizer.json, " +
         foundText(found.is_object() ? found.value("type", Json()) : found) + ", by that of " +
         std::string(nameOf(type)) + "; Transformers 4 kept it");
    set(found, made);
    return {};
  }

  /// True if a normalizer is a Lowercase step followed by `made`. Sentence-Transformers saves this
  /// form and adds the step again when it reads the folder.
  static bool lowersBefore(const Json &normalizer, const Json &made) {
    const Json steps = normalizer.is_object() ? normalizer.value("normalizers", Json()) : Json();
    return steps.is_array() && steps.size() == 2 && steps[0] == Json{{"type", "Lowercase"}} &&
           steps[1] == made;
  }

  /// Applies cls_token and sep_token, which the families of BERT and RoBERTa put around a text.
  /// GPT-NeoX's class adds no token, whatever tokenizer.json says.
  Status writeAround(const TokenizerClass &type) {
    const Json old = tokenizer.value("post_processor", Json());
    const std::string start = settings.specialText("cls_token", ""),
                      end = settings.specialText("sep_token", "");
    const bool isOther =
        (!start.empty() && !adds(old, start, true)) || (!end.empty() && !adds(old, end, false));
    const Json made = isOther ? HEDDLE_TRY(classPostProcessor(
                                    type, settings, tokenizer["model"]["vocab"], settings.path()))
                              : Json();
    const bool drops = nameOf(type) == "GPTNeoXTokenizer" && addsAny(old) &&
                       isThere(settings.folder() / "tokenizer.json");
    if (made.is_null() && !drops)
      return {};
    warn(drops
             ? "tokenizer_class: GPTNeoXTokenizer of Transformers 5 puts no token around a text, "
               "and neither does Heddle; Transformers 4 followed tokenizer.json, which does"
             : "cls_token, sep_token: Transformers 5 puts these tokens around a text, and so does "
               "Heddle; Transformers 4 took those of tokenizer.json");
    set(tokenizer["post_processor"], made);
    return {};
  }

  /// Applies add_prefix_space. In byte-level classes it alone decides.
  Status writePrefix() {
    const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", false));
    Json &cut = tokenizer["pre_tokenizer"];
    auto visit = [&](Json &step) {
      if (step.is_object() && step.value("type", Json()) == "ByteLevel")
        set(step["add_prefix_space"], prefix);
    };
    visit(cut);
    if (cut.is_object() && cut.contains("pretokenizers") && cut["pretokenizers"].is_array())
      for (Json &step : cut["pretokenizers"])
        visit(step);
    return {};
  }

  /// Adds the tokens that the folder's other files name and tokenizer.json lacks.
  void addTokens() {
    std::vector<FolderToken> wanted = settings.addedTokens();
    const std::vector<FolderToken> special = settings.specialTokens();
    wanted.insert(wanted.end(), special.begin(), special.end());
    std::vector<std::string> known = knownTokens(tokenizer);
    Numbers numbers(tokenizer);
    Json &list = tokenizer["added_tokens"];
    if (!list.is_array())
      list = Json::array();
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
