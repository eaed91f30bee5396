//===- KernelGrid.cpp - Grids of tiled kernels as data --------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes are left aligned: axis n of the op is axis n of the launch, and those
// that a kernel does not have count 1. The parts of a kernel share one more
// axis, last, over the tiles of all of them.
//
//===----------------------------------------------------------------------===//

#include "KernelGrid.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

using namespace mlir;

namespace heddle {

namespace {

GridAxis axisOf(kernel::FuncOp func, kernel::Size size, int64_t tile) {
  GridAxis axis;
  axis.tile = tile;
  if (size.isStatic())
    axis.count = (size.value + tile - 1) / tile;
  else
    axis.scalar = static_cast<int>(func.getScalarIndex(size.name.getValue()));
  return axis;
}

Expected<KernelCode> gridOf(kernel::FuncOp func) {
  KernelCode code;
  size_t axes = static_cast<size_t>(func.getNumAxes());
  for (size_t i = 0; i < axes; ++i)
    code.grid[i] = axisOf(func, func.getGridSize(static_cast<int64_t>(i)), func.getGridTiles()[i]);
  if (!func.hasParts())
    return code;
  GridAxis parts;
  parts.count = 0;
  for (auto part : func.getBody().getOps<kernel::PartOp>()) {
    GridAxis axis = axisOf(func, part.getExtent(), part.getTile());
    if (axis.scalar >= 0)
      return deviceError(func.getSymName().str() + ": expected parts of static size, found a scalar");
    parts.count += axis.count;
  }
  code.grid[axes] = parts;
  return code;
}

bool sameScalars(kernel::FuncOp func, const Kernel &kernel) {
  return llvm::equal(func.getScalars().getAsValueRange<StringAttr>(), kernel.scalars,
                     [](StringRef a, const std::string &b) { return a == b; });
}

} // namespace

Status fillKernelGrids(ModuleOp tiled, TargetKind target, Program &program) {
  std::map<std::string, kernel::FuncOp> bodies;
  for (auto func : tiled.getOps<kernel::FuncOp>())
    bodies[func.getSymName().str()] = func;
  for (Kernel &kernel : program.kernels) {
    auto body = bodies.find(kernel.name);
    if (body == bodies.end())
      return deviceError("kernel " + kernel.name + ": expected a body for " + toString(target) + ", found none");
    if (!sameScalars(body->second, kernel))
      return deviceError("kernel " + kernel.name + ": expected the program's scalars in its body, found others");
    Expected<KernelCode> code = gridOf(body->second);
    if (!code)
      return code.takeError();
    (target == TargetKind::Cpu ? kernel.cpu : kernel.vulkan) = *code;
  }
  return {};
}

} // namespace heddle
