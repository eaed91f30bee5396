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

#include "Explain.h"

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

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string result = text;
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.')
    result.pop_back();
  return result;
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
  text += countsText(picture) + "\n\n";
  for (int64_t row = 0; row < picture.rows; row += side) {
    char label[32];
    std::snprintf(label, sizeof label, "%8lld ", static_cast<long long>(row * picture.tileRows));
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

/// Where the map stands in the drawing, in its units.
struct Frame {
  double left = 76, top = 108, width, height;
  double perKey, perQuery;

  explicit Frame(const TilePicture &picture) {
    constexpr double longest = 640, shortest = 40;
    double scale = longest / static_cast<double>(std::max(picture.queries, picture.keys));
    width = std::max(shortest, scale * static_cast<double>(picture.keys));
    height = std::max(shortest, scale * static_cast<double>(picture.queries));
    perKey = width / static_cast<double>(picture.keys);
    perQuery = height / static_cast<double>(picture.queries);
  }
  double x(int64_t key) const { return left + perKey * static_cast<double>(key); }
  double y(int64_t query) const { return top + perQuery * static_cast<double>(query); }
};

std::string textAt(double x, double y, const std::string &content, const std::string &attributes) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + attributes + ">" +
         escapedHtml(content) + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height,
                      const std::string &attributes) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
         "\" height=\"" + number(height) + "\" " + attributes + "/>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char *colour) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

/// A round distance of marks, at most seven of them: 1, 2 or 5 times a power of ten.
int64_t markDistance(int64_t size) {
  for (int64_t power = 1;; power *= 10)
    for (int64_t factor : {1, 2, 5})
      if (size / (factor * power) <= 6)
        return factor * power;
}

std::string axes(const TilePicture &picture, const Frame &frame) {
  const char *grey = "#78909c";
  std::string svg;
  for (int64_t key = 0; key <= picture.keys; key += markDistance(picture.keys)) {
    svg += line(frame.x(key), frame.top - 5, frame.x(key), frame.top, grey);
    svg += textAt(frame.x(key), frame.top - 9, std::to_string(key),
                  "text-anchor=\"middle\" class=\"mark\"");
  }
  for (int64_t query = 0; query <= picture.queries; query += markDistance(picture.queries)) {
    svg += line(frame.left - 5, frame.y(query), frame.left, frame.y(query), grey);
    svg += textAt(frame.left - 9, frame.y(query) + 4, std::to_string(query),
                  "text-anchor=\"end\" class=\"mark\"");
  }
  svg += textAt(frame.left + frame.width / 2, frame.top - 28, "keys",
                "text-anchor=\"middle\" class=\"axis\"");
  double middle = frame.top + frame.height / 2;
  std::string turned =
      "text-anchor=\"middle\" class=\"axis\" transform=\"rotate(-90 20 " + number(middle) + ")\"";
  svg += textAt(20, middle, "queries", turned);
  return svg + rectangle(frame.left, frame.top, frame.width, frame.height,
                         std::string("fill=\"none\" stroke=\"") + grey + "\"");
}

std::string tiles(const TilePicture &picture, const Frame &frame) {
  std::string svg = rectangle(frame.left, frame.top, frame.width, frame.height,
                              std::string("fill=\"") + colourOf(TileKind::Empty) + "\"");
  for (int64_t row = 0; row < picture.rows; ++row) {
    int64_t query = row * picture.tileRows;
    double height = frame.y(std::min(query + picture.tileRows, picture.queries)) - frame.y(query);
    for (int64_t column = 0, end = 0; column < picture.columns; column = end) {
      TileKind kind = picture.at(row, column);
      for (end = column; end < picture.columns && picture.at(row, end) == kind; ++end)
        ;
      if (kind == TileKind::Empty)
        continue;
      double x = frame.x(column * picture.tileColumns);
      double width = frame.x(std::min(end * picture.tileColumns, picture.keys)) - x;
      svg += rectangle(x, frame.y(query), width, height,
                       std::string("fill=\"") + colourOf(kind) + "\"");
    }
  }
  return svg;
}

