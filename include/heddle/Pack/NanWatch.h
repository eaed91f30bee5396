//===- NanWatch.h - Tensors that hold what is no number --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A broken training run leaves NaN in a checkpoint, and every result of the model is
// NaN then. Who packs the weights reads them all, which is the time to see it.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include <atomic>
#include <mutex>

namespace heddle {

/// Another source's tensors. Remembers in which of them a NaN was read.
class NanWatch : public WeightSource {
public:
  explicit NanWatch(const WeightSource &source);
  const std::string &name() const override { return source.name(); }
  const std::vector<TensorInfo> &tensors() const override { return source.tensors(); }
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::span<const float> inPlace(int tensor) const override;
  std::optional<Int4Codes> codes(int tensor, int64_t first) const override {
    return source.codes(tensor, first);
  }

  /// Names of those tensors, in the source's order.
  std::vector<std::string> found() const;

private:
  void look(int tensor, std::span<const float> numbers) const;

  const WeightSource &source;
  std::unique_ptr<std::once_flag[]> whole; ///< looked at in place
  std::unique_ptr<std::atomic<bool>[]> holdsNan;
};

} // namespace heddle
