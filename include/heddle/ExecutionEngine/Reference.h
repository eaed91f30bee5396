//===- Reference.h - Reference interpreter ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets modules at stage `transformer` or `fused` by plain loops in f64. It
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

/// A dense tensor of any element type; f64 holds integers and booleans exactly. A scalar has rank
/// 0.
struct RefTensor {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> values;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

using NamedRefTensors = std::vector<std::pair<std::string, RefTensor>>;

/// Values of a tensor, in row-major order. `areStored`: what its codes in the wanted type stand for,
/// which are not rounded again.
struct ReferenceValues {
  std::vector<float> values;
  bool areStored = false;
};

/// Returns a tensor of the checkpoint for a weight of this type.
using ReferenceWeights =
    std::function<Expected<ReferenceValues>(const std::string &name, DType type)>;

/// Values that a group's kernel stores, in the order of the kernel's results: values of states and
/// appended rows that only later calls read, then the group's results; for a cache, its new rows.
std::vector<mlir::Value> storedValues(mlir::Operation *group);

/// Callback after each op of the function's body with tensor results. A group counts as one op with
/// its stored values as results. An error ends the run, which returns it.
using ReferenceObserver =
    std::function<Status(mlir::Operation *op, std::span<const RefTensor *const> results)>;

/// A module and the states of a session of it.
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

private:
  struct Session;
  std::unique_ptr<Session> session;
};

} // namespace heddle
