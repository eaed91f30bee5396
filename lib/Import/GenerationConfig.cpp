//===- GenerationConfig.cpp - How a folder's model is meant to write ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values and defaults are those of Transformers' GenerationConfig.

#include "GenerationConfig.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

/// A setting of sampling, and the numbers that it may have.
struct Setting {
  const char *key, *name;
  double least, most;
  bool aboveLeast; ///< `least` itself is not allowed
  bool whole = false;
};

/// What is known of the side that writes.
struct TargetFacts {
  bool translates; ///< the model reads a text and writes another
  int64_t size;    ///< tokens of its vocabulary
};

/// A setting that no search follows, and the value with which it changes nothing.
struct Unknown {
  const char *key;
  Json without;
};

} // namespace

static constexpr double most = 1e9;
static constexpr Setting settings[] = {{"temperature", "temperature", 0, most, true},
                                       {"top_k", "top-k", 0, most, false, true},
                                       {"top_p", "top-p", 0, 1, true},
                                       {"min_p", "min-p", 0, 1, false},
                                       {"repetition_penalty", "repetition-penalty", 0, most, true}};

static Expected<Json> numberOf(const Setting &setting, const Json &value, const std::string &path) {
  const bool isNumber = setting.whole ? value.is_number_integer() : value.is_number();
  const double number = isNumber ? value.get<double>() : 0;
  if (isNumber && number <= setting.most &&
      (setting.aboveLeast ? number > setting.least : number >= setting.least))
    return value;
  std::string range = setting.aboveLeast ? "a number above 0" : "a number of at least 0";
  if (setting.most < most)
    range += " and at most 1";
  return inputError(path + ": " + setting.key + ": expected " + range + ", found " + shown(value));
}

/// A flag; false where the file says nothing.
static Expected<bool> flagOf(const Json &config, const char *key, const std::string &path) {
  const Json flag = config.value(key, Json());
  if (!flag.is_boolean() && !flag.is_null())
    return inputError(path + ": " + key + ": expected true or false, found " + shown(flag));
  return flag == true;
}

/// The settings of sampling. Where it draws tokens and no number is said, these are the 50 likeliest.
static Status addSampling(const Json &config, const std::string &path, Json &generation) {
  constexpr int usualCount = 50;
  if (HEDDLE_TRY(flagOf(config, "do_sample", path))) {
    generation["sample"] = true;
    generation["top-k"] = usualCount;
  }
  for (const Setting &setting : settings)
    if (Json value = config.value(setting.key, Json()); !value.is_null())
      generation[setting.name] = HEDDLE_TRY(numberOf(setting, value, path));
  return {};
}

/// A whole number of at least `least`; none where the file says nothing.
static Expected<std::optional<int64_t>> wholeOf(const Json &config, const char *key, int64_t least,
                                                const std::string &path) {
  const Json value = config.value(key, Json());
  if (value.is_null())
    return std::optional<int64_t>();
  if (value.is_number_integer() && value.get<int64_t>() >= least)
    return std::optional(value.get<int64_t>());
  return inputError(path + ": " + key + ": expected a whole number of at least " +
                    std::to_string(least) + ", found " + shown(value));
}

/// A list of tokens; an empty one where the file says nothing.
static Expected<Json> tokensOf(const Json &config, const char *key, const std::string &path) {
  const Json value = config.value(key, Json());
  if (value.is_null())
    return Json::array();
  auto isToken = [](const Json &token) {
    return token.is_number_integer() && token >= 0 && token <= std::numeric_limits<int32_t>::max();
  };
  if (value.is_array() && std::ranges::all_of(value, isToken))
    return value;
  return inputError(path + ": " + key + ": expected a list of tokens, found " + shown(value));
}

/// The settings of beams, as Transformers has them.
static Status addBeams(const Json &config, const std::string &path, Json &generation) {
  const Json early = config.value("early_stopping", Json(false));
  if (early.is_null() || early == false)
    generation["beam-rule"] = "likely";
  else if (early == true)
    generation["beam-rule"] = "full";
  else if (early == "never")
    generation["beam-rule"] = "sure";
  else
    return inputError(path + ": early_stopping: expected true, false or 'never', found " +
                      shown(early));
  if (auto beams = HEDDLE_TRY(wholeOf(config, "num_beams", 1, path)))
    generation["beams"] = *beams;
  const Json penalty = config.value("length_penalty", Json());
  if (!penalty.is_null() && !penalty.is_number())
    return inputError(path + ": length_penalty: expected a number, found " + shown(penalty));
  generation["length-penalty"] = penalty.is_null() ? Json(1.0) : penalty;
  return {};
}

