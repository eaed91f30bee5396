//===- TrainingSession.cpp - A session whose weights change ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file calls the functions `gradients`, `gradient_norm` and `update`, and reads and writes the
// twins of the weights by the names and shapes of the checkpoint.
#include "heddle/Training/TrainingSession.h"

#include "heddle/Pack/Unpack.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/Checkpoint.h"
#include "heddle/Training/StoredTensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace heddle {

static std::string_view nameOf(Twin twin) {
  switch (twin) {
  case Twin::Weights:
    return weightTwin;
  case Twin::Gradients:
    return gradientTwin;
  case Twin::FirstMoments:
    return firstMomentTwin;
  case Twin::SecondMoments:
    return secondMomentTwin;
  }
  return {};
}

Expected<TrainingSession> TrainingSession::open(const std::string &path,
                                                const SessionOptions &options) {
  return from(HEDDLE_TRY(Session::open(path, options)));
}

Expected<TrainingSession> TrainingSession::from(Session session) {
  if (session.twinBytes(gradientTwin) == 0)
    return inputError(session.artifact().name() +
                      ": expected a model that was compiled with --training, found one without "
                      "gradients");
  TrainingSession training(std::move(session));
  HEDDLE_TRY(training.findTensors());
  return training;
}

/// Lists the tensors. A tensor that is stored twice is an error, because its copies would be
/// updated separately.
Status TrainingSession::findTensors() {
  const std::vector<PackEntry> &pack = live.program().pack;
  for (size_t i = 0; i < pack.size(); ++i) {
    if (std::ranges::find(shapes, pack[i].tensor, &NamedShape::name) != shapes.end())
      return inputError(live.artifact().name() + ": " + pack[i].tensor +
                        ": expected a tensor that is stored once, found two layouts; heads with "
                        "padding are not supported in training");
    shapes.push_back({pack[i].tensor, pack[i].shape});
    entries.push_back(i);
  }
  if (const auto text = live.artifact().text(storedTensorsMember)) {
    const std::string place = live.artifact().name() + ": " + storedTensorsMember;
    stored = std::make_shared<const StoredTensors>(
        HEDDLE_TRY(storedTensorsFromJson(*text, place, shapes)));
  }
  return {};
}

bool TrainingSession::isFresh(size_t tensor) const {
  return stored && std::ranges::find(stored->fresh, shapes[tensor].name) != stored->fresh.end();
}

//===- The step ------------------------------------------------------------===//

/// Returns the starts of packed examples; null if the examples have rows of their own.
static const NamedInput *startsOf(const NamedInputs &inputs) {
  const auto found = std::ranges::find_if(
      inputs, [](const NamedInput &input) { return input.name().ends_with(".starts"); });
  return found == inputs.end() ? nullptr : &*found;
}

/// Returns the number of examples: of documents between starts, or the size of the first dimension
/// of the first input.
static int64_t batchOf(const NamedInputs &inputs) {
  const NamedInput *starts = startsOf(inputs);
  const NamedInput *counted = starts ? starts : inputs.empty() ? nullptr : &inputs.front();
  if (!counted || counted->tensor().shape().empty())
    return 0;
  return std::max<int64_t>(counted->tensor().shape().front() - (starts ? 1 : 0), 0);
}

Expected<NamedTensors> TrainingSession::run(std::string_view name, const NamedInputs &inputs) {
  return run(name, inputs, [&](const std::string &function, const NamedInputs &all) {
    return live.run(function, all);
  });
}

Expected<NamedTensors> TrainingSession::run(std::string_view name, const NamedInputs &inputs,
                                            const Call &call) {
  HEDDLE_TRY(flush());
  const Function *function = live.program().findFunction(name);
  if (!function)
    return call(std::string(name), inputs); // an error
  const int64_t batch = batchOf(inputs);
  std::vector<int32_t> numbers(static_cast<size_t>(batch));
  std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(examples));
  const std::array<int32_t, 3> words{static_cast<int32_t>(dropout.seed),
                                     static_cast<int32_t>(dropout.step), dropout.enabled};
  const std::pair<std::string_view, Tensor> made[] = {
      {"dropout.key", Tensor::i32({3}, words)},
      {"dropout.examples", Tensor::i32({batch}, numbers)}};
  NamedInputs all(inputs);
  for (const auto &[input, tensor] : made) {
    const bool isTaken = std::ranges::find(function->inputs, input, &Port::name) !=
                         function->inputs.end(),
               isGiven = std::ranges::find(inputs, input, &NamedInput::name) != inputs.end();
    if (isTaken && !isGiven)
      all.emplace_back(input, tensor);
  }
  return call(std::string(name), all);
}

