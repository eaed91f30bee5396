//===- MaskEvaluator.cpp - Masks and score rules on the host --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the code of a mask or rule into a detached block, whose arguments are
// the place, the tile and one element. Operands are read by calls, which
// ScalarProgram resolves to functions on the data.

#include "heddle/Analysis/MaskEvaluator.h"

#include "heddle/Analysis/ScalarProgram.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <bit>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// Arguments of the block, in order. Row and Column are tiles of one element.
enum Argument { Batch, Head, Queries, Keys, I0, I1, J0, J1, Row, Column, argumentCount };

/// MaskSite that reads operands by `func.call`, which HostCode::reader resolves.
class HostSite : public MaskSite {
public:
  HostSite(Location location, Block &body, int64_t heads)
      : location(location), body(body), heads(heads) {}

  Location loc() const override { return location; }
  Value rowIndices(OpBuilder &) override { return body.getArgument(Row); }
  Value columnIndices(OpBuilder &) override { return body.getArgument(Column); }
  Value splat(OpBuilder &b, Value scalar) override {
    return call(b, "splat", scalar, tile(scalar.getType()));
  }
  Value keyCount(OpBuilder &) override { return body.getArgument(Keys); }
  Value queryCount(OpBuilder &) override { return body.getArgument(Queries); }
  Value batch(OpBuilder &) override { return body.getArgument(Batch); }
  Value head(OpBuilder &) override { return body.getArgument(Head); }
  int64_t headCount() const override { return heads; }
  Value defaultOffset(OpBuilder &b) override {
    return arith::SubIOp::create(b, location, keyCount(b), queryCount(b));
  }

  /// Copies constants of the function, which need no data.
  Value scalar(OpBuilder &b, Value operand) override {
    TypedAttr number;
    if (matchPattern(operand, m_Constant(&number)))
      return arith::ConstantOp::create(b, location, number);
    return operand;
  }
  Value perBatch(OpBuilder &b, Value table) override {
    return call(b, "lookup", {table, batch(b)}, b.getI32Type());
  }
  Value dense(OpBuilder &b, Value table) override {
    return call(b, "dense", {table, rowIndices(b), columnIndices(b)}, tile(elementOf(table)));
  }
  Value lookup(OpBuilder &b, Value table, Value index) override {
    return call(b, "lookup", {table, index}, tile(elementOf(table)));
  }
  Value lookupRow(OpBuilder &b, Value table, Value offset) override {
    Value rows = rowIndices(b);
    if (offset)
      rows = arith::AddIOp::create(b, location, rows, splat(b, offset));
    return lookup(b, table, rows);
  }
  Value lookupColumn(OpBuilder &b, Value table) override {
    return lookup(b, table, columnIndices(b));
  }
  Value lookupScalar(OpBuilder &b, Value table, Value x) override {
    return call(b, "lookup", {table, x}, elementOf(table));
  }
  std::pair<Value, Value> tableRange(OpBuilder &b, Value table, Value from, Value to) override {
    Type i32 = b.getI32Type();
    auto op = func::CallOp::create(b, location, "range", TypeRange{i32, i32},
                                   ValueRange{table, from, to});
    return {op.getResult(0), op.getResult(1)};
  }
  Value perHead(OpBuilder &b, Value table, Value x) override {
    return call(b, "head", {table, x}, elementOf(table));
  }
  Value ofRow(OpBuilder &b, Value table, bool keys, Value index) override {
    return call(b, "block", {table, keys ? columnIndices(b) : rowIndices(b), index},
                tile(elementOf(table)));
  }
  Value block(OpBuilder &b, Value table, Value y, Value x) override {
    Type i1 = b.getI1Type();
    return call(b, "block", {table, y, x}, isa<ShapedType>(y.getType()) ? tile(i1) : i1);
  }

private:
  static Type tile(Type element) { return RankedTensorType::get({1, 1}, element); }
  static Type elementOf(Value table) { return cast<ShapedType>(table.getType()).getElementType(); }
  Value call(OpBuilder &b, StringRef name, ValueRange arguments, Type result) {
    return func::CallOp::create(b, location, name, TypeRange(result), arguments).getResult(0);
  }

  Location location;
  Block &body;
  int64_t heads;
};
} // namespace

//===- Code and data -----------------------------------------------------===//

