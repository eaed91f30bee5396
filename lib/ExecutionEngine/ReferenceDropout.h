//===- ReferenceDropout.h - Reference dropout ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that dropout keeps, by a generator that shares no code with kernels.
#pragma once

#include "ReferenceOps.h"

#include <array>
#include <cstdint>

namespace heddle::reference {

/// Factors of numbers at one site.
class Dropout {
public:
  /// `key` is (seed, step, enabled).
  Dropout(const RefTensor &key, const RefTensor &site, double probability);
  /// 0 if the number in this column is dropped, else 1 / (1 - probability).
  double factor(int64_t column, int64_t position, int64_t example) const;

  /// The dropout of an attention's weights; none if no weight is dropped.
  template <typename Op>
  static std::optional<Dropout> of(Op op, const Lookup &get) {
    if (!op.getDropoutKey())
      return std::nullopt;
    return Dropout(get(op.getDropoutKey()), get(op.getSite()), op.getDropout()->convertToDouble());
  }

private:
  std::array<uint32_t, 2> key;
  uint32_t site;
  bool enabled;
  double threshold, kept;
};

} // namespace heddle::reference
