//===- Mask.cpp - Masks and score rules in C++ ----------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator is written with parentheses: the text means what C++ made of it.
//
//===----------------------------------------------------------------------===//

#include "heddle/Compiler/Mask.h"

#include <cstdio>

namespace heddle::mask {

static std::string joined(const std::string &x, const char *word, const std::string &y) {
  return "(" + x + " " + word + " " + y + ")";
}

static std::string called(const char *word, const std::string &arguments) {
  return std::string(word) + "(" + arguments + ")";
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// The lowest integer has no literal of its own: a minus sign is an operator.
Formula::Formula(int32_t value)
    : written(value == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value)) {}

Formula::Formula(double value) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.9e", value); // an f32 comes back
  written = digits;
}

Formula batch() { return Formula(std::string("b")); }
Formula head() { return Formula(std::string("h")); }
Formula query() { return Formula(std::string("i")); }
Formula key() { return Formula(std::string("j")); }

Table table(std::string name) { return Table(std::move(name)); }
Formula Table::operator[](const Formula &index) const {
  return Formula(name + "[" + index.text() + "]");
}
Formula Table::ofBatch(const Formula &index) const {
  return Formula(name + "[b, " + index.text() + "]");
}

#define HEDDLE_BINARY(op)                                                                          \
  Formula operator op(const Formula &x, const Formula &y) {                                        \
    return Formula(joined(x.text(), #op, y.text()));                                               \
  }
HEDDLE_BINARY(+)
HEDDLE_BINARY(-)
HEDDLE_BINARY(*)
HEDDLE_BINARY(/)
HEDDLE_BINARY(%)
HEDDLE_BINARY(<)
HEDDLE_BINARY(<=)
HEDDLE_BINARY(>)
HEDDLE_BINARY(>=)
HEDDLE_BINARY(==)
HEDDLE_BINARY(!=)
HEDDLE_BINARY(&&)
HEDDLE_BINARY(||)
#undef HEDDLE_BINARY

Formula operator-(const Formula &x) { return Formula("(-" + x.text() + ")"); }
Formula operator!(const Formula &x) { return Formula("!(" + x.text() + ")"); }
Formula min(const Formula &x, const Formula &y) {
  return Formula(called("min", x.text() + ", " + y.text()));
}
Formula max(const Formula &x, const Formula &y) {
  return Formula(called("max", x.text() + ", " + y.text()));
}
Formula abs(const Formula &x) { return Formula(called("abs", x.text())); }
Formula exp(const Formula &x) { return Formula(called("exp", x.text())); }
Formula log(const Formula &x) { return Formula(called("log", x.text())); }
Formula choose(const Formula &condition, const Formula &yes, const Formula &no) {
  return Formula("(" + condition.text() + " ? " + yes.text() + " : " + no.text() + ")");
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static Mask masked(const char *word, const std::string &arguments) {
  return Mask(called(word, arguments));
}

Mask causal() { return Mask("causal"); }
Mask causal(const Offset &offset) { return masked("causal", offset.text()); }
Mask window(int32_t before, int32_t after) {
  return masked("window", std::to_string(before) + ", " + std::to_string(after));
}
Mask window(int32_t before, int32_t after, const Offset &offset) {
  return masked("window",
                std::to_string(before) + ", " + std::to_string(after) + ", " + offset.text());
}
Mask lengths(const std::string &input) { return masked("lengths", input); }
Mask keep(const std::string &input) { return masked("keep", input); }
Mask hide(const std::string &input) { return masked("hide", input); }
Mask prefix(const std::string &input) { return masked("prefix", input); }
Mask documents(const std::string &queries, const std::string &keys) {
  return masked("documents", queries + ", " + keys);
}
Mask packedDocuments(const std::string &queryStarts, const std::string &keyStarts) {
  return masked("documents_packed", queryStarts + ", " + keyStarts);
}
Mask dense(const std::string &input) { return masked("dense", input); }
Mask blocks(const std::string &table, int32_t rows, int32_t columns) {
  return masked("blocks", table + ", " + std::to_string(rows) + ", " + std::to_string(columns));
}
Mask where(const Formula &truth) { return masked("where", truth.text()); }
Mask operator&(const Mask &x, const Mask &y) { return Mask(joined(x.text(), "&", y.text())); }
Mask operator|(const Mask &x, const Mask &y) { return Mask(joined(x.text(), "|", y.text())); }
Mask operator!(const Mask &x) { return Mask("!(" + x.text() + ")"); }

//===----------------------------------------------------------------------===//
// Score rules
//===----------------------------------------------------------------------===//

ScoreRule alibi() { return ScoreRule("alibi"); }
ScoreRule relative(int32_t buckets, int32_t maximumDistance) {
  return ScoreRule(
      called("relative", std::to_string(buckets) + ", " + std::to_string(maximumDistance)));
}
ScoreRule denseRule(const std::string &input) { return ScoreRule(called("dense", input)); }
ScoreRule whereRule(const Formula &number) { return ScoreRule(called("where", number.text())); }
ScoreRule operator+(const ScoreRule &x, const ScoreRule &y) {
  return ScoreRule(x.text() + " + " + y.text());
}

} // namespace heddle::mask
