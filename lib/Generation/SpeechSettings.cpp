//===- SpeechSettings.cpp - Settings of speech models ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the settings of a transcription in generation_config.json, apart from
// tokens, as Transformers does. Settings that are not followed are errors.
#include "SpeechNumbers.h"

#include "heddle/Generation/Speech.h"
#include "heddle/Support/Try.h"

#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

/// A setting that changes the text, and the value with which it does not. Null and false do not
/// change the text either.
struct NotFollowed {
  const char *key;
  Json without;
};

/// A number; `otherwise` if the key is missing or null.
Expected<double> numberOr(const JsonField &keys, const char *key, double otherwise) {
  const auto field = keys.find(key);
  if (!field)
    return otherwise;
  if (!field->value().is_number())
    return field->expected("a number");
  return field->value().get<double>();
}

Error notFollowed(const JsonField &field, const std::string &expected) {
  return field.error(expected, foundText(field.value()) + ", which is not followed");
}

} // namespace

bool heddle::isToken(const Json &value) {
  constexpr int32_t most = 1 << 24;
  return value.is_number_integer() && value >= 0 && value < most;
}

Expected<int32_t> heddle::tokenOf(const JsonField &field) {
  if (!isToken(field.value()))
    return field.expected("a token");
  return field.value().get<int32_t>();
}

Expected<std::optional<int32_t>> heddle::maybeNumber(const JsonField &keys, const char *key) {
  const auto field = keys.find(key);
  if (!field)
    return std::optional<int32_t>();
  return std::optional(HEDDLE_TRY(tokenOf(*field)));
}

/// Returns an error for settings that would change the text and are not followed.
Status SpeechTokens::checkFollowed(const JsonField &keys) {
  const NotFollowed table[] = {{"_detect_timestamp_from_logprob", true},
                               {"constraints", nullptr},
                               {"diversity_penalty", 0},
                               {"dola_layers", nullptr},
                               {"epsilon_cutoff", 0},
                               {"eta_cutoff", 0},
                               {"exponential_decay_length_penalty", nullptr},
                               {"force_unique_generate_call", false},
                               {"force_words_ids", nullptr},
                               {"guidance_scale", 1},
                               {"max_time", nullptr},
                               {"num_beam_groups", 1},
                               {"num_return_sequences", 1},
                               {"penalty_alpha", 0},
                               {"prompt_condition_type", "first-segment"},
                               {"prompt_ids", nullptr},
                               {"return_token_timestamps", false},
                               {"sequence_bias", nullptr},
                               {"stop_strings", nullptr},
                               {"token_healing", false},
                               {"top_h", nullptr},
                               {"typical_p", 1},
                               {"watermarking_config", nullptr}};
  for (const auto &[key, without] : table)
    if (const auto field = keys.find(key);
        field && field->value() != without && (field->value() != false || without.is_boolean()))
      return notFollowed(*field, foundText(without));
  const auto last = keys.find("forced_eos_token_id");
  const bool isOne = last && last->value().is_array() && last->value().size() == 1;
  if (last && !isOne && !isToken(last->value()))
    return notFollowed(*last, "one token");
  return {};
}

Status SpeechTokens::setLengthsAndChecks(const JsonField &keys) {
  mostNew = HEDDLE_TRY(maybeNumber(keys, "max_new_tokens"));
  mostInAll = HEDDLE_TRY(maybeNumber(keys, "max_length"));
  leastNew = HEDDLE_TRY(maybeNumber(keys, "min_new_tokens"));
  leastInAll = HEDDLE_TRY(maybeNumber(keys, "min_length"));
  timesItself = HEDDLE_TRY(keys.flagAt("return_timestamps", false));
  usesEarlierText = HEDDLE_TRY(keys.flagAt("condition_on_prev_tokens", true));
  ownChecks.mostCompression =
      HEDDLE_TRY(numberOr(keys, "compression_ratio_threshold", ownChecks.mostCompression));
  ownChecks.leastLogProbability =
      HEDDLE_TRY(numberOr(keys, "logprob_threshold", ownChecks.leastLogProbability));
  ownChecks.silence = HEDDLE_TRY(numberOr(keys, "no_speech_threshold", ownChecks.silence));
  return {};
}

int64_t SpeechTokens::mostBehind(int64_t prompt, int64_t positions) const {
  // The last token is not read.
  int64_t most = positions - prompt + 1;
  if (mostNew)
    most = std::min<int64_t>(most, *mostNew);
  else if (mostInAll)
    most = std::min(most, *mostInAll - prompt);
  return std::max<int64_t>(most, 0);
}

int64_t SpeechTokens::leastBehind(int64_t prompt) const {
  return leastNew ? *leastNew : std::max<int64_t>(leastInAll.value_or(0) - prompt, 0);
}
