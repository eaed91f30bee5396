//===- Curve.cpp - A drawing of a run -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels over the same steps: losses, the measure if there is one, and the rate. Long runs are
// drawn by means of equally many rows, so the size of a file is bounded.
#include "heddle/Support/Svg.h"
#include "heddle/Support/Text.h"
#include "heddle/Training/Log.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

namespace {

struct CurvePoint {
  double step, value;
};
using CurvePoints = std::vector<CurvePoint>;

constexpr const char *orange = "#c4601d"; ///< validation

/// Values of the rows that have one, as at most 500 means.
template <typename ValueOf>
CurvePoints pointsOf(const std::vector<LogRow> &rows, ValueOf valueOf) {
  CurvePoints points;
  for (const LogRow &row : rows)
    if (const std::optional<double> value = valueOf(row); value && std::isfinite(*value))
      points.push_back({static_cast<double>(row.step), *value});
  constexpr size_t mostPoints = 500;
  const size_t group = (points.size() + mostPoints - 1) / mostPoints;
  if (group <= 1)
    return points;
  CurvePoints means;
  for (size_t first = 0; first < points.size(); first += group) {
    CurvePoint sum{0, 0};
    const size_t count = std::min(group, points.size() - first);
    for (size_t i = first; i < first + count; ++i)
      sum = {sum.step + points[i].step, sum.value + points[i].value};
    means.push_back(
        {sum.step / static_cast<double>(count), sum.value / static_cast<double>(count)});
  }
  return means;
}

/// Distance of ticks, 1, 2 or 5 times a power of ten, with at most `most` of them up to `size`.
double tickDistance(double size, int most) {
  const double least = size / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least)
      return factor * power;
  return 10 * power;
}

/// A frame with axes from 0 to round numbers.
class CurvePanel {
public:
  static constexpr double left = 78, width = 640;

  CurvePanel(double top, double height, double lastStep, double greatest)
      : top(top), height(height), steps(lastStep) {
    // A value at the border would hide under the frame.
    const double size = greatest > 0 ? greatest * 1.05 : 1;
    distance = tickDistance(size, 5);
    most = std::ceil(size / distance) * distance;
  }

  std::string frame(const std::string &title, bool labelsSteps) const {
    std::string drawn;
    for (int i = 0; i * distance <= most * 1.0001; ++i) {
      const double value = i * distance, at = y(value);
      if (i > 0)
        drawn += svg::line(left, at, left + width, at, "#eceff1");
      drawn += svg::text(left - 9, at + 4, formatted("%.4g", value),
                         "text-anchor=\"end\" class=\"mark\"");
    }
    const double step = std::max(tickDistance(steps, 8), 1.0);
    for (int i = 0; labelsSteps && i * step <= steps * 1.0001; ++i) {
      const double at = i * step;
      drawn += svg::line(x(at), top + height, x(at), top + height + 5, svg::grey);
      drawn += svg::text(x(at), top + height + 19, formatted("%.0f", at),
                         "text-anchor=\"middle\" class=\"mark\"");
    }
    const std::string middle = svg::number(top + height / 2);
    drawn += svg::text(20, top + height / 2, title,
                       "text-anchor=\"middle\" class=\"axis\" transform=\"rotate(-90 20 " + middle +
                           ")\"");
    return drawn + svg::rectangle(left, top, width, height,
                                  std::string("fill=\"none\" stroke=\"") + svg::grey + "\"");
  }

  std::string curve(const CurvePoints &points, const char *color, bool marksPoints = false) const {
    std::string path, marks;
    for (const CurvePoint &point : points) {
      const std::string px = svg::number(x(point.step)), py = svg::number(y(point.value));
      path.append(path.empty() ? "M" : "L").append(px).append(" ").append(py);
      if (marksPoints)
        marks += formatted("<circle cx=\"%s\" cy=\"%s\" r=\"3\" fill=\"%s\"/>\n", px.c_str(),
                           py.c_str(), color);
    }
    if (path.empty())
      return "";
    return "<path fill=\"none\" stroke-width=\"1.5\" stroke-linejoin=\"round\" stroke=\"" +
           std::string(color) + "\" d=\"" + path + "\"/>\n" + marks;
  }

private:
  double x(double step) const { return left + (steps > 0 ? step / steps * width : 0); }
  double y(double value) const {
    return top + height - std::clamp(value / most, 0.0, 1.0) * height;
  }

  double top, height, steps, distance, most;
};

double greatestOf(const CurvePoints &points) {
  double greatest = 0;
  for (const CurvePoint &point : points)
    greatest = std::max(greatest, point.value);
  return greatest;
}

std::string legend(double x, double y, const char *color, const std::string &text) {
  return svg::line(x, y - 4, x + 22, y - 4, color) + svg::text(x + 28, y, text, "class=\"mark\"");
}

} // namespace

std::string heddle::curveOf(const std::vector<LogRow> &rows, const std::string &measure) {
  const CurvePoints losses =
                        pointsOf(rows, [](const LogRow &row) { return std::optional(row.loss); }),
                    rates =
                        pointsOf(rows, [](const LogRow &row) { return std::optional(row.rate); }),
                    checks = pointsOf(rows, [](const LogRow &row) { return row.validationLoss; }),
                    measures = pointsOf(rows, [](const LogRow &row) { return row.measure; });
  const double last = rows.empty() ? 1 : static_cast<double>(rows.back().step);
  constexpr double margin = 22, high = 260, low = 110, space = 18;
  double top = margin + 18;
  std::string drawn = legend(CurvePanel::left, margin + 4, svg::blue, "training");
  if (!checks.empty() || !measures.empty())
    drawn += legend(CurvePanel::left + 110, margin + 4, orange, "validation");
  const CurvePanel loss(top, high, last, std::max(greatestOf(losses), greatestOf(checks)));
  drawn += loss.frame("loss", false) + loss.curve(losses, svg::blue) +
           loss.curve(checks, orange, checks.size() <= 60);
  top += high + space;
  if (!measures.empty()) {
    const CurvePanel panel(top, low, last, 1 / 1.05);
    drawn += panel.frame(measure, false) + panel.curve(measures, orange, measures.size() <= 60);
    top += low + space;
  }
  const CurvePanel rate(top, low, last, greatestOf(rates));
  drawn += rate.frame("rate", true) + rate.curve(rates, svg::blue);
  top += low + 40;
  drawn += svg::text(CurvePanel::left + CurvePanel::width / 2, top, "step",
                     "text-anchor=\"middle\" class=\"axis\"");
  return svg::drawing(CurvePanel::left + CurvePanel::width + margin, top + 14, drawn);
}
