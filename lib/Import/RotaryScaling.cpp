//===- RotaryScaling.cpp - Scaling of rotary positions --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the frequencies of pairs in f64, once per model. A scaling that depends on the lengths
// of texts is refused, because it would make a row depend on the other rows of a batch.

#include "RotaryScaling.h"

#include "llvm/ADT/STLExtras.h"

#include <numbers>

using namespace heddle;

namespace {
class Scaling {
public:
  Scaling(PositionDescription &position, int64_t rotated, int64_t limit, ErrorSink &errors)
      : position(position), in(position.in.object("scaling")), rotated(rotated), limit(limit),
        errors(errors) {}
  void run();

private:
  static std::string kindOf(const Keys &in, const char *key);
  std::string kind() const;
  void checkKind();
  double number(const char *key, double otherwise) const { return in.get<double>(key, otherwise); }
  double frequency(int64_t pair) const {
    return std::pow(position.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotated));
  }
  int64_t original() const;
  bool hasOriginal();
  void llama3();
  void yarn();
  void longrope();

  PositionDescription &position;
  const Keys in;
  const int64_t rotated, limit;
  ErrorSink &errors;
};
} // namespace

/// Older names of Phi-3's `longrope`, recognized by its lists of factors.
std::string Scaling::kindOf(const Keys &in, const char *key) {
  auto kind = in.get<std::string>(key);
  return kind == "su" || (kind == "yarn" && in.gives("short_factor")) ? "longrope" : kind;
}

/// `rope_type`, or its older name `type`.
std::string Scaling::kind() const {
  return kindOf(in, in.gives("rope_type") || !in.gives("type") ? "rope_type" : "type");
}

/// Reports an error if both names are given and differ, or if factors are given without a name.
void Scaling::checkKind() {
  if (in.gives("rope_type") && in.gives("type") && kindOf(in, "type") != kind())
    errors.expected(in.path("type"), "what rope_type is, '" + kind() + "'",
                    shown(*in.find("type")));
  for (const char *key : {"factor", "short_factor", "long_factor"})
    if (in.gives(key) && !in.gives("rope_type") && !in.gives("type"))
      return errors.expected(in.path("rope_type"), std::string("one with ") + key, "none");
}

/// Trained context in tokens, before the scaling; 0 if unknown.
int64_t Scaling::original() const {
  if (auto length = in.maybe<int64_t>("original_max_position_embeddings"))
    return *length;
  auto length = position.in.maybe<int64_t>("original-length");
  return length ? *length : position.in.get<int64_t>("extended-length");
}

bool Scaling::hasOriginal() {
  if (original() > 0)
    return true;
  errors.expected(in.path("original_max_position_embeddings"),
                  "the tokens of a text before the scaling", "no such key");
  return false;
}

/// Divides the frequencies of long waves by the factor, keeps short waves, and interpolates between
/// them.
void Scaling::llama3() {
  bool complete = hasOriginal();
  for (const char *key : {"factor", "low_freq_factor", "high_freq_factor"})
    complete &= in.require(key, errors);
  if (!complete)
    return;
  double factor = number("factor", 1), low = number("low_freq_factor", 1),
         high = number("high_freq_factor", 4), length = static_cast<double>(original());
  if (high <= low)
    return errors.expected(in.path("high_freq_factor"), "a number above low_freq_factor",
                           shown(*in.find("high_freq_factor")));
  for (int64_t pair = 0; pair < rotated / 2; ++pair) {
    double plain = frequency(pair), wave = 2 * std::numbers::pi / plain;
    double share = std::clamp((length / wave - low) / (high - low), 0.0, 1.0);
    position.frequencies.push_back((1 - share) * plain / factor + share * plain);
  }
}

/// Keeps the pairs that turn often within the trained context, divides the frequencies of the pairs
/// that turn rarely, and interpolates between them. Source: Peng et al., YaRN: Efficient Context
/// Window Extension of Large Language Models, section 3.
void Scaling::yarn() {
  if (!hasOriginal())
    return;
  double length = static_cast<double>(original()),
         extended = position.in.get<double>("extended-length", 0),
         factor = number("factor", extended / length);
  if (factor <= 0)
    return void(in.require("factor", errors));
  auto size = static_cast<double>(rotated);
  auto pairOf = [&](double turns) {
    return size * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(position.base));
  };
  double low = pairOf(number("beta_fast", 32)), high = pairOf(number("beta_slow", 1));
  if (in.get<bool>("truncate"))
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, size - 1);
  if (low == high)
    high += 0.001;
  for (int64_t pair = 0; pair < rotated / 2; ++pair) {
    double plain = frequency(pair),
           ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    position.frequencies.push_back(plain / factor * ramp + plain * (1 - ramp));
  }
  auto growth = [&](double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; };
  double mscale = number("mscale", 0), ofAll = number("mscale_all_dim", 0);
  double usual = mscale != 0 && ofAll != 0 ? growth(mscale) / growth(ofAll) : growth(1);
  position.magnitude = number("attention_factor", usual);
}

/// Applies one factor per pair: the long factors if texts may exceed the trained context, or else
/// the short ones, which limit texts to it. Source: Ding et al., LongRoPE: Extending LLM Context
/// Window Beyond 2 Million Tokens, section 3.
void Scaling::longrope() {
  if (!hasOriginal())
    return;
  bool isLong = limit > original();
  for (const char *key : {"short_factor", "long_factor"}) {
    if (!in.require(key, errors))
      return;
    if (auto count = static_cast<int64_t>(in.find(key)->size()); count != rotated / 2)
      return errors.expected(in.path(key), std::to_string(rotated / 2) + " numbers, one a pair",
                             std::to_string(count));
  }
  if (!isLong && *in.find("short_factor") != *in.find("long_factor"))
    position.rotatedRows = original();
  auto factors = in.find(isLong ? "long_factor" : "short_factor")->get<std::vector<double>>();
  for (auto [pair, factor] : llvm::enumerate(factors))
    position.frequencies.push_back(frequency(static_cast<int64_t>(pair)) / factor);
  double length = static_cast<double>(original()),
         factor = number("factor", position.in.get<double>("extended-length", length) / length);
  double usual =
      factor <= 1 || length <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(length));
  position.magnitude =
      number(isLong ? "long_mscale" : "short_mscale", number("attention_factor", usual));
}

void Scaling::run() {
  checkKind();
  std::string kind = this->kind();
  if (kind == "linear" && in.require("factor", errors))
    position.factor = number("factor", 1);
  if (kind == "llama3")
    llama3();
  if (kind == "yarn")
    yarn();
  if (kind == "longrope")
    longrope();
  if (kind == "dynamic")
    errors.expected(in.path(in.gives("rope_type") ? "rope_type" : "type"),
                    "a scaling that does not follow the lengths of texts: a text's result would "
                    "depend on those with it",
                    "'dynamic'");
}

void heddle::scaleRotary(PositionDescription &position, int64_t headSize, int64_t limit,
                         ErrorSink &errors) {
  auto rotated = static_cast<int64_t>(position.fraction * static_cast<double>(headSize));
  if (position.in.gives("scaling") && rotated > 0 &&
      rotated % 2 == 0) // the reader of rotary positions reports the rest
    Scaling(position, rotated, limit, errors).run();
}
