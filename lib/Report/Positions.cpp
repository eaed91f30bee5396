//===- Positions.cpp - Positional encodings of a model --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the ops that add positions, before or after grouping. Functions with equal numbers share a
// table: a decoding step adds one of its later rows.

#include "heddle/Report/Positions.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/PositionTables.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

/// Default number of positions, and the limit of a table's elements in a picture.
constexpr int64_t usualPositions = 100, mostNumbers = 4'000'000;

void fill(PositionTable &table) {
  const int64_t pitch = padded(table.features);
  std::vector<float> rows(static_cast<size_t>(table.positions * pitch));
  fillSinusoidal(table.features, rows);
  for (int64_t position = 0; position < table.positions; ++position)
    for (int64_t feature = 0; feature < table.features; ++feature)
      table.values.push_back(static_cast<float>(table.scale) * rows[position * pitch + feature]);
}

/// Adds the tables of a function. Its dimension of positions gives their number, if it is in
/// `dims`.
void addTables(func::FuncOp function, const ShapeExpressions &shapes, const Dimensions &dims,
               std::vector<PositionTable> &tables) {
  function.walk([&](PositionSinusoidalOp op) {
    const Shape &shape = shapes.of(op.getResult());
    const double scale = op.getScale().convertToDouble();
    const int64_t features = shape.back().constantValue();
    auto table = llvm::find_if(tables, [&](const PositionTable &other) {
      return other.scale == scale && other.features == features;
    });
    if (table == tables.end())
      table = tables.insert(table, {"sinusoidal", {}, scale, 0, features, {}});
    if (std::string name = function.getName().str(); !llvm::is_contained(table->functions, name))
      table->functions.push_back(name);
    if (auto size = dims.find(shape[shape.size() - 2].dimName()); size != dims.end())
      table->positions = std::max(table->positions, size->second);
  });
}

Status checkSizes(const Dimensions &dims, const std::set<std::string> &known,
                  const std::vector<PositionTable> &tables) {
  HEDDLE_TRY(checkNames(dims, known));
  for (const auto &[name, value] : dims)
    if (value < 1)
      return usageError("--dim: expected " + name + " of at least 1, found " +
                        std::to_string(value));
  for (const PositionTable &table : tables)
    if (int64_t most = std::max(usualPositions, mostNumbers / table.features);
        table.positions > most)
      return usageError("--dim: expected at most " + std::to_string(most) + " positions of " +
                        std::to_string(table.features) + " features, found " +
                        std::to_string(table.positions));
  return {};
}

Expected<std::vector<PositionTable>> tablesOf(ModuleOp module, const Dimensions &dims) {
  std::vector<PositionTable> tables;
  std::set<std::string> known;
  for (auto function : module.getOps<func::FuncOp>()) {
    ShapeExpressions shapes(function);
    known.insert(shapes.dims().begin(), shapes.dims().end());
    addTables(function, shapes, dims, tables);
  }
  if (tables.empty())
    return usageError(
        "--positions: expected a model that adds sinusoidal positions, found one without; "
        "learned ones are tensors of the checkpoint");
  HEDDLE_TRY(checkSizes(dims, known, tables));
  for (PositionTable &table : tables) {
    if (table.positions == 0)
      table.positions = usualPositions;
    fill(table);
  }
  return tables;
}

} // namespace

Expected<std::vector<PositionTable>>
explainPositions(const std::string &model, const Dimensions &dims, const CompileOptions &options) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::read(model, options));
  return tablesOf(opened.module(), dims);
}

} // namespace heddle
