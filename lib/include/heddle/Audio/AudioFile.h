//===- AudioFile.h - Samples of audio files --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads WAV and FLAC files as one channel at a model's sampling rate.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// Reads a WAV (also RF64) or FLAC file, identified by its content. Two channels are averaged, and
/// samples are resampled to `rate` per second. Integer samples become -1 to 1; floating-point
/// samples are not scaled. Input errors begin with `path`. They are: another kind of file, a
/// truncated file, no samples, samples that are NaN or infinite, more than two channels, a rate
/// below 4,000 or above 96,000 samples per second, or more than 24 hours.
Expected<std::vector<float>> readAudio(const std::string &path, int64_t rate);

} // namespace heddle
