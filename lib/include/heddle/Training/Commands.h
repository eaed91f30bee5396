//===- Commands.h - Commands of training -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implementations of commands; the tools declare their flags.
#pragma once

#include "heddle/Runtime/Session.h"
#include "heddle/Training/Trainer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace heddle {

/// `vocabulary`: the words of data files, one a line.
struct VocabularyCommand {
  std::vector<std::string> files;
  int64_t column = 1;          ///< column of each line between tabs, from 1
  std::string split = "space"; ///< or "character"
  bool blank = false;          ///< with "character": the blank is a word
  int64_t least = 1;           ///< occurrences of a word
  std::optional<int64_t> most; ///< lines of the file, special words included
  std::string output;          ///< empty or "-": standard output
};

/// Writes the special words <pad>, <unk>, <s> and <e>, and then words by frequency. Equally
/// frequent words are in the order of their first occurrence.
Status vocabularyCommand(const VocabularyCommand &command, std::ostream &notes);

/// `train`: a run over data files.
struct TrainCommand {
  std::vector<std::string> data, validation; ///< FILE or FILE:TIMES
  std::string output;                        ///< folder of the trained model
  bool resume = false;                       ///< goes on from the state in the folder
  /// Values of the recipe that the command line replaces.
  std::optional<int64_t> epochs, steps, batch, seed;
  std::optional<double> rate;
  bool fromWeights = false;          ///< trains the model's weights further
  std::optional<int64_t> microBatch; ///< maximum examples of a call; changes no result
  bool pads = false;                 ///< pads examples, which may be packed; changes no result
  std::optional<int64_t> saveEvery;  ///< steps between saved states; none: an epoch
  std::vector<std::string> inputs;   ///< files of the model, which the folder must not replace
};

/// Trains the weights of a session and writes the folder: the description, its vocabularies, the
/// best weights, and a folder `training` with the state, the log and a picture of it. Notes and
/// progress go to `notes`; on a terminal, the last line is rewritten. Ends after the step in which
/// `isInterrupted` becomes true, with the state saved.
Expected<RunEnd> trainCommand(Session session, const TrainCommand &command, std::ostream &notes,
                              bool isTerminal, const std::function<bool()> &isInterrupted);

} // namespace heddle
