//===- Resampler.cpp - Conversion of sampling rates -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses libsamplerate's best converter. The medium one takes a fifth of the time, but it attenuates
// 7.2 to 7.6 kHz by 2 to 20 dB, and models were trained with these frequencies.
#include "Resampler.h"

#include <samplerate.h>

using namespace heddle;

void Resampler::Free::operator()(SRC_STATE_tag *state) const { src_delete(state); }

Expected<Resampler> Resampler::create(int64_t from, int64_t to) {
  Resampler resampler;
  if (from == to)
    return resampler;
  int error = 0;
  resampler.ratio = static_cast<double>(to) / static_cast<double>(from);
  resampler.state.reset(src_new(SRC_SINC_BEST_QUALITY, 1, &error));
  resampler.room.resize(1 << 14);
  if (!resampler.state)
    return inputError(std::string("expected memory to resample, found: ") + src_strerror(error));
  return resampler;
}

Status Resampler::add(std::span<const float> block, bool isLast, std::vector<float> &samples) {
  if (!state) {
    samples.insert(samples.end(), block.begin(), block.end());
    return {};
  }
  for (;;) {
    SRC_DATA step{};
    step.data_in = block.data();
    step.input_frames = static_cast<long>(block.size());
    step.data_out = room.data();
    step.output_frames = static_cast<long>(room.size());
    step.end_of_input = isLast;
    step.src_ratio = ratio;
    if (int error = src_process(state.get(), &step))
      return inputError(std::string("expected samples that can be resampled, found: ") +
                        src_strerror(error));
    samples.insert(samples.end(), room.begin(), room.begin() + step.output_frames_gen);
    block = block.subspan(static_cast<size_t>(step.input_frames_used));
    if (step.output_frames_gen == 0 && (block.empty() || step.input_frames_used == 0))
      return {};
  }
}
