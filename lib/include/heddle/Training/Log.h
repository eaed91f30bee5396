//===- Log.h - The log of a run --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of a run: a file of columns between tabs with a line per row, a picture of it, and
// the line that a terminal shows.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A row of the log, which covers the steps since the row before it.
struct LogRow {
  int64_t step = 0;                     ///< last step
  int64_t epoch = 0;                    ///< from 1
  double loss = 0;                      ///< mean of the scored tokens of these steps
  double rate = 0;                      ///< learning rate of the last step
  double norm = 0;                      ///< norm of the gradient of the last step, before clipping
  int64_t skipped = 0;                  ///< steps without an update since the start
  double tokensPerSecond = 0;           ///< scored tokens
  double seconds = 0;                   ///< since the start, without interruptions
  std::optional<double> validationLoss; ///< mean loss of the validation data
  std::optional<double> measure;        ///< accuracy or exact answers, 0 to 1
};

/// `training/log.tsv`. Rows are appended and flushed, so a killed process loses none.
class TrainingLog {
public:
  /// Opens the log of a run that is resumed after `step` steps, or of a new run if that is 0. Rows of later steps,
  /// which a run wrote after its last checkpoint, are removed. Returns an error for a file that is
  /// no log.
  static Expected<TrainingLog> open(const std::string &path, int64_t step);

  Status add(const LogRow &row);
  const std::vector<LogRow> &rows() const { return all; }

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  explicit TrainingLog(std::string path) : path(std::move(path)) {}

  std::string path;
  std::unique_ptr<std::FILE, Close> file;
  std::vector<LogRow> all;
};

/// Reads the rows of a log.
Expected<std::vector<LogRow>> readLog(const std::string &path);

/// A drawing (SVG) of the losses, of the measure with the name `measure`, and of the rate.
std::string curveOf(const std::vector<LogRow> &rows, const std::string &measure);

/// The state of a run for a terminal.
struct RunProgress {
  int64_t step = 0, steps = 0;
  int64_t epoch = 0, epochs = 0; ///< epochs 0: the length is given in steps
  double loss = 0, norm = 0, rate = 0, tokensPerSecond = 0;
  double secondsLeft = 0;
  std::optional<double> measure; ///< the last one
};
/// One line of at most `columns` characters. Values at the end are left out if there is no room.
std::string progressLine(const RunProgress &progress, size_t columns);

/// A time as "45 s", "2:31 min" or "1:05 h".
std::string durationText(double seconds);

} // namespace heddle
