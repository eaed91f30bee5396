//===- GenerationKeys.cpp - Keys of generation_config.json ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema of model descriptions has the keys that are followed or change texts; the keys that
// change no text are here.

#include "GenerationKeys.h"

#include <algorithm>
#include <string_view>

using namespace heddle;

/// Settings that change texts and are not followed, and the values with which they change nothing.
static const Json &unfollowed() { return generationSchema()["not-followed"]; }

/// Returns whether a setting is followed by a search, or by the readers of start and end tokens.
static bool isFollowed(std::string_view key) {
  return key == "decoder_start_token_id" || key == "eos_token_id" ||
         std::ranges::any_of(generationSchema()["properties"], [&](const Json &setting) {
           return setting.value("transformers", "") == key;
         });
}

/// Settings that change no text: caches, speed (a draft's tokens are checked), further results,
/// padding, and names that the code of some models' chats reads. Infinite and missing scores are
/// never chosen, so `remove_invalid_values` changes nothing.
static constexpr std::string_view harmless[] = {
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "assistant_token_id",
    "cache_config",
    "chat_format",
    "compile_config",
    "continuous_batching_config",
    "disable_compile",
    "is_assistant",
    "low_memory",
    "max_cache_len",
    "max_matching_ngram_size",
    "max_window_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "remove_invalid_values",
    "resume_download",
    "return_dict_in_generate",
    "return_legacy_cache",
    "speculation_type",
    "target_lookbehind",
    "transformers_version",
    "use_auth_token",
    "use_cache",
    "use_mtp",
    "user_token_id",
};

static bool isKnown(std::string_view key) {
  return key.starts_with('_') || isFollowed(key) || unfollowed().contains(key) ||
         std::ranges::count(harmless, key) > 0;
}

std::vector<std::pair<std::string, Json>> heddle::unfollowedOfSpeech() {
  // No search has tokens of an encoder that hears.
  std::vector<std::pair<std::string, Json>> settings = {{"_detect_timestamp_from_logprob", true},
                                                        {"force_unique_generate_call", false},
                                                        {"prompt_condition_type", "first-segment"},
                                                        {"prompt_ids", nullptr},
                                                        {"return_token_timestamps", false}};
  for (const auto &[key, without] : unfollowed().items())
    if (!key.starts_with("encoder_"))
      settings.emplace_back(key, without);
  return settings;
}

void heddle::warnOfUnfollowedSettings(const Json &config, const std::string &path,
                                      std::vector<std::string> &warnings) {
  for (const auto &[key, without] : unfollowed().items())
    if (const Json found = config.value(key, Json()); !found.is_null() && found != without)
      warnings.push_back(path + ": " + key + ": expected " + shown(without) + ", found " +
                         shown(found) + ", which is not followed");
  if (const Json found = config.value("cache_implementation", Json()); found == "quantized")
    warnings.push_back(path + ": cache_implementation: expected another cache, found " +
                       shown(found) + ", which is not followed: see --cache-dtype");
  const Json beams = config.value("num_beams", Json());
  const Json sample = config.value("do_sample", Json());
  const bool draws = sample == true || (sample.is_number() && sample != 0);
  if (draws && beams.is_number() && beams > 1)
    warnings.push_back(path + ": num_beams: expected 1 where do_sample is true, found " +
                       shown(beams) + ", which is not followed: tokens are drawn for one text");
}

void heddle::warnOfUnknownSettings(const Json &config, const std::string &path,
                                   std::vector<std::string> &warnings) {
  for (const auto &[key, found] : config.items())
    if (!found.is_null() && key != "cache_implementation" && !isKnown(key))
      warnings.push_back(path + ": " + printable(key) + ": expected a known setting, found " +
                         shown(found) + ", which is not followed");
}
