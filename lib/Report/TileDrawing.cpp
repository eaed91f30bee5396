//===- TileDrawing.cpp - Tile maps as text, SVG and HTML ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawing of tile maps: queries downwards, keys to the right. Adjacent tiles of one kind are
// merged, so that a drawing of ten thousand tiles stays small.

#include "heddle/Report/Tiles.h"

#include "Picture.h"

#include "llvm/ADT/StringExtras.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cstdio>

namespace heddle {

namespace {

/// Names and colors of the kinds of tiles. The colors differ in brightness, for printing and for
/// readers with red-green blindness.
constexpr const char *names[] = {"empty", "partial", "full"};
const std::string colors[] = {"#eceff1", "#f2a541", svg::blue};

std::string percent(double part) { return formatted("%.1f %%", part * 100); }

std::string sizesText(const TilePicture &picture) {
  return std::to_string(picture.queries) + " queries by " + std::to_string(picture.keys) +
         " keys, tiles of " + std::to_string(picture.tileRows) + " by " +
         std::to_string(picture.tileColumns);
}

std::string countsText(const TilePicture &picture) {
  std::string text;
  for (int kind = 0; kind < 3; ++kind)
    text += (text.empty() ? "" : ", ") + std::to_string(picture.count(TileKind(kind))) + " " +
            names[kind];
  return text + " tiles: " + percent(picture.saved) + " of the work saved";
}

/// Kind of a block of `side` by `side` tiles: empty or full if all of them are, else partial.
TileKind together(const TilePicture &picture, int64_t row, int64_t column, int64_t side) {
  bool allEmpty = true, allFull = true;
  for (int64_t r = row; r < std::min(row + side, picture.rows); ++r)
    for (int64_t c = column; c < std::min(column + side, picture.columns); ++c) {
      allEmpty &= picture.at(r, c) == TileKind::Empty;
      allFull &= picture.at(r, c) == TileKind::Full;
    }
  return allEmpty ? TileKind::Empty : allFull ? TileKind::Full : TileKind::Partial;
}

/// Facts about the picture, one per line, without the map.
std::string factsText(const TilePicture &picture) {
  std::string text = picture.layer + " of " + picture.function + ": " + sizesText(picture) +
                     "\nmask " + picture.mask + "\n";
  if (!picture.assumptions.empty())
    text += "assuming " + llvm::join(picture.assumptions, "; ") + "\n";
  for (const std::string &note : picture.notes)
    text += note + "\n";
  return text + countsText(picture) + "\n";
}

} // namespace

std::string pictureText(const TilePicture &picture) {
  constexpr int64_t widest = 100;
  int64_t side =
      std::max<int64_t>(1, (std::max(picture.columns, picture.rows) + widest - 1) / widest);
  std::string text = factsText(picture) + "\n";
  for (int64_t row = 0; row < picture.rows; row += side) {
    text += formatted("%8lld ", static_cast<long long>(picture.rowStarts[row]));
    for (int64_t column = 0; column < picture.columns; column += side)
      text += ".o#"[static_cast<int>(together(picture, row, column, side))];
    text += "\n";
  }
  text += "\n. empty  o partial  # full";
  if (side > 1)
    text += "; a character is " + std::to_string(side) + " by " + std::to_string(side) + " tiles";
  return text + "\n";
}

//===- SVG ---------------------------------------------------------------===//

namespace {

/// Place and scale of the map in the drawing; its top depends on the heading.
svg::Plot plotOf(const TilePicture &picture) {
  constexpr double longest = 640, shortest = 40;
  double scale = longest / static_cast<double>(std::max(picture.queries, picture.keys));
  return {76,
          0,
          std::max(shortest, scale * static_cast<double>(picture.keys)),
          std::max(shortest, scale * static_cast<double>(picture.queries)),
          picture.keys,
          picture.queries};
}

/// Lines between tiles; none if the tiles are too small.
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
  for (int kind = 0; kind < 3; ++kind) {
    drawn += svg::rectangle(x, y - 11, 13, 13, "stroke=\"#78909c\" fill=\"" + colors[kind] + "\"");
    std::string label =
        std::string(names[kind]) + " " + std::to_string(picture.count(TileKind(kind)));
    drawn += svg::text(x + 19, y, label, "class=\"mark\"");
    x += 34 + 7.5 * static_cast<double>(label.size());
  }
  return drawn + svg::text(x, y, percent(picture.saved) + " of the work saved",
                           "class=\"mark\" font-weight=\"bold\"");
}

} // namespace

/// Draws the picture. The longer side has 640 units; the picture is wide enough for its legend.
std::string pictureSvg(const TilePicture &picture) {
  svg::Plot plot = plotOf(picture);
  const double width = std::max(plot.left + plot.width + 24, 620.0);
  std::string drawn;
  double y = 4;
  auto written = [&](const std::string &text, double size, const char *look) {
    for (const std::string &line : svg::lines(text, size, width - 40))
      drawn += svg::text(20, y += 20, line, look);
  };
  written(picture.layer + ": " + picture.mask, 16,
          "font-size=\"16\" font-weight=\"bold\" fill=\"#263238\"");
  written(picture.function + ", " + sizesText(picture), 12, "class=\"mark\"");
  plot.top = y + 64;
  drawn += svg::cells(
      plot, picture.rowStarts, picture.columnStarts, colors,
      [&](size_t row, size_t column) { return static_cast<size_t>(picture.at(row, column)); });
  drawn += grid(picture, plot) + svg::axes(plot, "keys", "queries");
  drawn += legend(picture, 20, y = plot.top + plot.height + 28);
  for (const std::string &note : picture.notes)
    written(note, 12, "class=\"mark\"");
  if (!picture.assumptions.empty())
    written("assuming " + llvm::join(picture.assumptions, "; "), 12, "class=\"mark\"");
  return svg::drawing(width, y + 18, drawn);
}

std::string pictureHtml(const TilePicture &picture, const std::string &title) {
  return picturePage(title + ": " + picture.layer, pictureSvg(picture), factsText(picture));
}

} // namespace heddle
