//===- MaskBuilder.h - Mask expressions as mask ops ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the same expression for encode, decode and decode_step; the counted tokens and the sources
// of inputs depend on the function.
#pragma once

#include "Description.h"
#include "FunctionBuilder.h"

namespace heddle {

/// The properties in which encode, decode, decode_step and loss differ.
struct Call {
  bool decoder = false;
  bool step = false;   ///< one token per sequence, with keys and values from the session
  bool prompt = false; ///< as `step`, with several tokens per sequence, counted by an input
  bool loss = false;   ///< the decoder reads the reference, shifted by one
  bool packed = false; ///< masks and score rules count within packed documents
  /// Packed texts: the inputs with the starts of the stack's own texts, and of those of the memory.
  /// Lengths of a side have no effect there, because a packed text has no padding.
  std::string documents, memoryDocuments;
  int64_t heads = 1;      ///< number of query heads
  int64_t fixedRows = -1; ///< rows of an image or audio source; -1: dynamic
  /// For score rules that use the queries and keys of the attention.
  struct Scores {
    mlir::Value query, key;
    float scale;
    std::string prefix; ///< prefix of the attention's tensors
  };
  std::optional<Scores> scores;
  /// Sizes of an attention in dialect text, each a name or a number.
  struct Sizes {
    std::string sequences, rows, keys;
  };
  std::optional<Sizes> sizes;

  /// Properties of the stack's own tokens: the side, the input's name, the name of its dimension
  /// and its size (-1: dynamic).
  bool cached() const { return step || prompt; }
  const char *side() const { return decoder ? "target" : "source"; }
  const char *input() const { return decoder && loss ? "reference" : side(); }
  std::string rows() const {
    return sizes ? sizes->rows : step ? "1" : decoder ? "T" : sourceRows();
  }
  int64_t rowCount() const { return step ? 1 : decoder ? -1 : fixedRows; }
  /// Dimension of the source's rows, and of the memory's.
  std::string sourceRows() const { return fixedRows < 0 ? "S" : std::to_string(fixedRows); }
  /// Dimension of a mask's per-sequence inputs: sequences or packed documents.
  std::string sequences() const { return packed ? "N" : sizes ? sizes->sequences : "B"; }
  /// Size of that dimension, if no input defines its name.
  std::string sequenceCount() const { return packed ? "documents.starts - 1" : sequences(); }
  /// Dimension of the keys. In a step, callers may pass more keys than there are tokens.
  std::string keys(bool cross) const {
    return sizes ? sizes->keys : cross ? sourceRows() : cached() ? "target.keys" : rows();
  }
};

class MaskBuilder;

/// Place of a mask: an attention of a function, over the stack's own tokens or over the memory
/// (`cross`).
struct MaskPlace {
  const MaskBuilder &masks;
  FunctionBuilder &f;
  bool cross;
  Call call;
};

/// Builds mask and score-rule ops for the attentions of one description.
class MaskBuilder {
public:
  explicit MaskBuilder(const Description &d) : d(d) {}

  /// The input with the starts of packed documents.
  mlir::Value starts(FunctionBuilder &f, const std::string &input) const;
  /// Restricts `mask` (may be null) of a call with packed texts to pairs within one text.
  mlir::Value within(FunctionBuilder &f, const Call &call, bool cross, mlir::Value mask) const;
  /// Builds the mask or score rule of an attention.
  mlir::Value build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const;
  /// Builds one call of an expression; the region of a `where` remains empty.
  mlir::Value write(const MaskPlace &site, const MaskCall &e, bool scoreRule) const;
  /// `source.lengths` or `target.lengths`: an input, whose default is computed from available ids.
  /// In a step, the session holds the lengths of the source.
  mlir::Value sideLengths(FunctionBuilder &f, const std::string &side, Call call) const;

  /// Returns whether a mask of the encoder, or of cross attention, uses lengths(source).
  bool encoderUsesLengths() const;
  bool crossUsesLengths() const;

private:
  /// Scores of distances between rows, from learned vectors.
  mlir::Value distance(const MaskPlace &site, const MaskCall &e) const;
  /// Scores of bucketed distances, from learned numbers.
  mlir::Value relative(const MaskPlace &site, const MaskCall &e) const;

  const Description &d;
};

} // namespace heddle
