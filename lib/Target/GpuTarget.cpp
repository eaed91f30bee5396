//===- GpuTarget.cpp - Levels of Vulkan devices as data -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of levels.

#include "heddle/Target/GpuTarget.h"

#include "heddle/Support/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

using namespace heddle;

const std::vector<GpuTarget> &heddle::gpuTargets() {
  static const std::vector<GpuTarget> targets = {
      // Level 0: every device of Vulkan 1.1.
      {.level = 0,
       .sharedBytes = 16 * 1024,
       .invocations = 128,
       .capabilities = {"Shader"},
       .tiles = gpuTiles},
  };
  return targets;
}

Expected<const GpuTarget *> heddle::findGpuTarget(int level) {
  for (const GpuTarget &target : gpuTargets())
    if (target.level == level)
      return &target;
  auto levelOf = [](const GpuTarget &target) { return std::to_string(target.level); };
  return usageError("expected one of " + listText(gpuTargets(), levelOf) +
                    " as level of Vulkan devices, found " + std::to_string(level));
}

const GpuTarget *heddle::findGpuTarget(int level, mlir::Operation *op, std::string_view name) {
  Expected<const GpuTarget *> target = findGpuTarget(level);
  if (target)
    return *target;
  op->emitError() << name << ": " << target.error().message;
  return nullptr;
}