static double numberOf(uint32_t bits, Type type) {
  return type.isF32() ? double{std::bit_cast<float>(bits)} : static_cast<int32_t>(bits);
}

namespace {
/// A block of emitted code and the data that it reads.
class HostCode {
public:
  HostCode(Value mask, int64_t heads, const MaskInputs &inputs)
      : builder(mask.getContext()), site(mask.getLoc(), block, heads), inputs(inputs) {
    Type i32 = builder.getI32Type();
    for (int n = 0; n < argumentCount; ++n)
      block.addArgument(n < Row ? i32 : RankedTensorType::get({1, 1}, i32), mask.getLoc());
    builder.setInsertionPointToStart(&block);
  }

  /// Compiles the block after emission. Returns an error message, or "" on success.
  std::string compile(ArrayRef<Value> results);

  /// Runs the code and returns the compiled results.
  SmallVector<double, 2> run(const MaskPlace &at, const MaskTile &tile) {
    place = at;
    double arguments[argumentCount];
    int64_t values[] = {at.batch, at.head, at.queries, at.keys, tile.i0,
                        tile.i1,  tile.j0, tile.j1,    tile.i0, tile.j0};
    llvm::copy(values, arguments);
    ScalarProgram::Cells cells = program.run(arguments);
    trapped |= program.hasTrapped(cells);
    return llvm::map_to_vector<2>(results, [&](unsigned cell) { return cells[cell]; });
  }

private:
  const MaskData *dataOf(Value operand);
  ScalarProgram::Function reader(Operation *op);

  /// `table[x]` or `table[b, x]`; 0 outside the table.
  uint32_t entry(const MaskData &data, int64_t x) const {
    int64_t size = data.shape.back(), row = data.shape.size() == 2 ? place.batch : 0;
    bool inside = x >= 0 && x < size && (data.shape.size() == 1 || row < data.shape[0]);
    return inside ? data.values[row * size + x] : 0;
  }

  /// `table[b|0, h|0, y, x]`; 0 outside the table. With `repeat`, y and x are also broadcast along
  /// dimensions of size 1.
  uint32_t entry(const MaskData &data, int64_t y, int64_t x, bool repeat) const {
    int64_t index = 0, at[] = {place.batch, place.head, y, x};
    for (int64_t n = 0; n < 4; ++n) {
      int64_t i = data.shape[n] == 1 && (repeat || n < 2) ? 0 : at[n];
      if (i < 0 || i >= data.shape[n])
        return 0;
      index = index * data.shape[n] + i;
    }
    return data.values[index];
  }

public:
  Block block;
  OpBuilder builder;
  HostSite site;
  bool trapped = false; ///< whether any run so far trapped

private:
  const MaskInputs &inputs;
  ScalarProgram program;
  SmallVector<unsigned, 2> results;
  std::string error;
  MaskPlace place;
};
} // namespace

std::string HostCode::compile(ArrayRef<Value> values) {
  ScalarProgram::Site outside{[this](Value operand) {
                                const MaskData *data = dataOf(operand);
                                return data ? numberOf(data->values[0], operand.getType()) : 0;
                              },
                              [this](Operation *op) { return reader(op); }};
  if (Operation *unknown = program.compile(block, outside)) {
    if (error.empty()) // no data are missing either
      error =
          "expected ops that masks emit, found '" + unknown->getName().getStringRef().str() + "'";
    return error;
  }
  for (Value value : values)
    results.push_back(program.cellOf(value, outside));
  return error;
}

/// Data of an operand. Sets `error` and returns null if they are missing or have another shape.
const MaskData *HostCode::dataOf(Value operand) {
  auto found = inputs.find(operand);
  if (found == inputs.end()) {
    error = "expected data for each operand of the mask, found none for one";
    return nullptr;
  }
  const MaskData &data = found->second;
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  size_t rank = type ? type.getRank() : 0;
  size_t count = static_cast<size_t>(llvm::product_of(data.shape, int64_t{1}));
  if (data.shape.size() != rank)
    error = "expected data of rank " + std::to_string(rank) + ", found rank " +
            std::to_string(data.shape.size());
  else if (data.values.size() != count)
    error = "expected " + std::to_string(count) + " values, found " +
            std::to_string(data.values.size());
  else
    return &data;
  return nullptr;
}

