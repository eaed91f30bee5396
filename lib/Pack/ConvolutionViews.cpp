//===- ConvolutionViews.cpp - Views of a convolution's tensors ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of a convolution's kernels with the channels last, and with the batch norm that follows it,
// whose statistics do not change after training.

#include "heddle/Pack/TensorView.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace heddle {

namespace {
/// Kernels [out, in, height, width] as [out, height, width, in].
class ChannelsLast : public TensorView {
public:
  explicit ChannelsLast(TensorViewRef from)
      : TensorView({from->shape()[0], from->shape()[2], from->shape()[3], from->shape()[1]},
                   "channels-last(" + from->recipe() + ")"),
        from(std::move(from)) {}
  void read(int64_t first, std::span<float> out) const override {
    const int64_t width = columns(), channels = shape()[3], places = width / channels;
    std::vector<float> kernels(static_cast<size_t>(width));
    for (int64_t row = -1; float &value : out) {
      if (first / width != row) {
        row = first / width;
        from->read(row * width, kernels);
      }
      const int64_t place = first % width / channels, channel = first % channels;
      value = kernels[static_cast<size_t>(channel * places + place)];
      ++first;
    }
  }

private:
  TensorViewRef from;
};

std::vector<double> numbersOf(const TensorView &view) {
  std::vector<float> values(static_cast<size_t>(view.elements()));
  view.read(0, values);
  return {values.begin(), values.end()};
}

/// Kernels times the factors of a norm, or biases of a convolution through the norm.
class Frozen : public TensorView {
public:
  Frozen(TensorViewRef from, const FrozenNorm &norm)
      : TensorView(from->shape(), "frozen(" + from->recipe() + "," + norm.weight->recipe() + "," +
                                      norm.bias->recipe() + "," + norm.mean->recipe() + "," +
                                      norm.variance->recipe() + "," +
                                      formatted("%a", norm.epsilon) + ")"),
        from(std::move(from)), factors(numbersOf(*norm.weight)), biases(numbersOf(*norm.bias)),
        means(numbersOf(*norm.mean)) {
    const std::vector<double> variances = numbersOf(*norm.variance);
    for (size_t i = 0; i < factors.size(); ++i)
      factors[i] /= std::sqrt(variances[i] + norm.epsilon);
  }
  void read(int64_t first, std::span<float> out) const override {
    from->read(first, out);
    const bool isBias = shape().size() == 1;
    for (float &value : out) {
      const auto row = static_cast<size_t>(isBias ? first : first / columns());
      const double x = value;
      value = static_cast<float>(isBias ? (x - means[row]) * factors[row] + biases[row]
                                        : x * factors[row]);
      ++first;
    }
  }

private:
  TensorViewRef from;
  std::vector<double> factors, biases, means;
};
} // namespace

TensorViewRef channelsLast(TensorViewRef from) {
  return std::make_shared<ChannelsLast>(std::move(from));
}
TensorViewRef frozen(TensorViewRef from, const FrozenNorm &norm) {
  return std::make_shared<Frozen>(std::move(from), norm);
}

} // namespace heddle
