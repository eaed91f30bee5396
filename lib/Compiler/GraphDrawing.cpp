//===- GraphDrawing.cpp - Boxes and arrows as SVG -------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data flows down. A box stands in the row before its first reader, so that the keys of
// a cross attention stand beside its queries and inputs beside their readers; boxes of
// a row stand in the order of the function. An arrow to the next row goes straight,
// one that passes rows goes round them: residuals on the left, inputs on the right.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "heddle/Support/Svg.h"

#include <algorithm>
#include <map>
#include <optional>

namespace heddle {

namespace {

constexpr double boxWidth = 190, boxHeight = 38, rowHeight = 64, between = 14, aside = 34;

class FunctionDrawing {
public:
  explicit FunctionDrawing(const FunctionGraph &graph) : graph(graph) {
    rank();
    place();
  }

  std::string draw() const {
    std::string drawn = svg::text(width() / 2, 18, graph.name,
                                  "text-anchor=\"middle\" font-size=\"16\" font-weight=\"bold\"");
    for (const GraphLayer &layer : graph.layers)
      drawn += frame(layer);
    for (size_t to = 0; to < graph.nodes.size(); ++to)
      for (size_t from : graph.nodes[to].inputs)
        drawn += arrow(from, to);
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      drawn += box(node);
    return drawn;
  }

  double width() const { return static_cast<double>(widest) * (boxWidth + between) + 4 * aside; }
  double height() const { return top + static_cast<double>(rows) * rowHeight; }
  /// The left upper corner of the box with this label.
  std::optional<std::pair<double, double>> corner(const std::string &label,
                                                  GraphNode::Kind kind) const {
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      if (graph.nodes[node].kind == kind && graph.nodes[node].label == label)
        return std::pair(xs[node], y(node));
    return std::nullopt;
  }
  const FunctionGraph &graph;

private:
  void rank();
  void place();
  double y(size_t node) const { return top + static_cast<double>(ranks[node]) * rowHeight; }
  std::string box(size_t node) const;
  std::string arrow(size_t from, size_t to) const;
  std::string frame(const GraphLayer &layer) const;

