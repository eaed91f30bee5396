//===- GenerationConfig.cpp - Generation settings of a folder -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and defaults follow GenerationConfig of Transformers. A wrong value is recorded as a
// refusal and becomes an error where the setting is used, because files of greedy models hold
// sampling settings that no search could follow.

#include "GenerationConfig.h"
#include "GenerationKeys.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/SettingsJson.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

/// Facts about the decoder's side.
struct TargetFacts {
  bool translates; ///< encoder-decoder: reads a text and writes another
  bool speaks;     ///< writes what it hears: draws if a text fails the checks of speech
  int64_t size;    ///< number of tokens in its vocabulary
};

/// Settings and the file that holds them.
struct SettingsFile {
  const Json &settings;
  const std::string &path;
  bool rules; ///< an omitted setting is unset; if false, it has the default of the model's class
};

/// Numbers that a setting may have.
struct Range {
  double least, most = 1e9;
  bool aboveLeast = false; ///< `least` itself is not allowed
};

/// The bounds of a number in the schema.
Range rangeOf(const Json &setting) {
  const bool aboveLeast = setting.contains("exclusiveMinimum");
  return {.least = setting[aboveLeast ? "exclusiveMinimum" : "minimum"],
          .most = setting.value("maximum", 1e9),
          .aboveLeast = aboveLeast};
}

/// Reads the settings of one file and records refusals.
class SettingsReader {
public:
  SettingsReader(const Json &config, const std::string &path, const TargetFacts &target,
                 std::vector<std::string> &warnings)
      : config(config), path(path), target(target), warnings(warnings) {}

  Json read() {
    addScalars();
    addSampling();
    addBeams();
    addForced();
    addBadWords();
    addSuppressed();
    addLengths();
    return std::move(generation);
  }

private:
  Json value(const std::string &key) const { return config.value(key, Json()); }

  /// Records why a setting is wrong; the error is raised where search option `name` is used.
  void refuse(const std::string &name, const std::string &key, const std::string &expected,
              const Json &found) {
    generation["refused"].push_back(
        {name, path + ": " + key + ": expected " + expected + ", found " + shown(found)});
  }

  /// Reads a number within `range`; none if it is missing or refused.
  std::optional<double> number(const std::string &key, const std::string &name,
                               const Range &range) {
    const Json found = value(key);
    if (found.is_null())
      return std::nullopt;
    const double number = found.is_number() ? found.get<double>() : NAN;
    if (number <= range.most && (range.aboveLeast ? number > range.least : number >= range.least))
      return number;
    std::string expected = range.aboveLeast ? "a number above " : "a number of at least ";
    expected += range.least == 0 ? "0" : shown(Json(range.least));
    refuse(name, key, expected + (range.most == 1 ? " and at most 1" : ""), found);
    return std::nullopt;
  }
  /// Reads an integer, which may be written as 20.0.
  std::optional<int64_t> whole(const std::string &key, const std::string &name, int64_t least) {
    const Json found = value(key);
    if (found.is_null())
      return std::nullopt;
    const double number = found.is_number() ? found.get<double>() : NAN;
    if (std::trunc(number) == number && number >= static_cast<double>(least))
      return static_cast<int64_t>(std::min<double>(number, std::numeric_limits<int32_t>::max()));
    refuse(name, key, "a whole number of at least " + std::to_string(least), found);
    return std::nullopt;
  }
  /// A switch; of numbers 0 is false, as in Python.
  bool flag(const std::string &key, const std::string &name) {
    const Json found = value(key);
    if (found.is_number())
      return found != 0;
    if (!found.is_boolean() && !found.is_null())
      refuse(name, key, "true or false", found);
    return found == true;
  }
  static bool isWhole(const Json &token) { return token.is_number_integer(); }
  bool isToken(const Json &token) const {
    return isWhole(token) && token >= 0 && token < target.size;
  }

