//===- Trainer.h - The steps of a run ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run: the steps of all epochs, its measures and its checkpoints. A run is a function of the
// model, the recipe and the data, so a run that was stopped goes on to the same weights.
#pragma once

#include "heddle/Training/Data.h"
#include "heddle/Training/Log.h"
#include "heddle/Training/TrainingSession.h"

#include <filesystem>

namespace heddle {

/// Everything that a run needs in addition to the model.
struct RunOptions {
  Recipe recipe;
  std::filesystem::path folder;     ///< receives the weights and the state
  std::optional<int64_t> microRows; ///< maximum examples of a call of `gradients`
  std::optional<int64_t> saveEvery; ///< steps between saved states; none: an epoch
  bool resume = false;
  bool pads = false; ///< examples are padded even if the model packs them
  std::string model; ///< hash of the model's description
  /// Called after each step. The row of the log is null between two rows.
  std::function<Status(const RunProgress &, const LogRow *row)> progress;
  std::function<bool()> isInterrupted; ///< asked after each step
};

/// How a run ended.
enum class RunEnd { Finished, Interrupted };

class Trainer {
public:
  /// The other arguments must outlive the trainer. `validation` may be null.
  static Expected<Trainer> create(TrainingSession &training, const TextModel &model,
                                  const Data &data, const Data *validation, RunOptions options);
  /// Sets the weights before the first step, or reads the saved state.
  Status begin();
  /// Trains to the end or an interrupt.
  Expected<RunEnd> run();
  const RunState &state() const { return at; }

private:
  Trainer(TrainingSession &training, const TextModel &model, const Data &data,
          const Data *validation, RunOptions options, Rate rate, Batches batches)
      : training(training), model(model), data(data), validation(validation),
        options(std::move(options)), rate(std::move(rate)), batches(std::move(batches)) {}

  Status fillInitial();
  Expected<NamedTensors> call(std::string_view function, const BatchInputs &batch);
  Expected<StepResult> step(const Batch &batch, int64_t epoch);
  Status countSkipped(const StepResult &result);
  Status afterStep(RunProgress &progress, LogRow row, bool endsEpoch);
  Status measure(LogRow &row);
  Status save();
  Expected<double> meanLoss(std::span<const Batch> batches);
  Expected<double> shareOfRight(std::span<const Batch> batches);
  Expected<double> shareOfExact(std::span<const Batch> batches);
  bool isBetter(double measured) const;
  bool measures(bool endsEpoch) const;
  std::filesystem::path stateFile() const {
    return options.folder / "training" / "last.safetensors";
  }
  std::filesystem::path weightsFile() const { return options.folder / "model.safetensors"; }
  bool hasWeights() const;

  TrainingSession &training;
  const TextModel &model;
  const Data &data;
  const Data *validation;
  RunOptions options;
  Rate rate;
  Batches batches;
  RunState at;
  int64_t skippedInARow = 0;
};

} // namespace heddle
