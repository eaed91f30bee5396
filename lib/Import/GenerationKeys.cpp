//===- GenerationKeys.cpp - Keys of generation_config.json ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GenerationKeys.h.

#include "GenerationKeys.h"

#include <algorithm>
#include <string_view>

using namespace heddle;

namespace {

/// A setting that no search follows, and the values with which it changes nothing.
struct Unfollowed {
  const char *key;
  std::vector<Json> without;
};

} // namespace

/// Settings that change texts and are not followed.
static const std::vector<Unfollowed> &unfollowed() {
  static const std::vector<Unfollowed> table = {
      {"constraints", {}},
      {"diversity_penalty", {0.0}},
      {"dola_layers", {}},
      {"encoder_no_repeat_ngram_size", {0}},
      {"encoder_repetition_penalty", {1.0}},
      {"epsilon_cutoff", {0.0}},
      {"eta_cutoff", {0.0}},
      {"exponential_decay_length_penalty", {}},
      {"force_words_ids", {}},
      {"guidance_scale", {nullptr, 1.0}},
      {"max_time", {}},
      {"num_beam_groups", {1}},
      {"num_return_sequences", {1}},
      {"penalty_alpha", {nullptr, 0.0}},
      {"sequence_bias", {}},
      {"stop_strings", {}},
      {"token_healing", {false}},
      {"top_h", {}},
      {"typical_p", {1.0}},
      {"watermarking_config", {}},
  };
  return table;
}

/// Settings that are followed, with the settings of speech, which SpeechTokens reads.
static constexpr std::string_view followed[] = {"begin_suppress_tokens",
                                                "bad_words_ids",
                                                "bos_token_id",
                                                "decoder_start_token_id",
                                                "do_sample",
                                                "early_stopping",
                                                "eos_token_id",
                                                "forced_bos_token_id",
                                                "forced_eos_token_id",
                                                "length_penalty",
                                                "max_length",
                                                "max_new_tokens",
                                                "min_length",
                                                "min_new_tokens",
                                                "min_p",
                                                "no_repeat_ngram_size",
                                                "num_beams",
                                                "renormalize_logits",
                                                "repetition_penalty",
                                                "suppress_tokens",
                                                "temperature",
                                                "top_k",
                                                "top_p"};

/// Settings that change no text: of caches, of speed (a draft's tokens are checked), of what else is
/// returned, of padding, and the names that the chats of some models' own code go by. Infinite and
/// missing scores, which `remove_invalid_values` is for, are never chosen.
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
  return key.starts_with('_') || std::ranges::count(followed, key) > 0 ||
         std::ranges::count(harmless, key) > 0 ||
         std::ranges::count(unfollowed(), key, &Unfollowed::key) > 0;
}

void heddle::warnOfUnfollowedSettings(const Json &config, const std::string &path,
                                      std::vector<std::string> &warnings) {
  for (const auto &[key, without] : unfollowed())
    if (const Json found = config.value(key, Json());
        !found.is_null() && std::ranges::find(without, found) == without.end())
      warnings.push_back(path + ": " + key + ": expected " +
                         shown(without.empty() ? Json() : without.front()) + ", found " +
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
