//===- GenerationConfig.cpp - How a folder's model is meant to write ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values and defaults are those of Transformers' GenerationConfig.

#include "GenerationConfig.h"

#include "heddle/Support/Try.h"

#include <filesystem>

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

/// The settings of sampling. Where it draws tokens and no number is said, these are the 50 likeliest.
static Status addSampling(const Json &config, const std::string &path, Json &target) {
  constexpr int usualCount = 50;
  const Json sample = config.value("do_sample", Json(false));
  if (!sample.is_boolean() && !sample.is_null())
    return inputError(path + ": do_sample: expected true or false, found " + shown(sample));
  Json generation = Json::object();
  if (sample == true) {
    generation["sample"] = true;
    generation["top-k"] = usualCount;
  }
  for (const Setting &setting : settings)
    if (Json value = config.value(setting.key, Json()); !value.is_null())
      generation[setting.name] = HEDDLE_TRY(numberOf(setting, value, path));
  if (!generation.empty())
    target["generation"] = std::move(generation);
  return {};
}

static void warnOfUnknown(const Json &config, const std::string &path,
                          std::vector<std::string> &warnings) {
  const Unknown unknown[] = {{"num_beams", 1},
                             {"num_beam_groups", 1},
                             {"penalty_alpha", nullptr},
                             {"typical_p", 1.0},
                             {"epsilon_cutoff", 0.0},
                             {"eta_cutoff", 0.0},
                             {"encoder_repetition_penalty", 1.0},
                             {"no_repeat_ngram_size", 0},
                             {"bad_words_ids", nullptr},
                             {"min_length", 0},
                             {"min_new_tokens", nullptr},
                             {"forced_bos_token_id", nullptr},
                             {"forced_eos_token_id", nullptr},
                             {"suppress_tokens", nullptr},
                             {"begin_suppress_tokens", nullptr},
                             {"sequence_bias", nullptr},
                             {"guidance_scale", nullptr},
                             {"stop_strings", nullptr}};
  for (const auto &[key, without] : unknown)
    if (Json found = config.value(key, Json()); !found.is_null() && found != without)
      warnings.push_back(path + ": " + key + ": expected " + shown(without) + ", found " +
                         shown(found) + ", which is not followed");
}

Status heddle::addGenerationConfig(const std::string &folder, const Json &config, Json &target,
                                   std::vector<std::string> &files,
                                   std::vector<std::string> &warnings) {
  std::string path = (fs::path(folder) / "generation_config.json").string();
  Json own = config;
  if (std::error_code none; fs::exists(path, none)) {
    own = HEDDLE_TRY(readJsonObject(path));
    files.push_back(path);
  } else {
    path = configPath(folder);
  }
  if (Json ends = own.value("eos_token_id", Json()); !ends.is_null())
    target["end"] = std::move(ends); // the schema checks it
  warnOfUnknown(own, path, warnings);
  return addSampling(own, path, target);
}
