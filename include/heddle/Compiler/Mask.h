//===- Mask.h - Masks and score rules in C++ -------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expressions of masks and score rules (docs/model-description.md) as C++
// values; `text()` is what descriptions and `--mask` take:
//
//   using namespace heddle::mask;
//   Formula i = query(), j = key();
//   Mask m = (causal() & window(255, 0)) | where(j < 16 || table("group")[i] == table("group")[j]);
//   jit(model, {.masks = {"decoder.mask=" + m.text()}});
//
// Nothing is checked here: what the compiler says of a text, it says of these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace heddle::mask {

/// A number, or a truth, made of the batch, head, query and key, of literals and of tables.
class Formula {
public:
  Formula(int32_t value);
  /// Of score rules only.
  Formula(double value);
  explicit Formula(std::string text) : written(std::move(text)) {}
  const std::string &text() const { return written; }

private:
  std::string written;
};

Formula batch(); ///< b
Formula head();  ///< h
Formula query(); ///< i, counted from the first token of the sequence
Formula key();   ///< j

/// A named input: i32, in score rules f32 where no integer is needed.
class Table {
public:
  explicit Table(std::string name) : name(std::move(name)) {}
  Formula operator[](const Formula &index) const;
  /// The row of the batch element.
  Formula ofBatch(const Formula &index) const;

private:
  std::string name;
};
Table table(std::string name);

Formula operator+(const Formula &x, const Formula &y);
Formula operator-(const Formula &x, const Formula &y);
Formula operator*(const Formula &x, const Formula &y);
Formula operator/(const Formula &x, const Formula &y); ///< floored for integers
Formula operator%(const Formula &x, const Formula &y); ///< floored
Formula operator-(const Formula &x);
Formula operator<(const Formula &x, const Formula &y);
Formula operator<=(const Formula &x, const Formula &y);
Formula operator>(const Formula &x, const Formula &y);
Formula operator>=(const Formula &x, const Formula &y);
Formula operator==(const Formula &x, const Formula &y);
Formula operator!=(const Formula &x, const Formula &y);
Formula operator&&(const Formula &x, const Formula &y);
Formula operator||(const Formula &x, const Formula &y);
Formula operator!(const Formula &x);
Formula min(const Formula &x, const Formula &y);
Formula max(const Formula &x, const Formula &y);
Formula abs(const Formula &x);
Formula exp(const Formula &x);
Formula log(const Formula &x);
Formula choose(const Formula &condition, const Formula &yes, const Formula &no);

/// A number, or the name of an i32 input.
class Offset {
public:
  Offset(int32_t value) : written(std::to_string(value)) {}
  Offset(std::string input) : written(std::move(input)) {}
  Offset(const char *input) : written(input) {}
  const std::string &text() const { return written; }

private:
  std::string written;
};

/// Who may attend to whom.
class Mask {
public:
  explicit Mask(std::string text) : written(std::move(text)) {}
  const std::string &text() const { return written; }

private:
  std::string written;
};

Mask causal();
Mask causal(const Offset &offset);
Mask window(int32_t before, int32_t after);
Mask window(int32_t before, int32_t after, const Offset &offset);
Mask lengths(const std::string &input);
Mask keep(const std::string &input);
Mask hide(const std::string &input);
Mask prefix(const std::string &input);
Mask documents(const std::string &queries, const std::string &keys);
Mask packedDocuments(const std::string &queryStarts, const std::string &keyStarts);
Mask dense(const std::string &input);
Mask blocks(const std::string &table, int32_t rows, int32_t columns);
Mask where(const Formula &truth);
Mask operator&(const Mask &x, const Mask &y);
Mask operator|(const Mask &x, const Mask &y);
Mask operator!(const Mask &x);

/// What is added to scores.
class ScoreRule {
public:
  explicit ScoreRule(std::string text) : written(std::move(text)) {}
  const std::string &text() const { return written; }

private:
  std::string written;
};

ScoreRule alibi();
ScoreRule relative(int32_t buckets, int32_t maximumDistance);
ScoreRule denseRule(const std::string &input);
ScoreRule whereRule(const Formula &number);
ScoreRule operator+(const ScoreRule &x, const ScoreRule &y);

} // namespace heddle::mask
