//===- EmbedCommand.cpp - Vectors of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `embed` and `similarity`: vectors of texts after a prompt, cut to their
// leading dimensions and scaled to length 1.
#include "TextVectors.h"

#include "heddle/Runtime/Npy.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace heddle;

namespace {

using Vector = std::vector<float>;

void divideByLength(Vector &vector) {
  double sum = 0;
  for (float value : vector)
    sum += static_cast<double>(value) * static_cast<double>(value);
  const double length = std::sqrt(sum);
  if (length > 0)
    for (float &value : vector)
      value = static_cast<float>(static_cast<double>(value) / length);
}

/// Applies --dimensions and --normalize to the model's vectors.
class Shape {
public:
  static Expected<Shape> of(const EmbedCommand &command, const OpenedEncoder &opened) {
    const bool unit = opened.model.unitLength;
    if (unit && command.normalize == false &&
        command.dimensions.value_or(opened.encoder->columns()) == opened.encoder->columns())
      return usageError("--no-normalize: expected a model whose vectors have lengths of their own, "
                        "or fewer --dimensions with it, found one that divides by them");
    if (command.dimensions && *command.dimensions > opened.encoder->columns())
      return usageError("--dimensions: expected at most the model's " +
                        std::to_string(opened.encoder->columns()) + ", found " +
                        std::to_string(*command.dimensions));
    Shape shape = ofModel(opened);
    if (!command.dimensions && opened.model.dimensions) {
      shape.divides = command.normalize.value_or(false);
      return shape;
    }
    shape.columns = static_cast<size_t>(command.dimensions.value_or(opened.encoder->columns()));
    const bool whole = static_cast<int64_t>(shape.columns) == opened.encoder->columns();
    // Whole vectors of length 1 keep the model's bits.
    shape.divides = command.normalize.value_or(unit) && !(unit && whole);
    return shape;
  }
  /// The vectors that the folder defines: only their leading values if it says so, and not scaled.
  static Shape ofModel(const OpenedEncoder &opened) {
    Shape shape;
    const int64_t all = opened.encoder->columns();
    shape.columns = static_cast<size_t>(std::min(opened.model.dimensions.value_or(all), all));
    return shape;
  }
  /// The vector of a row of the model; zeros for an empty row.
  Vector apply(std::span<const float> row) const {
    Vector vector(columns);
    std::ranges::copy(row.first(std::min(columns, row.size())), vector.begin());
    if (divides)
      divideByLength(vector);
    return vector;
  }
  size_t columns = 0;

private:
  bool divides = false;
};

std::string numbersOf(const Vector &vector, const char *separator) {
  std::string text;
  for (float value : vector)
    text += (text.empty() ? "" : separator) +
            (std::isnan(value) ? "nan" : formatted("%.9g", static_cast<double>(value)));
  return text;
}

/// A line of JSON. A vector with a value that is not finite is null, since JSON has no such
/// numbers.
std::string jsonLine(const std::string &text, const Vector &vector) {
  std::string line = "{\"text\": " + jsonText(text) + ", \"embedding\": ";
  if (!std::ranges::all_of(vector, [](float v) { return std::isfinite(v); }))
    return line + "null}\n";
  return line + "[" + numbersOf(vector, ", ") + "]}\n";
}

std::string jsonVector(const Vector &vector) {
  std::string numbers;
  for (float value : vector)
    numbers += (numbers.empty() ? "" : ", ") + jsonNumber(static_cast<double>(value));
  return "{\"vector\": [" + numbers + "]}\n";
}

/// The numbers of a vector that are not 0, and their indices.
std::string sparseNumbers(const Vector &vector) {
  std::string indices, values;
  for (size_t i = 0; i < vector.size(); ++i)
    if (vector[i] != 0) {
      indices += (indices.empty() ? "" : ", ") + std::to_string(i);
      values += (values.empty() ? "" : ", ") + jsonNumber(static_cast<double>(vector[i]));
    }
  return "{\"indices\": [" + indices + "], \"values\": [" + values + "]}";
}

/// Returns whether lines hold sparse vectors. Only a model that makes them has few numbers that are
/// not 0.
Expected<bool> writesSparse(const EmbedCommand &command, const OpenedEncoder &opened) {
  const bool isSparse = opened.model.sparse.has_value();
  if (!isSparse || command.vectors == "dense")
    return false;
  if (!command.output.empty())
    return usageError("--output: expected --vectors=dense with it, found sparse vectors, which are "
                      "no rows of a table");
  if (command.dimensions)
    return usageError("--dimensions: expected --vectors=dense with it, found sparse vectors");
  return true;
}

/// Name of the file with the first row of each text.
std::string startsOf(const std::string &file) {
  return file.substr(0, file.size() - std::string_view(".npy").size()) + ".starts.npy";
}

/// The vectors of a text's tokens, by its number, for a .npy file.
class RowsOfTexts {
public:
  explicit RowsOfTexts(size_t columns) : columns(columns) {}
  void set(uint64_t number, const std::vector<Vector> &rows) {
    Vector &values = texts[number];
    for (const Vector &row : rows)
      values.insert(values.end(), row.begin(), row.end());
  }
  /// Writes the rows of the texts before the first one that is missing, and where each text starts.
  Status write(const std::string &file) {
    Vector values;
    std::vector<int32_t> starts = {0};
    for (const auto &[number, rows] : texts) {
      if (number + 1 != starts.size())
        break;
      values.insert(values.end(), rows.begin(), rows.end());
      starts.push_back(static_cast<int32_t>(values.size() / columns));
    }
    HEDDLE_TRY(writeNpy(startsOf(file), Tensor::i32({std::ssize(starts)}, starts)));
    return writeNpy(file, Tensor::f32({starts.back(), static_cast<int64_t>(columns)}, values));
  }
  bool empty() const { return texts.empty(); }

private:
  size_t columns;
  std::map<uint64_t, Vector> texts;
};

std::string tokensJson(const std::vector<Vector> &rows) {
  std::string text;
  for (const Vector &row : rows) {
    std::string numbers;
    for (float value : row)
      numbers += (numbers.empty() ? "" : ", ") + jsonNumber(static_cast<double>(value));
    text += (text.empty() ? "[" : ", [") + numbers + "]";
  }
  return "[" + text + "]";
}

/// `embed` of a model that gives a vector for each token.
Status embedTokens(OpenedEncoder &opened, const EmbedCommand &command, const Shape &shape,
                   const TextContext &context, std::istream &in, std::ostream &out,
                   std::ostream &notes) {
  RowsOfTexts table(shape.columns);
  auto answer = [&](const EncodedAnswer &text) -> Expected<std::string> {
    std::vector<Vector> rows;
    for (std::span<const float> row : tokenRows(opened, text.tokens, text.values))
      rows.push_back(shape.apply(row));
    if (!command.output.empty()) {
      table.set(text.number, rows);
      return std::string();
    }
    return command.format == "jsonl" ? "{\"text\": " + jsonText(text.text) +
                                           ", \"embedding\": " + tokensJson(rows) + "}\n"
                                     : "{\"tokens\": " + tokensJson(rows) + "}\n";
  };
  auto skipped = [&](uint64_t number, const std::string &message) {
    if (command.output.empty())
      return skippedLine(true, message);
    table.set(number, {});
    return std::string();
  };
  Status done = encodeTexts(opened, command.run, context, in, out, notes, answer, skipped);
  if (command.output.empty() || (!done && table.empty()))
    return done;
  return both(std::move(done), table.write(command.output));
}

/// Checks --vectors against the model.
Status checkKind(const EmbedCommand &command, const OpenedEncoder &opened) {
  const bool isPerToken = opened.model.perToken.has_value();
  if (command.vectors.empty() || (isPerToken && command.vectors == "tokens") ||
      (!isPerToken && command.vectors == "dense") ||
      (opened.model.sparse && command.vectors == "sparse"))
    return {};
  return usageError("--vectors: expected " +
                    std::string(isPerToken            ? "tokens"
                                : opened.model.sparse ? "sparse or dense"
                                                      : "dense") +
                    ", which the model gives, found " + command.vectors);
}

/// Rows of a .npy file, which are set in any order.
class Rows {
public:
  explicit Rows(size_t columns) : columns(columns) {}
  void set(uint64_t number, const Vector &vector) {
    values.resize(std::max(values.size(), (number + 1) * columns));
    isSet.resize(values.size() / columns);
    std::ranges::copy(vector, values.begin() + static_cast<ptrdiff_t>(number * columns));
    isSet[number] = true;
  }
  /// Writes the rows before the first one that is missing.
  Status write(const std::string &file) {
    const auto rows = std::ranges::find(isSet, false) - isSet.begin();
    values.resize(static_cast<size_t>(rows) * columns);
    return writeNpy(file, Tensor::f32({rows, static_cast<int64_t>(columns)}, values));
  }
  bool empty() const { return values.empty(); }

private:
  size_t columns;
  Vector values;
  std::vector<bool> isSet;
};

Status openVectors(Session &session, const EncoderCommand &command, OpenedEncoder &opened) {
  HEDDLE_TRY(openEncoder(session, command, opened));
  if (opened.encoder->classifies())
    return ofModel(session,
                   inputError("expected a model that gives vectors, found one with a classifier, "
                              "which --pool leaves out of a folder"));
  return {};
}

} // namespace

