//===- TensorView.h - Tensors made from tensors of a checkpoint *- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint often stores a model's tensors otherwise than the model names them:
// three projections in one matrix, a matrix transposed, a norm's weight minus 1.
// Views describe the tensor wanted without copying it; packing reads through them.
// Rows are the entries of the first dimension.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include <memory>

namespace heddle {

class TensorView;
using TensorViewRef = std::shared_ptr<const TensorView>;

/// Numbers of a shape, read piece by piece from any thread.
class TensorView {
public:
  TensorView(std::vector<int64_t> shape, std::string recipe);
  virtual ~TensorView();

  const std::vector<int64_t> &shape() const { return dims; }
  int64_t elements() const { return count; }
  int64_t rows() const { return dims.empty() ? 1 : dims[0]; }
  int64_t columns() const { return rows() == 0 ? 0 : count / rows(); }
  /// Views of equal text have equal numbers.
  const std::string &recipe() const { return text; }

  /// Elements [first, first + out.size()) in row-major order.
  virtual void read(int64_t first, std::span<float> out) const = 0;
  /// All elements where they lie in memory as f32, else nothing.
  virtual std::span<const float> inPlace() const { return {}; }

private:
  std::vector<int64_t> dims;
  int64_t count;
  std::string text;
};

/// A tensor of a checkpoint, which must outlive the view.
TensorViewRef viewOf(const WeightSource &source, int tensor);
/// One number everywhere.
TensorViewRef filled(std::vector<int64_t> shape, float value);
/// The numbers in another shape of as many elements.
TensorViewRef reshaped(TensorViewRef from, std::vector<int64_t> shape);
/// Views of equal columns below each other.
TensorViewRef concatenated(std::vector<TensorViewRef> parts);
/// A matrix with rows and columns exchanged; any other rank as it is.
TensorViewRef transposed(TensorViewRef from);
/// Row r is row `rows[r]` of the view.
TensorViewRef gathered(TensorViewRef from, std::vector<int64_t> rows);
/// Row r times element r of `factors`; `factors` of one element is for all rows.
TensorViewRef scaled(TensorViewRef from, TensorViewRef factors);
/// Column c plus element c of `terms`; `terms` of one element is for all columns.
TensorViewRef shifted(TensorViewRef from, TensorViewRef terms);

/// Named views as one source of weights; `owned` are the checkpoints that they read.
std::unique_ptr<WeightSource>
makeViewSource(std::string name, std::vector<std::pair<std::string, TensorViewRef>> views,
               std::vector<std::unique_ptr<WeightSource>> owned);

} // namespace heddle