/// Resolves a call emitted by HostSite to a function on the operand's data.
ScalarProgram::Function HostCode::reader(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return {};
  StringRef how = call.getCallee();
  if (how == "splat")
    return [](const double *x, double *r) { *r = *x; };
  const MaskData *found = dataOf(call.getOperand(0));
  if (!found)
    return {};
  const MaskData &data = *found;
  Type type = getElementTypeOrSelf(call.getOperand(0).getType());
  if (how == "range")
    return [this, &data](const double *x, double *r) {
      r[0] = std::numeric_limits<int32_t>::max();
      r[1] = std::numeric_limits<int32_t>::min();
      for (double at = x[0]; at < x[1]; ++at) {
        double number = static_cast<int32_t>(entry(data, static_cast<int64_t>(at)));
        r[0] = std::min(r[0], number);
        r[1] = std::max(r[1], number);
      }
    };
  if (how == "head")
    return [this, &data, type](const double *x, double *r) {
      *r = numberOf(data.values[static_cast<int64_t>(x[0]) * data.shape[1] + place.head], type);
    };
  if (how == "lookup")
    return [this, &data, type](const double *x, double *r) {
      *r = numberOf(entry(data, static_cast<int64_t>(x[0])), type);
    };
  return [this, &data, type, repeat = how == "dense"](const double *x, double *r) {
    auto row = static_cast<int64_t>(x[0]), column = static_cast<int64_t>(x[1]);
    *r = numberOf(entry(data, row, column, repeat), type);
  };
}

//===- The evaluator -----------------------------------------------------===//

struct MaskEvaluator::Program {
  Program(Value mask, int64_t heads, const MaskInputs &inputs)
      : bounds(mask, heads, inputs), element(mask, heads, inputs) {}

  HostCode bounds, element;
  bool hasBounds = false; ///< true for a mask, false for a score rule
  std::vector<uint32_t> elements;
};

MaskEvaluator::MaskEvaluator(std::unique_ptr<Program> program, int64_t rows, int64_t columns)
    : program(std::move(program)), rows(rows), columns(columns) {}
MaskEvaluator::MaskEvaluator(MaskEvaluator &&) = default;
MaskEvaluator &MaskEvaluator::operator=(MaskEvaluator &&) = default;
MaskEvaluator::~MaskEvaluator() = default;

llvm::Expected<MaskEvaluator> MaskEvaluator::create(Value value, int64_t heads,
                                                    const MaskInputs &inputs, int64_t tileRows,
                                                    int64_t tileColumns) {
  value.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect>();
  auto program = std::make_unique<Program>(value, heads, inputs);
  HostCode &bounds = program->bounds, &element = program->element;
  program->hasBounds = isa<MaskType>(value.getType());
  std::string error;
  if (program->hasBounds) {
    auto at = [&](Argument n) -> Value { return bounds.block.getArgument(n); };
    TileTruth truth = boundOf(value, bounds.builder, bounds.site, {at(I0), at(I1), at(J0), at(J1)});
    error = bounds.compile({truth.may, truth.must});
  }
  if (error.empty())
    error = element.compile(program->hasBounds
                                ? element.site.predicateOf(element.builder, value)
                                : biasOf(value).emitScore(element.builder, element.site));
  if (!error.empty())
    return llvm::createStringError(error);
  return MaskEvaluator(std::move(program), tileRows, tileColumns);
}

MaskBounds MaskEvaluator::bound(const MaskPlace &place, const MaskTile &tile) {
  if (!program->hasBounds)
    return {true, false};
  auto truth = program->bounds.run(place, tile);
  return {truth[0] != 0, truth[1] != 0};
}

const std::vector<uint32_t> &MaskEvaluator::elements(const MaskPlace &place, int64_t i0,
                                                     int64_t j0) {
  program->elements.clear();
  for (int64_t i = i0; i < i0 + rows; ++i)
    for (int64_t j = j0; j < j0 + columns; ++j) {
      double number = program->element.run(place, {i, i, j, j})[0];
      program->elements.push_back(
          program->hasBounds ? number != 0 : std::bit_cast<uint32_t>(static_cast<float>(number)));
    }
  return program->elements;
}

bool MaskEvaluator::hasTrapped() const {
  return program->bounds.trapped || program->element.trapped;
}
