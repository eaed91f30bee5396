//===- Tokenizer.h - Text to ids and back ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers as Hugging Face folders have them: tokenizer.json, and what older
// folders hold in its place, which is read as if it were one. Ids equal those of
// the package `tokenizers`.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Bytes [begin, end) of a text.
struct TokenSpan {
  uint32_t begin = 0, end = 0;
  bool operator==(const TokenSpan &) const = default;
};

/// One entry a token in each list.
struct TokenEncoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> typeIds;
  std::vector<uint8_t> special;   ///< 1: added by the template or by padding
  std::vector<TokenSpan> spans;   ///< in the text that `sequences` names; empty where special
  std::vector<int32_t> words;     ///< the piece of its text that it belongs to; -1 where special
  std::vector<int8_t> sequences;  ///< 0: the text, 1: the pair, -1: neither
  std::vector<uint8_t> attention; ///< 0: padding

  size_t size() const { return ids.size(); }
};

/// Which text is cut where two are too long.
enum class TruncationStrategy : uint8_t { LongestFirst, OnlyFirst, OnlySecond };

struct Truncation {
  int64_t length = 0; ///< tokens at most, special ones included
  TruncationStrategy strategy = TruncationStrategy::LongestFirst;
  bool left = false; ///< the end of the text is kept
};

struct Padding {
  std::optional<int64_t> length; ///< tokens at least; none: as many as there are
  int64_t multiple = 1;          ///< the length is rounded up to one of this number
  bool left = false;
  int32_t id = 0, typeId = 0;
};

struct EncodeOptions {
  bool specialTokens = true;            ///< those that the template adds
  std::optional<Truncation> truncation; ///< none: the whole text
  std::optional<Padding> padding;       ///< none: no token is added
  /// Parts of the text, bytes in order, in which special tokens are text like any other, and so are the
  /// added tokens of which `marks` says so by their content. A token that reaches into one is text too.
  std::vector<TokenSpan> plain;
  std::function<bool(std::string_view)> marks; ///< null: of no others
};

class Tokenizer {
public:
  /// Reads the text of a tokenizer.json. Errors begin with `fileName` and the path of the value.
  static Expected<Tokenizer> fromJson(std::string_view json, const std::string &fileName);

  /// Cuts a text into tokens; `place` opens the message of an error.
  Expected<TokenEncoding> encode(std::string_view text, const EncodeOptions &options = {},
                                 std::string_view place = "text") const;
  /// Two texts in one row, as models for pairs take them.
  Expected<TokenEncoding> encode(std::string_view text, std::string_view pair,
                                 const EncodeOptions &options = {},
                                 std::string_view place = "text") const;

  /// The text of ids; those that no token has give nothing.
  Expected<std::string> decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  /// Tokens, added ones included.
  int64_t size() const;
  std::optional<int32_t> tokenToId(std::string_view token) const;
  std::optional<std::string> idToToken(int32_t id) const;
  bool isSpecial(int32_t id) const;

  /// Whether a text that is too long loses its beginning rather than its end, as the folder says.
  bool cutsLeft() const;
  /// Whether `decode` removes blanks before punctuation, so that a token may change the text before
  /// it.
  bool cleansUp() const;
  /// What the file says of lengths. `encode` takes its options instead: a model's folder may mean
  /// another length.
  const std::optional<Truncation> &truncation() const;
  const std::optional<Padding> &padding() const;

private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  std::shared_ptr<const Parts> parts;
};

/// The tokenizer of a path as the text of a tokenizer.json, and the file that an error names. The
/// path is a folder with tokenizer.json or a vocabulary that the class of its tokenizer reads
/// (vocab.txt, vocab.json and merges.txt, *.model, *.spm), one of these files, or a .gguf file.
struct TokenizerFile {
  std::string json;
  std::string name;
  /// A SentencePiece model of no family that is known: which tokens stand around a text, and which
  /// numbers a model's authors gave to pieces, nobody says.
  bool isBare = false;
  std::vector<std::string> warnings; ///< about what the files say and is not followed
};
Expected<TokenizerFile> readTokenizerFile(const std::string &path);
/// The tokenizer of what a folder's model writes; none: that of what it reads.
Expected<std::optional<TokenizerFile>> readTargetTokenizerFile(const std::string &path);
/// Whether a folder has one of these files, or a .gguf file a tokenizer.
bool holdsTokenizer(const std::string &folder);

/// Both steps. Appends to `warnings`, if it is not null, what the files say and is not followed.
Expected<Tokenizer> openTokenizer(const std::string &path,
                                  std::vector<std::string> *warnings = nullptr);

} // namespace heddle
