//===- Reference.h - Reference interpreter ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference interpreter: runs modules at stage `transformer` or `fused` with plain loops in f64. It
// defines results and shares no code with kernels. Only --verify and tests use it.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Program.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlir {
class ModuleOp;
class Operation;
class Value;
} // namespace mlir

namespace heddle {

/// A dense tensor of any element type; f64 represents integers and booleans exactly. A scalar has
/// rank 0.
struct RefTensor {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> values;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

using NamedRefTensors = std::vector<std::pair<std::string, RefTensor>>;

/// Values of a tensor, in row-major order. `areStored`: they are the values of its codes in the
/// requested type and are not rounded again.
struct ReferenceValues {
  std::vector<float> values;
  bool areStored = false;
};

/// Returns a tensor of the checkpoint for a weight of type `type`.
using ReferenceWeights =
    std::function<Expected<ReferenceValues>(const std::string &name, DType type)>;

/// Values that a group's kernel stores, in the order of the kernel's results: first the values of
/// states and the appended rows that only later calls read, then the group's results. A cache is
/// represented by its new rows.
std::vector<mlir::Value> storedValues(mlir::Operation *group);

/// Called after each op of the function's body that has tensor results. A group counts as one op
/// with its stored values as results, followed by the sums of the gradients that it adds to. An error ends the run, which returns it.
using ReferenceObserver =
    std::function<Status(mlir::Operation *op, std::span<const RefTensor *const> results)>;

/// Runs the functions of a module and keeps the states of one session.
class Reference {
public:
  /// `module` must outlive the reference. `weights` is called once for each tensor and type.
  Reference(mlir::ModuleOp module, ReferenceWeights weights);
  Reference(Reference &&) noexcept;
  ~Reference();

  /// Runs a function. Inputs and results are named by `transformer.name`, else arg0, out0, ….
  /// Inputs with a default are optional. After an error, states are as before the call.
  Expected<NamedRefTensors> run(std::string_view function, const NamedRefTensors &inputs,
                                const ReferenceObserver &observer = {});

  /// The gradients of weights that calls have added, each the sum of its accumulators, by name.
  NamedRefTensors gradients() const;
  void clearGradients();

private:
  struct Session;
  std::unique_ptr<Session> session;
};

} // namespace heddle
