//===- Contender.h - A timed kernel -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One artifact on a device with its buffers placed and filled. Compiled models and hand-written
// kernels use the same path: an artifact, a program, and launches through the runtime's Device. The
// last launch of the program is timed.
#pragma once

#include "Values.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Support/Artifact.h"

#include <map>

namespace heddle::bench {

/// Values of inputs by name.
using Inputs = std::map<std::string, Values>;

/// Seconds of a launch: wall time, and processor time of all our threads together. If the device is
/// the processor, other load on the machine hardly affects the latter.
struct Duration {
  double wall = 0, processor = 0;
};

class Contender {
public:
  /// Loads the only function of an artifact on `device` ("cpu", "vulkan" or "vulkan:N"; `threads`
  /// 0: all processors) and uploads its inputs; integers are passed as floats with their bits.
  /// Shapes must be dense in memory, that is, need no padding.
  static Expected<Contender> create(Artifact artifact, const std::string &device, int threads,
                                    const Dimensions &dims, const Inputs &inputs);

  /// Runs all launches once and returns the function's only output.
  Expected<Values> run();
  /// Times the last launch: seconds per execution over `repeat` executions, after the same number
  /// of warm-up executions.
  Expected<Duration> time(int repeat);
  std::string describe() const { return code->describe(); }

private:
  struct Step {
    int kernel;
    std::vector<LaunchAddress> arguments;
    std::vector<int64_t> scalars;
    std::array<int64_t, 3> grid;
    LaunchCall call() const { return {kernel, arguments, scalars, grid}; }
  };

  explicit Contender(Artifact artifact);
  const Function &function() const { return artifact->program().functions.front(); }
  Status placeBuffers(const Dimensions &dims);
  Status addStep(const Launch &launch, const Dimensions &dims);
  Expected<LaunchAddress> addressOf(const LaunchArgument &argument, const Dimensions &dims) const;
  Status upload(const Inputs &inputs);

  std::unique_ptr<Artifact> artifact; ///< must not move: the code points into it
  std::unique_ptr<DeviceCode> code;
  std::unique_ptr<Device> device;
  std::vector<MemoryRange> buffers;
  std::vector<Step> steps;
};

/// A tensor of a checkpoint.
struct CheckpointTensor {
  std::string name;
  std::vector<int64_t> shape;
  const Values &values;
};
/// Compiles a model for a target; `weights` are its checkpoint.
Expected<Artifact> compileKernel(const std::string &model, const std::string &target,
                                 const std::vector<CheckpointTensor> &weights);

/// A hand-written kernel as an artifact whose program has one launch. The weights are concatenated.
struct Witness {
  std::string module; ///< path of its SPIR-V
  Kernel kernel;      ///< name, arguments, scalars, grid and workgroup
  Function function;  ///< buffers, ports and the launch
  std::vector<Weight> weights;
  Values weightValues;
};
Expected<Artifact> packWitness(Witness witness);

} // namespace heddle::bench