/// Lines between tiles, where they are large enough to be seen apart.
std::string grid(const TilePicture &picture, const Frame &frame) {
  std::string svg;
  constexpr double least = 6;
  if (frame.perQuery * static_cast<double>(picture.tileRows) < least ||
      frame.perKey * static_cast<double>(picture.tileColumns) < least)
    return svg;
  for (int64_t row = 1; row < picture.rows; ++row) {
    double y = frame.y(row * picture.tileRows);
    svg += line(frame.left, y, frame.left + frame.width, y, "#ffffff");
  }
  for (int64_t column = 1; column < picture.columns; ++column) {
    double x = frame.x(column * picture.tileColumns);
    svg += line(x, frame.top, x, frame.top + frame.height, "#ffffff");
  }
  return svg;
}

std::string legend(const TilePicture &picture, double x, double y) {
  std::string svg;
  for (TileKind kind : allKinds) {
    svg += rectangle(x, y - 11, 13, 13,
                     std::string("stroke=\"#78909c\" fill=\"") + colourOf(kind) + "\"");
    std::string label = std::string(nameOf(kind)) + " " + std::to_string(picture.count(kind));
    svg += textAt(x + 19, y, label, "class=\"mark\"");
    x += 34 + 7.5 * static_cast<double>(label.size());
  }
  return svg + textAt(x, y, percent(picture.saved) + " of the work saved",
                      "class=\"mark\" font-weight=\"bold\"");
}

/// As many characters as the drawing is wide.
std::string shortened(const std::string &text, double width) {
  auto most = static_cast<size_t>(width / 6.6);
  if (text.size() <= most)
    return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not inside a code point
  return text.substr(0, end) + "…";
}

} // namespace

std::string tileSvg(const TilePicture &picture) {
  Frame frame(picture);
  double width = std::max(frame.left + frame.width + 24, 620.0);
  double below = frame.top + frame.height + 28, height = below + 18;
  if (!picture.assumptions.empty())
    height += 18;
  std::string size = "width=\"" + number(width) + "\" height=\"" + number(height) + "\" ";
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + "viewBox=\"0 0 " +
                    number(width) + " " + number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<style>.mark{fill:#37474f}.axis{fill:#37474f;font-size:13px}</style>\n" +
                    rectangle(0, 0, width, height, "fill=\"#ffffff\"");
  svg += textAt(20, 24, shortened(picture.layer + ": " + picture.mask, width - 160),
                "font-size=\"16\" font-weight=\"bold\" fill=\"#263238\"");
  svg += textAt(20, 44, picture.function + ", " + sizesText(picture), "class=\"mark\"");
  svg += tiles(picture, frame) + grid(picture, frame) + axes(picture, frame);
  svg += legend(picture, 20, below);
  if (!picture.assumptions.empty())
    svg += textAt(20, below + 20, shortened("assuming " + joined(picture.assumptions), width - 40),
                  "class=\"mark\"");
  return svg + "</svg>\n";
}

std::string tileHtml(const TilePicture &picture, const std::string &title) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
      escapedHtml(title + ": " + picture.layer) +
      "</title>\n<style>body{font:14px sans-serif;margin:2em}</style></head>\n<body><h1>" +
      escapedHtml(title) + "</h1>\n" + tileSvg(picture);
  page += "<p>mask <code>" + escapedHtml(picture.mask) + "</code></p>\n<p>" +
          escapedHtml(countsText(picture)) + "</p>\n";
  if (!picture.assumptions.empty()) {
    page += "<p>The mask reads data; it is drawn for</p>\n<ul>\n";
    for (const std::string &assumption : picture.assumptions)
      page += "<li>" + escapedHtml(assumption) + "</li>\n";
    page += "</ul>\n";
  }
  return page + "</body></html>\n";
}

} // namespace heddle
