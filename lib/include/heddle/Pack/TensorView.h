//===- TensorView.h - Views of a checkpoint's tensors ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of a checkpoint's tensors. Checkpoints often store a model's tensors in another form: three
// projections in one matrix, a transposed matrix, a norm's weight minus 1. A view computes the
// tensor that the model needs as it is read; packing reads through views. Rows are the entries of
// the first dimension.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include <memory>

namespace heddle {

class TensorView;
using TensorViewRef = std::shared_ptr<const TensorView>;

/// A range of elements of a view that a tensor of a checkpoint stores unchanged. A range without
/// elements: the view holds if the whole tensor is zeros.
struct ViewRange {
  const WeightSource *source;
  int tensor;              ///< of the source
  int64_t first, count;    ///< elements of the view
  int64_t at;              ///< the first one's place in the stored tensor
  bool transposed = false; ///< the view is the transpose of the whole stored matrix
};

/// An f32 tensor that is read in pieces, from any thread.
class TensorView {
public:
  TensorView(std::vector<int64_t> shape, std::string recipe);
  virtual ~TensorView();

  const std::vector<int64_t> &shape() const { return dims; }
  int64_t elements() const { return count; }
  int64_t rows() const { return dims.empty() ? 1 : dims[0]; }
  int64_t columns() const { return rows() == 0 ? 0 : count / rows(); }
  /// Text that describes how the view is computed; views with equal recipes have equal elements.
  const std::string &recipe() const { return text; }

  /// Reads elements [first, first + out.size()) in row-major order.
  virtual void read(int64_t first, std::span<float> out) const = 0;
  /// All elements if they are in memory as aligned f32; empty otherwise.
  virtual std::span<const float> inPlace() const { return {}; }
  /// Type in the checkpoint of rows that the view moves; f32 for elements that it computes.
  virtual std::string fileType() const { return "f32"; }
  /// Type of the codes, and a group of elements as codes (see WeightSource). Views that move whole
  /// rows keep codes; views that compute elements have none.
  virtual std::optional<DType> codeType() const { return {}; }
  virtual std::optional<GroupCodes> codes(int64_t first) const { return {}; }
  /// Where a checkpoint stores all elements of the view, in the order of the view; none for views
  /// that compute elements.
  virtual std::optional<std::vector<ViewRange>> ranges() const { return {}; }

private:
  std::vector<int64_t> dims;
  int64_t count;
  std::string text;
};

/// A tensor of a checkpoint, which must outlive the view.
TensorViewRef viewOf(const WeightSource &source, int tensor);
/// A constant tensor.
TensorViewRef filled(std::vector<int64_t> shape, float value);
/// Matrix of sinusoidal positions. Row p holds the sines of all angles, then their cosines; angle i
/// is (first + p) / 10000^(i / divisor), i = 0, 1, …. The number of columns is even.
TensorViewRef sinusoids(std::vector<int64_t> shape, int64_t first, double divisor);
/// `from` with another shape that has the same number of elements.
TensorViewRef reshaped(TensorViewRef from, std::vector<int64_t> shape);
/// Concatenation along the first dimension; all parts have equal other dimensions.
TensorViewRef concatenated(std::vector<TensorViewRef> parts);
/// Transpose of a matrix; a tensor of any other rank is returned unchanged.
TensorViewRef transposed(TensorViewRef from);
/// Transposes of the matrices of a tensor of rank 3, as one matrix of all their rows; otherwise as
/// transposed().
TensorViewRef transposedMatrices(TensorViewRef from);
/// Row r is row `rows[r]` of the view.
TensorViewRef gathered(TensorViewRef from, std::vector<int64_t> rows);
/// Multiplies row r by element r of `factors`, or all rows by its only element.
TensorViewRef scaled(TensorViewRef from, TensorViewRef factors);
/// Adds element c of `terms` to column c, or each element of `terms` to the element at its place if
/// the sizes are equal, or its only element to all elements.
TensorViewRef shifted(TensorViewRef from, TensorViewRef terms);

/// Layer norm of each row of a matrix: (x - mean) / sqrt(variance + epsilon) * weight + bias.
TensorViewRef normalized(TensorViewRef from, const TensorViewRef &weight, const TensorViewRef &bias,
                         float epsilon);
/// Product of the rows of `from` with the rows of `weight`, plus `bias` (null: none), as in a
/// linear layer. The only view that keeps its elements; the first read computes them.
TensorViewRef multiplied(TensorViewRef from, TensorViewRef weight, TensorViewRef bias);

/// Kernels of a convolution, [out, in, height, width], with the channels last.
TensorViewRef channelsLast(TensorViewRef from);
/// A batch norm with fixed statistics. Each part has a number for each channel.
struct FrozenNorm {
  TensorViewRef weight, bias, mean, variance;
  double epsilon;
};
/// A convolution with the norm that follows it: its kernels, whose rows are multiplied by
/// weight / sqrt(variance + epsilon), or its biases, a vector, from which the mean is subtracted
/// before and to which the bias is added after.
TensorViewRef frozen(TensorViewRef from, const FrozenNorm &norm);

/// Source of weights with named views. It owns the checkpoints `owned` that the views read.
std::unique_ptr<WeightSource>
makeViewSource(std::string name, std::vector<std::pair<std::string, TensorViewRef>> views,
               std::vector<std::unique_ptr<WeightSource>> owned);

} // namespace heddle
