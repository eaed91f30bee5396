//===- GpuKernel.h - Entry point of a Vulkan kernel ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file builds the module around the body of a Vulkan kernel: bindings, push
// constants, built-in variables, workgroup memory, barriers and entry point. No other
// file of the GPU compiler knows the interface between runtime and kernel
// (Support/Program.h).
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelWindow.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace heddle {

/// Words of a vec4, the unit in which memory is read and written.
inline constexpr int64_t kVec4 = 4;

/// Arrays in workgroup memory. Each has a single use, so that few barriers are needed.
enum class SharedArray {
  Tile,
  Maxima,
  Sums,
  Lanes,
  Left,
  Right,
  Scales,
  Matrices,
  Chunks,
  ChunkNumbers
};

/// Builds the module around the body of a kernel.
class GpuKernel {
public:
  GpuKernel(mlir::OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target)
      : builder(builder), func(func), target(target), window(kernel::windowOf(func)) {}

  /// Opens the module and the entry point, and leaves the builder in the entry point's body. With
  /// `readsApart`, arguments that are only read have a non-writable variable of their own. Drivers
  /// may then load values that are equal for all invocations once per subgroup.
  mlir::LogicalResult begin(int64_t invocations, bool readsApart = false);
  /// Closes the module: interface, entry point, workgroup size. Fails if the workgroup memory does
  /// not fit.
  mlir::LogicalResult finish();

  /// Returns a scalar of the launch, an i32.
  mlir::Value scalar(llvm::StringRef name);
  /// Returns the start of a view's argument, in words from the start of its binding.
  mlir::Value argumentStart(int64_t argument);
  /// Whether the argument is a table that the kernel sees through a window of rows.
  bool gathersFrom(int64_t argument) const {
    return window && window->axis < 0 && window->argument == argument;
  }
  /// Returns the first row of the window and the number of its rows.
  std::pair<mlir::Value, mlir::Value> rowsInWindow();
  /// Returns the numbers of the rows that the kernel gathers from that table, or null.
  mlir::Value gatheredRows() {
    return window && window->axis < 0 ? kernel::gatheredRows(func, *window) : mlir::Value();
  }
  /// Returns this workgroup's point on a grid axis: its id plus the base of the dispatch.
  mlir::Value gridPoint(int64_t axis);
  /// Whether the device keeps denormals of f16: a specialization constant, false unless set.
  mlir::Value keepsHalves();
  /// Number of this invocation in its workgroup.
  mlir::Value invocation();
  /// Number of this invocation's subgroup, and of the invocation in its subgroup.
  mlir::Value subgroup();
  mlir::Value lane();

  /// Pointer to vec4 `index` of an argument, as f32.
  mlir::Value vec4(int64_t argument, mlir::Value index);
  /// Pointer to one word of a vec4.
  mlir::Value lane(int64_t argument, mlir::Value index, mlir::Value lane);
  /// Pointer to one word, f32 or i32.
  mlir::Value element(int64_t argument, mlir::Value index);

  /// Pointer to entry `index` of an array in workgroup memory, or to a lane of the entry. The first
  /// use declares the array.
  mlir::Value shared(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
                     mlir::Value lane = {});
  /// Barrier of the workgroup, which orders accesses to workgroup memory only.
  void barrier();
  /// Barrier of the subgroup, which orders accesses to workgroup memory only.
  void meetSubgroup();
  /// Memory fence without a wait, after which the driver's compiler reads workgroup memory anew.
  void forgetShared();

private:
  /// A descriptor binding: its number, the type of an entry, and whether a view of it is written.
  struct Binding {
    int number;
    mlir::Type element;
    bool written;
  };
  mlir::Location loc() { return func.getLoc(); }
  /// Words of scalars and arguments.
  int64_t argumentWords() { return func.getScalars().size() + func.getNumViews(); }
  /// Words of a launch without the grid's base.
  int64_t launchWords() {
    return argumentWords() + (window && window->axis < 0 ? vulkanWindowWords : 0);
  }
  Binding bindingOf(int64_t argument);
  /// Returns the key of an argument's variable: its binding, and whether it is only read.
  std::pair<int, bool> variableOf(int64_t argument);
  /// Rejects kernels beyond the target's limits, and stores to weights.
  mlir::LogicalResult checkInterface(int64_t invocations);
  void declareBindings();
  void pushWords(int64_t first, int64_t count);
  void loadArgumentBlock(int64_t count);
  mlir::Value builtIn(mlir::spirv::BuiltIn which);
  mlir::Value builtIn(mlir::spirv::BuiltIn which, int component);

  mlir::OpBuilder &builder;
  kernel::FuncOp func;
  const GpuTarget &target;
  const std::optional<kernel::WeightWindow> window;
  mlir::ModuleOp module;
  mlir::spirv::FuncOp entry;
  int64_t invocations = 0, workgroupBytes = 0;
  std::map<std::pair<int, bool>, mlir::Value> bindings; ///< by variableOf
  bool readsApart = false;
  std::map<std::pair<SharedArray, int64_t>, mlir::Value> arrays; ///< by use and entries
  /// Scalars, starts of arguments, rows of a window, the grid's base.
  llvm::SmallVector<mlir::Value> words;
  mlir::Value keepsHalvesConstant;
};

} // namespace heddle
