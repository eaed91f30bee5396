//===- GpuTarget.cpp - Levels of Vulkan devices as data -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capabilities, extensions and tile sizes of the kernels of each level.

#include "heddle/Target/GpuTarget.h"

#include "heddle/Support/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

using namespace heddle;

namespace {

/// Capabilities and features that kernels of a level use.
struct Writing {
  std::vector<std::string> capabilities, extensions;
  bool packedDots = false;
};

const Writing &writingOf(int level, const std::string &form) {
  static const std::vector<std::string> subgroups = {"Shader",
                                                     "GroupNonUniform",
                                                     "GroupNonUniformVote",
                                                     "GroupNonUniformArithmetic",
                                                     "GroupNonUniformBallot",
                                                     "GroupNonUniformShuffle"};
  static const Writing least = {.capabilities = {"Shader"}, .extensions = {}};
  static const Writing groups = {.capabilities = subgroups, .extensions = {}};
  static const Writing dots = [] {
    Writing writing = {.capabilities = subgroups,
                       .extensions = {"SPV_KHR_integer_dot_product"},
                       .packedDots = true};
    writing.capabilities.insert(writing.capabilities.end(),
                                {"DotProduct", "DotProductInput4x8BitPacked"});
    return writing;
  }();
  static const Writing matrices = [] {
    Writing writing = {.capabilities = subgroups,
                       .extensions = {"SPV_KHR_cooperative_matrix", "SPV_KHR_vulkan_memory_model",
                                      "SPV_KHR_bfloat16", "SPV_KHR_integer_dot_product"}};
    writing.capabilities.insert(writing.capabilities.end(),
                                {"VulkanMemoryModel", "CooperativeMatrixKHR", "Float16", "Int8",
                                 "BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR", "DotProduct",
                                 "DotProductInput4x8BitPacked"});
    return writing;
  }();
  if (level == 0)
    return least;
  return level == 2 ? matrices : form == "dot" ? dots : groups;
}

/// Rows of attention on physical GPUs. If possible, each invocation has its own query. Keys and
/// values are then the same for all invocations, so drivers load them once for each subgroup.
constexpr std::array<int64_t, 2> ownAttentionRows{64, gpuAttentionRows.front()};
constexpr TileSizes realTiles = [] {
  TileSizes tiles = teamTiles;
  tiles.attentionRows = ownAttentionRows;
  return tiles;
}();

/// Queries of attention: one matrix for each of four subgroups; in a decoding step, one matrix of
/// one subgroup.
constexpr std::array<int64_t, 2> smallQueries{32, 8}, squareQueries{64, 16};

/// Tiles for matrix units. Each invocation of a subgroup holds 8 x 8 sums, or 4 x 8 in narrow
/// tiles, and four invocations are next to each other. A tile of 128 rows and columns then has 256
/// invocations. It has 64 rows if a subgroup has only 8 invocations. The form for few rows has the
/// rows of one matrix.
const TileSizes *tilesOfMatrices(const VulkanLevel &way) {
  static constexpr auto tilesOf = [](int64_t rows, int64_t fewRows) {
    TileSizes tiles = teamTiles;
    tiles.linearRows = rows;
    tiles.fewRows = fewRows;
    tiles.attentionRows = fewRows == 8 ? smallQueries : squareQueries;
    tiles.multipliesMatrices = true;
    return tiles;
  };
  static constexpr TileSizes small = tilesOf(64, 8), flat = tilesOf(128, 8),
                             square = tilesOf(128, 16);
  if (way.matrices.empty())
    return nullptr;
  return way.subgroup == 8 ? &small : way.matrices.front().m == 8 ? &flat : &square;
}

} // namespace

const MatrixShape *GpuTarget::matrixOf(DType rows, DType weights) const {
  const bool rounds = rows == DType::F32 && weights == DType::F16,
             widens = rows == DType::I8 && weights == DType::I4;
  for (const MatrixShape &shape : matrices)
    if ((rows == weights || rounds || widens) && shape.operands == (widens ? rows : weights))
      return &shape;
  return nullptr;
}

const std::vector<GpuTarget> &heddle::gpuTargets() {
  static const std::vector<GpuTarget> targets = [] {
    std::vector<GpuTarget> all;
    for (const VulkanLevel &way : vulkanLevels()) {
      const Writing &writing = writingOf(way.level, way.form);
      const TileSizes &tiles = way.level == 0 ? gpuTiles : realTiles;
      all.push_back({way, writing.capabilities, writing.extensions, tiles, writing.packedDots,
                     tilesOfMatrices(way)});
    }
    return all;
  }();
  return targets;
}

Expected<const GpuTarget *> heddle::findGpuTarget(std::string_view name) {
  for (const GpuTarget &target : gpuTargets())
    if (target.name() == name)
      return &target;
  return usageError("expected one of " + listText(gpuTargets(), &GpuTarget::name) +
                    " as level of Vulkan devices, found " + std::string(name));
}

const GpuTarget *heddle::findGpuTarget(std::string_view name, mlir::Operation *op,
                                       std::string_view pass) {
  Expected<const GpuTarget *> target = findGpuTarget(name);
  if (target)
    return *target;
  op->emitError() << pass << ": " << target.error().message;
  return nullptr;
}

Expected<std::vector<const GpuTarget *>> heddle::gpuTargetsUpTo(std::optional<int> level) {
  int highest = gpuTargets().back().level;
  if (level && (*level < 0 || *level > highest))
    return usageError("--vulkan-level: expected a level of 0 to " + std::to_string(highest) +
                      ", found " + std::to_string(*level));
  std::vector<const GpuTarget *> chosen;
  for (const GpuTarget &target : gpuTargets())
    if (!level || target.level <= *level)
      chosen.push_back(&target);
  return chosen;
}
