//===- Tokenizer.cpp - Text to ids and back ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of `encode`: cut out added tokens, normalize, cut out added tokens
// again, split into pieces, run the model, truncate, apply the template, pad.
#include "heddle/Tokenizers/Tokenizer.h"

#include "AddedTokens.h"
#include "ByteLevel.h"
#include "Characters.h"
#include "Components.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Json.h"

#include <algorithm>

namespace heddle {

using namespace tokenizers;

struct Tokenizer::Parts {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> preTokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> postProcessor;
  std::unique_ptr<Decoder> decoder;
  AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  // Heddle's own keys, which hold settings of tokenizer_config.json.
  bool cutsLeft = false; ///< truncation drops the beginning of a text
  bool givesTypes = true;
  bool cleansUp = false;
};

namespace {

//===- Reading -------------------------------------------------------------===//

Expected<bool> readIsLeft(const JsonField &field) {
  static constexpr std::pair<const char *, bool> directions[] = {{"Left", true}, {"Right", false}};
  auto direction = field.find("direction");
  return direction ? choiceOf(*direction, directions) : Expected<bool>(false);
}

Expected<std::optional<Truncation>> readTruncation(const JsonField &file) {
  static constexpr std::pair<const char *, TruncationStrategy> strategies[] = {
      {"LongestFirst", TruncationStrategy::LongestFirst},
      {"OnlyFirst", TruncationStrategy::OnlyFirst},
      {"OnlySecond", TruncationStrategy::OnlySecond}};
  auto field = file.find("truncation");
  if (!field)
    return std::optional<Truncation>();
  Truncation truncation;
  truncation.length = HEDDLE_TRY(field->numberAt("max_length", 0, INT64_MAX));
  truncation.left = HEDDLE_TRY(readIsLeft(*field));
  if (auto strategy = field->find("strategy"))
    truncation.strategy = HEDDLE_TRY(choiceOf(*strategy, strategies));
  return std::optional(truncation);
}

Expected<std::optional<Padding>> readPadding(const JsonField &file) {
  auto field = file.find("padding");
  if (!field)
    return std::optional<Padding>();
  Padding padding;
  auto strategy = HEDDLE_TRY(field->get("strategy"));
  constexpr int64_t most = 1 << 24;
  if (strategy.value() != "BatchLongest")
    padding.length = HEDDLE_TRY(strategy.numberAt("Fixed", 0, most));
  if (auto multiple = field->find("pad_to_multiple_of"))
    padding.multiple = std::max<int64_t>(1, HEDDLE_TRY(multiple->number(0, most)));
  padding.left = HEDDLE_TRY(readIsLeft(*field));
  padding.id = static_cast<int32_t>(HEDDLE_TRY(field->numberAt("pad_id", 0, INT32_MAX)));
  if (auto type = field->find("pad_type_id"))
    padding.typeId = static_cast<int32_t>(HEDDLE_TRY(type->number(0, INT32_MAX)));
  return std::optional(padding);
}

/// Reads Heddle's own keys, which a tokenizer.json of Hugging Face does not have.
template <typename Parts>
Status readOwnKeys(const JsonField &file, Parts &parts) {
  static constexpr std::pair<const char *, bool> sides[] = {{"left", true}, {"right", false}};
  if (parts.truncation)
    parts.cutsLeft = parts.truncation->left;
  if (auto side = file.find("truncation_side"))
    parts.cutsLeft = HEDDLE_TRY(choiceOf(*side, sides));
  parts.givesTypes = HEDDLE_TRY(file.flagAt("token_types", true));
  parts.cleansUp = HEDDLE_TRY(file.flagAt("clean_up", false));
  return {};
}

/// Reads a section; null if it is missing.
template <typename Component>
Expected<std::unique_ptr<Component>>
readSection(const JsonField &file, const char *key,
            Expected<std::unique_ptr<Component>> (*read)(const JsonField &)) {
  auto field = file.find(key);
  if (!field)
    return std::unique_ptr<Component>();
  return read(*field);
}

//===- Rows ----------------------------------------------------------------===//

std::pair<uint32_t, uint32_t> blanksOf(std::string_view text) {
  auto isBlank = [](char32_t c) { return c == blankCharacter || isOf(c, WhiteSpace); };
  std::pair<uint32_t, uint32_t> blanks;
  for (size_t at = 0; at < text.size() && isBlank(nextPoint(text, at));)
    ++blanks.first;
  for (size_t end = text.size(); end > 0; end = previousPoint(text, end)) {
    size_t at = previousPoint(text, end);
    if (!isBlank(nextPoint(text, at)))
      break;
    ++blanks.second;
  }
  return blanks;
}

/// Keeps the first `length` tokens or, if `left`, the last.
template <typename Value>
void cut(std::vector<Value> &list, size_t length, bool left) {
  if (left)
    list.erase(list.begin(), list.end() - static_cast<ptrdiff_t>(length));
  else
    list.resize(length);
}

void cutRow(Row &row, int64_t length, bool left) {
  const auto kept = static_cast<size_t>(std::max<int64_t>(length, 0));
  if (kept >= row.tokens.size())
    return;
  cut(row.tokens.ids, kept, left);
  cut(row.tokens.typeIds, kept, left);
  cut(row.tokens.special, kept, left);
  cut(row.tokens.spans, kept, left);
  cut(row.tokens.words, kept, left);
  cut(row.tokens.sequences, kept, left);
  cut(row.tokens.attention, kept, left);
  cut(row.blanks, kept, left);
}

/// Lengths of two texts that share `most` tokens. The longer text is cut first, then both equally.
std::pair<int64_t, int64_t> shareLength(int64_t first, int64_t second, int64_t most) {
  const bool swapped = first > second;
  int64_t small = std::min(first, second);
  int64_t large = small > most ? small : std::max(small, most - small);
  if (small + large > most) {
    small = most / 2;
    large = small + most % 2;
  }
  return swapped ? std::pair(large, small) : std::pair(small, large);
}

Status truncate(std::vector<Row> &rows, Truncation to, int64_t added) {
  const int64_t most = to.length - added;
  if (most < 0)
    return inputError("expected a length of at least " + std::to_string(added) +
                      ", the special tokens, found " + std::to_string(to.length));
  int64_t total = 0;
  for (const Row &row : rows)
    total += static_cast<int64_t>(row.tokens.size());
  if (total <= most)
    return {};
  if (most == 0) {
    for (Row &row : rows)
      cutRow(row, 0, to.left);
    return {};
  }
  auto sizeOf = [&](size_t i) { return static_cast<int64_t>(rows[i].tokens.size()); };
  if (to.strategy != TruncationStrategy::LongestFirst) {
    const size_t chosen = to.strategy == TruncationStrategy::OnlyFirst ? 0 : 1;
    if (chosen >= rows.size())
      return inputError("expected a pair, whose second text is to be cut, found one text");
    const int64_t kept = sizeOf(chosen) - (total - most);
    if (kept <= 0)
      return inputError("expected a text that can be cut to " + std::to_string(to.length) +
                        " tokens with the other one, found one of " +
                        std::to_string(sizeOf(chosen)));
    cutRow(rows[chosen], kept, to.left);
  } else if (rows.size() == 1) {
    cutRow(rows[0], most, to.left);
  } else {
    const auto [first, second] = shareLength(sizeOf(0), sizeOf(1), most);
    cutRow(rows[0], first, to.left);
    cutRow(rows[1], second, to.left);
  }
  return {};
}

template <typename Value>
void extend(std::vector<Value> &list, const std::vector<Value> &more) {
  list.insert(list.end(), more.begin(), more.end());
}

TokenEncoding joinRows(std::vector<Row> &rows) {
  TokenEncoding all;
  if (rows.size() == 1)
    return std::move(rows[0].tokens);
  for (const Row &row : rows) {
    extend(all.ids, row.tokens.ids);
    extend(all.typeIds, row.tokens.typeIds);
    extend(all.special, row.tokens.special);
    extend(all.spans, row.tokens.spans);
    extend(all.words, row.tokens.words);
    extend(all.sequences, row.tokens.sequences);
    extend(all.attention, row.tokens.attention);
  }
  return all;
}

template <typename Value>
void padList(std::vector<Value> &list, size_t count, Value value, bool left) {
  list.insert(left ? list.begin() : list.end(), count, value);
}

void pad(TokenEncoding &tokens, const Padding &padding) {
  const int64_t multiple = std::max<int64_t>(padding.multiple, 1);
  const int64_t wanted = padding.length.value_or(static_cast<int64_t>(tokens.size()));
  const int64_t length = (wanted + multiple - 1) / multiple * multiple;
  if (length <= static_cast<int64_t>(tokens.size()))
    return;
  const size_t count = static_cast<size_t>(length) - tokens.size();
  padList(tokens.ids, count, padding.id, padding.left);
  padList(tokens.typeIds, count, padding.typeId, padding.left);
  padList(tokens.special, count, uint8_t(1), padding.left);
  padList(tokens.spans, count, TokenSpan(), padding.left);
  padList(tokens.words, count, -1, padding.left);
  padList(tokens.sequences, count, int8_t(-1), padding.left);
  padList(tokens.attention, count, uint8_t(0), padding.left);
}

/// The part of the input that a token represents. A suffix that the model adds has an empty span at
/// the end of its piece.
TokenSpan inputSpan(const Pieces &pieces, const Piece &piece, TokenSpan token) {
  const auto &spans = pieces.buffer().spans();
  const uint32_t size = piece.end - piece.begin, end = std::min(token.end, size);
  const uint32_t last = spans[piece.begin + std::max(end, 1u) - 1].end;
  return {token.begin < end ? spans[piece.begin + token.begin].begin : last, last};
}

/// Converts the pieces of one text to a row of tokens.
class RowWriter {
public:
  RowWriter(const Model &model, const Pieces &pieces, const PlainParts &plain, Work &work,
            int8_t sequence)
      : model(model), pieces(pieces), plain(plain), work(work), sequence(sequence) {}

