//===- Trainer.cpp - The steps of a run -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Trainer.h"

#include "heddle/Generation/TextDecoder.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/Checkpoint.h"
#include "heddle/Training/Initial.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace heddle {

/// Number of consecutive steps without an update that ends a run.
static constexpr int64_t mostSkipped = 10;
/// Number of values of a tensor that are made and passed at once.
static constexpr int64_t numbersAtOnce = int64_t{1} << 20;

//===- Begin ---------------------------------------------------------------===//

Expected<Trainer> Trainer::create(TrainingSession &training, const TextModel &model,
                                  const Data &data, const Data *validation, RunOptions options) {
  Batches batches(data.lengths(), options.recipe);
  const int64_t steps = batches.steps();
  Rate rate = HEDDLE_TRY(Rate::create(options.recipe, model.size, steps, "training"));
  return Trainer(training, model, data, validation, std::move(options), std::move(rate),
                 std::move(batches));
}

/// Sets the weights of step 0, or the saved state.
Status Trainer::begin() {
  RunIdentity identity{options.model, hashText(data.hash()),
                       validation ? hashText(validation->hash()) : "", options.recipe};
  if (!options.resume) {
    at.identity = std::move(identity);
    return fillInitial();
  }
  const std::string file = stateFile().string();
  at = HEDDLE_TRY(readRunState(file));
  HEDDLE_TRY(checkSameRun(at, identity, file));
  // If the measures cannot be compared, or the weights are gone, the next measured weights are the
  // best ones.
  if (!at.identity.recipe.measure.isComparableTo(identity.recipe.measure) || !hasWeights())
    at.best = std::nullopt;
  at.identity = std::move(identity);
  return training.loadState(file);
}

/// Sets the initial values of the tensors that the model does not supply.
Status Trainer::fillInitial() {
  const bool keepsWeights = options.recipe.initial.from == InitialRecipe::From::Weights;
  std::vector<float> numbers;
  for (size_t tensor = 0; tensor < training.tensors().size(); ++tensor) {
    if (keepsWeights && !training.isFresh(tensor))
      continue;
    const NamedShape &shape = training.tensors()[tensor];
    int64_t all = 1;
    for (int64_t size : shape.shape)
      all *= size;
    for (int64_t first = 0; first < all; first += numbersAtOnce) {
      numbers.resize(static_cast<size_t>(std::min(numbersAtOnce, all - first)));
      initialValues(options.recipe.initial, static_cast<uint32_t>(options.recipe.seed), shape.name,
                    shape.shape, first, numbers);
      HEDDLE_TRY(training.write(Twin::Weights, tensor, first, numbers));
    }
  }
  return {};
}

//===- Steps ---------------------------------------------------------------===//

/// The inputs of a batch that a function takes.
static NamedInputs inputsOf(const BatchInputs &batch, const Program &program,
                            std::string_view name) {
  const Function *function = program.findFunction(name);
  NamedInputs inputs;
  for (const auto &[input, tensor] : batch.tensors)
    if (function &&
        std::ranges::find(function->inputs, input, &Port::name) != function->inputs.end())
      inputs.emplace_back(input, tensor);
  return inputs;
}

Expected<NamedTensors> Trainer::call(std::string_view function, const BatchInputs &batch) {
  return training.run(function, inputsOf(batch, training.session().program(), function));
}

/// The batch is cut into calls of at most `microRows` examples, which changes no bit of the result.
Expected<StepResult> Trainer::step(const Batch &batch, int64_t epoch) {
  const Recipe &recipe = options.recipe;
  const auto seed = static_cast<uint32_t>(recipe.seed);
  const int64_t number = at.step + 1;
  training.setDropout({recipe.seed, number, /*enabled=*/true});
  const auto rows = static_cast<size_t>(
      options.microRows.value_or(std::max<int64_t>(static_cast<int64_t>(batch.size()), 1)));
  int64_t tokens = 0;
  for (size_t first = 0; first < batch.size(); first += rows) {
    const auto part = std::span(batch).subspan(first, std::min(rows, batch.size() - first));
    const BatchInputs inputs =
        data.batch(part, {recipe.dropout.words, seed, static_cast<uint32_t>(epoch)},
                   training.packs() && !options.pads);
    tokens += inputs.tokens;
    HEDDLE_TRY(training.add(inputsOf(inputs, training.session().program(),
                                     inputs.packed ? packedGradientsFunction : gradientsFunction)));
  }
  return training.update(rate.scalars(number, tokens, at.skipped));
}

