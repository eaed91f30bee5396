//===- PostProcessors.cpp - Tokens around texts -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the section `post_processor` of tokenizer.json. Each row is a text. A
// post-processor adds rows of special tokens, and the caller joins all rows.
#include "Components.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

using Read = Expected<std::unique_ptr<PostProcessor>>;

/// A row of special tokens, which represent no text.
Row specialRow(const std::vector<int32_t> &ids, int32_t type) {
  Row row;
  const size_t count = ids.size();
  row.tokens.ids = ids;
  row.tokens.typeIds.assign(count, type);
  row.tokens.special.assign(count, 1);
  row.tokens.spans.assign(count, {});
  row.tokens.words.assign(count, -1);
  row.tokens.sequences.assign(count, -1);
  row.tokens.attention.assign(count, 1);
  row.blanks.assign(count, {});
  return row;
}

//===- Offsets without blanks ----------------------------------------------===//

/// Moves an offset by code points, at most to `limit`.
uint32_t forward(std::string_view text, uint32_t at, uint32_t points, uint32_t limit) {
  for (; points > 0 && at < limit && at < text.size(); --points)
    at += pointSize(text[at]);
  return std::min(at, limit);
}
uint32_t backward(std::string_view text, uint32_t at, uint32_t points, uint32_t limit) {
  for (; points > 0 && at > limit && at <= text.size(); --points)
    at = static_cast<uint32_t>(previousPoint(text, at));
  return std::max(at, limit);
}

/// Excludes blanks at the ends of tokens from their spans. A blank that was put in front of the
/// text represents no byte of it, so nothing is trimmed for it.
void trimSpans(Row &row, bool prefixSpace) {
  for (size_t i = 0; i < row.blanks.size(); ++i) {
    auto [leading, trailing] = row.blanks[i];
    TokenSpan &span = row.tokens.spans[i];
    const bool isFirst = i == 0 || span.begin == 0;
    if (isFirst && prefixSpace && leading == 1)
      leading = 0;
    span.begin = forward(row.text, span.begin, leading, span.end);
    span.end = backward(row.text, span.end, trailing, span.begin);
  }
}

class ByteLevel : public PostProcessor {
public:
  ByteLevel(bool trim, bool prefixSpace) : trim(trim), prefixSpace(prefixSpace) {}
  int64_t added(bool) const override { return 0; }
  void apply(std::vector<Row> &rows, bool) const override {
    if (trim)
      for (Row &row : rows)
        trimSpans(row, prefixSpace);
  }

private:
  bool trim, prefixSpace;
};

//===- BertProcessing, RobertaProcessing -----------------------------------===//

class Bert : public PostProcessor {
public:
  Bert(int32_t start, int32_t end) : start(start), end(end) {}
  int64_t added(bool pair) const override { return pair ? 3 : 2; }
  void apply(std::vector<Row> &rows, bool special) const override {
    if (!special)
      return;
    std::vector<Row> result;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == 0)
        result.push_back(specialRow({start}, 0));
      result.push_back(std::move(rows[i]));
      result.push_back(specialRow({end}, i == 0 ? 0 : 1));
    }
    rows = std::move(result);
  }

private:
  int32_t start, end;
};

class Roberta : public PostProcessor {
public:
  Roberta(int32_t start, int32_t end, bool trim, bool prefixSpace)
      : start(start), end(end), trim(trim), prefixSpace(prefixSpace) {}
  int64_t added(bool pair) const override { return pair ? 4 : 2; }
  void apply(std::vector<Row> &rows, bool special) const override {
    std::vector<Row> result;
    for (size_t i = 0; i < rows.size(); ++i) {
      Row &row = rows[i];
      if (trim)
        trimSpans(row, prefixSpace);
      std::ranges::fill(row.tokens.typeIds, 0);
      if (special)
        result.push_back(specialRow({i == 0 ? start : end}, 0));
      result.push_back(std::move(row));
      if (special)
        result.push_back(specialRow({end}, 0));
    }
    rows = std::move(result);
  }

private:
  int32_t start, end;
  bool trim, prefixSpace;
};

Expected<int32_t> readSpecial(const JsonField &field, const char *key) {
  auto token = HEDDLE_TRY(field.get(key));
  if (!token.value().is_array() || token.value().size() != 2)
    return token.expected("a token and its id");
  return static_cast<int32_t>(HEDDLE_TRY(token.element(1).number(0, INT32_MAX)));
}

Read readBert(const JsonField &field) {
  const int32_t end = HEDDLE_TRY(readSpecial(field, "sep"));
  const int32_t start = HEDDLE_TRY(readSpecial(field, "cls"));
  return std::unique_ptr<PostProcessor>(new Bert(start, end));
}

Read readRoberta(const JsonField &field) {
  const int32_t end = HEDDLE_TRY(readSpecial(field, "sep"));
  const int32_t start = HEDDLE_TRY(readSpecial(field, "cls"));
  const bool trim = HEDDLE_TRY(field.flagAt("trim_offsets", true));
  const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true));
  return std::unique_ptr<PostProcessor>(new Roberta(start, end, trim, prefix));
}

Read readByteLevel(const JsonField &field) {
  const bool trim = HEDDLE_TRY(field.flagAt("trim_offsets", true));
  const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true));
  return std::unique_ptr<PostProcessor>(new ByteLevel(trim, prefix));
}

//===- TemplateProcessing --------------------------------------------------===//

