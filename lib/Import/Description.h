//===- Description.h - A model description, read and checked ---*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/model-description.md describes, with defaults filled in and one
// entry a layer: overrides are resolved here, nobody behind this looks at JSON.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "MaskExpression.h"

#include "heddle/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Pictures instead of text: each square of `patch` by `patch` pixels is a row.
struct ImageDescription {
  int64_t channels = 1, height = 1, width = 1, patch = 1;
  bool classToken = false; ///< a learned row before those of the patches
  int64_t rows() const { return height / patch * (width / patch) + (classToken ? 1 : 0); }
};

/// Source or target.
struct SideDescription {
  bool vectors = false; ///< `"vocabulary": null` or an image: no ids come in
  std::optional<ImageDescription> image;
  std::string file; ///< vocabulary as the description names it; empty: a size without text
  int64_t size = 0; ///< tokens
  int64_t padding = 0;
  std::optional<int64_t> unknown = 1, start = 2, end = 3;
  bool add = false;
  std::string split = "space", tooLong = "error";
  std::optional<int64_t> length;
  std::optional<int64_t> most; ///< of the source: rows that have positions, where they are learned
  int64_t limit = 256;
};

enum class ReturnWeights { None, Heads, Average };

struct AttentionDescription {
  int64_t heads = 1, keyValueHeads = 1, headSize = 0, valueSize = 0;
  double scale = 1;
  bool queryBias = false, keyBias = false, valueBias = false, outputBias = true;
  std::string activation; ///< of query, key and value projections; empty: none
  bool outputProjection = true;
  bool perHeadProjection = false; ///< a further matrix a head behind each projection
  ReturnWeights returnWeights = ReturnWeights::None;
  bool returnLogSumExp = false, sinks = false;
  std::optional<double> softcap, hiddenScore;
  std::optional<MaskExpression> bias;
};

struct FfnDescription {
  int64_t size = 0;
  std::string activation = "relu";
  bool bias = true;
  bool convolution = false; ///< the weights are convolutions of kernel size 1
};

struct NormDescription {
  bool rms = false;
  bool root = true; ///< false: divided by variance + epsilon itself
  double epsilon = 1e-5;
  bool pre = false;
  bool afterStack = false; ///< of the stack as a whole, not of a layer
};

struct LayerDescription {
  AttentionDescription self, cross;
  FfnDescription ffn;
  NormDescription norm;
  std::optional<MaskExpression> mask, crossMask;
};

enum class PositionKind { None, Sinusoidal, Learned };

struct PositionDescription {
  PositionKind kind = PositionKind::Sinusoidal;
  double scale = 1;
  int64_t length = 0; ///< rows of a learned table
};

struct StackDescription {
  std::vector<LayerDescription> layers;
  double embeddingScale = 1;
  bool zeroPaddingRow = false;
  std::optional<NormDescription> embeddingNorm; ///< after the positions
  PositionDescription position;
  NormDescription norm;
  std::string pool; ///< "cls", "mean", "last"; empty: every position is a result
  /// The input that says where packed documents of the stack's rows start; empty: rows are
  /// sentences.
  std::string documents;
};

struct ClassifierDescription {
  bool bias = false, tied = false;
  bool softmax = false; ///< probabilities instead of logits
  bool loss = false;    ///< there is a function of this name
  int64_t size = 0;
  std::string labels; ///< file, or empty
};

struct Description {
  std::string file, kind;
  int64_t size = 0;
  bool sequenceFirst = false;
  std::string weightsFile; ///< empty: seeded
  std::optional<uint64_t> seed;
  std::optional<SideDescription> source, target;
  std::optional<StackDescription> encoder, decoder;
  std::optional<ClassifierDescription> classifier;
  /// Texts of vocabularies and labels by side: "source.txt", "target.txt", "labels.txt".
  std::map<std::string, std::string> texts;
  /// Every file that was read: the description, vocabularies, labels.
  std::vector<std::string> files;
  /// What is allowed and hardly meant.
  std::vector<std::string> warnings;

  bool isEncoderDecoder() const { return kind == "encoder-decoder"; }
  /// Whether texts of different lengths may stand in one batch: every layer of the encoder masks
  /// what is padding.
  bool sourceMayBePadded() const;
};

/// Reads the file at `path`; `masks` are NAME=EXPR replacements.
Expected<Description> readDescription(const std::string &path,
                                      const std::vector<std::string> &masks);

/// Facts of a description as JSON text (Program::model).
std::string factsOf(const Description &description);

} // namespace heddle
