//===- ProductRows.cpp - Measured choices for products on GPUs ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductRows.h"

#include "heddle/Support/Try.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <bit>
#include <cstdlib>

using namespace heddle;
using namespace heddle::planning;
using kernel::Mapping;

static constexpr std::nullopt_t either = std::nullopt;

/// The table, in order of precedence.
static constexpr ProductRow rows[] = {
    // mapping, width, code, rounded, several, rows and columns of an invocation, block, ahead,
    // buffers, matrix steps
    {Mapping::Staged, Width::Narrow, true, either, either, 8, 8, 8, 1, 1, 0,
     "a narrow tile has few invocations for its workgroup memory, so its blocks are short; a "
     "second block in flight does not help codes",
     "gpu-static: product int8, level 1: waves"},
    {Mapping::Staged, Width::Narrow, either, either, either, 8, 8, 8, 2, 1, 0,
     "a narrow tile has few invocations for its workgroup memory, so its blocks are short, with "
     "two in flight",
     "gpu-static: product, level 1: waves"},
    {Mapping::Staged, either, either, either, either, 8, 8, 16, 1, 1, 0,
     "an invocation holds 8 x 8 sums; a block takes 17 KiB of workgroup memory",
     "gpu-static: product f32, level 1: rate"},
    {Mapping::Matrix, Width::Narrow, either, false, false, 4, 8, 16, 1, 1, 4,
     "a narrow tile has few workgroups, each of which waits for the loads of a block: blocks of "
     "whole cache lines keep more loads in flight",
     "gpu: product bf16, 512 rows, 2,048 columns"},
    {Mapping::Matrix, Width::Narrow, either, either, either, 4, 8, 16, 1, 1, 0,
     "4 x 8 sums of an invocation give a narrow tile twice the invocations",
     "gpu-static: product, level 2: waves"},
    {Mapping::Matrix, Width::Widest, either, either, either, 8, 16, 8, 1, 2, 0,
     "a subgroup holds 64 x 64 sums and so multiplies twice for each matrix that it loads; with "
     "two buffers a block takes one barrier",
     "gpu-static: product f16, ampere: matrix loads"},
    {Mapping::Matrix, either, either, either, either, 8, 8, 16, 1, 1, 0,
     "an invocation holds 8 x 8 sums of a matrix unit", "gpu-static: product f16, level 2: rate"},
    {Mapping::FewRows, either, either, either, either, 0, 0, 32, 2, 1, 0,
     "few rows are bound by loading weights: two blocks of 2 KiB are in flight",
     "gpu-static: one row f32: rate"},
    {Mapping::MatrixFewRows, Width::Narrow, true, true, either, 0, 0, 128, 1, 1, 0,
     "few columns are few workgroups, which load twice as much at once; the chains of groups take "
     "the registers of a second block",
     "gpu: product int4, 1 row, 2,048 columns"},
    {Mapping::MatrixFewRows, either, true, true, either, 0, 0, 64, 1, 1, 0,
     "few rows are bound by loading weights; the chains of groups take the registers of a second "
     "block",
     "gpu: llama int4, a token"},
    {Mapping::MatrixFewRows, either, either, either, either, 0, 0, 512, 1, 1, 0,
     "few rows are bound by the latency of loads: blocks of 32 KiB are few, and a lone row is "
     "stored once",
     "gpu-static: one row f16, ampere: barriers", 64},
};

bool ProductRow::holdsFor(const ProductCase &product) const {
  auto holds = [](auto wanted, auto found) { return !wanted || *wanted == found; };
  return mapping == product.mapping && holds(width, product.width) &&
         holds(isCode, product.isCode) && holds(isRounded, product.isRounded) &&
         holds(hasSeveral, product.hasSeveral);
}

//===- Experiments -------------------------------------------------------===//

namespace {
/// A block, blocks ahead, and buffers, in place of those of the table.
struct Experiment {
  Mapping mapping;
  std::optional<Width> width;
  int64_t block, ahead, buffers;
};
} // namespace

static constexpr const char *variable = "HEDDLE_PLAN_ROWS";

static std::optional<Width> widthOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Width>>(name)
      .Case("narrow", Width::Narrow)
      .Case("wide", Width::Wide)
      .Case("widest", Width::Widest)
      .Default(std::nullopt);
}

/// Parses `matrix/wide=32,2` or `matrix/wide=8,1,2`. Blocks are powers of two, so that whole matrices
/// and groups divide them; longer ones exceed the workgroup memory.
static Expected<Experiment> parsed(llvm::StringRef text) {
  auto [name, numbers] = text.split('=');
  auto [mapping, width] = name.split('/');
  auto [block, others] = numbers.split(',');
  auto [ahead, buffers] = others.split(',');
  Experiment made{};
  made.buffers = 1;
  std::optional<Mapping> found = kernel::symbolizeMapping(mapping);
  made.width = widthOf(width);
  if (!found || !kernel::stages(*found) || (!width.empty() && !made.width) ||
      block.getAsInteger(10, made.block) || ahead.getAsInteger(10, made.ahead) || made.block < 8 ||
      made.block > 512 || !std::has_single_bit(static_cast<uint64_t>(made.block)) ||
      made.ahead < 1 || made.ahead > 4 ||
      (!buffers.empty() && buffers.getAsInteger(10, made.buffers)) || made.buffers < 1 ||
      made.buffers > 2)
    return usageError(
        std::string(variable) +
        ": expected MAPPING[/narrow, /wide or /widest]=BLOCK,AHEAD[,BUFFERS] with a mapping that "
        "stages products, a power of two from 8 to 512, 1 to 4, and 1 or 2, found '" +
        text.str() + "'");
  made.mapping = *found;
  return made;
}

static Expected<std::vector<Experiment>> experiments() {
  const char *set = std::getenv(variable);
  std::vector<Experiment> all;
  for (llvm::StringRef part : llvm::split(llvm::StringRef(set ? set : ""), ';'))
    if (!part.empty())
      all.push_back(HEDDLE_TRY(parsed(part)));
  return all;
}

Status planning::checkPlanRows() {
  HEDDLE_TRY(experiments());
  return {};
}

/// The experiments of the environment, which checkPlanRows has checked.
static std::vector<Experiment> checkedExperiments() {
  Expected<std::vector<Experiment>> all = experiments();
  assert(all && "checkPlanRows precedes");
  return std::move(*all);
}

bool planning::takesWidestTiles() {
  return llvm::any_of(checkedExperiments(), [](const Experiment &experiment) {
    return experiment.mapping == Mapping::Matrix && experiment.width == Width::Widest;
  });
}

ProductRow planning::productRow(const ProductCase &product) {
  const auto *row = llvm::find_if(rows, [&](const ProductRow &r) { return r.holdsFor(product); });
  assert(row != std::end(rows) && "each mapping that stages products has a row for either case");
  ProductRow chosen = *row;
  for (const Experiment &experiment : checkedExperiments())
    if (experiment.mapping == product.mapping &&
        experiment.width.value_or(product.width) == product.width) {
      chosen.block = experiment.block;
      chosen.ahead = experiment.ahead;
      chosen.buffers = experiment.buffers;
      chosen.matrixSteps = chosen.rowBlock = 0;
      chosen.reason = "an experiment";
      chosen.bench = variable;
    }
  return chosen;
}
