//===- Data.h - Examples of a run ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data files as ids. A file is read line by line through the vocabularies or the tokenizer of the
// model, as texts of inference are; only ids are kept. The model decides what a line holds:
//
//   encoder-decoder            source<TAB>target
//   encoder with a classifier  text<TAB>label; a label is a name of `classifier.labels`, else the
//                              number of a class
//   decoder                    text; all texts are joined, each after the end of the one before, and
//                              cut into windows of `target.limit` tokens
//
// If a vocabulary is only a size, ids from 0, separated by blanks, are in the place of words.
// Lines end in LF or CR LF. Lines without characters are skipped in the text of a decoder only.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Tensor.h"
#include "heddle/Training/Order.h"

namespace heddle {

/// A data file, and how often its examples occur in an epoch.
struct DataFile {
  std::string path;
  int64_t times = 1;
};
/// Parses FILE or FILE:TIMES. A file whose name has the form FILE:TIMES is taken as it is.
Expected<DataFile> parseDataFile(const std::string &text);

/// Counts of a data set, for notes.
struct DataCounts {
  int64_t lines = 0, tokens = 0;
  int64_t unknown = 0; ///< words that became the unknown word
  int64_t cut = 0;     ///< tokens that did not fit, of a side that cuts (`too-long`)
};

/// Inputs of the functions `loss` and `gradients` for a batch.
struct BatchInputs {
  /// `source`, `source.lengths`, and `reference`, `reference.lengths` or `labels`, as far as the
  /// model has these sides. A function may lack the lengths. Packed sides have starts instead.
  std::vector<std::pair<std::string, Tensor>> tensors;
  int64_t tokens = 0;  ///< tokens that are scored, or labels
  bool packed = false; ///< each side is one row, with `source.starts` and `reference.starts`
};

/// Replacement of words of the source by the unknown word.
struct WordDropout {
  double probability = 0;
  uint32_t seed = 0, epoch = 0;
};

class Data {
public:
  /// Reads the files. `place` names the option of empty data in errors; others begin with the file
  /// and the line. The model must outlive the data.
  static Expected<Data> read(const std::vector<DataFile> &files, const TextModel &model,
                             const std::string &place);

  /// Number of examples of an epoch: one of a file that is repeated counts each time.
  size_t size() const { return count; }
  const DataCounts &counts() const { return facts; }
  std::span<const int32_t> source(size_t example) const;
  /// The tokens that are scored: the target and its end, or a window of text.
  std::span<const int32_t> reference(size_t example) const;
  int32_t label(size_t example) const;
  std::vector<ExampleLength> lengths() const;
  /// Hash of all examples in order.
  uint64_t hash() const;

  /// Inputs for examples. A word is replaced by a function of the seed, the epoch, the number of
  /// the example and its position, so the batch has no influence.
  /// With `packs`, examples of different lengths lie one after another in one row.
  BatchInputs batch(std::span<const uint32_t> examples, const WordDropout &words = {},
                    bool packs = false) const;

private:
  /// Examples of a file. Their numbers begin at `begin` and repeat them in order.
  struct Part {
    size_t begin, first, examples;
  };
  explicit Data(const TextModel &model) : model(&model) {}
  std::vector<TokenIds> sources(std::span<const uint32_t> examples, const WordDropout &words) const;
  size_t unique(size_t example) const;
  std::span<const int32_t> range(size_t boundary) const;
  friend class DataReader;

  const TextModel *model;
  std::vector<int32_t> ids;
  /// Ends of the source and the reference of each example in `ids`, after a 0.
  std::vector<uint64_t> ends = {0};
  std::vector<int32_t> labels;
  std::vector<Part> parts;
  size_t count = 0;
  DataCounts facts;
};

} // namespace heddle
