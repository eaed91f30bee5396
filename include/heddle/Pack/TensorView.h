//===- TensorView.h - Views of a checkpoint's tensors ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints often store a model's tensors in another form: three projections in one
// matrix, a transposed matrix, a norm's weight minus 1. A view is the tensor that the
// model needs, computed as it is read; packing reads through views. Rows are the
// entries of the first dimension.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include <memory>

namespace heddle {

class TensorView;
using TensorViewRef = std::shared_ptr<const TensorView>;

/// A tensor of f32 that is read in pieces, from any thread.
class TensorView {
public:
  TensorView(std::vector<int64_t> shape, std::string recipe);
  virtual ~TensorView();

  const std::vector<int64_t> &shape() const { return dims; }
  int64_t elements() const { return count; }
  int64_t rows() const { return dims.empty() ? 1 : dims[0]; }
  int64_t columns() const { return rows() == 0 ? 0 : count / rows(); }
  /// Text of how the view is computed; views with equal recipes have equal elements.
  const std::string &recipe() const { return text; }

  /// Reads elements [first, first + out.size()) in row-major order.
  virtual void read(int64_t first, std::span<float> out) const = 0;
  /// All elements if they are in memory as aligned f32; empty otherwise.
  virtual std::span<const float> inPlace() const { return {}; }
  /// A group of elements as WeightSource::codes has it. Views that move whole rows keep codes, those
  /// that compute elements have none.
  virtual std::optional<Int4Codes> codes(int64_t first) const { return {}; }

private:
  std::vector<int64_t> dims;
  int64_t count;
  std::string text;
};

/// A tensor of a checkpoint, which must outlive the view.
TensorViewRef viewOf(const WeightSource &source, int tensor);
/// A constant tensor.
TensorViewRef filled(std::vector<int64_t> shape, float value);
/// A matrix of positions, row p the sines of all angles, then their cosines: (first + p) / 10000^(i /
/// divisor), i from 0 on. Its columns are an even number.
TensorViewRef sinusoids(std::vector<int64_t> shape, int64_t first, double divisor);
/// `from` in another shape with as many elements.
TensorViewRef reshaped(TensorViewRef from, std::vector<int64_t> shape);
/// Concatenation along the first dimension; all parts have equal other dimensions.
TensorViewRef concatenated(std::vector<TensorViewRef> parts);
/// Transpose of a matrix; a tensor of any other rank is returned unchanged.
TensorViewRef transposed(TensorViewRef from);
/// Row r is row `rows[r]` of the view.
TensorViewRef gathered(TensorViewRef from, std::vector<int64_t> rows);
/// Row r times element r of `factors`, or all rows times its only element.
TensorViewRef scaled(TensorViewRef from, TensorViewRef factors);
/// Column c plus element c of `terms`, each element plus that at its place in `terms` of as many, or
/// all plus its only element.
TensorViewRef shifted(TensorViewRef from, TensorViewRef terms);

/// Each row of a matrix less its mean, over its deviation, times `weight` plus `bias`.
TensorViewRef normalised(TensorViewRef from, const TensorViewRef &weight, const TensorViewRef &bias,
                         float epsilon);
/// Rows times those of `weight`, plus `bias` (null: none), as a linear layer computes them. The only
/// view that keeps its elements, from the first read on.
TensorViewRef multiplied(TensorViewRef from, TensorViewRef weight, TensorViewRef bias);

/// Named views as a source of weights, which owns the checkpoints `owned` that the views read.
std::unique_ptr<WeightSource>
makeViewSource(std::string name, std::vector<std::pair<std::string, TensorViewRef>> views,
               std::vector<std::unique_ptr<WeightSource>> owned);

} // namespace heddle