/// Returns a result of one number. The model is read from a file, so its functions may have other
/// results.
static Expected<float> numberOf(const NamedTensors &results, std::string_view name) {
  const std::span<const float> values = HEDDLE_TRY(results.values<float>(name));
  if (values.size() != 1)
    return inputError(std::string(name) + ": expected one number, found " +
                      std::to_string(values.size()));
  return values.front();
}

bool TrainingSession::packs() const {
  return live.program().findFunction(packedGradientsFunction) != nullptr;
}

Expected<LossSum> TrainingSession::add(const NamedInputs &inputs) {
  NamedTensors results =
      HEDDLE_TRY(run(startsOf(inputs) ? packedGradientsFunction : gradientsFunction, inputs));
  const LossSum found{HEDDLE_TRY(numberOf(results, "loss.sum")),
                      static_cast<int64_t>(HEDDLE_TRY(numberOf(results, "tokens")))};
  examples += batchOf(inputs);
  sum.loss += found.loss;
  sum.tokens += found.tokens;
  return found;
}

/// Returns the scalars of `transformer.optimizer`. Stochastic gradient descent with momentum is a
/// step of Adam with other scalars: the first moment is the velocity times 1 - momentum.
static std::array<float, 16> scalarsOf(const StepScalars &s, float scale) {
  if (s.rest2 != 0)
    return {s.rate, s.rest1, s.beta2, s.rest2, s.c1, s.c2, s.epsilon, s.decay, scale};
  const float rest = 1 - s.momentum;
  return {s.rate, rest, 0, 0, 1 / rest, 0, 1, s.decay, scale};
}

Expected<StepResult> TrainingSession::update(const StepScalars &scalars) {
  HEDDLE_TRY(flush());
  StepResult result;
  result.sum = std::exchange(sum, {});
  examples = 0;
  NamedTensors squares = HEDDLE_TRY(live.run("gradient_norm", {}));
  result.norm =
      std::sqrt(static_cast<double>(HEDDLE_TRY(numberOf(squares, "squares")))) * scalars.perToken;
  if (!std::isfinite(result.norm)) {
    result.skipped = true;
    HEDDLE_TRY(clearGradients());
    return result;
  }
  float scale = scalars.perToken;
  constexpr double margin = 1e-6; // as PyTorch's clip_grad_norm_
  if (scalars.clip > 0 && result.norm + margin > scalars.clip)
    scale *= static_cast<float>(scalars.clip / (result.norm + margin));
  const std::array<float, 16> values = scalarsOf(scalars, scale);
  const Tensor tensor = Tensor::f32({16}, values);
  HEDDLE_TRY(live.run("update", {{"scalars", tensor}}));
  return result;
}

Expected<StepResult> TrainingSession::step(const NamedInputs &inputs, const StepScalars &scalars) {
  HEDDLE_TRY(add(inputs));
  return update(scalars);
}

Status TrainingSession::clearGradients() {
  const int64_t bytes = live.twinBytes(gradientTwin);
  constexpr int64_t piece = int64_t{1} << 20;
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(piece, bytes)));
  for (int64_t at = 0; at < bytes; at += piece)
    HEDDLE_TRY(
        live.writeTwin(gradientTwin, at,
                       std::span(zeros).first(static_cast<size_t>(std::min(piece, bytes - at)))));
  return {};
}

//===- Tensors -------------------------------------------------------------===//

