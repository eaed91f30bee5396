//===- TrainingSession.h - A session whose weights change ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step of training, for a model that was compiled with `--training`:
//
//   auto training = TrainingSession::open("model.heddle");
//   training->step({{"source", source}, {"reference", reference}}, rate.scalars(step, tokens));
//   training->save("model.safetensors");
//
// A step adds the gradients of one or more batches (`add`), and then updates the weights (`update`).
// The result does not depend on how the examples of a step are divided into batches, nor on the
// number of threads. Other functions of the model run on the weights as they are between two steps
// (`session`).
#pragma once

#include "heddle/Runtime/Session.h"
#include "heddle/Training/Rate.h"

#include <functional>
#include <memory>

namespace heddle {

struct StoredTensors;

/// A tensor of the model.
struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// Everything that determines the weights of a run. A checkpoint is resumed only by an equal run.
struct RunIdentity {
  std::string model;            ///< hash of the description without its weights (`hashText`)
  std::string data, validation; ///< hashes of the examples (Data::hash); empty: no validation
  Recipe recipe;
  HEDDLE_FIELDS(0, model, data, validation, recipe)
};

/// The state of a run between two steps. Dropout and the order of examples are functions of seed
/// and step, so they have no state.
struct RunState {
  int64_t step = 0;           ///< steps done
  int64_t skipped = 0;        ///< steps of them without an update
  std::optional<double> best; ///< best measure of the validation data
  int64_t bestStep = 0;
  RunIdentity identity;
  HEDDLE_FIELDS(0, step, skipped, best, bestStep, identity)
};

/// Sum of the losses of a batch.
struct LossSum {
  double loss = 0;    ///< sum over the tokens that are scored, with label smoothing
  int64_t tokens = 0; ///< number of these tokens, or of labels
};

struct StepResult {
  LossSum sum;          ///< over all batches of the step
  double norm = 0;      ///< norm of the gradient that the update used, before it was clipped
  bool skipped = false; ///< the norm was not finite, and weights and moments did not change
};

/// Memory of a training session with the size of all weights.
enum class Twin { Weights, Gradients, FirstMoments, SecondMoments };

class TrainingSession {
public:
  /// Opens a `.heddle` file. Input error if it was compiled without `--training`.
  static Expected<TrainingSession> open(const std::string &path,
                                        const SessionOptions &options = {});
  /// Trains the weights of a session, for instance of the JIT compiler.
  static Expected<TrainingSession> from(Session session);

  /// The session, whose functions run on the present weights.
  Session &session() { return live; }

  /// Seed and step of dropout; words of Philox are functions of both (docs/gradients.md).
  struct Dropout {
    int64_t seed = 0, step = 0;
    bool enabled = true;
  };
  void setDropout(const Dropout &value) { dropout = value; }

  /// Runs a function of the model, with the inputs of dropout if it takes some that are not given.
  Expected<NamedTensors> run(std::string_view function, const NamedInputs &inputs);
  /// Runs a function in the same way, by `call`, which runs it on the session: under observation,
  /// for instance.
  using Call = std::function<Expected<NamedTensors>(const std::string &, const NamedInputs &)>;
  Expected<NamedTensors> run(std::string_view function, const NamedInputs &inputs,
                             const Call &call);

  /// True if the model has `gradients_packed`, which takes examples without padding.
  bool packs() const;
  /// Runs `gradients` for a batch and adds the result to the gradients of the step. Inputs with
  /// starts of texts (`source.starts`) are examples one after another, for `gradients_packed`.
  /// Examples are numbered from 0 over all batches of the step, unless the inputs have
  /// `dropout.examples`.
  Expected<LossSum> add(const NamedInputs &inputs);
  /// Divides, clips and applies the gradients of the step, and clears them. The recipe's perToken
  /// must be 1 / tokens of all batches.
  Expected<StepResult> update(const StepScalars &scalars);
  /// A step of one batch.
  Expected<StepResult> step(const NamedInputs &inputs, const StepScalars &scalars);

  /// Tensors of the checkpoint, in the order of their memory.
  std::span<const NamedShape> tensors() const { return shapes; }
  /// Whether the model was made from a checkpoint that lacks the tensor, such as a new head.
  bool isFresh(size_t tensor) const;
  /// Copies elements of a tensor, from `first` on, in row-major order.
  Status read(Twin twin, size_t tensor, int64_t first, std::span<float> out);
  Status write(Twin twin, size_t tensor, int64_t first, std::span<const float> in);

  /// Writes the weights as a safetensors file, which every command reads. The weights of a Hugging
  /// Face folder have the names and shapes of its checkpoint.
  Status save(const std::string &path);
  /// Reads the weights from a safetensors file with these tensors.
  Status load(const std::string &path);
  /// Writes or reads the weights with their moments, and writes the state of a run.
  Status saveState(const std::string &path, const RunState &state);
  Status loadState(const std::string &path);
  /// Writes the gradients of the step as a safetensors file.
  Status saveGradients(const std::string &path);

private:
  explicit TrainingSession(Session session) : live(std::move(session)) {}
  Status findTensors();
  Status loadTensor(Twin twin, size_t tensor);
  Status flush();
  Status clearGradients();

  Session live;
  std::vector<NamedShape> shapes;
  std::vector<size_t> entries; ///< by tensor: index of its PackEntry
  /// Form of the checkpoint if the model was made from a folder; or null.
  std::shared_ptr<const StoredTensors> stored;
  Dropout dropout;
  int64_t examples = 0; ///< of the step so far
  LossSum sum;          ///< likewise
  /// The tensor that was read or written last, since callers pass one in pieces. `flush` writes it
  /// to the session if it has changed.
  struct {
    std::optional<std::pair<Twin, size_t>> name;
    bool isChanged = false;
    std::vector<float> stored, tensor;
  } last;
};

} // namespace heddle
