//===- TileDrawing.cpp - Maps of tiles as text, SVG and HTML --------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries go down, keys go right. Tiles of one kind that stand side by side are one
// rectangle, so that a drawing of ten thousand tiles stays small.
//
//===----------------------------------------------------------------------===//

#include "heddle/Compiler/Tiles.h"

#include "heddle/Support/Svg.h"

#include <algorithm>
#include <cstdio>

namespace heddle {

namespace {

constexpr TileKind allKinds[] = {TileKind::Empty, TileKind::Partial, TileKind::Full};

const char *nameOf(TileKind kind) {
  switch (kind) {
  case TileKind::Empty:
    return "empty";
  case TileKind::Partial:
    return "partial";
  case TileKind::Full:
    return "full";
  }
  return "";
}

/// Told apart in print and by readers who do not tell red from green.
const char *colourOf(TileKind kind) {
  switch (kind) {
  case TileKind::Empty:
    return "#eceff1";
  case TileKind::Partial:
    return "#f2a541";
  case TileKind::Full:
    return "#1f5f8b";
  }
  return "";
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", part * 100);
  return text;
}

std::string sizesText(const TilePicture &picture) {
  return std::to_string(picture.queries) + " queries by " + std::to_string(picture.keys) +
         " keys, tiles of " + std::to_string(picture.tileRows) + " by " +
         std::to_string(picture.tileColumns);
}

std::string countsText(const TilePicture &picture) {
  std::string text;
  for (TileKind kind : allKinds)
    text += (text.empty() ? "" : ", ") + std::to_string(picture.count(kind)) + " " + nameOf(kind);
  return text + " tiles: " + percent(picture.saved) + " of the work saved";
}

std::string joined(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : "; ") + item;
  return text;
}

/// What `side` by `side` tiles are together.
TileKind together(const TilePicture &picture, int64_t row, int64_t column, int64_t side) {
  bool allEmpty = true, allFull = true;
  for (int64_t r = row; r < std::min(row + side, picture.rows); ++r)
    for (int64_t c = column; c < std::min(column + side, picture.columns); ++c) {
      allEmpty &= picture.at(r, c) == TileKind::Empty;
      allFull &= picture.at(r, c) == TileKind::Full;
    }
  return allEmpty ? TileKind::Empty : allFull ? TileKind::Full : TileKind::Partial;
}

} // namespace