  Expected<Row> write(std::string_view text) {
    row.text = text;
    for (const Piece &piece : pieces.pieces()) {
      const std::string_view own = pieces.textOf(piece);
      if (piece.token >= 0) {
        add(piece, {piece.token, {0, static_cast<uint32_t>(own.size())}}, own);
      } else {
        HEDDLE_TRY(tokenize(piece, own));
        for (const ModelToken &token : found)
          add(piece, token, textOf(own, token));
      }
      ++word;
    }
    const size_t count = row.tokens.ids.size();
    row.tokens.typeIds.assign(count, sequence);
    row.tokens.special.assign(count, 0);
    row.tokens.sequences.assign(count, sequence);
    row.tokens.attention.assign(count, 1);
    return std::move(row);
  }

private:
  /// Fills `found` with the tokens of a piece. If the model matches a special token in plain text,
  /// the piece is split inside that token and tokenized again.
  Status tokenize(const Piece &piece, std::string_view own) {
    found.clear();
    HEDDLE_TRY(model.tokenize(own, found));
    std::vector<uint32_t> cuts = plain.empty() ? std::vector<uint32_t>() : cutsOf(piece, own, 0);
    while (!cuts.empty()) {
      HEDDLE_TRY(work.step(own.size(), own.size()));
      const std::vector<uint32_t> bounds = cuts;
      found.clear();
      uint32_t begin = 0;
      for (size_t i = 0; i <= bounds.size(); ++i) {
        const uint32_t end = i < bounds.size() ? bounds[i] : static_cast<uint32_t>(own.size());
        const std::string_view part = own.substr(begin, end - begin);
        const size_t first = found.size();
        HEDDLE_TRY(model.tokenize(part, found));
        for (size_t k = first; k < found.size(); ++k)
          found[k].span = {found[k].span.begin + begin, found[k].span.end + begin};
        const std::vector<uint32_t> more = cutsOf(piece, own, first);
        cuts.insert(cuts.end(), more.begin(), more.end());
        begin = end;
      }
      if (cuts.size() == bounds.size())
        break;
      std::ranges::sort(cuts);
    }
    return {};
  }
  /// Offsets that split the plain-text tokens from `first` on: after their first character.
  std::vector<uint32_t> cutsOf(const Piece &piece, std::string_view own, size_t first) const {
    std::vector<uint32_t> cuts;
    for (size_t i = first; i < found.size(); ++i) {
      const TokenSpan span = found[i].span;
      const std::string *text = model.token(found[i].id);
      if (span.begin >= span.end || span.end > own.size() || !text ||
          own.substr(span.begin, span.end - span.begin) != *text ||
          !plain.holds(found[i].id, pieces.buffer(), piece.begin + span.begin,
                       piece.begin + span.end))
        continue;
      size_t next = span.begin;
      nextPoint(own, next);
      if (next < span.end)
        cuts.push_back(static_cast<uint32_t>(next));
    }
    return cuts;
  }

