//===- Svg.h - SVG drawings and HTML pages -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes as SVG text for the pictures of the tools, and HTML pages around them. Files are
// self-contained: nothing is loaded from elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Text escaped for content and for attributes in quotes, as the filter `escape` of templates does.
std::string escapedHtml(std::string_view text);

/// Fills the template `page`: {{title}} becomes the escaped title, {{body}} the HTML `body`.
std::string htmlPage(std::string_view page, std::string_view title, std::string_view body);

namespace svg {

/// Number with at most two decimals and no trailing zeros.
std::string number(double value);

/// Text element. `content` is escaped; `attributes` are written verbatim, as in the functions
/// below.
std::string text(double x, double y, std::string_view content, std::string_view attributes);
/// Rectangle. `inside` are child elements, such as a <title>, which browsers show as a tooltip.
std::string rectangle(double x, double y, double width, double height, std::string_view attributes,
                      std::string_view inside = "");
std::string line(double x1, double y1, double x2, double y2, std::string_view color);
/// A <g> element that moves `content` by (x, y).
std::string group(double x, double y, std::string_view attributes, std::string_view content);

/// A table of rows by columns in a drawing, and the coordinates of its elements.
struct Plot {
  double left, top, width, height;
  int64_t columns, rows;

  double perColumn() const { return width / static_cast<double>(columns); }
  double perRow() const { return height / static_cast<double>(rows); }
  double x(int64_t column) const { return left + perColumn() * static_cast<double>(column); }
  double y(int64_t row) const { return top + perRow() * static_cast<double>(row); }
};
/// Frame of a plot with ticks at round numbers above it and on its left, labeled `columns` and
/// `rows`.
std::string axes(const Plot &plot, std::string_view columns, std::string_view rows);

/// Cells of a plot with borders at the elements `rows` and `columns`, each list including its end.
/// Adjacent cells of a column with one color are merged, and all cells of a color are one path,
/// which keeps files small. Cells whose color is "" are not drawn.
std::string cells(const Plot &plot, std::span<const int64_t> rows, std::span<const int64_t> columns,
                  std::span<const std::string> colors,
                  const std::function<size_t(size_t row, size_t column)> &colorOf);

/// Color scale at (x, y): a step for each of `fills` (SVG attributes) between the texts `least`
/// and `greatest`. Returns its right end and the drawing.
std::pair<double, std::string> scale(double x, double y, std::string_view least,
                                     std::string_view greatest, double step,
                                     std::span<const std::string> fills);

/// The <svg> element on a white background: a whole file, or a part of a page.
std::string drawing(double width, double height, std::string_view content);

/// Estimated width of `text` in a sans-serif font; code points of 3 or 4 bytes count as squares.
double textWidth(std::string_view text, double fontSize);
/// Breaks text into lines of at most about `width`, at spaces, or inside a word that is too wide on
/// its own. Returns at least one line.
std::vector<std::string> lines(std::string_view text, double fontSize, double width);

inline constexpr const char *grey = "#78909c"; ///< axes and frames
inline constexpr const char *ink = "#37474f";  ///< text
inline constexpr const char *blue = "#1f5f8b"; ///< data

} // namespace svg

} // namespace heddle