Status heddle::checkPooled(const OpenedEncoder &opened) {
  return opened.encoder->pooled()
             ? Status()
             : ofModel(opened.encoder->usedSession(),
                       inputError("expected a model with encoder.pool, or a folder with --pool, "
                                  "found one with a result for every token"));
}

std::vector<float> heddle::vectorOf(const OpenedEncoder &opened, std::span<const float> row) {
  return Shape::ofModel(opened).apply(row);
}

Status heddle::checkEncoder(const EncoderCommand &command) {
  HEDDLE_TRY(checkTexts(command.text));
  if (command.batchTokens < 1)
    return usageError("--batch-tokens: expected at least 1, found " +
                      std::to_string(command.batchTokens));
  return {};
}

Status heddle::checkEmbed(const EmbedCommand &command) {
  HEDDLE_TRY(checkEncoder(command.run));
  if (command.format != "text" && command.format != "jsonl")
    return usageError("--format: expected text or jsonl, found " + quotedText(command.format));
  if (!command.vectors.empty() && command.vectors != "dense" && command.vectors != "sparse" &&
      command.vectors != "tokens")
    return usageError("--vectors: expected dense, sparse or tokens, found " +
                      quotedText(command.vectors));
  if (command.run.text.json && command.format != "text")
    return usageError("--json: expected no --format with it, found " + command.format);
  if (command.output.empty())
    return {};
  if (command.run.text.json)
    return usageError("--json: expected no --output with it, found " + command.output);
  if (!command.output.ends_with(".npy"))
    return usageError("--output: expected FILE.npy, found " + quotedText(command.output));
  if (command.format != "text")
    return usageError("--format: expected no --output with it, found " + command.output);
  if (!command.run.text.input.empty())
    HEDDLE_TRY(checkNotAnInput(command.output, {command.run.text.input}));
  return checkOutput(command.output);
}

