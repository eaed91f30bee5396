//===- NanWatch.h - Detection of NaN in weights -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detects NaN in a checkpoint while its weights are packed. A broken training run leaves NaN in the
// weights, and then every result of the model is NaN. Packing reads all weights anyway.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include <atomic>
#include <mutex>

namespace heddle {

/// Wraps another source and records the tensors in which a NaN was read.
class NanWatch : public WeightSource {
public:
  explicit NanWatch(const WeightSource &source);
  const std::string &name() const override { return source.name(); }
  const std::vector<TensorInfo> &tensors() const override { return source.tensors(); }
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::span<const float> inPlace(int tensor) const override;
  std::string fileType(int tensor) const override { return source.fileType(tensor); }
  std::optional<DType> codeType(int tensor) const override { return source.codeType(tensor); }
  std::optional<GroupCodes> codes(int tensor, int64_t first) const override {
    return source.codes(tensor, first);
  }

  /// Names of the tensors with a NaN, in the source's order.
  std::vector<std::string> found() const;

private:
  void look(int tensor, std::span<const float> numbers) const;

  const WeightSource &source;
  std::unique_ptr<std::once_flag[]> whole; ///< tensors already checked in place
  std::unique_ptr<std::atomic<bool>[]> holdsNan;
};

} // namespace heddle
