//===- AttentionDrawing.cpp - Maps of attention as SVG and HTML ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws attention maps as SVG and HTML. The opacity of a cell is its weight, and a scale shows the
// range of weights. The <title> of a cell has its words and its weight, so that browsers show both
// under the mouse without a script. The page's script only hides later steps. The attributes
// `data-name`, `data-head` and `data-row` identify the result that a cell shows.
#include "heddle/Generation/Attention.h"

#include "heddle/Support/Svg.h"
#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace heddle;

namespace {

/// A part of a drawing, and its size.
struct Piece {
  std::string content;
  double width = 0, height = 0;

  void below(const Piece &other, double gap) {
    content += svg::group(0, height + gap, "", other.content);
    width = std::max(width, other.width);
    height += gap + other.height;
  }
  void beside(const Piece &other, double gap) {
    content += svg::group(width + gap, 0, "", other.content);
    width += gap + other.width;
    height = std::max(height, other.height);
  }
};

/// One kind of attention of a text, with the labels of its maps.
struct Kind {
  const char *title;
  const std::vector<AttentionMap> &maps;
  const std::vector<std::string> &queries, &keys;
  bool steps; ///< queries are steps of the decoding
};

std::vector<Kind> kindsOf(const AttentionRecord &record) {
  std::vector<Kind> kinds;
  for (const Kind &kind :
       {Kind{"Encoder self-attention: source tokens (down) attend to the source", record.encoder,
             record.source, record.source, false},
        Kind{"Decoder self-attention: written tokens (down) attend to the tokens fed",
             record.decoder, record.written, record.fed, true},
        Kind{"Cross-attention: written tokens (down) attend to the source", record.cross,
             record.written, record.source, true}})
    if (!kind.maps.empty())
      kinds.push_back(kind);
  return kinds;
}

constexpr double fontSize = 12;

constexpr const char *page =
#include "Attention.html.inc"
    ;

double widest(const std::vector<std::string> &words) {
  double width = 0;
  for (const std::string &word : words)
    width = std::max(width, svg::textWidth(word, fontSize));
  return width;
}

std::string weightText(float weight) { return formatted("%.6g", static_cast<double>(weight)); }

std::string shade(const std::string &opacity) {
  return std::string("fill=\"") + svg::blue + "\" fill-opacity=\"" + opacity + "\"";
}

/// Returns the least and the greatest weight of all maps; none if all weights are NaN.
std::optional<std::pair<float, float>> rangeOf(const std::vector<AttentionRecord> &records) {
  std::optional<std::pair<float, float>> range;
  for (const AttentionRecord &record : records)
    for (const Kind &kind : kindsOf(record))
      for (const AttentionMap &map : kind.maps)
        for (float weight : map.weights)
          if (!std::isnan(weight))
            range = range
                        ? std::pair(std::min(range->first, weight), std::max(range->second, weight))
                        : std::pair(weight, weight);
  return range;
}

/// Draws the color scale of the cells; empty if all weights are NaN.
Piece drawScale(const std::vector<AttentionRecord> &records) {
  auto range = rangeOf(records);
  if (!range)
    return {};
  constexpr int steps = 40;
  auto [least, greatest] = *range;
  std::vector<std::string> fills;
  for (int i = 0; i < steps; ++i) {
    float share = static_cast<float>(i) / (steps - 1);
    fills.push_back(shade(weightText(least + share * (greatest - least))));
  }
  auto [width, drawn] = svg::scale(svg::textWidth("weight", fontSize) + 8, 0, weightText(least),
                                   weightText(greatest), 4, fills);
  return {svg::group(0, 0, "class=\"scale\"", svg::text(0, 11, "weight", "class=\"mark\"") + drawn),
          width, 14};
}

/// Returns the layer of a map: "decoder.0" for "decoder.0.cross-weights".
std::string layerOf(const AttentionMap &map) { return map.name.substr(0, map.name.rfind('.')); }

/// Draws the map of one head.
class HeadMap {
public:
  HeadMap(const Kind &kind, const AttentionMap &map, int64_t head)
      : kind(kind), map(map), head(head), plot{widest(kind.queries) + 8,
                                               widest(kind.keys) + 30,
                                               cell() * columns(),
                                               cell() * rows(),
                                               map.keys,
                                               map.queries} {}

  Piece draw() const {
    std::string name = layerOf(map) + (map.heads == 0 ? ", average of heads"
                                                      : ", head " + std::to_string(head + 1));
    std::string drawn = svg::text(plot.left, 12, name, "class=\"axis\"");
    for (int64_t key = 0; key < map.keys; ++key)
      drawn += above(key);
    for (int64_t query = 0; query < map.queries; ++query)
      drawn += row(query);
    drawn += svg::rectangle(plot.left, plot.top, plot.width, plot.height,
                            std::string("fill=\"none\" stroke=\"") + svg::grey + "\"");
    std::string attributes = "class=\"map\" data-name=\"" + escapedHtml(map.name) +
                             "\" data-head=\"" + std::to_string(head) + "\"";
    return {svg::group(0, 0, attributes, drawn), std::max(plot.left + plot.width, 140.0),
            plot.top + plot.height};
  }

private:
  double rows() const { return static_cast<double>(map.queries); }
  double columns() const { return static_cast<double>(map.keys); }
  /// Size of a cell: at most 22, smaller for long texts.
  double cell() const { return std::max(10.0, std::min(22.0, 400 / std::max(rows(), columns()))); }
  /// Baseline of a word that is centered on a cell.
  double middle(double edge) const { return edge + cell() / 2 + 4; }

