//===- LogMel.h - Log-mel spectrograms -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Log-mel features for Whisper, according to the preprocessor_config.json of a model's folder, as
// Transformers' WhisperFeatureExtractor defines them.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Features of an audio, frame by frame in each band: [bands, frames].
struct MelFrames {
  int64_t bands = 0, frames = 0;
  std::vector<float> values;
};

/// The steps of a preprocessor_config.json. Sums and transforms are computed in f64.
class LogMel {
public:
  /// Parses a preprocessor_config.json. Input errors begin with `fileName`; an unsupported setting
  /// is an error.
  static Expected<LogMel> fromJson(std::string_view json, const std::string &fileName);

  /// Samples per second that `apply` expects.
  int64_t rate() const { return samplingRate; }
  int64_t bands() const { return bandCount; }
  /// Frames that the model takes at once: 30 seconds.
  int64_t windowFrames() const { return windowSamples / hop; }
  double secondsAFrame() const {
    return static_cast<double>(hop) / static_cast<double>(samplingRate);
  }
  /// Number of frames that `samples` samples fill, the last one possibly in part.
  int64_t framesOf(int64_t samples) const { return (samples + hop - 1) / hop; }

  /// Frames of an audio, at least one window; the audio is padded with silence. Loudness is
  /// relative to the loudest frame of the whole audio, so cut frames, not samples.
  MelFrames apply(std::span<const float> samples) const;
  /// The frames [bands, windowFrames] from frame `first` on, with zeros after the end.
  std::vector<float> window(const MelFrames &frames, int64_t first) const;

private:
  /// A triangle over the bins of the transform, starting at bin `first`.
  struct Filter {
    size_t first = 0;
    std::vector<double> weights;
  };
  void makeFilters();
  /// Audio padded to a window, and by reflection by half a transform on either side.
  std::vector<double> padded(std::span<const float> samples) const;

  int64_t bandCount = 80, samplingRate = 16000, hop = 160, size = 400; ///< size: of the transform
  int64_t windowSamples = 480000;
  float silence = 0;
  std::vector<Filter> filters;
};

} // namespace heddle
