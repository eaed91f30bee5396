//===- Tokenizer.h - Text to ids and back ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts text to token ids and back. Reads the tokenizer.json of Hugging
// Face, and translates the files of older folders and the metadata of GGUF
// files to it. Ids equal those that the package `tokenizers` gives.
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

/// The tokens of a text, or of a pair of texts. Each list has one entry per token.
struct TokenEncoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> typeIds;
  std::vector<uint8_t> special;   ///< 1: added by the template or by padding
  std::vector<TokenSpan> spans;   ///< in the text of `sequences`; empty for special tokens
  std::vector<int32_t> words;     ///< index of the piece in its text; -1 for special tokens
  std::vector<int8_t> sequences;  ///< 0: the text, 1: the pair, -1: neither
  std::vector<uint8_t> attention; ///< 0 for padding, else 1

  size_t size() const { return ids.size(); }
};

/// The text that is truncated if two are too long.
enum class TruncationStrategy : uint8_t { LongestFirst, OnlyFirst, OnlySecond };

/// Limit on the number of tokens of an encoding.
struct Truncation {
  int64_t length = 0; ///< maximum number of tokens, special ones included
  TruncationStrategy strategy = TruncationStrategy::LongestFirst;
  bool left = false; ///< drops the beginning of a text and keeps its end
};

/// Tokens that are added up to a length.
struct Padding {
  std::optional<int64_t> length; ///< minimum number of tokens; none: the number of tokens
  int64_t multiple = 1;          ///< the length is rounded up to a multiple of this
  bool left = false;
  int32_t id = 0, typeId = 0;
};

/// Options of Tokenizer::encode.
struct EncodeOptions {
  bool specialTokens = true;            ///< adds the special tokens of the template
  std::optional<Truncation> truncation; ///< none: the whole text
  std::optional<Padding> padding;       ///< none: no padding
  /// Byte ranges of the text, in order, in which special tokens are plain text. Added tokens are
  /// plain text there too if `marks` returns true for their content. A match that overlaps a range
  /// counts.
  std::vector<TokenSpan> plain;
  std::function<bool(std::string_view)> marks; ///< null: special tokens only
};

/// Converts between text and token ids. A tokenizer is immutable and cheap to copy, and threads may
/// share it.
class Tokenizer {
public:
  /// Reads the contents of a tokenizer.json. Errors begin with `fileName` and the path of the
  /// value.
  static Expected<Tokenizer> fromJson(std::string_view json, const std::string &fileName);

  /// Converts a text to tokens. Errors begin with `place`: text that is not UTF-8, text of 2 GiB or
  /// more, or text that the tokenizer cannot split or truncate as asked.
  Expected<TokenEncoding> encode(std::string_view text, const EncodeOptions &options = {},
                                 std::string_view place = "text") const;
  /// Converts two texts to one row of tokens, for models that take pairs.
  Expected<TokenEncoding> encode(std::string_view text, std::string_view pair,
                                 const EncodeOptions &options = {},
                                 std::string_view place = "text") const;

  /// Converts ids to text. Ids without a token give no text.
  Expected<std::string> decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  /// Number of tokens, added ones included.
  int64_t size() const;
  std::optional<int32_t> tokenToId(std::string_view token) const;
  std::optional<std::string> idToToken(int32_t id) const;
  bool isSpecial(int32_t id) const;

  /// True if the folder asks to truncate texts at their beginning rather than at their end.
  bool cutsLeft() const;
  /// True if `decode` removes blanks before punctuation. A token may then change the text before
  /// it.
  bool cleansUp() const;
  /// Truncation and padding that the file asks for. `encode` follows its options instead, since the
  /// model's folder may ask for another length.
  const std::optional<Truncation> &truncation() const;
  const std::optional<Padding> &padding() const;

private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  std::shared_ptr<const Parts> parts;
};

/// A tokenizer as the contents of a tokenizer.json, and the file that errors name.
struct TokenizerFile {
  std::string json;
  std::string name;
  std::vector<std::string> warnings; ///< settings in the files that are not followed
};
/// Reads the tokenizer at `path`. The path is a folder, one of its files, or a .gguf file. A folder
/// has tokenizer.json, or a vocabulary that its tokenizer class reads: vocab.txt, vocab.json and
/// merges.txt, *.model, or *.spm.
Expected<TokenizerFile> readTokenizerFile(const std::string &path);
/// Reads the tokenizer of the model's output; none if it is the input's.
Expected<std::optional<TokenizerFile>> readTargetTokenizerFile(const std::string &path);
/// True if `folder` has one of these files, or is a .gguf file with a tokenizer.
bool holdsTokenizer(const std::string &folder);

/// Reads and builds the tokenizer at `path`. Appends settings that are not followed to `warnings`,
/// unless it is null.
Expected<Tokenizer> openTokenizer(const std::string &path,
                                  std::vector<std::string> *warnings = nullptr);

} // namespace heddle
