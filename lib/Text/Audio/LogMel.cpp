//===- LogMel.cpp - Log-mel spectrograms --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of Transformers' WhisperFeatureExtractor, with its keys and defaults. The steps are
// frames of a periodic Hann window, power spectrum, triangular filters on Slaney's mel scale,
// log10, clamping to 80 dB below the loudest value, and scaling.
#include "heddle/Audio/LogMel.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/JsonField.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <nlohmann/json.hpp>
#include <numbers>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

//===- preprocessor_config.json ------------------------------------------===//

/// A number; 0 if the key is missing.
Expected<float> numberAt(const JsonField &keys, const char *key) {
  const auto field = keys.find(key);
  if (field && (!field->value().is_number() || !std::isfinite(field->value().get<float>())))
    return field->expected("a number");
  return field ? field->value().get<float>() : 0;
}

/// Error unless the key is missing or has the only supported value.
Status checkOnly(const JsonField &keys, const char *key, const Json &built) {
  const auto field = keys.find(key);
  return field && field->value() != built ? Status(field->expected(foundText(built))) : Status();
}

//===- Slaney's mel scale ------------------------------------------------===//

/// Linear up to 1 kHz, which is mel 15, and logarithmic above (Auditory Toolbox, 1998).
constexpr double bendHertz = 1000, bendMel = 15, hertzAMel = 200.0 / 3;
/// Upper end of the filters, independent of the rate.
constexpr double mostHertz = 8000;

double logStep() { return std::log(6.4) / 27; }

double hertzOf(double mel) {
  return mel < bendMel ? hertzAMel * mel : bendHertz * std::exp(logStep() * (mel - bendMel));
}

double mostMel() { return bendMel + std::log(mostHertz / bendHertz) / logStep(); }

std::vector<double> hannWindow(int64_t size) {
  std::vector<double> window;
  for (int64_t i = 0; i < size; ++i)
    window.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                          static_cast<double>(size)));
  return window;
}

/// Power spectrum of frames, bin by bin from 0 Hz to half the rate.
class Powers {
public:
  explicit Powers(int64_t size)
      : window(hannWindow(size)), transform(static_cast<size_t>(size / 2), false), frame(window),
        bins(window.size() / 2), powers(bins.size() + 1) {}

  const std::vector<double> &of(const double *samples) {
    for (size_t i = 0; i < frame.size(); ++i)
      frame[i] = window[i] * samples[i];
    transform.transform_real(frame.data(), bins.data());
    for (size_t i = 1; i < bins.size(); ++i)
      powers[i] = std::norm(bins[i]);
    // The first and the last bin are real numbers and share an element.
    powers.front() = bins[0].real() * bins[0].real();
    powers.back() = bins[0].imag() * bins[0].imag();
    return powers;
  }

private:
  std::vector<double> window;
  kissfft<double> transform;
  std::vector<double> frame;
  std::vector<std::complex<double>> bins;
  std::vector<double> powers;
};

/// Lower bound of a power, and the range of values below the loudest one, in log10.
constexpr double leastPower = 1e-10;
constexpr float span = 8;

} // namespace