  std::string_view textOf(std::string_view piece, const ModelToken &token) const {
    const std::string *text = model.token(token.id);
    const bool isByte = text && text->starts_with("<0x");
    if (model.keepsText() && !isByte)
      return piece.substr(token.span.begin, token.span.end - token.span.begin);
    return text ? *text : std::string_view();
  }
  void add(const Piece &piece, const ModelToken &token, std::string_view text) {
    row.tokens.ids.push_back(token.id);
    row.tokens.words.push_back(word);
    row.tokens.spans.push_back(inputSpan(pieces, piece, token.span));
    row.blanks.push_back(blanksOf(text));
  }

  const Model &model;
  const Pieces &pieces;
  const PlainParts &plain;
  Work &work;
  int8_t sequence;
  int32_t word = 0;
  std::vector<ModelToken> found;
  Row row;
};

} // namespace

Expected<Tokenizer> Tokenizer::fromJson(std::string_view text, const std::string &fileName) {
  const Json json = HEDDLE_TRY(parseJson(text, fileName));
  const JsonField file(json, fileName);
  HEDDLE_TRY(file.checkObject());
  auto parts = std::make_shared<Parts>();
  parts->normalizer = HEDDLE_TRY(readSection<Normalizer>(file, "normalizer", readNormalizer));
  parts->preTokenizer =
      HEDDLE_TRY(readSection<PreTokenizer>(file, "pre_tokenizer", readPreTokenizer));
  parts->model = HEDDLE_TRY(readModel(HEDDLE_TRY(file.get("model"))));
  parts->postProcessor =
      HEDDLE_TRY(readSection<PostProcessor>(file, "post_processor", readPostProcessor));
  parts->decoder = HEDDLE_TRY(readSection<Decoder>(file, "decoder", readDecoder));
  parts->added = HEDDLE_TRY(AddedTokens::read(file, *parts->model, parts->normalizer.get()));
  parts->truncation = HEDDLE_TRY(readTruncation(file));
  parts->padding = HEDDLE_TRY(readPadding(file));
  HEDDLE_TRY(readOwnKeys(file, *parts));
  return Tokenizer(std::move(parts));
}

namespace {

template <typename Parts>
Expected<Row> encodeRow(const Parts &parts, std::string_view text, int8_t sequence,
                        const EncodeOptions &options, std::string_view place) {
  HEDDLE_TRY(checkUtf8(text, place));
  const PlainParts plain(parts.added, options);
  auto cutUp = [&]() -> Expected<Row> {
    Pieces pieces(text);
    Work work(text.size());
    HEDDLE_TRY(parts.added.split(pieces, false, plain));
    if (parts.normalizer)
      HEDDLE_TRY(
          pieces.rewrite([&](AlignedText &piece) { return parts.normalizer->apply(piece, work); }));
    HEDDLE_TRY(parts.added.split(pieces, true, plain));
    if (parts.preTokenizer)
      HEDDLE_TRY(parts.preTokenizer->apply(pieces, work));
    return RowWriter(*parts.model, pieces, plain, work, sequence).write(text);
  };
  auto row = cutUp();
  if (!row)
    return inputError(std::string(place) + ": " + row.error().message);
  return row;
}

template <typename Parts>
Expected<TokenEncoding> finish(const Parts &parts, std::vector<Row> rows,
                               const EncodeOptions &options, std::string_view place) {
  const bool pair = rows.size() > 1;
  const int64_t added =
      parts.postProcessor && options.specialTokens ? parts.postProcessor->added(pair) : 0;
  if (options.truncation)
    if (Status cut = truncate(rows, *options.truncation, added); !cut)
      return inputError(std::string(place) + ": " + cut.error().message);
  if (parts.postProcessor)
    parts.postProcessor->apply(rows, options.specialTokens);
  TokenEncoding tokens = joinRows(rows);
  if (!parts.givesTypes)
    std::ranges::fill(tokens.typeIds, 0);
  if (options.padding)
    pad(tokens, *options.padding);
  return tokens;
}

} // namespace

Expected<TokenEncoding> Tokenizer::encode(std::string_view text, const EncodeOptions &options,
                                          std::string_view place) const {
  std::vector<Row> rows;
  rows.push_back(HEDDLE_TRY(encodeRow(*parts, text, 0, options, place)));
  return finish(*parts, std::move(rows), options, place);
}

Expected<TokenEncoding> Tokenizer::encode(std::string_view text, std::string_view pair,
                                          const EncodeOptions &options,
                                          std::string_view place) const {
  std::vector<Row> rows;
  rows.push_back(HEDDLE_TRY(encodeRow(*parts, text, 0, options, place)));
  EncodeOptions ofPair; // `plain` refers to the first text
  rows.push_back(HEDDLE_TRY(encodeRow(*parts, pair, 1, ofPair, std::string(place) + "'s pair")));
  return finish(*parts, std::move(rows), options, place);
}

namespace {

/// Removes blanks that English does not write, one rule after the other. Source:
/// clean_up_tokenization of Transformers.
std::string cleanedUp(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto [from, to] : rules) {
    std::string made;
    size_t done = 0;
    for (size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size())
      made.append(text, done, at - done).append(to);
    text = made.append(text, done);
  }
  return text;
}

} // namespace

