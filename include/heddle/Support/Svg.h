//===- Svg.h - Drawings and pages that need nothing beside them -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every picture of the tools is made of: shapes as SVG text, and a page around
// drawings. Nothing is loaded from anywhere, so that a file can be sent and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Text as HTML and SVG show it, in content and in attributes between double quotes.
std::string escapedHtml(std::string_view text);

/// The page that a template makes: {{title}} stands for a text, {{body}} for HTML.
std::string htmlPage(std::string_view page, std::string_view title, std::string_view body);

namespace svg {

/// At most two digits behind the point, none where they are zero.
std::string number(double value);

std::string text(double x, double y, std::string_view content, std::string_view attributes);
/// `inside` is what the rectangle holds: a title shows when the mouse is over it.
std::string rectangle(double x, double y, double width, double height, std::string_view attributes,
                      std::string_view inside = "");
std::string line(double x1, double y1, double x2, double y2, std::string_view colour);
/// `content` moved and marked: attributes stand for the whole group.
std::string group(double x, double y, std::string_view attributes, std::string_view content);

/// A table of rows by columns in a drawing, and where its elements stand.
struct Plot {
  double left, top, width, height;
  int64_t columns, rows;

  double perColumn() const { return width / static_cast<double>(columns); }
  double perRow() const { return height / static_cast<double>(rows); }
  double x(int64_t column) const { return left + perColumn() * static_cast<double>(column); }
  double y(int64_t row) const { return top + perRow() * static_cast<double>(row); }
};
/// A frame with round numbers above and to the left, and what they count.
std::string axes(const Plot &plot, std::string_view columns, std::string_view rows);

/// The cells of a plot between the elements that `rows` and `columns` name, each list with its end.
/// Cells of one colour below each other are one piece and all of a colour one path; an index of no
/// colour ("") is not drawn.
std::string cells(const Plot &plot, std::span<const int64_t> rows, std::span<const int64_t> columns,
                  std::span<const std::string> colours,
                  const std::function<size_t(size_t row, size_t column)> &colourOf);

/// Steps of a scale of colours, each filled by its attributes, between the least and the greatest
/// value; begins at (x, y) and ends at the first number.
std::pair<double, std::string> scale(double x, double y, std::string_view least,
                                     std::string_view greatest, double step,
                                     std::span<const std::string> fills);

/// A drawing of its own, on white: a file, or a part of a page.
std::string drawing(double width, double height, std::string_view content);

/// About how wide `text` is in a sans-serif of this size: code points beyond Latin are squares.
double textWidth(std::string_view text, double fontSize);
/// The text in lines of about `width` at most, at least one: broken at spaces, and inside a word
/// where it is wider alone.
std::vector<std::string> lines(std::string_view text, double fontSize, double width);

inline constexpr const char *grey = "#78909c"; ///< of axes and frames
inline constexpr const char *ink = "#37474f";  ///< of words
inline constexpr const char *blue = "#1f5f8b"; ///< of what is there

} // namespace svg

} // namespace heddle