Expected<LogMel> LogMel::fromJson(std::string_view text, const std::string &fileName) {
  const Json json = HEDDLE_TRY(parseJson(text, fileName));
  const JsonField keys(json, fileName);
  HEDDLE_TRY(keys.checkObject());
  HEDDLE_TRY(checkOnly(keys, "feature_extractor_type", "WhisperFeatureExtractor"));
  HEDDLE_TRY(checkOnly(keys, "padding_side", "right"));
  HEDDLE_TRY(checkOnly(keys, "dither", 0)); // noise
  LogMel mel;
  mel.bandCount = HEDDLE_TRY(keys.numberOr("feature_size", 80, 1, 1024));
  mel.samplingRate = HEDDLE_TRY(keys.numberOr("sampling_rate", 16000, 4000, 96000));
  mel.hop = HEDDLE_TRY(keys.numberOr("hop_length", 160, 1, 1 << 14));
  mel.size = HEDDLE_TRY(keys.numberOr("n_fft", 400, 2, 1 << 14));
  if (mel.size % 2)
    return HEDDLE_TRY(keys.get("n_fft")).expected("an even number");
  const int64_t seconds = HEDDLE_TRY(keys.numberOr("chunk_length", 30, 1, 300));
  mel.windowSamples = mel.samplingRate * seconds;
  // Reflection needs more samples than it adds, and the model at least one frame.
  if (mel.windowSamples <= mel.size / 2 || mel.windowSamples < mel.hop)
    return HEDDLE_TRY(keys.get("chunk_length"))
        .expected("more seconds, for these n_fft and hop_length");
  mel.silence = HEDDLE_TRY(numberAt(keys, "padding_value"));
  mel.makeFilters();
  return mel;
}

void LogMel::makeFilters() {
  const int64_t last = size / 2; // bin at half the rate
  auto edge = [&](int64_t i) {
    return hertzOf(mostMel() * static_cast<double>(i) / static_cast<double>(bandCount + 1));
  };
  for (int64_t band = 0; band < bandCount; ++band) {
    const double low = edge(band), middle = edge(band + 1), high = edge(band + 2);
    Filter filter;
    for (int64_t bin = 0; bin <= last; ++bin) {
      const double hertz = static_cast<double>(samplingRate / 2) * static_cast<double>(bin) /
                           static_cast<double>(last);
      const double height =
          std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      if (height <= 0)
        continue;
      if (filter.weights.empty())
        filter.first = static_cast<size_t>(bin);
      filter.weights.push_back(height * 2 / (high - low)); // all triangles have equal areas
    }
    filters.push_back(std::move(filter));
  }
}

std::vector<double> LogMel::padded(std::span<const float> samples) const {
  const auto half = static_cast<size_t>(size / 2);
  const size_t count = std::max(samples.size(), static_cast<size_t>(windowSamples));
  std::vector<double> whole(count + 2 * half, silence);
  std::ranges::copy(samples, whole.begin() + static_cast<int64_t>(half));
  for (size_t i = 1; i <= half; ++i) {
    whole[half - i] = whole[half + i];
    whole[half + count - 1 + i] = whole[half + count - 1 - i];
  }
  return whole;
}

MelFrames LogMel::apply(std::span<const float> samples) const {
  const std::vector<double> whole = padded(samples);
  MelFrames result{bandCount, (std::ssize(whole) - size) / hop, {}};
  result.values.resize(static_cast<size_t>(result.bands * result.frames));
  Powers powers(size);
  for (int64_t frame = 0; frame < result.frames; ++frame) {
    const std::vector<double> &bins = powers.of(whole.data() + frame * hop);
    for (int64_t band = 0; band < bandCount; ++band) {
      const Filter &filter = filters[static_cast<size_t>(band)];
      double power = 0;
      for (size_t i = 0; i < filter.weights.size(); ++i)
        power += filter.weights[i] * bins[filter.first + i];
      result.values[static_cast<size_t>(band * result.frames + frame)] =
          static_cast<float>(std::log10(std::max(power, leastPower)));
    }
  }
  const float least = *std::ranges::max_element(result.values) - span;
  for (float &value : result.values)
    value = (std::max(value, least) + 4) / 4;
  return result;
}

std::vector<float> LogMel::window(const MelFrames &frames, int64_t first) const {
  const int64_t count = std::clamp<int64_t>(frames.frames - first, 0, windowFrames());
  std::vector<float> values(static_cast<size_t>(frames.bands * windowFrames()));
  for (int64_t band = 0; count > 0 && band < frames.bands; ++band)
    std::copy_n(frames.values.begin() + band * frames.frames + first, count,
                values.begin() + band * windowFrames());
  return values;
}