/// Whether `eos_token_id`, a token or a list of them, names a token.
static bool isEnd(const Json &config, const Json &token) {
  const Json ends = config.value("eos_token_id", Json());
  return ends == token || (ends.is_array() && std::ranges::find(ends, token) != ends.end());
}

/// How long answers may be and must be. Lengths of Transformers count the tokens before an answer:
/// of a model that reads a text and writes another that is one, the start.
static Status addLengths(const Json &config, const std::string &path, bool translates,
                         Json &generation) {
  auto least = HEDDLE_TRY(wholeOf(config, "min_new_tokens", 0, path)),
       most = HEDDLE_TRY(wholeOf(config, "max_new_tokens", 1, path));
  if (translates && !least)
    if (auto length = HEDDLE_TRY(wholeOf(config, "min_length", 0, path)))
      least = *length - 1;
  if (translates && !most)
    if (auto length = HEDDLE_TRY(wholeOf(config, "max_length", 1, path)))
      most = *length - 1;
  if (least && *least > 0)
    generation["least"] = *least;
  if (most && *most > 0)
    generation["limit"] = *most;
  return {};
}

/// Refuses what is no token of a model that has `size` of them, or no list of such.
static Status checkTokens(const Json &value, const char *key, int64_t size,
                          const std::string &path) {
  for (const Json &token : value.is_array() ? value : Json::array({value}))
    if (!token.is_number_integer() || token < 0 || token >= size)
      return inputError(path + ": " + key + ": expected a token below " + std::to_string(size) +
                        ", found " + shown(token));
  return {};
}

/// Tokens that may not be chosen: those of `suppress_tokens`, and `bad_words_ids` of one token, of
/// which none is an end.
static Status addSuppressed(const Json &config, const std::string &path, const TargetFacts &target,
                            Json &generation, std::vector<std::string> &warnings) {
  Json suppressed = HEDDLE_TRY(tokensOf(config, "suppress_tokens", path));
  for (const Json &word : config.value("bad_words_ids", Json()))
    if (word.is_array() && word.size() == 1) {
      HEDDLE_TRY(checkTokens(word, "bad_words_ids", target.size, path));
      if (!isEnd(config, word.front()))
        suppressed.push_back(word.front());
    } else
      warnings.push_back(path + ": bad_words_ids: expected words of one token, found " +
                         shown(word) + ", which is not followed");
  std::set<int64_t> known;
  for (const Json &token : suppressed)
    if (token < target.size)
      known.insert(token.get<int64_t>());
  if (std::ssize(known) == target.size)
    return inputError(path +
                      ": suppress_tokens, bad_words_ids: expected a token that may be chosen, "
                      "found all " +
                      std::to_string(target.size) + " suppressed");
  if (!suppressed.empty())
    generation["suppressed"] = std::move(suppressed);
  if (Json first = HEDDLE_TRY(tokensOf(config, "begin_suppress_tokens", path)); !first.empty())
    generation["suppressed-first"] = std::move(first);
  return {};
}

/// What must be chosen, and what may not.
static Status addRules(const Json &config, const std::string &path, const TargetFacts &target,
                       Json &generation, std::vector<std::string> &warnings) {
  for (const auto &[key, name] :
       {std::pair("forced_bos_token_id", "first"), {"forced_eos_token_id", "last"}}) {
    Json token = config.value(key, Json());
    if (token.is_array() && token.size() == 1)
      token = Json(token.front());
    if (token.is_number_integer()) {
      HEDDLE_TRY(checkTokens(token, key, target.size, path));
      generation[name] = token;
    } else if (!token.is_null())
      warnings.push_back(path + ": " + key + ": expected one token, found " + shown(token) +
                         ", which is not followed");
  }
  if (auto n = HEDDLE_TRY(wholeOf(config, "no_repeat_ngram_size", 0, path)); n && *n > 0)
    generation["no-repeat"] = *n;
  if (HEDDLE_TRY(flagOf(config, "renormalize_logits", path)))
    generation["renormalize"] = true;
  HEDDLE_TRY(addSuppressed(config, path, target, generation, warnings));
  return addLengths(config, path, target.translates, generation);
}