Status Trainer::countSkipped(const StepResult &result) {
  if (!result.skipped) {
    skippedInARow = 0;
    return {};
  }
  ++at.skipped;
  if (++skippedInARow < mostSkipped)
    return {};
  return inputError(
      "step " + std::to_string(at.step) + ": expected a finite gradient, found none in " +
      std::to_string(mostSkipped) + " steps in a row" +
      (hasWeights() ? "; the last saved weights are in " + weightsFile().string() : ""));
}

Expected<RunEnd> Trainer::run() {
  using Clock = std::chrono::steady_clock;
  RunProgress progress;
  progress.steps = rate.steps();
  progress.epochs = batches.epochOf(progress.steps) + 1;
  LossSum sum; // since the last row of the log
  const auto start = Clock::now();
  int64_t tokens = 0;
  const int64_t first = at.step;
  while (at.step < rate.steps()) {
    const uint32_t epoch = batches.epochOf(at.step + 1);
    StepResult result = HEDDLE_TRY(step(batches.at(at.step + 1), epoch));
    ++at.step;
    HEDDLE_TRY(countSkipped(result));
    sum.loss += result.sum.loss;
    sum.tokens += result.sum.tokens;
    tokens += result.sum.tokens;
    LogRow row{.step = at.step, .epoch = epoch + 1};
    row.loss = sum.tokens ? sum.loss / static_cast<double>(sum.tokens) : 0;
    row.rate = rate.rate(at.step);
    row.norm = result.norm;
    row.skipped = at.skipped;
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    row.tokensPerSecond = static_cast<double>(tokens) / row.seconds;
    progress.secondsLeft = row.seconds / static_cast<double>(at.step - first) *
                           static_cast<double>(rate.steps() - at.step);
    const bool endsEpoch = at.step == rate.steps() || batches.endsEpoch(at.step);
    HEDDLE_TRY(afterStep(progress, row, endsEpoch));
    if (endsEpoch)
      sum = {};
    if (options.isInterrupted && options.isInterrupted() && at.step < rate.steps()) {
      HEDDLE_TRY(save());
      return RunEnd::Interrupted;
    }
  }
  // If the weights of an ended run were deleted, those of its last step replace them. Earlier ones are
  // lost, even if they were better.
  if (!hasWeights())
    HEDDLE_TRY(training.save(weightsFile().string()));
  HEDDLE_TRY(save());
  return RunEnd::Finished;
}

bool Trainer::measures(bool endsEpoch) const {
  const WordOrCount<MeasureRecipe::Every> &every = options.recipe.measure.every;
  if (!validation)
    return false;
  return every.count ? at.step % *every.count == 0 || at.step == rate.steps() : endsEpoch;
}

/// Measures and saves at the steps that the recipe names, and reports the step.
Status Trainer::afterStep(RunProgress &progress, LogRow row, bool endsEpoch) {
  const bool measured = measures(endsEpoch);
  if (measured) {
    HEDDLE_TRY(measure(row));
    progress.measure = row.measure ? row.measure : row.validationLoss;
    if (isBetter(*progress.measure)) {
      at.best = progress.measure;
      at.bestStep = at.step;
      HEDDLE_TRY(training.save(weightsFile().string()));
    }
  } else if (!validation && endsEpoch) {
    HEDDLE_TRY(training.save(weightsFile().string()));
  }
  progress.step = row.step;
  progress.epoch = row.epoch;
  progress.loss = row.loss;
  progress.norm = row.norm;
  progress.rate = row.rate;
  progress.tokensPerSecond = row.tokensPerSecond;
  if (options.progress)
    HEDDLE_TRY(options.progress(progress, endsEpoch || measured ? &row : nullptr));
  const bool saves = options.saveEvery ? at.step % *options.saveEvery == 0 : endsEpoch;
  return saves ? save() : Status();
}

bool Trainer::hasWeights() const {
  std::error_code ignored;
  return std::filesystem::exists(weightsFile(), ignored);
}