  /// Label of a key, rotated if it is wider than its cell.
  std::string above(int64_t key) const {
    const std::string &word = kind.keys[key];
    double y = plot.top - 6;
    if (svg::textWidth(word, fontSize) <= cell())
      return svg::text(plot.x(key) + cell() / 2, y, word, "text-anchor=\"middle\" class=\"mark\"");
    double x = middle(plot.x(key));
    return svg::text(x, y, word,
                     "class=\"mark\" transform=\"rotate(-90 " + svg::number(x) + " " +
                         svg::number(y) + ")\"");
  }

  std::string row(int64_t query) const {
    const std::string &word = kind.queries[query];
    std::string drawn =
        svg::text(plot.left - 6, middle(plot.y(query)), word, "text-anchor=\"end\" class=\"mark\"");
    std::span<const float> weights = map.row(head, query);
    for (int64_t key = 0; key < map.keys; ++key) {
      std::string value = weightText(weights[key]);
      std::string title = escapedHtml(word + " attends to " + kind.keys[key]);
      drawn += svg::rectangle(plot.x(key), plot.y(query), cell(), cell(), shade(value),
                              "<title>" + title + ": " + value + "</title>");
    }
    return "<g class=\"" + std::string(kind.steps ? "step" : "row") + "\" data-row=\"" +
           std::to_string(query) + "\">\n" + drawn + "</g>\n";
  }

  const Kind &kind;
  const AttentionMap &map;
  int64_t head;
  svg::Plot plot;
};

/// Draws all maps of one kind: layers down, heads to the right.
Piece drawKind(const Kind &kind) {
  Piece all;
  for (const AttentionMap &map : kind.maps) {
    Piece layer;
    for (int64_t head = 0; head < std::max<int64_t>(1, map.heads); ++head)
      layer.beside(HeadMap(kind, map, head).draw(), head == 0 ? 0 : 24);
    all.below(layer, 16);
  }
  return all;
}

std::string headingOf(const AttentionRecord &record) {
  return record.text + " → " + record.translation;
}

/// Returns a slider and a button for each token of the translation, which both select a step, and a
/// paragraph that describes the step.
std::string stepsHtml(const AttentionRecord &record) {
  std::string html = "<p class=\"steps\">step <input type=\"range\" min=\"0\" max=\"" +
                     std::to_string(record.written.size() - 1) + "\" value=\"" +
                     std::to_string(record.written.size() - 1) + "\">";
  for (size_t step = 0; step < record.written.size(); ++step)
    html += " <button data-fed=\"" + escapedHtml(record.fed[step]) + "\">" +
            escapedHtml(record.written[step]) + "</button>";
  return html + "</p>\n<p class=\"what\"></p>\n";
}

} // namespace

std::string heddle::attentionSvg(const std::vector<AttentionRecord> &records) {
  constexpr double margin = 24;
  double gap = 24;
  Piece all = drawScale(records);
  for (const AttentionRecord &record : records) {
    const std::string heading = headingOf(record);
    Piece title = {svg::text(0, 16, heading, "font-size=\"16\" font-weight=\"bold\""),
                   svg::textWidth(heading, 17), 20};
    all.below(title, gap);
    gap = 48;
    for (const Kind &kind : kindsOf(record)) {
      all.below({svg::text(0, 12, kind.title, "class=\"axis\" font-weight=\"bold\""),
                 svg::textWidth(kind.title, 14), 14},
                24);
      all.below(drawKind(kind), 0);
    }
  }
  return svg::drawing(all.width + 2 * margin, all.height + 2 * margin,
                      svg::group(margin, margin, "", all.content));
}

std::string heddle::attentionHtml(const std::vector<AttentionRecord> &records) {
  std::string body;
  if (const Piece scale = drawScale(records); scale.width > 0)
    body = svg::drawing(scale.width + 8, scale.height + 8, svg::group(4, 4, "", scale.content));
  for (const AttentionRecord &record : records) {
    body += "<section><h2>" + escapedHtml(headingOf(record)) + "</h2>\n" + stepsHtml(record);
    for (const Kind &kind : kindsOf(record)) {
      const Piece drawn = drawKind(kind);
      body += std::string("<h3>") + kind.title + "</h3>\n" +
              svg::drawing(drawn.width + 8, drawn.height + 8, drawn.content);
    }
    body += "</section>\n";
  }
  return htmlPage(page, "Attention of a translation", body);
}
