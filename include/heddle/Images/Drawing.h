//===- Drawing.h - Boxes drawn on images ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws frames with texts on an image, and encodes it as PNG.
#pragma once

#include "heddle/Images/Image.h"

#include <span>

namespace heddle {

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