static void warnOfUnknown(const Json &config, const std::string &path, bool translates,
                          std::vector<std::string> &warnings) {
  const Unknown unknown[] = {{"num_beam_groups", 1},
                             {"penalty_alpha", nullptr},
                             {"typical_p", 1.0},
                             {"epsilon_cutoff", 0.0},
                             {"eta_cutoff", 0.0},
                             {"encoder_repetition_penalty", 1.0},
                             {"min_length", 0},
                             {"sequence_bias", nullptr},
                             {"guidance_scale", nullptr},
                             {"stop_strings", nullptr},
                             {"max_time", nullptr},
                             {"top_h", nullptr},
                             {"exponential_decay_length_penalty", nullptr},
                             {"watermarking_config", nullptr},
                             {"force_words_ids", nullptr},
                             {"constraints", nullptr},
                             {"diversity_penalty", 0.0}};
  for (const auto &[key, without] : unknown)
    if (Json found = config.value(key, Json());
        !found.is_null() && found != without &&
        !(translates && key == std::string_view("min_length")))
      warnings.push_back(path + ": " + key + ": expected " + shown(without) + ", found " +
                         shown(found) + ", which is not followed");
}

/// generation_config.json, or where there is none `config`, and which file that is.
static Expected<std::pair<Json, std::string>> settingsOf(const std::string &folder,
                                                         const Json &config) {
  std::string path = (fs::path(folder) / "generation_config.json").string();
  if (std::error_code none; fs::exists(path, none))
    return std::pair(HEDDLE_TRY(readJsonObject(path)), path);
  return std::pair(config, configPath(folder));
}

static Expected<Json> generationOf(const Json &settings, const std::string &path,
                                   const TargetFacts &target, std::vector<std::string> &warnings) {
  Json generation = Json::object();
  warnOfUnknown(settings, path, target.translates, warnings);
  HEDDLE_TRY(addSampling(settings, path, generation));
  HEDDLE_TRY(addBeams(settings, path, generation));
  HEDDLE_TRY(addRules(settings, path, target, generation, warnings));
  return generation;
}

Status heddle::addGenerationConfig(const std::string &folder, const Json &config, Json &description,
                                   std::vector<std::string> &files,
                                   std::vector<std::string> &warnings) {
  Json &target = description["target"];
  const Json size = target.value("vocabulary", Json()); // the description's reader checks it
  const TargetFacts facts{.translates = description.value("kind", "") == "encoder-decoder",
                          .size = size.is_number_integer() ? size.get<int64_t>()
                                                           : std::numeric_limits<int32_t>::max()};
  const auto [own, path] = HEDDLE_TRY(settingsOf(folder, config));
  if (path != configPath(folder))
    files.push_back(path);
  Json ends = own.value("eos_token_id", Json());
  if (ends.is_array() && ends.empty())
    return inputError(path + ": eos_token_id: expected a token or a list of them, found []");
  if (!ends.is_null()) {
    HEDDLE_TRY(checkTokens(ends, "eos_token_id", facts.size, path));
    target["end"] = std::move(ends);
  }
  if (Json start = own.value("decoder_start_token_id", Json());
      facts.translates && !start.is_null()) {
    HEDDLE_TRY(checkTokens(start, "decoder_start_token_id", facts.size, path));
    target["start"] = std::move(start);
  }
  target["generation"] = HEDDLE_TRY(generationOf(own, path, facts, warnings));
  return {};
}

Expected<Json> heddle::taskGeneration(const std::string &folder, const Json &config,
                                      const Json &settings, const std::string &place,
                                      int64_t size) {
  Json all = HEDDLE_TRY(settingsOf(folder, config)).first;
  all.update(settings);
  std::vector<std::string> known; // those of the folder are told already
  return generationOf(all, place, {.translates = true, .size = size}, known);
}
