//===- Positions.cpp - The tables of positions of a model -----------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the ops that add positions, before or after grouping. Functions that add the
// same numbers share a table: a step of a decoding adds a later row of the same one.
//
//===----------------------------------------------------------------------===//

#include "heddle/Compiler/Positions.h"

#include "Explain.h"
#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Sinusoids.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

constexpr int64_t usualPositions = 100, mostNumbers = 4'000'000;

/// A table, and the dimensions that its functions count.
struct Found {
  PositionTable table;
  std::set<std::string> dims;
};

class TableFinder {
public:
  void visit(func::FuncOp function) {
    ShapeExpressions shapes(function);
    known.insert(shapes.dims().begin(), shapes.dims().end());
    function.walk([&](PositionSinusoidalOp op) {
      const Shape &shape = shapes.of(op.getResult());
      PositionTable table;
      table.kind = "sinusoidal";
      table.scale = op.getScale().convertToDouble();
      table.features = shape.back().constantValue();
      add(std::move(table), function.getName().str(), shape[shape.size() - 2]);
    });
  }

  /// Names in `dims` are those of functions, and say how many positions there are.
  Status count(const Dimensions &dims);

  std::vector<Found> tables;

private:
  void add(PositionTable table, const std::string &function, const SizeExpr &rows) {
    auto same = std::find_if(tables.begin(), tables.end(), [&](const Found &other) {
      return other.table.kind == table.kind && other.table.scale == table.scale &&
             other.table.features == table.features;
    });
    if (same == tables.end())
      same = tables.insert(same, {std::move(table), {}});
    if (std::find(same->table.functions.begin(), same->table.functions.end(), function) ==
        same->table.functions.end())
      same->table.functions.push_back(function);
    if (!rows.dimName().empty())
      same->dims.insert(rows.dimName());
  }

  std::set<std::string> known;
};

Status TableFinder::count(const Dimensions &dims) {
  for (const auto &[name, value] : dims) {
    std::string list;
    for (const std::string &dim : known)
      list += (list.empty() ? "" : ", ") + dim;
    if (!known.contains(name))
      return usageError("--dim: expected a dimension of " + (list.empty() ? "none" : list) +
                        ", found " + quotedText(name));
    if (value < 1)
      return usageError("--dim: expected " + name + " of at least 1, found " +
                        std::to_string(value));
  }
  for (Found &found : tables) {
    found.table.positions = 0;
    for (const auto &[name, value] : dims)
      if (found.dims.contains(name))
        found.table.positions = std::max(found.table.positions, value);
    if (found.table.positions == 0)
      found.table.positions = usualPositions;
    int64_t most = std::max(usualPositions, mostNumbers / found.table.features);
    if (found.table.positions > most)
      return usageError("--dim: expected at most " + std::to_string(most) + " positions of " +
                        std::to_string(found.table.features) + " features, found " +
                        std::to_string(found.table.positions));
  }
  return {};
}

void fill(PositionTable &table) {
  const int64_t pitch = padded(table.features);
  std::vector<float> rows(static_cast<size_t>(table.positions * pitch));
  fillSinusoidal(table.features, rows);
  for (int64_t position = 0; position < table.positions; ++position)
    for (int64_t feature = 0; feature < table.features; ++feature)
      table.values.push_back(static_cast<float>(table.scale) *
                             rows[static_cast<size_t>(position * pitch + feature)]);
}

Expected<std::vector<PositionTable>> tablesOf(ModuleOp module, const Dimensions &dims) {
  TableFinder finder;
  for (auto function : module.getOps<func::FuncOp>())
    finder.visit(function);
  if (finder.tables.empty())
    return usageError(
        "--positions: expected a model that adds sinusoidal positions, found one without; "
        "learned ones are tensors of the checkpoint");
  if (Status status = finder.count(dims); !status)
    return status.takeError();
  std::vector<PositionTable> tables;
  for (Found &found : finder.tables) {
    fill(found.table);
    tables.push_back(std::move(found.table));
  }
  return tables;
}

} // namespace

Expected<std::vector<PositionTable>>
explainPositions(const std::string &model, const Dimensions &dims, const CompileOptions &options) {
  std::vector<PositionTable> tables;
  Status status = onModel(model, options, [&](ModuleOp module) -> Status {
    auto found = tablesOf(module, dims);
    if (!found)
      return found.takeError();
    tables = std::move(*found);
    return {};
  });
  if (!status)
    return status.takeError();
  return tables;
}

} // namespace heddle