  static constexpr double top = 40;
  std::vector<int64_t> ranks;
  std::vector<double> xs;
  int64_t rows = 0, widest = 1;
};

/// As far up as inputs allow, then down to the row before the first reader.
void FunctionDrawing::rank() {
  const size_t count = graph.nodes.size();
  ranks.assign(count, 0);
  std::vector<int64_t> limits(count, -1);
  for (size_t node = 0; node < count; ++node)
    for (size_t input : graph.nodes[node].inputs)
      ranks[node] = std::max(ranks[node], ranks[input] + 1);
  for (size_t node = count; node-- > 0;) {
    if (limits[node] >= 0)
      ranks[node] = limits[node];
    for (size_t input : graph.nodes[node].inputs)
      limits[input] =
          limits[input] < 0 ? ranks[node] - 1 : std::min(limits[input], ranks[node] - 1);
    rows = std::max(rows, ranks[node] + 1);
  }
}

void FunctionDrawing::place() {
  std::map<int64_t, std::vector<size_t>> members;
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    members[ranks[node]].push_back(node);
  for (const auto &[row, nodes] : members)
    widest = std::max(widest, static_cast<int64_t>(nodes.size()));
  xs.resize(graph.nodes.size());
  for (const auto &[row, nodes] : members) {
    double free = width() - static_cast<double>(nodes.size()) * (boxWidth + between) + between;
    double x = free / 2;
    for (size_t node : nodes) {
      xs[node] = x;
      x += boxWidth + between;
    }
  }
}

/// As much of a label as its box holds.
std::string fitted(std::string text) {
  if (svg::textWidth(text, 12) <= boxWidth - 8)
    return text;
  while (!text.empty() && svg::textWidth(text + "…", 12) > boxWidth - 8)
    do
      text.pop_back();
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80);
  return text + "…";
}

std::string FunctionDrawing::box(size_t node) const {
  const GraphNode &what = graph.nodes[node];
  bool op = what.kind == GraphNode::Kind::Op;
  bool attention = what.label.starts_with("attention");
  std::string attributes = "rx=\"" + std::string(op ? "4" : "18") + "\" stroke=\"" + svg::grey +
                           "\" fill=\"" +
                           (!op         ? "#eceff1"
                            : attention ? "#fbe3c3"
                                        : "#dcebf5") +
                           "\"";
  double middle = xs[node] + boxWidth / 2;
  std::string title = "<title>" + escapedHtml(what.label + " " + what.shape) + "</title>";
  return svg::rectangle(xs[node], y(node), boxWidth, boxHeight, attributes, title) +
         svg::text(middle, y(node) + 16, fitted(what.label),
                   "text-anchor=\"middle\" fill=\"#263238\" pointer-events=\"none\"") +
         svg::text(middle, y(node) + 31, fitted(what.shape),
                   "text-anchor=\"middle\" class=\"mark\" pointer-events=\"none\"");
}

std::string path(const std::string &way) {
  return "<path fill=\"none\" stroke=\"#546e7a\" marker-end=\"url(#arrow)\" d=\"" + way + "\"/>\n";
}

std::string point(double x, double y) { return svg::number(x) + " " + svg::number(y); }

std::string FunctionDrawing::arrow(size_t from, size_t to) const {
  double fromX = xs[from] + boxWidth / 2, toX = xs[to] + boxWidth / 2;
  if (ranks[to] == ranks[from] + 1) {
    double below = y(from) + boxHeight, above = y(to) - 2, bend = (above - below) / 2;
    return path("M" + point(fromX, below) + "C" + point(fromX, below + bend) + " " +
                point(toX, above - bend) + " " + point(toX, above));
  }
  // Round all rows between; inputs are many readers' and go on the other side.
  bool right = graph.nodes[from].kind == GraphNode::Kind::Input;
  double side = right ? width() - aside : aside;
  double start = xs[from] + (right ? boxWidth : 0), end = xs[to] + (right ? boxWidth + 2 : -2);
  double startY = y(from) + boxHeight / 2, endY = y(to) + boxHeight / 2;
  double turn = right ? -8 : 8;
  return path("M" + point(start, startY) + "H" + svg::number(side + turn) + "Q" +
              point(side, startY) + " " + point(side, startY + 8) + "V" + svg::number(endY - 8) +
              "Q" + point(side, endY) + " " + point(side + turn, endY) + "H" + svg::number(end));
}

std::string FunctionDrawing::frame(const GraphLayer &layer) const {
  int64_t first = rows, last = -1;
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    if (graph.nodes[node].layer == layer.layer) {
      first = std::min(first, ranks[node]);
      last = std::max(last, ranks[node]);
    }
  if (last < first) // folded into another
    return "";
  double y = top + static_cast<double>(first) * rowHeight - 10;
  double height = static_cast<double>(last - first + 1) * rowHeight - 8;
  return svg::rectangle(aside / 2, y, width() - aside, height,
                        "rx=\"8\" fill=\"#fafafa\" stroke=\"#b0bec5\" stroke-dasharray=\"4 3\"") +
         svg::text(width() - aside / 2 - 10, y + height - 10, layer.label,
                   "text-anchor=\"end\" font-weight=\"bold\" class=\"mark\"");
}

} // namespace

std::string graphSvg(const std::vector<FunctionGraph> &functions) {
  constexpr double gap = 40, margin = 10;
  std::vector<FunctionDrawing> drawings(functions.begin(), functions.end());
  std::string drawn =
      "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#546e7a\"/></marker>"
      "</defs>\n";
  std::vector<double> lefts;
  double x = 20, height = 0;
  for (const FunctionDrawing &drawing : drawings) {
    drawn += svg::group(x, margin, "", drawing.draw());
    lefts.push_back(x);
    x += drawing.width() + gap;
    height = std::max(height, drawing.height());
  }
  for (size_t from = 0; from < drawings.size(); ++from)
    for (size_t to = from + 1; to < drawings.size(); ++to)
      for (const GraphNode &node : drawings[from].graph.nodes) {
        if (node.kind != GraphNode::Kind::Output)
          continue;
        auto start = drawings[from].corner(node.label, node.kind),
             end = drawings[to].corner(node.label, GraphNode::Kind::Input);
        if (start && end) // between the functions, then between the rows
          drawn += path(
              "M" +
              point(lefts[from] + start->first + boxWidth, margin + start->second + boxHeight / 2) +
              "H" + svg::number(lefts[to] - gap / 2) + "V" +
              svg::number(margin + end->second - 16) + "H" +
              svg::number(lefts[to] + end->first + boxWidth / 2) + "V" +
              svg::number(margin + end->second - 2));
      }
  return svg::drawing(x - gap + 20, height + 2 * margin, drawn);
}

} // namespace heddle