Status heddle::embedCommand(Session &session, const EmbedCommand &command, std::istream &in,
                            std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkEmbed(command));
  OpenedEncoder opened;
  HEDDLE_TRY(openVectors(session, command.run, opened));
  HEDDLE_TRY(checkKind(command, opened));
  const bool isSparse = HEDDLE_TRY(writesSparse(command, opened));
  const Shape shape = HEDDLE_TRY(Shape::of(command, opened));
  auto context = opened.model.contextAfterPrompt(command.prompt);
  if (!context)
    return ofModel(session, context.takeError());
  if (opened.model.perToken)
    return embedTokens(opened, command, shape, *context, in, out, notes);
  HEDDLE_TRY(checkPooled(opened));
  Rows rows(shape.columns); // of the .npy file
  auto answer = [&](const EncodedAnswer &text) -> Expected<std::string> {
    const Vector vector = shape.apply(text.values);
    if (!command.output.empty()) {
      rows.set(text.number, vector);
      return std::string();
    }
    if (isSparse && command.format == "jsonl")
      return "{\"text\": " + jsonText(text.text) + ", \"embedding\": " + sparseNumbers(vector) +
             "}\n";
    if (isSparse)
      return sparseNumbers(vector) + "\n";
    if (command.run.text.json)
      return jsonVector(vector);
    return command.format == "jsonl" ? jsonLine(text.text, vector) : numbersOf(vector, " ") + "\n";
  };
  auto skipped = [&](uint64_t number, const std::string &message) {
    if (command.output.empty())
      return skippedLine(isSparse || command.run.text.json || command.format == "jsonl", message);
    rows.set(number, Vector(shape.columns, NAN));
    return std::string();
  };
  Status done = encodeTexts(opened, command.run, *context, in, out, notes, answer, skipped);
  // Answers before an error are kept, as lines of text are.
  if (command.output.empty() || (!done && rows.empty()))
    return done;
  return both(std::move(done), rows.write(command.output));
}

Status heddle::checkSimilarity(const SimilarityCommand &command) {
  HEDDLE_TRY(checkEncoder(command.run));
  if (size_t count = command.run.text.texts.size(); count != 2 && count != 0)
    return usageError("similarity: expected two texts, or none and lines of two, found " +
                      std::to_string(count));
  return {};
}

Status heddle::similarityCommand(Session &session, const SimilarityCommand &command,
                                 std::istream &in, std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkSimilarity(command));
  OpenedEncoder opened;
  HEDDLE_TRY(openVectors(session, command.run, opened));
  HEDDLE_TRY(checkPooled(opened));
  auto context = opened.model.contextAfterPrompt(command.prompt);
  if (!context)
    return ofModel(session, context.takeError());
  EncoderCommand run = command.run;
  run.text.pairs = true;
  const Shape shape = Shape::ofModel(opened);
  // The first vector of each pair whose second text is still to be answered, in either order.
  std::map<uint64_t, Vector> firsts;
  std::set<uint64_t> skips; // pairs with a text that is left out
  auto answer = [&](const EncodedAnswer &text) -> Expected<std::string> {
    if (skips.contains(text.number / 2))
      return std::string();
    Vector vector = shape.apply(text.values);
    auto [first, isFirst] = firsts.try_emplace(text.number / 2, vector);
    if (isFirst)
      return std::string();
    const auto other = firsts.extract(first);
    const double score = similarityOf(opened.model.similarity, other.mapped(), vector);
    return run.text.json ? "{\"score\": " + jsonNumber(score) + "}\n" : scoreText(score) + "\n";
  };
  auto skipped = [&](uint64_t number, const std::string &message) {
    return skips.insert(number / 2).second ? skippedLine(run.text.json, message) : std::string();
  };
  return encodeTexts(opened, run, *context, in, out, notes, answer, skipped);
}
