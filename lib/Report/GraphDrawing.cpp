//===- GraphDrawing.cpp - Data-flow graphs as SVG -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout and drawing of graphs. Data flows down. A box is in the row before its first reader, so
// that keys of a cross-attention are next to its queries, and inputs next to their readers. Boxes
// of a row have the order of the function.
// An arrow to the next row is straight. An arrow over several rows passes around them: residuals on
// the left, inputs on the right. Arrows of different boxes around the same rows have separate
// lanes, so that they do not seem to join. Inputs and outputs are outside the frames of layers.
// Labels with masks are long and must not be cut off, so boxes are as wide as the longest word and
// as high as their lines.

#include "Graph.h"

#include "heddle/Support/Svg.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace heddle {

namespace {

constexpr double leastWidth = 190, mostWidth = 340, inside = 8, lineHeight = 15, fontSize = 12;
constexpr double between = 14, below = 26, aside = 34, lane = 10;

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
    leaveFrames();
    chooseLanes();
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

  double width() const {
    return static_cast<double>(widest) * (boxWidth + between) + 4 * aside +
           lane * static_cast<double>(leftLanes + rightLanes);
  }
  double height() const { return tops.back(); }
  /// Points of a box at which arrows from and to other functions end.
  struct Ends {
    double right, middle, center, top;
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
  void leaveFrames();
  void chooseLanes();
  void place();
  bool isInput(size_t node) const { return graph.nodes[node].kind == GraphNode::Kind::Input; }
  /// Whether an arrow passes around rows.
  bool goesAround(size_t from, size_t to) const { return ranks[to] != ranks[from] + 1; }
  /// Rows of a layer's boxes; none if they are folded into an equal layer.
  std::optional<std::pair<int64_t, int64_t>> rowsOf(const GraphLayer &layer) const;
  double y(size_t node) const { return tops[ranks[node]]; }
  double boxHeight(size_t node) const {
    return static_cast<double>(labels[node].size() + shapes[node].size()) * lineHeight + inside;
  }
  std::string box(size_t node) const;
  std::string arrow(size_t from, size_t to) const;
  bool isOutermost(size_t node, bool right) const;
  std::string frame(const GraphLayer &layer) const;

  std::vector<std::vector<std::string>> labels, shapes; ///< lines of each box
  std::vector<int64_t> ranks;
  std::vector<size_t> lanes; ///< of the arrows that leave each box and pass around rows
  size_t leftLanes = 0, rightLanes = 0;
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

std::optional<std::pair<int64_t, int64_t>> FunctionDrawing::rowsOf(const GraphLayer &layer) const {
  int64_t first = rows, last = -1;
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    if (graph.nodes[node].layer == layer.layer) {
      first = std::min(first, ranks[node]);
      last = std::max(last, ranks[node]);
    }
  return last < first ? std::nullopt : std::optional(std::pair(first, last));
}

/// Moves inputs up and outputs down, out of the rows of layers.
void FunctionDrawing::leaveFrames() {
  std::vector<bool> framed(static_cast<size_t>(rows), false);
  for (const GraphLayer &layer : graph.layers)
    if (auto range = rowsOf(layer))
      std::fill(framed.begin() + range->first, framed.begin() + range->second + 1, true);
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    int64_t &row = ranks[node];
    const bool up = isInput(node);
    if (up || graph.nodes[node].kind == GraphNode::Kind::Output)
      while (row >= 0 && row < rows && framed[static_cast<size_t>(row)])
        row += up ? -1 : 1;
  }
  if (ranks.empty())
    return;
  const int64_t first = std::min<int64_t>(0, *std::ranges::min_element(ranks));
  for (int64_t &row : ranks)
    row -= first;
  rows = *std::ranges::max_element(ranks) + 1;
}

/// Assigns to the arrows that leave a box and pass around rows the innermost free lane. Short
/// arrows are assigned first, so that long ones pass around them.
void FunctionDrawing::chooseLanes() {
  struct Way {
    size_t box;
    int64_t first, last; ///< rows
  };
  std::vector<Way> ways;
  for (size_t from = 0; from < graph.nodes.size(); ++from) {
    int64_t last = -1;
    for (size_t to = 0; to < graph.nodes.size(); ++to)
      if (std::ranges::count(graph.nodes[to].inputs, from) && goesAround(from, to))
        last = std::max(last, ranks[to]);
    if (last >= 0)
      ways.push_back({from, ranks[from], last});
  }
  std::ranges::stable_sort(ways, {}, [](const Way &way) { return way.last - way.first; });
  lanes.assign(graph.nodes.size(), 0);
  std::vector<std::vector<Way>> left, right; // arrows in each lane
  for (const Way &way : ways) {
    std::vector<std::vector<Way>> &side = isInput(way.box) ? right : left;
    auto free = std::ranges::find_if(side, [&](const std::vector<Way> &lane) {
      return std::ranges::none_of(
          lane, [&](const Way &other) { return way.first < other.last && other.first < way.last; });
    });
    lanes[way.box] = static_cast<size_t>(free - side.begin());
    (free == side.end() ? side.emplace_back() : *free).push_back(way);
  }
  leftLanes = left.size();
  rightLanes = right.size();
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
    double free =
        static_cast<double>(widest - static_cast<int64_t>(nodes.size())) * (boxWidth + between) +
        between;
    double x = 2 * aside + lane * static_cast<double>(leftLanes) + free / 2;
    for (size_t node : nodes) {
      xs[node] = x;
      x += boxWidth + between;
    }
  }
}

