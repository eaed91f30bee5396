//===- Reference.h - The slow meaning of every op --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interpreter of modules at stage `transformer` or `fused`: plain loops in
// f64, readable, and written without looking at any kernel. It is a witness, not
// a way to run models: only --verify and tests reach it.
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

/// A dense tensor of any element type; integers and booleans are held exactly. A scalar has rank 0.
struct RefTensor {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> values;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

using NamedRefTensors = std::vector<std::pair<std::string, RefTensor>>;

/// Values of a tensor of the checkpoint, in its own layout, rows first.
using ReferenceWeights = std::function<Expected<std::vector<float>>(const std::string &name)>;

/// What a group stores when it runs as a kernel, in the order of the kernel's results: values that
/// states are set to and rows that are appended for later calls only, then the group's results, an
/// appended cache as the rows that are new.
std::vector<mlir::Value> storedValues(mlir::Operation *group);

/// Called after each op of the function's body that has tensor results, with these results; a group
/// is one op and its results are its stored values. An error ends the run and is what the run
/// returns.
using ReferenceObserver =
    std::function<Status(mlir::Operation *op, std::span<const RefTensor *const> results)>;

/// A module and what a session of it keeps: states, lengths of caches.
class Reference {
public:
  /// `module` must outlive the reference. Weights are asked for once each.
  Reference(mlir::ModuleOp module, ReferenceWeights weights);
  Reference(Reference &&) noexcept;
  ~Reference();

  /// Runs a function. Inputs and results have the names of `transformer.name`, else arg0, out0,
  /// ...; inputs with a default may be left out.
  Expected<NamedRefTensors> run(std::string_view function, const NamedRefTensors &inputs,
                                const ReferenceObserver &observer = {});

private:
  struct Session;
  std::unique_ptr<Session> session;
};

} // namespace heddle
