//===- GraphDrawing.cpp - Data-flow graphs as SVG -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data flows down. A box stands in the row before its first reader, so that keys of a
// cross-attention stand beside its queries and inputs beside their readers. Boxes of a
// row are in the order of the function. An arrow to the next row goes straight; an
// arrow over several rows goes around them, residuals on the left, inputs on the right.
// Labels with masks are long and must not be cut off, so boxes are as wide as the
// longest word and as high as their lines.

#include "Graph.h"

#include "heddle/Support/Svg.h"

#include <algorithm>
#include <map>
#include <optional>

namespace heddle {

namespace {

constexpr double leastWidth = 190, mostWidth = 340, inside = 8, lineHeight = 15, fontSize = 12;
constexpr double between = 14, below = 26, aside = 34;

double widestWord(std::string_view text) {
  double widest = 0;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    widest = std::max(widest, svg::textWidth(word, fontSize));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return widest;
}

class FunctionDrawing {
public:
  explicit FunctionDrawing(const FunctionGraph &graph) : graph(graph) {
    breakLines();
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
  double height() const { return tops.back(); }
  /// Points of a box at which arrows from and to other functions end.
  struct Ends {
    double right, middle, centre, top;
  };
  std::optional<Ends> ends(const std::string &label, GraphNode::Kind kind) const {
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      if (graph.nodes[node].kind == kind && graph.nodes[node].label == label)
        return Ends{xs[node] + boxWidth, xs[node] + boxWidth / 2, y(node) + boxHeight(node) / 2,
                    y(node)};
    return std::nullopt;
  }
  const FunctionGraph &graph;

private:
  void breakLines();
  void rank();
  void place();
  double y(size_t node) const { return tops[ranks[node]]; }
  double boxHeight(size_t node) const {
    return static_cast<double>(labels[node].size() + shapes[node].size()) * lineHeight + inside;
  }
  std::string box(size_t node) const;
  std::string arrow(size_t from, size_t to) const;
  std::string frame(const GraphLayer &layer) const;

  std::vector<std::vector<std::string>> labels, shapes; ///< lines of each box
  std::vector<int64_t> ranks;
  std::vector<double> xs, tops = {40}; ///< left of each box; top of each row, and the end
  int64_t rows = 0, widest = 1;
  double boxWidth = leastWidth;
};

void FunctionDrawing::breakLines() {
  for (const GraphNode &node : graph.nodes)
    for (const std::string &text : {node.label, node.shape})
      boxWidth = std::max(boxWidth, std::min(mostWidth, widestWord(text) + inside));
  for (const GraphNode &node : graph.nodes) {
    labels.push_back(svg::lines(node.label, fontSize, boxWidth - inside));
    shapes.push_back(svg::lines(node.shape, fontSize, boxWidth - inside));
  }
}

/// Ranks each box as high as its inputs allow, then lowers it to the row before its first reader.
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
  for (const auto &[row, nodes] : members) { // in order of rows; none is empty
    widest = std::max(widest, static_cast<int64_t>(nodes.size()));
    double highest = 0;
    for (size_t node : nodes)
      highest = std::max(highest, boxHeight(node));
    tops.push_back(tops.back() + highest + below);
  }
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

/// Ops have a blue ground (attention an orange one); inputs and outputs are rounder and grey.
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
  double middle = xs[node] + boxWidth / 2, baseline = y(node) + 1;
  auto written = [&](const std::vector<std::string> &lines, const char *look) {
    std::string drawn;
    for (const std::string &line : lines)
      drawn += svg::text(middle, baseline += lineHeight, line,
                         std::string("text-anchor=\"middle\" pointer-events=\"none\" ") + look);
    return drawn;
  };
  std::string title = "<title>" + escapedHtml(what.label + " " + what.shape) + "</title>";
  std::string drawn =
      svg::rectangle(xs[node], y(node), boxWidth, boxHeight(node), attributes, title);
  drawn += written(labels[node], "fill=\"#263238\"");
  return drawn + written(shapes[node], "class=\"mark\"");
}

std::string path(const std::string &way) {
  return "<path fill=\"none\" stroke=\"#546e7a\" marker-end=\"url(#arrow)\" d=\"" + way + "\"/>\n";
}

std::string point(double x, double y) { return svg::number(x) + " " + svg::number(y); }

std::string FunctionDrawing::arrow(size_t from, size_t to) const {
  double fromX = xs[from] + boxWidth / 2, toX = xs[to] + boxWidth / 2;
  if (ranks[to] == ranks[from] + 1) {
    // Straight down past the row's highest box, then over to the other box.
    double gap = tops[ranks[to]] - below, bend = gap + below / 2;
    return path("M" + point(fromX, y(from) + boxHeight(from)) + "V" + svg::number(gap) + "C" +
                point(fromX, bend) + " " + point(toX, bend) + " " + point(toX, y(to) - 2));
  }
  // Around the rows between: inputs, which have many readers, on the right, others on the left.
  bool right = graph.nodes[from].kind == GraphNode::Kind::Input;
  double side = right ? width() - aside : aside;
  double start = xs[from] + (right ? boxWidth : 0), end = xs[to] + (right ? boxWidth + 2 : -2);
  double startY = y(from) + boxHeight(from) / 2, endY = y(to) + boxHeight(to) / 2;
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
  if (last < first) // its nodes are folded into an equal layer
    return "";
  double y = tops[first] - 10;
  double height = tops[static_cast<size_t>(last) + 1] - below + 8 - y;
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
        auto start = drawings[from].ends(node.label, node.kind),
             end = drawings[to].ends(node.label, GraphNode::Kind::Input);
        if (start && end) // along the gap between functions, then between rows
          drawn += path(
              "M" + point(lefts[from] + start->right, margin + start->centre) + "H" +
              svg::number(lefts[to] - gap / 2) + "V" + svg::number(margin + end->top - 16) + "H" +
              svg::number(lefts[to] + end->middle) + "V" + svg::number(margin + end->top - 2));
      }
  return svg::drawing(x - gap + 20, height + 2 * margin, drawn);
}

} // namespace heddle
