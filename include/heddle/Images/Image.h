//===- Image.h - Images as models take them --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PNG and JPEG files to the numbers that a vision model was trained on, by the
// preprocessor_config.json of its folder. Resized pixels have the values of Pillow,
// which the models' own tools use: weights of 22 bits, rounded to 8 bits after the
// columns and after the rows.
#pragma once

#include "heddle/Support/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Red, green and blue of 8 bits, row by row from the top: [height, width, 3].
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// Reads a PNG or JPEG file, whichever it is by its content: grey, palettes and CMYK become RGB,
/// transparency is dropped, 16 bits become 8, and a photograph stands as its camera was held (Exif).
/// Errors begin with `path`.
Expected<Image> readImage(const std::string &path);

/// What a pixel between others is made of; the numbers are those of preprocessor_config.json.
enum class ImageFilter : uint8_t { Nearest, Lanczos, Bilinear, Bicubic, Box, Hamming };

/// The image with other sizes, both at least 1.
Image resized(const Image &image, int64_t width, int64_t height, ImageFilter filter);

/// Numbers of an image, channel by channel: [3, height, width].
struct ImagePlanes {
  int64_t width = 0, height = 0;
  std::vector<float> values;
};

/// The steps of a preprocessor_config.json: resize, cut out the middle, rescale, normalise.
class ImageProcessor {
public:
  /// Reads its text. Errors begin with `fileName`; a step that is not built is one.
  static Expected<ImageProcessor> fromJson(std::string_view json, const std::string &fileName);

  /// Error if the resized image has more than 2^27 pixels.
  Expected<ImagePlanes> apply(const Image &image) const;
  /// Pixels of the result at most, whatever the image.
  int64_t pixels() const;

private:
  /// Sizes of the resized image.
  std::pair<int64_t, int64_t> sizesOf(const Image &image) const;

  bool resizes = true;
  int64_t width = 0, height = 0;  ///< 0: as `shortest` says
  int64_t shortest = 0;           ///< of the two edges, in proportion
  std::optional<int64_t> longest; ///< of the two edges at most
  ImageFilter filter = ImageFilter::Bilinear;
  std::optional<std::array<int64_t, 2>> crop;                ///< width and height of the middle
  std::optional<double> scale;                               ///< a factor of each value
  std::optional<std::array<std::array<float, 3>, 2>> normal; ///< mean and deviation of channels
};

} // namespace heddle