/// Unpacks a tensor into `last`.
Status TrainingSession::loadTensor(Twin twin, size_t tensor) {
  if (last.name == std::pair(twin, tensor))
    return {};
  HEDDLE_TRY(flush());
  const Program &program = live.program();
  const PackEntry &entry = program.pack[entries[tensor]];
  last.stored.resize(static_cast<size_t>(packedElements(entry)));
  last.tensor.resize(static_cast<size_t>(tensorElements(entry)));
  HEDDLE_TRY(live.readTwin(nameOf(twin), program.weights[entry.weight].offset,
                           std::as_writable_bytes(std::span(last.stored))));
  HEDDLE_TRY(unpack(entry, last.stored, last.tensor));
  last.name = {twin, tensor};
  return {};
}

/// Writes the tensor of `last` if it has changed, and forgets it.
Status TrainingSession::flush() {
  const auto name = std::exchange(last.name, std::nullopt);
  if (!name || !std::exchange(last.isChanged, false))
    return {};
  const Program &program = live.program();
  const PackEntry &entry = program.pack[entries[name->second]];
  HEDDLE_TRY(repack(entry, last.tensor, last.stored));
  return live.writeTwin(nameOf(name->first), program.weights[entry.weight].offset,
                        std::as_bytes(std::span(last.stored)));
}

static Status checkRange(const NamedShape &tensor, int64_t first, size_t count, size_t all) {
  if (first >= 0 && static_cast<size_t>(first) <= all && count <= all - static_cast<size_t>(first))
    return {};
  return usageError(tensor.name + ": expected a range of its " + std::to_string(all) +
                    " elements, found " + std::to_string(count) + " from " + std::to_string(first));
}

Status TrainingSession::read(Twin twin, size_t tensor, int64_t first, std::span<float> out) {
  HEDDLE_TRY(loadTensor(twin, tensor));
  HEDDLE_TRY(checkRange(shapes[tensor], first, out.size(), last.tensor.size()));
  std::copy_n(last.tensor.begin() + first, out.size(), out.begin());
  return {};
}

Status TrainingSession::write(Twin twin, size_t tensor, int64_t first, std::span<const float> in) {
  HEDDLE_TRY(loadTensor(twin, tensor));
  HEDDLE_TRY(checkRange(shapes[tensor], first, in.size(), last.tensor.size()));
  std::ranges::copy(in, last.tensor.begin() + first);
  last.isChanged = true;
  return {};
}

Status TrainingSession::save(const std::string &path) {
  HEDDLE_TRY(flush());
  auto readWeights = [&](int, size_t tensor, int64_t first, std::span<float> out) {
    return read(Twin::Weights, tensor, first, out);
  };
  return stored ? saveStored(path, *stored, shapes, readWeights)
                : saveWeights(path, shapes, readWeights);
}

static Twin momentOf(int moment) {
  return moment == 0 ? Twin::Weights : moment == 1 ? Twin::FirstMoments : Twin::SecondMoments;
}

static constexpr int momentsOfAdam = 2;

Status TrainingSession::saveState(const std::string &path, const RunState &state) {
  HEDDLE_TRY(flush());
  return saveRun(path, state, shapes, momentsOfAdam,
                 [&](int moment, size_t tensor, int64_t first, std::span<float> out) {
                   return read(momentOf(moment), tensor, first, out);
                 });
}

Status TrainingSession::loadState(const std::string &path) {
  HEDDLE_TRY(loadRun(path, shapes, momentsOfAdam,
                     [&](int moment, size_t tensor, int64_t first, std::span<const float> in) {
                       return write(momentOf(moment), tensor, first, in);
                     }));
  return flush();
}

Status TrainingSession::load(const std::string &path) {
  auto writeWeights = [&](int, size_t tensor, int64_t first, std::span<const float> in) {
    return write(Twin::Weights, tensor, first, in);
  };
  HEDDLE_TRY(stored ? loadStored(path, *stored, shapes, writeWeights)
                    : loadRun(path, shapes, /*moments=*/0, writeWeights));
  return flush();
}

/// Runs `gradient_norm` first, which adds the accumulators of further uses of a weight.
Status TrainingSession::saveGradients(const std::string &path) {
  HEDDLE_TRY(flush());
  HEDDLE_TRY(live.run("gradient_norm", {}));
  return saveWeights(path, shapes, [&](int, size_t tensor, int64_t first, std::span<float> out) {
    return read(Twin::Gradients, tensor, first, out);
  });
}

} // namespace heddle