struct TemplatePiece {
  int sequence = -1; ///< 0 or 1: a text; -1: special tokens
  std::vector<int32_t> ids;
  int32_t type = 0;
};

int64_t countAdded(const std::vector<TemplatePiece> &pieces) {
  int64_t count = 0;
  for (const TemplatePiece &piece : pieces)
    count += static_cast<int64_t>(piece.ids.size());
  return count;
}

class Template : public PostProcessor {
public:
  Template(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair)
      : single(std::move(single)), pair(std::move(pair)) {}
  int64_t added(bool isPair) const override { return countAdded(isPair ? pair : single); }
  void apply(std::vector<Row> &rows, bool special) const override {
    std::vector<Row> result;
    for (const TemplatePiece &piece : rows.size() > 1 ? pair : single) {
      if (piece.sequence < 0) {
        if (special)
          result.push_back(specialRow(piece.ids, piece.type));
        continue;
      }
      Row row = rows[static_cast<size_t>(piece.sequence)];
      std::ranges::fill(row.tokens.typeIds, piece.type);
      result.push_back(std::move(row));
    }
    rows = std::move(result);
  }

private:
  std::vector<TemplatePiece> single, pair;
};

/// The ids of a special token that a template names.
Expected<std::vector<int32_t>> readIds(const JsonField &tokens, const JsonField &name) {
  auto token = tokens.find(HEDDLE_TRY(name.text()));
  if (!token)
    return name.error("a key of special_tokens", foundText(name.value()));
  std::vector<int32_t> ids;
  auto list = HEDDLE_TRY(token->listAt("ids"));
  for (const JsonField &id : list)
    ids.push_back(static_cast<int32_t>(HEDDLE_TRY(id.number(0, INT32_MAX))));
  return ids;
}

Expected<TemplatePiece> readPiece(const JsonField &field, const JsonField &tokens, bool pair) {
  HEDDLE_TRY(field.checkObject());
  TemplatePiece piece;
  const auto sequence = field.find("Sequence"), special = field.find("SpecialToken");
  if (!sequence && !special)
    return field.error("Sequence or SpecialToken", "neither");
  const JsonField &body = sequence ? *sequence : *special;
  piece.type = static_cast<int32_t>(HEDDLE_TRY(body.numberAt("type_id", 0, INT32_MAX)));
  auto id = HEDDLE_TRY(body.get("id"));
  if (special) {
    piece.ids = HEDDLE_TRY(readIds(tokens, id));
    return piece;
  }
  if (id.value() != "A" && (!pair || id.value() != "B"))
    return id.error(pair ? "A or B" : "A", foundText(id.value()));
  piece.sequence = id.value() == "A" ? 0 : 1;
  return piece;
}

Expected<std::vector<TemplatePiece>> readPieces(const JsonField &field, const char *key) {
  constexpr size_t most = 100; // each piece may repeat the text
  auto list = HEDDLE_TRY(field.listAt(key));
  if (list.size() > most)
    return field.error("at most 100 pieces in " + std::string(key), std::to_string(list.size()));
  static const Json none = Json::object();
  const JsonField tokens = field.find("special_tokens").value_or(JsonField(none, ""));
  std::vector<TemplatePiece> pieces;
  for (const JsonField &element : list)
    pieces.push_back(HEDDLE_TRY(readPiece(element, tokens, std::string_view(key) == "pair")));
  return pieces;
}

Read readTemplate(const JsonField &field) {
  auto single = HEDDLE_TRY(readPieces(field, "single"));
  std::vector<TemplatePiece> pair = {{0, {}, 0}, {1, {}, 1}};
  if (field.find("pair"))
    pair = HEDDLE_TRY(readPieces(field, "pair"));
  return std::unique_ptr<PostProcessor>(new Template(std::move(single), std::move(pair)));
}

//===- Sequence ------------------------------------------------------------===//

class Sequence : public PostProcessor {
public:
  explicit Sequence(std::vector<std::unique_ptr<PostProcessor>> steps) : steps(std::move(steps)) {}
  int64_t added(bool pair) const override {
    int64_t count = 0;
    for (const auto &step : steps)
      count += step->added(pair);
    return count;
  }
  void apply(std::vector<Row> &rows, bool special) const override {
    for (const auto &step : steps)
      step->apply(rows, special);
  }

private:
  std::vector<std::unique_ptr<PostProcessor>> steps;
};

Read readSteps(const JsonField &field) {
  // Only one processor may add tokens: a second one would take the first one's tokens for texts.
  bool addsTokens = false;
  auto list = HEDDLE_TRY(field.listAt("processors"));
  for (const JsonField &element : list) {
    const auto type = element.find("type");
    const bool adds = type && type->value() != "ByteLevel";
    if (adds && addsTokens)
      return type->error("ByteLevel after another processor", foundText(type->value()));
    addsTokens |= adds;
  }
  auto steps = HEDDLE_TRY(readSequence<PostProcessor>(field, "processors", readPostProcessor));
  return std::unique_ptr<PostProcessor>(new Sequence(std::move(steps)));
}

} // namespace

Read readPostProcessor(const JsonField &field) {
  static constexpr ComponentReader<PostProcessor> readers[] = {
      {"TemplateProcessing", readTemplate},
      {"BertProcessing", readBert},
      {"RobertaProcessing", readRoberta},
      {"ByteLevel", readByteLevel},
      {"Sequence", readSteps},
  };
  return readByType(field, readers);
}

} // namespace heddle::tokenizers