Status Trainer::save() {
  std::error_code failure;
  std::filesystem::create_directories(stateFile().parent_path(), failure);
  if (failure)
    return inputError(stateFile().parent_path().string() +
                      ": expected a folder that can be made, found: " + failure.message());
  return training.saveState(stateFile().string(), at);
}

//===- Measures ------------------------------------------------------------===//

bool Trainer::isBetter(double measured) const {
  if (!std::isfinite(measured))
    return false;
  if (!at.best)
    return true;
  return options.recipe.measure.kind == MeasureRecipe::Kind::Loss ? measured < *at.best
                                                                  : measured > *at.best;
}

/// Adds the validation loss to the row, and the recipe's measure if it is not the loss.
Status Trainer::measure(LogRow &row) {
  constexpr size_t rowsOfBatch = 64;
  const MeasureRecipe &recipe = options.recipe.measure;
  auto count = validation->size();
  if (recipe.rows)
    count = std::min(count, static_cast<size_t>(*recipe.rows));
  std::vector<Batch> batches;
  for (size_t example = 0; example < count; ++example) {
    if (example % rowsOfBatch == 0)
      batches.emplace_back();
    batches.back().push_back(static_cast<uint32_t>(example));
  }
  row.validationLoss = HEDDLE_TRY(meanLoss(batches));
  if (recipe.kind == MeasureRecipe::Kind::Accuracy)
    row.measure = HEDDLE_TRY(shareOfRight(batches));
  if (recipe.kind == MeasureRecipe::Kind::Exact)
    row.measure = HEDDLE_TRY(shareOfExact(batches));
  return {};
}

/// Numbers of the first result, which is the loss or the scores.
static Expected<std::span<const float>> numbersOf(const NamedTensors &results) {
  if (results.size() == 0)
    return inputError("expected a function with a result, found one without");
  return results.values<float>(results.begin()->first);
}

Expected<double> Trainer::meanLoss(std::span<const Batch> batches) {
  double sum = 0;
  int64_t tokens = 0;
  for (const Batch &batch : batches) {
    const BatchInputs inputs = validation->batch(batch);
    NamedTensors results = HEDDLE_TRY(call("loss", inputs));
    const std::span<const float> loss = HEDDLE_TRY(numbersOf(results));
    sum += (loss.empty() ? 0 : loss.front()) * static_cast<double>(inputs.tokens);
    tokens += inputs.tokens;
  }
  return tokens ? sum / static_cast<double>(tokens) : 0;
}

/// Share of the texts whose own class has the largest score.
Expected<double> Trainer::shareOfRight(std::span<const Batch> batches) {
  int64_t right = 0, all = 0;
  for (const Batch &batch : batches) {
    NamedTensors results = HEDDLE_TRY(call("encode", validation->batch(batch)));
    const std::span<const float> scores = HEDDLE_TRY(numbersOf(results));
    const size_t classes = scores.size() / batch.size();
    for (size_t row = 0; row < batch.size(); ++row, ++all) {
      const auto own = scores.subspan(row * classes, classes);
      right += std::ranges::max_element(own) - own.begin() == validation->label(batch[row]);
    }
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

/// Share of the sources that greedy decoding answers with the reference, up to its end.
Expected<double> Trainer::shareOfExact(std::span<const Batch> batches) {
  TextDecoder decoder = HEDDLE_TRY(TextDecoder::create(training.session(), model));
  DecodingOptions greedy = decoder.defaults();
  greedy.sample = false;
  greedy.beams = 1;
  int64_t right = 0, all = 0;
  for (const Batch &batch : batches) {
    std::vector<TokenIds> sources;
    for (uint32_t example : batch) {
      const auto source = validation->source(example);
      sources.emplace_back(source.begin(), source.end());
    }
    const std::vector<TokenIds> answers = HEDDLE_TRY(decoder.decode(sources, greedy));
    for (size_t row = 0; row < batch.size(); ++row, ++all) {
      auto expected = validation->reference(batch[row]);
      expected = expected.first(expected.empty() ? 0 : expected.size() - 1); // without the end
      right += std::ranges::equal(answers[row], expected);
    }
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

} // namespace heddle
