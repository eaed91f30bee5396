//===- SessionImpl.h - Implementation of sessions ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implementation of sessions. Clones share a Model. Session::Impl holds one session's memory and
// caches, and has a method for each step of a call.
#pragma once

#include "Binding.h"
#include "Boundary.h"
#include "SessionMemory.h"

#include "heddle/Support/Artifact.h"

namespace heddle {

/// Code, weights and layouts; immutable after loading.
struct Model {
  Artifact artifact;
  std::unique_ptr<DeviceCode> code;
  std::vector<FunctionLayout> layouts; ///< one per function, in the program's order

  explicit Model(Artifact artifact) : artifact(std::move(artifact)) {}
  static Expected<std::shared_ptr<const Model>> load(Artifact artifact,
                                                     const SessionOptions &options);
  const Program &program() const { return artifact.program(); }
  Expected<const FunctionLayout *> find(std::string_view function) const;
};

/// Observer of a call's launches, or their times; at most one is set.
struct CallWitness {
  const LaunchObserver *observer = nullptr; ///< if set, buffers share no memory
  std::vector<LaunchTime> *times = nullptr;
};

/// Memory and caches of one session on its device.
class Session::Impl {
public:
  Impl(std::shared_ptr<const Model> model, SessionOptions options, std::unique_ptr<Device> device);
  double preparationSeconds() const { return device->preparationSeconds(); }
  std::optional<CallTime> callTime() const { return device->callTime(); }
  static Expected<std::unique_ptr<Impl>> create(std::shared_ptr<const Model> model,
                                                const SessionOptions &options);

  Status run(std::string_view function, const NamedInputs &inputs, NamedTensors &outputs,
             CallWitness witness = {});

  /// A twin of the program, with its place in planned memory.
  struct Twin {
    std::string name;
    MemoryRange range;
  };
  const Twin *findTwin(std::string_view name) const;
  Status read(MemoryRange range, std::span<std::byte> to);
  Status write(MemoryRange range, std::span<const std::byte> from);

  const std::shared_ptr<const Model> model;
  const SessionOptions options;
  Dimensions sessionDims;
  CachedRows rows;
  RowOrigins origins;

private:
  struct OutputForm {
    std::vector<int64_t> shape;
    RowForm rows;
  };

  /// State of a call that replaces rows of the session's state. Sizes are bytes of one matrix: in
  /// the session before (`held`) and after (`next`) the call, and in the call itself (`own`).
  struct StagedState {
    int buffer = -1;
    int64_t matrices = 1; ///< in each row
    int64_t held = 0, next = 0, own = 0;
  };

  /// Data passed between the steps of a call. All calls of a function share one, so that repeated
  /// shapes need no allocations.
  struct CallData {
    explicit CallData(const FunctionLayout &layout)
        : layout(layout), function(*layout.function), inputs(layout),
          outputs(function.outputs.size()) {}
    void clear();

    const FunctionLayout &layout;
    const Function &function;
    BoundInputs inputs;
    Plan *plan = nullptr;
    int64_t staging = 0;         ///< begin of the states of replaced rows, after all blocks
    int64_t scratch = 0;         ///< begin of scratch memory
    int64_t spareBytes = 0;      ///< scratch memory of a reorder or a replacement
    std::vector<int64_t> places; ///< offset of each buffer in planned memory
    std::vector<OutputForm> outputs;
    std::vector<size_t> fresh;     ///< numbers of blocks to be initialized
    std::vector<size_t> untouched; ///< numbers of new blocks whose contents are not read yet
    std::vector<int64_t> parents;  ///< row r continues row parents[r]
    RowMoves reorder, reorderFixed;
    /// Copies of rows: for states that steps write to, and for all others.
    std::span<const RowMove> reordered, reorderedFixed;
    std::vector<Move> rowMoves;       ///< the copies of all states, in bytes
    std::vector<MemoryRange> emptied; ///< rows that a reorder sets to zero
    /// Rows that a start replaces, in the order of its sequences, among `heldRows`; the size of the
    /// padded dimension before and after the call; and the name of the rows' dimension.
    std::vector<int64_t> replaced;
    int64_t heldRows = 0, heldLength = 0, nextLength = 0;
    const std::string *rowDim = nullptr;
    std::vector<StagedState> staged; ///< empty: the call replaces no rows
    Dimensions ofOne;                ///< scratch of bytesOfOne
    TransposedTensor turned;         ///< scratch for a transposed output
  };

  /// Error if a state dimension has no value yet: a starting function must run first.
  Status requireDims(const Function &function) const;
  /// The call data of the function, cleared.
  CallData &callOf(const FunctionLayout &layout);
  /// A kept plan for these dimensions, or the least recently used plan, updated.
  Expected<Plan *> planFor(const FunctionLayout &layout, const Dimensions &dims, bool share);

  // Steps in the order of a call.
  Status checkCall(CallData &call);       ///< the function's checks and computed sizes of inputs
  Status placePersistent(CallData &call); ///< states and tables; grows planned memory
  Status placeBuffers(CallData &call);    ///< scratch buffers; resolves the launches' addresses
  Status upload(CallData &call);          ///< moves and fills states, then copies inputs
  Status launchAll(CallData &call, CallWitness witness);
  Status launchAlone(CallData &call, size_t launch, std::vector<LaunchTime> &times);
  void addTime(CallData &call, size_t launch, double seconds, std::vector<LaunchTime> &times);
  Status observe(CallData &call, int launch, const LaunchObserver &observer);
  Status collect(CallData &call, NamedTensors &outputs); ///< waits and copies outputs
  Status replaceRows(CallData &call);                    ///< for a start that replaces some rows
  void finishStates(const CallData &call);               ///< commits states of a successful call
  void forgetSizes();

  Status createTwins();
  Status placeStates(CallData &call);
  Status placeState(CallData &call, const StateUse &use);
  Status explainMismatch(CallData &call, const StateUse &use, int64_t held);
  Status readParents(CallData &call);
  Status reorderState(CallData &call, size_t state);
  Status readReplaced(CallData &call, const Tensor &rows);
  Status checkReplaced(CallData &call);
  Status stageStates(CallData &call, const Tensor &rows);
  int64_t placeStaged(CallData &call);
  Status widen(CallData &call, const StagedState &state, int64_t offset);
  static Expected<int64_t> bytesOfOne(CallData &call, int buffer, const std::string &dim,
                                      std::optional<int64_t> padded = {});
  Filled filledOf(const Buffer &state, int64_t one) const;
  void placeTables(CallData &call);
  void growTable(CallData &call, const std::string &name, int64_t bytes);
  Status prepareStates(CallData &call);
  Status makeFresh(const SessionMemory::Block &block);

  std::unique_ptr<Device> device;
  SessionMemory memory;
  std::vector<Twin> twins; ///< at the front of planned memory; empty unless the program trains
  /// The last few plans of each function, most recent first.
  std::vector<std::vector<std::unique_ptr<Plan>>> plans;
  std::vector<std::unique_ptr<CallData>> calls; ///< for each function that was called
  std::vector<int64_t> dimValues;               ///< scratch of planFor
};

} // namespace heddle
