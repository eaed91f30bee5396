//===- Resize.cpp - Resizing of images ------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resizing of images. Each pixel is a weighted sum of the pixels around its place, with a wider
// window if the image shrinks; columns first, then rows. Weights are integers, so that every
// processor gives equal pixels.
#include "heddle/Images/Image.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace heddle;

namespace {

struct Kernel {
  double reach; ///< distance from which weights are 0
  double (*weight)(double distance);
};

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

Kernel kernelOf(ImageFilter filter) {
  switch (filter) {
  case ImageFilter::Nearest: // has no weights; see `nearest`
  case ImageFilter::Box:
    return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
  case ImageFilter::Bilinear:
    return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
  case ImageFilter::Hamming:
    return {1, [](double x) {
              x = std::abs(x);
              return x >= 1 ? 0 : sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x));
            }};
  case ImageFilter::Bicubic: // Keys, "Cubic convolution interpolation", 1981, with a = -1/2
    return {2, [](double x) {
              x = std::abs(x);
              return x < 1   ? (1.5 * x - 2.5) * x * x + 1
                     : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2
                             : 0;
            }};
  case ImageFilter::Lanczos:
    return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }};
  }
  return {};
}

constexpr int fractionBits = 22;

/// Weights of the source pixels in a line that contribute to one pixel of the result.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Window> windowsOf(int64_t from, int64_t to, ImageFilter filter) {
  const Kernel kernel = kernelOf(filter);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0), reach = kernel.reach * stretch;
  std::vector<Window> windows(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    Window &window = windows[static_cast<size_t>(i)];
    window.first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(center + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = window.first; x < end; ++x)
      sum += weights.emplace_back(
          kernel.weight((static_cast<double>(x) - center + 0.5) * (1 / stretch)));
    for (double weight : weights)
      window.weights.push_back(static_cast<int32_t>(
          std::round((sum != 0 ? weight * (1 / sum) : weight) * (1 << fractionBits))));
  }
  return windows;
}

/// Lines of pixels resized along one axis: pixel x of line y is at 3 * (x * step + y * pitch).
struct Lines {
  int64_t count, step, pitch;
};

void resizeLines(const std::vector<Window> &windows, const uint8_t *from, Lines in, uint8_t *to,
                 Lines out) {
  for (int64_t y = 0; y < in.count; ++y)
    for (size_t i = 0; i < windows.size(); ++i)
      for (int channel = 0; channel < 3; ++channel) {
        int64_t sum = 1 << (fractionBits - 1);
        int64_t x = windows[i].first;
        for (int32_t weight : windows[i].weights)
          sum += int64_t(weight) * from[3 * (x++ * in.step + y * in.pitch) + channel];
        to[3 * (static_cast<int64_t>(i) * out.step + y * out.pitch) + channel] =
            static_cast<uint8_t>(std::clamp<int64_t>(sum >> fractionBits, 0, 255));
      }
}

Image nearest(const Image &image, int64_t width, int64_t height) {
  Image result{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))};
  auto place = [](int64_t i, int64_t from, int64_t to) {
    return std::min(from - 1,
                    static_cast<int64_t>((static_cast<double>(i) + 0.5) *
                                         static_cast<double>(from) / static_cast<double>(to)));
  };
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      std::copy_n(
          &image.pixels[static_cast<size_t>(
              3 * (place(y, image.height, height) * image.width + place(x, image.width, width)))],
          3, &result.pixels[static_cast<size_t>(3 * (y * width + x))]);
  return result;
}

} // namespace

Image heddle::resized(const Image &image, int64_t width, int64_t height, ImageFilter filter) {
  if (filter == ImageFilter::Nearest)
    return nearest(image, width, height);
  Image result = image;
  if (width != image.width) {
    result = {width, image.height,
              std::vector<uint8_t>(static_cast<size_t>(3 * width * image.height))};
    resizeLines(windowsOf(image.width, width, filter), image.pixels.data(),
                {image.height, 1, image.width}, result.pixels.data(), {image.height, 1, width});
  }
  if (height != image.height) {
    Image rows{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))};
    resizeLines(windowsOf(image.height, height, filter), result.pixels.data(), {width, width, 1},
                rows.pixels.data(), {width, width, 1});
    result = std::move(rows);
  }
  return result;
}