Expected<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::vector<std::string> tokens;
  for (int32_t id : ids) {
    const AddedToken *added = parts->added.token(id);
    const std::string *token = added ? &added->written : parts->model->token(id);
    if (token && !(skipSpecial && parts->added.isSpecial(*token)))
      tokens.push_back(*token);
  }
  if (parts->decoder)
    HEDDLE_TRY(parts->decoder->apply(tokens));
  std::string text;
  for (const std::string &token : tokens) {
    if (!parts->decoder && &token != tokens.data())
      text += ' ';
    text += token;
  }
  return parts->cleansUp ? cleanedUp(std::move(text)) : text;
}

int64_t Tokenizer::size() const { return parts->model->size() + parts->added.newTokens(); }

std::optional<int32_t> Tokenizer::tokenToId(std::string_view token) const {
  const auto added = parts->added.find(token);
  return added ? added : parts->model->find(token);
}

std::optional<std::string> Tokenizer::idToToken(int32_t id) const {
  if (const AddedToken *added = parts->added.token(id))
    return added->content;
  const std::string *token = parts->model->token(id);
  return token ? std::optional(*token) : std::nullopt;
}

bool Tokenizer::isSpecial(int32_t id) const {
  const AddedToken *added = parts->added.token(id);
  return added && parts->added.isSpecial(added->content);
}

bool Tokenizer::cleansUp() const { return parts->cleansUp; }
bool Tokenizer::cutsLeft() const { return parts->cutsLeft; }
const std::optional<Truncation> &Tokenizer::truncation() const { return parts->truncation; }
const std::optional<Padding> &Tokenizer::padding() const { return parts->padding; }

Expected<Tokenizer> openTokenizer(const std::string &path, std::vector<std::string> *warnings) {
  auto file = HEDDLE_TRY(readTokenizerFile(path));
  if (warnings)
    warnings->insert(warnings->end(), file.warnings.begin(), file.warnings.end());
  return Tokenizer::fromJson(file.json, file.name);
}

} // namespace heddle
