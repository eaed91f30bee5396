//===- Session.h - Runs the functions of a model ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session is a model on a device together with its caches. One thread at a time may use it;
// clones share weights and code. Inputs are checked before a device reads them.
//
// Errors have three kinds (ErrorKind). Input: a file, a name, a type, a shape or an order of
// functions does not fit the model; the message names the input, what the function expects and what
// it found. Usage: an option does not exist. Device: the device failed, or its memory is exhausted.
// After an input or usage error the session is as it was before the call. After a device error its
// caches are unspecified, and `open` or `clone` gives a new session. A Vulkan device that was lost
// stays lost for all clones: only `open` gives a new one.
#pragma once

#include "heddle/Runtime/Tensor.h"

#include <functional>
#include <memory>
#include <optional>

namespace heddle {

class Artifact;

struct SessionOptions {
  std::string device = "cpu"; ///< "cpu", "vulkan", "vulkan:N"
  int threads = 0;            ///< CPU: 0 means all processors
  /// CPU: the instruction set of the code to run, one for which the file was compiled. Empty: the
  /// best one for this processor.
  std::string cpu = {};
  /// Vulkan: the level of the device to use (docs/gpu.md). Empty: its highest level, or 0 for a
  /// driver that runs on the processor.
  std::optional<int> vulkanLevel = {};
  /// Fills planned memory with NaN before each run (also: environment HEDDLE_POISON=1).
  bool poison = false;
  /// Called with a short phrase while a driver compiles pipelines for longer than half a second,
  /// and with an empty one at the end. Pipelines are compiled when the session is opened, or at a
  /// kernel's first launch.
  std::function<void(const std::string &phase)> progress = {};
};

/// An input of a call: a name and a tensor, both owned by the caller until the call returns.
class NamedInput {
public:
  NamedInput(std::string_view name, const Tensor &tensor) : inputName(name), value(&tensor) {}
  std::string_view name() const { return inputName; }
  const Tensor &tensor() const { return *value; }

private:
  std::string_view inputName;
  const Tensor *value;
};
using NamedInputs = std::vector<NamedInput>;

/// Name, type and symbolic shape of an input or output.
struct PortInfo {
  std::string name;
  DType type = DType::F32;
  std::vector<std::string> shape; ///< "B", "S", "512"
  bool required = true;           ///< inputs: false if the port has a default
};

/// Reads a buffer (an index into Function::buffers) after a launch: 4-byte elements, padding
/// included.
using BufferReader = std::function<Expected<std::vector<uint32_t>>(int buffer)>;
/// Called after each launch with its index; an error ends the run.
using LaunchObserver =
    std::function<Status(int launch, const Dimensions &dims, const BufferReader &read)>;

/// Time and work of one launch.
struct LaunchTime {
  std::string_view kernel; ///< a name in the session's program
  double seconds = 0;
  int64_t flops = 0, bytes = 0;
};

/// Where the time of a call on a device with a clock went. Seconds; `device` is the device's own,
/// the others are the host's.
struct CallTime {
  double device = 0;     ///< from the call's first to its last command
  double recording = 0;  ///< before submissions: binding inputs, collecting and recording commands
  double submitting = 0; ///< in the driver's submissions
  double waiting = 0;    ///< from the last submission until the host noticed the end
  int64_t barriers = 0;  ///< between the call's commands
  bool isReplayed = false; ///< the recording of an earlier call was submitted again

  /// Seconds between the end on the device and the host's notice of it, and of its start.
  double waking() const { return waiting > device ? waiting - device : 0; }
};

/// A model on a device, with its caches. A moved-from session may only be assigned or destroyed.
class Session {
public:
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;
  ~Session();

  /// Opens a `.heddle` file and loads its code for the options' device.
  static Expected<Session> open(const std::string &path, const SessionOptions &options = {});
  /// Opens an artifact that is already in memory, such as the result of the JIT compiler.
  static Expected<Session> fromArtifact(Artifact artifact, const SessionOptions &options = {});
  /// Creates a session with its own memory and empty caches over the same code and weights.
  Expected<Session> clone() const;

  const Program &program() const;
  const Artifact &artifact() const;
  /// Name of the device and its instruction set: "cpu x86-64-v4".
  std::string deviceText() const;
  /// Seconds in which a driver compiled kernels at their first launch, over all runs so far.
  double preparationSeconds() const;

  /// Names of all functions, in the program's order.
  std::vector<std::string> functions() const;
  /// Ports of a function, in order; input error for an unknown name.
  Expected<std::vector<PortInfo>> inputs(std::string_view function) const;
  Expected<std::vector<PortInfo>> outputs(std::string_view function) const;

  /// Runs a function and returns its outputs in order. Inputs may be in any order.
  Expected<NamedTensors> run(std::string_view function, const NamedInputs &inputs);
  /// Runs a function and writes into tensors that an earlier call filled. Allocates nothing once
  /// shapes repeat.
  Status run(std::string_view function, const NamedInputs &inputs, NamedTensors &outputs);
  /// Runs launch by launch and calls `observer` after each. Buffers share no memory, so that the
  /// observer can read any of them.
  Expected<NamedTensors> runObserved(std::string_view function, const NamedInputs &inputs,
                                     const LaunchObserver &observer);

  /// Runs like `run` and times each launch separately, one entry per launch. A device with a clock
  /// (Vulkan) times the launches inside one submission, from the end of the launch before, and also
  /// times later calls. Without a clock each launch is submitted alone and timed by the host.
  Status runTimed(std::string_view function, const NamedInputs &inputs, NamedTensors &outputs,
                  std::vector<LaunchTime> &times);

  /// Times of the last call; none unless the device has a clock and an earlier call of `runTimed`
  /// has started it.
  std::optional<CallTime> callTime() const;

  /// Value of a dimension that the session keeps between calls, such as the length "P" of its
  /// caches; none before a call has set it.
  std::optional<int64_t> stateDim(std::string_view name) const;

  /// Truncates the caches: sequence b keeps its first `rows[b]` tokens. Returns the number of
  /// tokens that each sequence keeps: `rows[b]`, or 0 if a mask's window let the caches drop tokens
  /// that the next token would attend to. Input error, without any effect, if the caches hold
  /// another number of sequences or fewer tokens of a sequence.
  Expected<std::vector<int64_t>> keepRows(std::span<const int64_t> rows);

  /// Size in bytes of a twin (Support/Program.h): "weights", "gradients", "moments.1" or
  /// "moments.2". 0 if the model was not compiled for training.
  int64_t twinBytes(std::string_view name) const;
  /// Copies bytes of a twin, from `offset` on. Weights are in the layout of the artifact
  /// (PackEntry). Input error if the model has no twins, or if the part exceeds the twin.
  Status readTwin(std::string_view name, int64_t offset, std::span<std::byte> to);
  Status writeTwin(std::string_view name, int64_t offset, std::span<const std::byte> from);

private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace heddle
