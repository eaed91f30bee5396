//===- ReferenceSlopes.cpp - Derivatives of activations in f64 ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivatives of the activations of ReferenceOps.h.

#include "ReferenceOps.h"

#include <cmath>
#include <numbers>

using namespace heddle::transformer;

namespace heddle::reference {

double slopeOf(Activation activation, double x) {
  auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  switch (activation) {
  case Activation::None:
    return 1;
  case Activation::Relu:
    return x > 0 ? 1 : 0;
  case Activation::Gelu: {
    double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    return std::erfc(-x / std::numbers::sqrt2) / 2 + x * density;
  }
  case Activation::GeluTanh: {
    double factor = std::sqrt(2 / std::numbers::pi);
    double t = std::tanh(factor * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x) / 2;
  }
  case Activation::QuickGelu: {
    double s = sigmoid(1.702 * x);
    return s + 1.702 * x * s * (1 - s);
  }
  case Activation::Silu: {
    double s = sigmoid(x);
    return s + x * s * (1 - s);
  }
  case Activation::Tanh:
    return 1 - std::tanh(x) * std::tanh(x);
  case Activation::Sigmoid:
    return sigmoid(x) * (1 - sigmoid(x));
  case Activation::Relu2:
    return x > 0 ? 2 * x : 0;
  case Activation::Relu6:
    return x > 0 && x < 6 ? 1 : 0;
  case Activation::HardSwish:
    return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
  case Activation::Mish: {
    double t = std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
    return t + x * (1 - t * t) * sigmoid(x);
  }
  }
  llvm_unreachable("all activations are listed");
}

double slopeOfResult(Activation activation, double y) {
  switch (activation) {
  case Activation::Tanh:
    return 1 - y * y;
  case Activation::Sigmoid:
    return y * (1 - y);
  default: // the result is in the same interval as the input
    return slopeOf(activation, y);
  }
}

} // namespace heddle::reference