  void addScalars();
  void addSampling();
  void addBeams();
  void addForced();
  std::set<int64_t> suppressedBy(const char *key, const char *name);
  void addSuppressed();
  bool isEnd(const Json &token) const;
  void addBadWords();
  void addLengths();

  const Json &config;
  const std::string &path;
  const TargetFacts &target;
  std::vector<std::string> &warnings;
  Json generation = Json::object();
  std::set<int64_t> suppressedWords; ///< one-token entries of bad_words_ids
};

} // namespace

/// Reads the settings that are a number or a switch, with the bounds of the schema. Settings with
/// other rules follow in methods of their own.
void SettingsReader::addScalars() {
  for (const auto &[name, setting] : generationSchema()["properties"].items()) {
    static constexpr std::string_view others[] = {"top-p", "beams", "length-penalty", "least",
                                                  "least-in-all"};
    const Json key = setting.value("transformers", Json()), type = setting["type"];
    if (!key.is_string() || std::ranges::count(others, name) > 0)
      continue;
    if (type == "boolean" && flag(key, name))
      generation[name] = true;
    if (type == "number")
      if (auto found = number(key, name, rangeOf(setting)))
        generation[name] = *found;
    if (type == "integer")
      if (auto found = whole(key, name, setting["minimum"]))
        generation[name] = std::min<int64_t>(*found, setting["maximum"]);
  }
}

/// Reads the share of `top_p`. Without `top_k`, drawing counts the 50 likeliest tokens.
void SettingsReader::addSampling() {
  constexpr int usualCount = 50;
  if (value("top_k").is_null() && (target.speaks || generation.contains("sample")))
    generation["top-k"] = usualCount;
  if (auto share = number("top_p", "top-p", {.least = 0})) // values above 1 keep every token
    generation["top-p"] = std::min(*share, 1.0);
}

/// Reads the beam settings, with the defaults of Transformers.
void SettingsReader::addBeams() {
  const Json early = value("early_stopping");
  generation["beam-rule"] = early == true ? "full" : early == "never" ? "sure" : "likely";
  if (!early.is_null() && !early.is_boolean() && early != "never")
    refuse("beam-rule", "early_stopping", "true, false or 'never'", early);
  if (auto beams = whole("num_beams", "beams", 1)) {
    constexpr int64_t mostBeams = 1024;
    if (*beams <= mostBeams)
      generation["beams"] = *beams;
    else
      refuse("beams", "num_beams", "1 to " + std::to_string(mostBeams), value("num_beams"));
  }
  generation["length-penalty"] =
      number("length_penalty", "length-penalty", {.least = -1e9}).value_or(1.0);
}

/// Reads the forced tokens.
void SettingsReader::addForced() {
  for (const auto &[key, name] :
       {std::pair("forced_bos_token_id", "first"), {"forced_eos_token_id", "last"}}) {
    Json token = value(key);
    if (token.is_array() && token.size() == 1)
      token = Json(token.front());
    if (isToken(token))
      generation[name] = token;
    else if (token.is_array())
      warnings.push_back(path + ": " + key + ": expected one token, found " + shown(token) +
                         ", which is not followed");
    else if (!token.is_null())
      refuse(name, key, "a token below " + std::to_string(target.size), token);
  }
}

/// Reads a list of suppressed tokens; tokens outside the vocabulary are ignored.
std::set<int64_t> SettingsReader::suppressedBy(const char *key, const char *name) {
  const Json list = value(key);
  std::set<int64_t> tokens;
  if (list.is_array() && std::ranges::all_of(list, isWhole)) {
    for (const Json &token : list)
      if (isToken(token))
        tokens.insert(token.get<int64_t>());
  } else if (!list.is_null())
    refuse(name, key, "a list of tokens", list);
  return tokens;
}

