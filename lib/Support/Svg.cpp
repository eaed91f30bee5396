//===- Svg.cpp - SVG drawings and HTML pages ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation of SVG. Text is written directly: the pictures need only a few elements.

#include "heddle/Support/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle {

std::string escapedHtml(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&#34;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string htmlPage(std::string_view page, std::string_view title, std::string_view body) {
  std::string result, words = escapedHtml(title);
  for (size_t at = 0; at < page.size();) {
    size_t next = std::min(page.find("{{", at), page.size());
    result += page.substr(at, next - at);
    std::string_view name = page.substr(next, page.find("}}", next) - next);
    result += name == "{{title" ? words : name == "{{body" ? body : std::string_view();
    at = next + (name.empty() ? 0 : name.size() + 2);
  }
  return result;
}

namespace svg {

std::string number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2f", value);
  std::string result = digits;
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.')
    result.pop_back();
  return result == "-0" ? "0" : result;
}

static std::string attribute(const char *name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string text(double x, double y, std::string_view content, std::string_view attributes) {
  return "<text" + attribute("x", x) + attribute("y", y) + " " + std::string(attributes) + ">" +
         escapedHtml(content) + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height, std::string_view attributes,
                      std::string_view inside) {
  std::string element = "<rect" + attribute("x", x) + attribute("y", y) +
                        attribute("width", width) + attribute("height", height) + " " +
                        std::string(attributes);
  return element + (inside.empty() ? "/>\n" : ">" + std::string(inside) + "</rect>\n");
}

std::string line(double x1, double y1, double x2, double y2, std::string_view color) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + " stroke=\"" + std::string(color) + "\"/>\n";
}

std::string group(double x, double y, std::string_view attributes, std::string_view content) {
  return "<g transform=\"translate(" + number(x) + " " + number(y) + ")\"" +
         (attributes.empty() ? "" : " ") + std::string(attributes) + ">\n" + std::string(content) +
         "</g>\n";
}

/// Distance of ticks, 1, 2 or 5 times a power of ten, so that there are at most seven.
static int64_t markDistance(int64_t size) {
  for (int64_t power = 1;; power *= 10)
    for (int64_t factor : {1, 2, 5})
      if (size / (factor * power) <= 6)
        return factor * power;
}

std::string axes(const Plot &plot, std::string_view columns, std::string_view rows) {
  std::string drawn;
  for (int64_t column = 0; column <= plot.columns; column += markDistance(plot.columns)) {
    drawn += line(plot.x(column), plot.top - 5, plot.x(column), plot.top, grey);
    drawn += text(plot.x(column), plot.top - 9, std::to_string(column),
                  "text-anchor=\"middle\" class=\"mark\"");
  }
  for (int64_t row = 0; row <= plot.rows; row += markDistance(plot.rows)) {
    drawn += line(plot.left - 5, plot.y(row), plot.left, plot.y(row), grey);
    drawn += text(plot.left - 9, plot.y(row) + 4, std::to_string(row),
                  "text-anchor=\"end\" class=\"mark\"");
  }
  drawn += text(plot.left + plot.width / 2, plot.top - 28, columns,
                "text-anchor=\"middle\" class=\"axis\"");
  double middle = plot.top + plot.height / 2;
  std::string turned = "rotate(-90 20 " + number(middle) + ")";
  drawn +=
      text(20, middle, rows, "text-anchor=\"middle\" class=\"axis\" transform=\"" + turned + "\"");
  return drawn + rectangle(plot.left, plot.top, plot.width, plot.height,
                           std::string("fill=\"none\" stroke=\"") + grey + "\"");
}

std::string cells(const Plot &plot, std::span<const int64_t> rows, std::span<const int64_t> columns,
                  std::span<const std::string> colors,
                  const std::function<size_t(size_t row, size_t column)> &colorOf) {
  std::vector<std::string> paths(colors.size());
  for (size_t column = 0; column + 1 < columns.size(); ++column) {
    const std::string left = number(plot.x(columns[column])),
                      width = number(plot.x(columns[column + 1]) - plot.x(columns[column]));
    for (size_t row = 0, end = 0; row + 1 < rows.size(); row = end) {
      const size_t color = colorOf(row, column);
      for (end = row + 1; end + 1 < rows.size() && colorOf(end, column) == color; ++end)
        ;
      if (!colors[color].empty())
        paths[color] += "M" + left + " " + number(plot.y(rows[row])) + "h" + width + "V" +
                        number(plot.y(rows[end])) + "h-" + width + "z";
    }
  }
  std::string drawn = "<g shape-rendering=\"crispEdges\">\n";
  for (size_t color = 0; color < paths.size(); ++color)
    if (!paths[color].empty())
      drawn += "<path fill=\"" + colors[color] + "\" d=\"" + paths[color] + "\"/>\n";
  return drawn + "</g>\n";
}

std::pair<double, std::string> scale(double x, double y, std::string_view least,
                                     std::string_view greatest, double step,
                                     std::span<const std::string> fills) {
  constexpr double height = 14, gap = 8, fontSize = 12;
  std::string drawn = text(x, y + 11, least, "class=\"mark least\"");
  x = std::ceil(x + textWidth(least, fontSize) + gap); // whole pixels avoid seams
  const double width = step * static_cast<double>(fills.size());
  for (size_t i = 0; i < fills.size(); ++i)
    drawn += rectangle(x + step * static_cast<double>(i), y, step, height, fills[i]);
  drawn += rectangle(x, y, width, height, std::string("fill=\"none\" stroke=\"") + grey + "\"");
  x += width + gap;
  drawn += text(x, y + 11, greatest, "class=\"mark greatest\"");
  return {x + textWidth(greatest, fontSize), drawn};
}

std::string drawing(double width, double height, std::string_view content) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
         attribute("height", height) + " viewBox=\"0 0 " + number(width) + " " + number(height) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<style>.mark{fill:#37474f}.axis{fill:#37474f;font-size:13px}</style>\n" +
         rectangle(0, 0, width, height, "fill=\"#ffffff\"") + std::string(content) + "</svg>\n";
}

double textWidth(std::string_view text, double fontSize) {
  double ems = 0;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xE0) // first byte of a 3- or 4-byte sequence: mostly square glyphs
      ems += 1;
    else if (byte < 0x80 || byte >= 0xC0)
      ems += 0.64;
  }
  return ems * fontSize;
}

/// First code point of a nonempty text.
static std::string_view firstLetter(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    ++size;
  return text.substr(0, size);
}

std::vector<std::string> lines(std::string_view text, double fontSize, double width) {
  auto fits = [&](const std::string &line) { return textWidth(line, fontSize) <= width; };
  std::vector<std::string> result;
  while (result.empty() || !text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!result.empty())
      if (std::string longer = result.back() + " " + std::string(word); fits(longer)) {
        result.back() = std::move(longer);
        continue;
      }
    result.emplace_back();
    for (; !word.empty(); word.remove_prefix(firstLetter(word).size())) {
      std::string longer = result.back() + std::string(firstLetter(word));
      if (result.back().empty() || fits(longer))
        result.back() = std::move(longer);
      else
        result.emplace_back(firstLetter(word));
    }
  }
  return result;
}

} // namespace svg

} // namespace heddle