/// Draws a box. Ops are blue (attention is orange); inputs and outputs are rounder and grey.
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
  if (!goesAround(from, to)) {
    // Straight down past the row's highest box, then over to the other box.
    double gap = tops[ranks[to]] - below, bend = gap + below / 2;
    return path("M" + point(fromX, y(from) + boxHeight(from)) + "V" + svg::number(gap) + "C" +
                point(fromX, bend) + " " + point(toX, bend) + " " + point(toX, y(to) - 2));
  }
  // Around the rows between: inputs, which have many readers, on the right, others on the left.
  bool right = isInput(from);
  double outside =
      aside + lane * static_cast<double>((right ? rightLanes : leftLanes) - lanes[from]);
  double side = right ? width() - outside : outside;
  double start = xs[from] + (right ? boxWidth : 0), end = xs[to] + (right ? boxWidth + 2 : -2);
  // One arrow may end where another one starts: it ends higher than the other starts.
  double startY = y(from) + boxHeight(from) * 2 / 3, endY = y(to) + boxHeight(to) / 3;
  double turn = right ? -8 : 8;
  std::string begun = "M" + point(start, startY) + "H" + svg::number(side + turn) + "Q" +
                      point(side, startY) + " " + point(side, startY + 8);
  if (isOutermost(to, right))
    return path(begun + "V" + svg::number(endY - 8) + "Q" + point(side, endY) + " " +
                point(side + turn, endY) + "H" + svg::number(end));
  double gap = tops[static_cast<size_t>(ranks[to])] - below / 2; // over the boxes next to it
  return path(begun + "V" + svg::number(gap - 8) + "Q" + point(side, gap) + " " +
              point(side + turn, gap) + "H" + svg::number(toX - turn) + "Q" + point(toX, gap) +
              " " + point(toX, gap + 8) + "V" + svg::number(y(to) - 2));
}

/// Whether the box is the outermost one of its row on this side.
bool FunctionDrawing::isOutermost(size_t node, bool right) const {
  for (size_t other = 0; other < graph.nodes.size(); ++other)
    if (ranks[other] == ranks[node] && (right ? xs[other] > xs[node] : xs[other] < xs[node]))
      return false;
  return true;
}

std::string FunctionDrawing::frame(const GraphLayer &layer) const {
  auto range = rowsOf(layer);
  if (!range)
    return "";
  auto [first, last] = *range;
  double y = tops[static_cast<size_t>(first)] - 10;
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
              "M" + point(lefts[from] + start->right, margin + start->center) + "H" +
              svg::number(lefts[to] - gap / 2) + "V" + svg::number(margin + end->top - 16) + "H" +
              svg::number(lefts[to] + end->middle) + "V" + svg::number(margin + end->top - 2));
      }
  return svg::drawing(x - gap + 20, height + 2 * margin, drawn);
}

} // namespace heddle