/// Writes the tokens that are never allowed, including one-token bad words, and those not allowed
/// first.
void SettingsReader::addSuppressed() {
  std::set<int64_t> never = suppressedBy("suppress_tokens", "suppressed"),
                    first = suppressedBy("begin_suppress_tokens", "suppressed-first");
  never.merge(suppressedWords);
  if (std::ssize(never) == target.size)
    generation["refused"].push_back(
        {"suppressed", path + ": suppress_tokens, bad_words_ids: expected a token that may be " +
                           "chosen, found all " + std::to_string(target.size) + " suppressed"});
  else if (!never.empty())
    generation["suppressed"] = never;
  if (!first.empty())
    generation["suppressed-first"] = first;
}

/// Returns whether `eos_token_id`, a token or a list, contains `token`.
bool SettingsReader::isEnd(const Json &token) const {
  const Json ends = value("eos_token_id");
  return ends == token || (ends.is_array() && std::ranges::find(ends, token) != ends.end());
}

/// Reads the words that must not be written, except words of one end token.
void SettingsReader::addBadWords() {
  constexpr const char *key = "bad_words_ids", *name = "bad-words";
  const Json words = value(key);
  if (words.is_null())
    return;
  if (!words.is_array())
    return refuse(name, key, "a list of words, which are lists of tokens", words);
  Json kept = Json::array();
  for (const Json &word : words) {
    if (!word.is_array() || word.empty() ||
        !std::ranges::all_of(word, [this](const Json &token) { return isToken(token); }))
      return refuse(name, key, "words of tokens below " + std::to_string(target.size), word);
    if (word.size() > 1)
      kept.push_back(word);
    else if (!isEnd(word.front()))
      suppressedWords.insert(word.front().get<int64_t>());
  }
  if (!kept.empty())
    generation[name] = std::move(kept);
}

/// Reads the limits of an answer's length. `max_length` and `min_length` include the tokens before
/// the answer; an encoder-decoder has one, the start token.
void SettingsReader::addLengths() {
  auto least = whole("min_new_tokens", "least", 0), most = whole("max_new_tokens", "limit", 1);
  auto leastInAll = least ? std::nullopt : whole("min_length", "least", 0),
       mostInAll = most ? std::nullopt : whole("max_length", "limit", 1);
  if (target.translates && leastInAll)
    least = *std::exchange(leastInAll, std::nullopt) - 1;
  if (target.translates && mostInAll)
    most = *std::exchange(mostInAll, std::nullopt) - 1;
  for (const auto &[name, number] : {std::pair("least", least),
                                     {"limit", most},
                                     {"least-in-all", leastInAll},
                                     {"limit-in-all", mostInAll}})
    if (number && *number > 0)
      generation[name] = std::min(*number, SearchSettings::unlimited);
}

/// generation_config.json, or where there is none `config`, and which file that is.
static Expected<std::pair<Json, std::string>> settingsOf(const std::string &folder,
                                                         const Json &config) {
  std::string path = (fs::path(folder) / "generation_config.json").string();
  if (isThere(path))
    return std::pair(HEDDLE_TRY(readJsonObject(path)), path);
  return std::pair(config, configPath(folder));
}

static bool isToken(const Json &token, int64_t size) {
  return token.is_number_integer() && token >= 0 && token < size;
}

/// Returns the tokens that end a text; null gives none. Ids outside the vocabulary are ignored,
/// with a warning unless they are -1.
static Expected<Json> endsOf(const Json &value, int64_t size, const std::string &path,
                             std::vector<std::string> &warnings) {
  Json ends = Json::array();
  for (const Json &token : value.is_array() || value.is_null() ? value : Json::array({value}))
    if (isToken(token, size))
      ends.push_back(token);
    else if (!token.is_number_integer())
      return inputError(path + ": eos_token_id: expected a token below " + std::to_string(size) +
                        ", found " + shown(token));
    else if (token != -1)
      warnings.push_back(path + ": eos_token_id: expected a token below " + std::to_string(size) +
                         ", found " + shown(token) + ", which ends no text");
  return ends;
}

