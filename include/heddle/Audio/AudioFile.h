//===- AudioFile.h - Samples of audio files --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WAV and FLAC files as one channel at the rate of a model.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// Reads a WAV (with RF64) or FLAC file, whichever it is by its content: two channels become their
/// mean, and samples are resampled to `rate` a second. Whole numbers become -1 to 1; floating-point
/// samples are taken as they are. Errors begin with `path`: another kind of file, one that ends
/// early, no samples, samples that are no numbers, more than two channels, fewer than 4,000 or more
/// than 96,000 samples a second, more than 24 hours.
Expected<std::vector<float>> readAudio(const std::string &path, int64_t rate);

} // namespace heddle
