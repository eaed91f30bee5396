//===- MaskBuilder.h - Mask expressions as mask ops ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same expression is written into encode, decode and decode_step; what it
// counts and where its inputs come from depends on the function.
#pragma once

#include "Description.h"
#include "FunctionBuilder.h"

namespace heddle {

/// What differs between encode, decode, decode_step and loss.
struct Call {
  bool decoder = false;
  bool step = false;   ///< one token of each text, keys and values from the session
  bool prompt = false; ///< the same of the next tokens, of each text as many as an input says
  bool loss = false;   ///< the decoder reads a reference, shifted
  bool packed = false; ///< masks and rules count inside packed documents
  /// In encode_packed: the input that says where texts start. Lengths of the side count nothing
  /// there: without padding all rows of a text are its own.
  std::string documents;
  int64_t heads = 1;      ///< of the attention's queries
  int64_t fixedRows = -1; ///< of the source, where it is an image or frames
  /// Of score rules that the attention's own queries and keys give.
  struct Scores {
    mlir::Value query, key;
    float scale;
    std::string prefix; ///< of the attention's tensors
  };
  std::optional<Scores> scores;
  /// Of an attention that no description made: its sizes, each a name or a number.
  struct Sizes {
    std::string sequences, rows, keys;
  };
  std::optional<Sizes> sizes;

  /// The stack's own tokens: the side, the name of the input, of the dimension and its size (-1:
  /// dynamic).
  bool cached() const { return step || prompt; }
  const char *side() const { return decoder ? "target" : "source"; }
  const char *input() const { return decoder && loss ? "reference" : side(); }
  std::string rows() const {
    return sizes ? sizes->rows : step ? "1" : decoder ? "T" : sourceRows();
  }
  int64_t rowCount() const { return step ? 1 : decoder ? -1 : fixedRows; }
  /// Rows of the source, which the memory has too.
  std::string sourceRows() const { return fixedRows < 0 ? "S" : std::to_string(fixedRows); }
  /// What masks have a number for each of: sequences, or packed documents.
  std::string sequences() const { return packed ? "N" : sizes ? sizes->sequences : "B"; }
  /// How many they are, where no input need say so by that name.
  std::string sequenceCount() const { return packed ? "documents.starts - 1" : sequences(); }
  /// Name of the dimension of keys. In a step callers may give more keys than there are tokens.
  std::string keys(bool cross) const {
    return sizes ? sizes->keys : cross ? sourceRows() : cached() ? "target.keys" : rows();
  }
};

class MaskBuilder;

/// Where a mask is written: an attention of a function over the stack's own tokens, or over the
/// memory (`cross`).
struct MaskPlace {
  const MaskBuilder &masks;
  FunctionBuilder &f;
  bool cross;
  Call call;
};

class MaskBuilder {
public:
  explicit MaskBuilder(const Description &d) : d(d) {}

  /// The input that says where packed documents start.
  mlir::Value starts(FunctionBuilder &f, const std::string &input) const;
  /// Pairs within one document, of those that `mask` (may be null) allows.
  mlir::Value within(FunctionBuilder &f, const std::string &documents, mlir::Value mask) const;
  /// The mask or score rule of an attention.
  mlir::Value build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const;
  /// One part of it; the region of a `where` is still empty.
  mlir::Value write(const MaskPlace &site, const MaskCall &e, bool scoreRule) const;
  /// `source.lengths` or `target.lengths`: an input, by default computed from ids at hand; in a
  /// step those of the source are kept by the session.
  mlir::Value sideLengths(FunctionBuilder &f, const std::string &side, Call call) const;

  /// Whether a mask over the source's tokens, or over the memory, counts lengths(source).
  bool encoderUsesLengths() const;
  bool crossUsesLengths() const;

private:
  /// Scores of the distances between rows, of learned vectors.
  mlir::Value distance(const MaskPlace &site, const MaskCall &e) const;
  /// Scores of distances by buckets, of learned numbers.
  mlir::Value relative(const MaskPlace &site, const MaskCall &e) const;

  const Description &d;
};

} // namespace heddle