/// Returns the object whose `eos_token_id` applies: in a config.json without the key, its decoder's
/// part.
static const Json &partOfEnds(const Json &own) {
  if (own.value("eos_token_id", Json()).is_null())
    for (const char *name : {"decoder", "generator", "text_config"})
      if (auto part = own.find(name); part != own.end() && part->is_object() && !part->empty())
        return part->contains("eos_token_id") ? *part : own;
  return own;
}

/// Sets the ends of `target`. Null means none; without the key in config.json, the default of the
/// class remains.
static Status addEnds(const SettingsFile &file, const Json &config, int64_t size, Json &target,
                      std::vector<std::string> &warnings) {
  constexpr const char *key = "eos_token_id";
  const Json &part = partOfEnds(file.settings);
  if (!part.contains(key) && !file.rules)
    return {};
  if (const Json other = partOfEnds(config).value(key, Json());
      !part.contains(key) && !other.is_null())
    warnings.push_back(file.path + ": " + key + ": expected the token that ends a text, found " +
                       "none: " + shown(other) + " of config.json ends no text");
  target["end"] = HEDDLE_TRY(endsOf(part.value(key, Json()), size, file.path, warnings));
  return {};
}

/// Sets the start token of `target`, by default `bos_token_id`. Generation is refused if there is
/// neither.
static Status addStart(const SettingsFile &file, int64_t size, Json &target, Json &generation) {
  constexpr const char *key = "decoder_start_token_id";
  Json start = file.settings.value(key, Json());
  if (!file.rules && !file.settings.contains(key))
    return {}; // the class has a default
  const std::string expected =
      file.path + ": " + key + ": expected a token below " + std::to_string(size) + ", found ";
  if (start.is_null())
    start = file.settings.value("bos_token_id", Json());
  if (start.is_null())
    generation["refused"].push_back({"start", expected + "none, and no bos_token_id"});
  else if (!isToken(start, size))
    return inputError(expected + shown(start));
  else
    target["start"] = std::move(start);
  return {};
}

Status heddle::addGenerationConfig(const std::string &folder, const Json &config, Json &description,
                                   std::vector<std::string> &files,
                                   std::vector<std::string> &warnings) {
  Json &target = description["target"];
  const Json size = target.value("vocabulary", Json()); // the description's reader checks it
  const Json source = description.value("source", Json());
  const bool takesAudio = source.is_object() && source.contains("frames");
  const TargetFacts facts{.translates = description.value("kind", "") == "encoder-decoder",
                          .speaks = takesAudio,
                          .size = size.is_number_integer() ? size.get<int64_t>()
                                                           : std::numeric_limits<int32_t>::max()};
  const auto [own, path] = HEDDLE_TRY(settingsOf(folder, config));
  if (path != configPath(folder)) {
    files.push_back(path);
    if (!takesAudio)
      warnOfUnknownSettings(own, path, warnings);
  }
  if (!takesAudio)
    warnOfUnfollowedSettings(own, path, warnings);
  // Keys that generation_config.json lacks are taken from config.json only for speech.
  const bool rules = path != configPath(folder) && !takesAudio;
  HEDDLE_TRY(addEnds({own, path, rules}, config, facts.size, target, warnings));
  Json generation = SettingsReader(own, path, facts, warnings).read();
  if (facts.translates)
    HEDDLE_TRY(addStart({own, path, rules}, facts.size, target, generation));
  else if (Json begin = own.value("bos_token_id", Json()); isToken(begin, facts.size))
    generation["begin"] = std::move(begin); // used if a prompt has no tokens
  target["generation"] = std::move(generation);
  return {};
}

Expected<SearchSettings> heddle::taskGeneration(const std::string &folder, const Json &config,
                                                const Json &settings, const std::string &place,
                                                int64_t size) {
  Json all = HEDDLE_TRY(settingsOf(folder, config)).first;
  all.update(settings);
  std::vector<std::string> known; // the import of the folder has already reported these
  const TargetFacts facts{.translates = true, .speaks = false, .size = size};
  return searchSettingsFromJson(SettingsReader(all, place, facts, known).read(), place);
}
