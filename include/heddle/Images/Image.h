//===- Image.h - Images as model inputs -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts PNG and JPEG files to the inputs of a vision model, according to the
// preprocessor_config.json of its folder. Resized pixels equal Pillow's, which the models' own
// tools use: weights of 22 bits, rounded to 8 bits after the columns and after the rows. Draws
// frames with texts on an image, and encodes it as PNG.
#pragma once

#include "heddle/Support/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Red, green and blue values of 8 bits, row by row from the top: [height, width, 3].
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// Reads a PNG or JPEG file, identified by its content. Grey, palettes and CMYK become RGB,
/// transparency is dropped, 16 bits become 8, and a photograph is rotated upright by its Exif
/// orientation. Input errors begin with `path`.
Expected<Image> readImage(const std::string &path);

/// Filter for resizing; the values are the numbers used in preprocessor_config.json.
enum class ImageFilter : uint8_t { Nearest, Lanczos, Bilinear, Bicubic, Box, Hamming };

/// Resizes the image; both sizes are at least 1.
Image resized(const Image &image, int64_t width, int64_t height, ImageFilter filter);

/// Model input of an image, channel by channel: [3, height, width].
struct ImagePlanes {
  int64_t width = 0, height = 0;
  std::vector<float> values;
};

/// Sizes of a resized image.
struct ResizeRule {
  int64_t width = 0, height = 0;  ///< 0: determined by `shortest`
  int64_t shortest = 0;           ///< length of the shorter edge, proportions kept
  std::optional<int64_t> longest; ///< upper bound of the longer edge
  bool within = false;            ///< width and height are bounds, proportions kept
  /// Edges are rounded as the processors of detectors do it.
  bool detects = false;
  int64_t multiple = 1; ///< edges are rounded down to multiples of it

  /// Width and height; 0 for an edge without a pixel.
  std::pair<int64_t, int64_t> sizesOf(const Image &image) const;
};

/// The steps of a preprocessor_config.json: resize, center crop, rescale, normalize.
class ImageProcessor {
public:
  /// Parses a preprocessor_config.json. Input errors begin with `fileName`; an unsupported step is
  /// an error.
  static Expected<ImageProcessor> fromJson(std::string_view json, const std::string &fileName);

  /// Applies the steps. Input error if the resized image would have more than 2^27 pixels.
  Expected<ImagePlanes> apply(const Image &image) const;
  /// Upper bound of the number of pixels in a result.
  int64_t pixels() const;

private:
  bool resizes = true;
  ResizeRule rule;
  ImageFilter filter = ImageFilter::Bilinear;
  std::optional<std::array<int64_t, 2>> crop;                ///< width and height of the center
  std::optional<double> scale;                               ///< factor of each value
  std::optional<std::array<std::array<float, 3>, 2>> normal; ///< mean and deviation of channels
};

/// A frame and its text. Places are pixels from the upper left corner, and may be outside.
struct DrawnBox {
  std::array<double, 4> edges; ///< left, top, right, bottom
  std::string text;            ///< ASCII; other characters are drawn as '?'
  size_t color;                ///< number of the color, 0 to 7
};

/// Draws frames in order, each with its text above or inside.
void drawBoxes(Image &image, std::span<const DrawnBox> boxes);

/// The bytes of a PNG file.
Expected<std::string> encodePng(const Image &image);

} // namespace heddle
