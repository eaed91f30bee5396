//===- Mask.h - Masks and score rules in C++ -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks and score rules (docs/model-description.md) as C++ values. `text()` returns the expression
// for descriptions and `--mask`:
//
//   using namespace heddle::mask;
//   Formula i = query(), j = key();
//   Mask m = (causal() & window(255, 0)) | where(j < 16 || table("group")[i] == table("group")[j]);
//   jit(model, {.masks = {"decoder.mask=" + m.text()}});
//
// The values are not checked here; the compiler checks the text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace heddle::mask {

/// Text of an expression. Each kind of expression (formula, mask, …) has its own type.
template <typename Kind>
class Text {
public:
  explicit Text(std::string text) : written(std::move(text)) {}
  const std::string &text() const { return written; }

private:
  std::string written;
};

/// A number or truth value that depends on batch, head, query, key, literals and tables.
struct Formula : Text<Formula> {
  using Text::Text;
  /// INT32_MIN has no literal, as in C: a minus sign is an operator.
  Formula(int32_t value) : Text(value == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value)) {}
  /// For score rules only.
  Formula(double value) : Text(digits(value)) {}

private:
  static std::string digits(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9e", value); // 9 digits identify an f32
    return text;
  }
};

/// A number, or the name of an i32 input.
struct Offset : Text<Offset> {
  Offset(int32_t value) : Text(std::to_string(value)) {}
  Offset(std::string input) : Text(std::move(input)) {}
  Offset(const char *input) : Text(input) {}
};

/// Condition under which a query may attend to a key.
struct Mask : Text<Mask> {
  using Text::Text;
};

/// A bias that is added to attention scores.
struct ScoreRule : Text<ScoreRule> {
  using Text::Text;
};

namespace detail {
inline std::string textOf(const std::string &name) { return name; }
inline std::string textOf(int32_t number) { return std::to_string(number); }
template <typename Kind>
std::string textOf(const Text<Kind> &text) {
  return text.text();
}
/// Text of a call: "window(255, 0)".
template <typename First, typename... Rest>
std::string called(const char *word, const First &first, const Rest &...rest) {
  return word + ("(" + textOf(first)) + (std::string() + ... + (", " + textOf(rest))) + ")";
}
template <typename Kind>
Kind joined(const Kind &x, const char *word, const Kind &y) {
  return Kind("(" + x.text() + " " + word + " " + y.text() + ")");
}
} // namespace detail

inline Formula batch() { return Formula(std::string("b")); }
inline Formula head() { return Formula(std::string("h")); }
/// Position of the query, counted from the first token of the sequence.
inline Formula query() { return Formula(std::string("i")); }
inline Formula key() { return Formula(std::string("j")); }

/// A named i32 input; in score rules also an f32 input, except as an index.
class Table {
public:
  explicit Table(std::string name) : name(std::move(name)) {}
  Formula operator[](const Formula &index) const {
    return Formula(name + "[" + index.text() + "]");
  }
  /// Element in the row that belongs to the batch element.
  Formula ofBatch(const Formula &index) const {
    return Formula(name + "[b, " + index.text() + "]");
  }

private:
  std::string name;
};
inline Table table(std::string name) { return Table(std::move(name)); }

// Integer `/` and `%` round towards minus infinity.
#define HEDDLE_BINARY(op)                                                                          \
  inline Formula operator op(const Formula &x, const Formula &y) {                                 \
    return detail::joined(x, #op, y);                                                              \
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
inline Formula operator-(const Formula &x) { return Formula("(-" + x.text() + ")"); }
inline Formula operator!(const Formula &x) { return Formula(detail::called("!", x)); }
inline Formula min(const Formula &x, const Formula &y) {
  return Formula(detail::called("min", x, y));
}
inline Formula max(const Formula &x, const Formula &y) {
  return Formula(detail::called("max", x, y));
}
inline Formula abs(const Formula &x) { return Formula(detail::called("abs", x)); }
inline Formula exp(const Formula &x) { return Formula(detail::called("exp", x)); }
inline Formula log(const Formula &x) { return Formula(detail::called("log", x)); }
inline Formula choose(const Formula &condition, const Formula &yes, const Formula &no) {
  return Formula("(" + condition.text() + " ? " + yes.text() + " : " + no.text() + ")");
}

inline Mask causal() { return Mask("causal"); }
inline Mask causal(const Offset &offset) { return Mask(detail::called("causal", offset)); }
inline Mask window(int32_t before, int32_t after) {
  return Mask(detail::called("window", before, after));
}
inline Mask window(int32_t before, int32_t after, const Offset &offset) {
  return Mask(detail::called("window", before, after, offset));
}
inline Mask lengths(const std::string &input) { return Mask(detail::called("lengths", input)); }
inline Mask keep(const std::string &input) { return Mask(detail::called("keep", input)); }
inline Mask hide(const std::string &input) { return Mask(detail::called("hide", input)); }
inline Mask prefix(const std::string &input) { return Mask(detail::called("prefix", input)); }
inline Mask dense(const std::string &input) { return Mask(detail::called("dense", input)); }
inline Mask documents(const std::string &queries, const std::string &keys) {
  return Mask(detail::called("documents", queries, keys));
}
inline Mask packedDocuments(const std::string &queryStarts, const std::string &keyStarts) {
  return Mask(detail::called("documents_packed", queryStarts, keyStarts));
}
inline Mask blocks(const std::string &table, int32_t rows, int32_t columns) {
  return Mask(detail::called("blocks", table, rows, columns));
}
inline Mask where(const Formula &truth) { return Mask(detail::called("where", truth)); }
inline Mask operator&(const Mask &x, const Mask &y) { return detail::joined(x, "&", y); }
inline Mask operator|(const Mask &x, const Mask &y) { return detail::joined(x, "|", y); }
inline Mask operator!(const Mask &x) { return Mask(detail::called("!", x)); }

inline ScoreRule alibi() { return ScoreRule("alibi"); }
/// ALiBi with slopes multiplied by `factor`, which must be finite and above 0.
inline ScoreRule alibi(double factor) {
  return ScoreRule(detail::called("alibi", Formula(factor)));
}
inline ScoreRule relative(int32_t buckets, int32_t maximumDistance) {
  return ScoreRule(detail::called("relative", buckets, maximumDistance));
}
/// DeBERTa's terms for distances up to `reach`, a multiple of 8.
inline ScoreRule queryDistance(int32_t reach) {
  return ScoreRule(detail::called("query_distance", reach));
}
inline ScoreRule keyDistance(int32_t reach) {
  return ScoreRule(detail::called("key_distance", reach));
}
inline ScoreRule denseRule(const std::string &input) {
  return ScoreRule(detail::called("dense", input));
}
inline ScoreRule whereRule(const Formula &number) {
  return ScoreRule(detail::called("where", number));
}
inline ScoreRule operator+(const ScoreRule &x, const ScoreRule &y) {
  return ScoreRule(x.text() + " + " + y.text());
}

} // namespace heddle::mask