std::string tileText(const TilePicture &picture) {
  constexpr int64_t widest = 100;
  int64_t side =
      std::max<int64_t>(1, (std::max(picture.columns, picture.rows) + widest - 1) / widest);
  std::string text = picture.layer + " of " + picture.function + ": " + sizesText(picture) +
                     "\nmask " + picture.mask + "\n";
  if (!picture.assumptions.empty())
    text += "assuming " + joined(picture.assumptions) + "\n";
  for (const std::string &note : picture.notes)
    text += note + "\n";
  text += countsText(picture) + "\n\n";
  for (int64_t row = 0; row < picture.rows; row += side) {
    char label[32];
    std::snprintf(label, sizeof label, "%8lld ", static_cast<long long>(picture.rowStarts[row]));
    text += label;
    for (int64_t column = 0; column < picture.columns; column += side)
      text += ".o#"[static_cast<int>(together(picture, row, column, side))];
    text += "\n";
  }
  text += "\n. empty  o partial  # full";
  if (side > 1)
    text += "; a character is " + std::to_string(side) + " by " + std::to_string(side) + " tiles";
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// SVG
//===----------------------------------------------------------------------===//

namespace {

/// Where the map stands in the drawing.
svg::Plot plotOf(const TilePicture &picture) {
  constexpr double longest = 640, shortest = 40;
  double scale = longest / static_cast<double>(std::max(picture.queries, picture.keys));
  return {76,
          108,
          std::max(shortest, scale * static_cast<double>(picture.keys)),
          std::max(shortest, scale * static_cast<double>(picture.queries)),
          picture.keys,
          picture.queries};
}

std::string tiles(const TilePicture &picture, const svg::Plot &plot) {
  std::string drawn = svg::rectangle(plot.left, plot.top, plot.width, plot.height,
                                     std::string("fill=\"") + colourOf(TileKind::Empty) + "\"");
  for (int64_t row = 0; row < picture.rows; ++row) {
    int64_t query = picture.rowStarts[row];
    double height = plot.y(picture.rowStarts[row + 1]) - plot.y(query);
    for (int64_t column = 0, end = 0; column < picture.columns; column = end) {
      TileKind kind = picture.at(row, column);
      for (end = column; end < picture.columns && picture.at(row, end) == kind; ++end)
        ;
      if (kind == TileKind::Empty)
        continue;
      double x = plot.x(picture.columnStarts[column]);
      double width = plot.x(picture.columnStarts[end]) - x;
      drawn += svg::rectangle(x, plot.y(query), width, height,
                              std::string("fill=\"") + colourOf(kind) + "\"");
    }
  }
  return drawn;
}

/// Lines between tiles, where they are large enough to be seen apart.
std::string grid(const TilePicture &picture, const svg::Plot &plot) {
  std::string drawn;
  constexpr double least = 6;
  if (plot.perRow() * static_cast<double>(picture.tileRows) < least ||
      plot.perColumn() * static_cast<double>(picture.tileColumns) < least)
    return drawn;
  for (int64_t row = 1; row < picture.rows; ++row) {
    double y = plot.y(picture.rowStarts[row]);
    drawn += svg::line(plot.left, y, plot.left + plot.width, y, "#ffffff");
  }
  for (int64_t column = 1; column < picture.columns; ++column) {
    double x = plot.x(picture.columnStarts[column]);
    drawn += svg::line(x, plot.top, x, plot.top + plot.height, "#ffffff");
  }
  return drawn;
}

std::string legend(const TilePicture &picture, double x, double y) {
  std::string drawn;
  for (TileKind kind : allKinds) {
    drawn += svg::rectangle(x, y - 11, 13, 13,
                            std::string("stroke=\"#78909c\" fill=\"") + colourOf(kind) + "\"");
    std::string label = std::string(nameOf(kind)) + " " + std::to_string(picture.count(kind));
    drawn += svg::text(x + 19, y, label, "class=\"mark\"");
    x += 34 + 7.5 * static_cast<double>(label.size());
  }
  return drawn + svg::text(x, y, percent(picture.saved) + " of the work saved",
                           "class=\"mark\" font-weight=\"bold\"");
}

/// As many characters as fit into the width, at this size of the font.
std::string shortened(const std::string &text, double width, double size = 12) {
  auto most = static_cast<size_t>(width / (0.58 * size));
  if (text.size() <= most)
    return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not inside a code point
  return text.substr(0, end) + "…";
}

} // namespace

std::string tileSvg(const TilePicture &picture) {
  svg::Plot plot = plotOf(picture);
  double width = std::max(plot.left + plot.width + 24, 620.0);
  double below = plot.top + plot.height + 28, height = below + 18;
  std::vector<std::string> lines = picture.notes;
  if (!picture.assumptions.empty())
    lines.push_back("assuming " + joined(picture.assumptions));
  height += 18 * static_cast<double>(lines.size());
  std::string drawn;
  drawn += svg::text(20, 24, shortened(picture.layer + ": " + picture.mask, width - 40, 16),
                     "font-size=\"16\" font-weight=\"bold\" fill=\"#263238\"");
  drawn += svg::text(20, 44, shortened(picture.function + ", " + sizesText(picture), width - 40),
                     "class=\"mark\"");
  drawn += tiles(picture, plot) + grid(picture, plot) + svg::axes(plot, "keys", "queries");
  drawn += legend(picture, 20, below);
  for (const std::string &line : lines)
    drawn += svg::text(20, below += 20, shortened(line, width - 40), "class=\"mark\"");
  return svg::drawing(width, height, drawn);
}

std::string tileHtml(const TilePicture &picture, const std::string &title) {
  std::string page = tileSvg(picture);
  page += "<p>mask <code>" + escapedHtml(picture.mask) + "</code></p>\n<p>" +
          escapedHtml(countsText(picture)) + "</p>\n";
  for (const std::string &note : picture.notes)
    page += "<p>" + escapedHtml(note) + "</p>\n";
  if (!picture.assumptions.empty()) {
    page += "<p>The mask reads data; it is drawn for</p>\n<ul>\n";
    for (const std::string &assumption : picture.assumptions)
      page += "<li>" + escapedHtml(assumption) + "</li>\n";
    page += "</ul>\n";
  }
  return htmlPage(title + ": " + picture.layer, "", page);
}

} // namespace heddle
