//===- PositionDrawing.cpp - Positional encodings as text, SVG, HTML ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heat maps of position tables. Values are quantized to levels, and all cells of a level's color
// are one path. Equal neighbors in a column are merged, since features at high indices change
// slowly. A transparent rectangle over each column has a title with the feature's formula.

#include "heddle/Report/Positions.h"

#include "Picture.h"

#include "llvm/ADT/StringExtras.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>

namespace heddle {

namespace {

std::string headingOf(const PositionTable &table) {
  return table.kind + " positions of " + llvm::join(table.functions, ", ");
}

std::string factsOf(const PositionTable &table) {
  return std::to_string(table.positions) + " positions by " + std::to_string(table.features) +
         " features, scale " + formatted("%g", table.scale);
}

std::string formulaOf(const PositionTable &table) {
  std::string size = std::to_string(table.features);
  return "feature 2i is sin(position / 10000^(2i/" + size + ")), feature 2i + 1 its cosine";
}

/// Formula of a feature: "feature 12: sin(position / 1.241), a period of 7.8 positions".
std::string featureText(const PositionTable &table, int64_t feature) {
  auto pair = static_cast<double>(feature / 2 * 2);
  double divisor = std::pow(10000.0, pair / static_cast<double>(table.features));
  return "feature " + std::to_string(feature) + (feature % 2 ? ": cos" : ": sin") +
         formatted("(position / %.4g), a period of %.4g positions", divisor,
                   2 * std::numbers::pi * divisor);
}

std::string numbers(const PositionTable &table) {
  constexpr int64_t most = 8;
  int64_t rows = std::min(most, table.positions), columns = std::min(most, table.features);
  std::string text = "position";
  for (int64_t feature = 0; feature < columns; ++feature)
    text += formatted(" %9lld", static_cast<long long>(feature));
  for (int64_t position = 0; position < rows; ++position) {
    text += formatted("\n%8lld", static_cast<long long>(position));
    for (int64_t feature = 0; feature < columns; ++feature)
      text += formatted(" %9.6f", static_cast<double>(table.at(position, feature)));
  }
  return text + "\n";
}

//===- The picture -------------------------------------------------------===//

constexpr int levels = 16; ///< of positive values, and of negative ones

/// Color of a level: orange for negative, white for zero, blue for positive values.
std::string colorOf(int level) {
  constexpr int orange[] = {0xf2, 0x8e, 0x2b}, blue[] = {0x1f, 0x5f, 0x8b};
  const int *end = level < 0 ? orange : blue;
  int part[3];
  for (int i = 0; i < 3; ++i)
    part[i] = 255 + (end[i] - 255) * std::abs(level) / levels;
  return formatted("#%02x%02x%02x", part[0], part[1], part[2]);
}

svg::Plot plotOf(const PositionTable &table) {
  auto width = static_cast<double>(table.features), height = static_cast<double>(table.positions);
  return {76,
          108,
          width * std::clamp(768 / width, 1.0, 12.0),
          height * std::clamp(480 / height, 1.0, 12.0),
          table.features,
          table.positions};
}

/// Colors of levels, lowest first; "" for zero, which is not drawn.
std::vector<std::string> palette() {
  std::vector<std::string> colors;
  for (int level = -levels; level <= levels; ++level)
    colors.push_back(level ? colorOf(level) : "");
  return colors;
}

float largestOf(const PositionTable &table) {
  float largest = 0;
  for (float value : table.values)
    largest = std::max(largest, std::abs(value));
  return largest;
}

std::string cells(const PositionTable &table, const svg::Plot &plot, float largest) {
  std::vector<int64_t> rows(table.positions + 1), columns(table.features + 1);
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  return svg::cells(plot, rows, columns, palette(), [&](size_t position, size_t feature) {
    float share = largest > 0 ? table.at(position, feature) / largest : 0;
    return static_cast<size_t>(std::lround(share * levels) + levels);
  });
}

std::string columnTitles(const PositionTable &table, const svg::Plot &plot) {
  std::string drawn;
  for (int64_t feature = 0; feature < table.features; ++feature)
    drawn +=
        svg::rectangle(plot.x(feature), plot.top, plot.perColumn(), plot.height,
                       "fill-opacity=\"0\"", "<title>" + featureText(table, feature) + "</title>");
  return drawn;
}

/// Drawing of a table, and its height.
std::pair<std::string, double> draw(const PositionTable &table) {
  svg::Plot plot = plotOf(table);
  const float largest = largestOf(table);
  std::vector<std::string> fills;
  for (int level = -levels; level <= levels; ++level)
    fills.push_back("fill=\"" + colorOf(level) + "\"");
  std::string drawn = svg::text(20, 24, headingOf(table),
                                "font-size=\"16\" font-weight=\"bold\" fill=\"#263238\"") +
                      svg::text(20, 44, factsOf(table) + "; " + formulaOf(table), "class=\"mark\"");
  drawn += cells(table, plot, largest) + columnTitles(table, plot);
  drawn += svg::axes(plot, "features", "positions");
  drawn += svg::scale(20, plot.top + plot.height + 17, formatted("%.3g", -largest),
                      formatted("%.3g", largest), 6, fills)
               .second;
  return {drawn, plot.top + plot.height + 46};
}

} // namespace

std::string pictureText(const std::vector<PositionTable> &tables) {
  std::string text;
  for (const PositionTable &table : tables)
    text += (text.empty() ? "" : "\n") + headingOf(table) + ": " + factsOf(table) + "\n" +
            formulaOf(table) + "\n\n" + numbers(table);
  return text;
}

std::string pictureSvg(const std::vector<PositionTable> &tables) {
  std::string drawn;
  double width = 620, height = 0;
  for (const PositionTable &table : tables) {
    svg::Plot plot = plotOf(table);
    auto [content, below] = draw(table);
    drawn += svg::group(0, height, "", content);
    width = std::max(width, plot.left + plot.width + 24);
    height += below;
  }
  return svg::drawing(width, height, drawn);
}

std::string pictureHtml(const std::vector<PositionTable> &tables, const std::string &title) {
  return picturePage(title + ": positions", pictureSvg(tables), pictureText(tables));
}

} // namespace heddle
