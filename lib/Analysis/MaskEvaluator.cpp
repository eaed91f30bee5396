//===- MaskEvaluator.cpp - Masks and score rules on the host --------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a mask or a rule is emitted into a free block whose arguments are
// the place and the tile; whatever it asks of its operands is a call of a host
// function that reads the given data.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/MaskEvaluator.h"

#include "HostProgram.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {
/// Arguments of the block, in order.
enum Argument { Batch, Head, Queries, Keys, I0, I1, J0, J1, argumentCount };

/// Emits calls for what depends on data, and remembers which operands these read.
class HostSite : public MaskSite {
public:
  HostSite(Location location, Block &body, int64_t heads, int64_t rows, int64_t columns)
      : location(location), body(body), heads(heads), rows(rows), columns(columns) {}

  Location loc() const override { return location; }
  Value rowIndices(OpBuilder &b) override { return call(b, "rows", {}, tile(b.getI32Type())); }
  Value columnIndices(OpBuilder &b) override {
    return call(b, "columns", {}, tile(b.getI32Type()));
  }
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

  /// Constants of the function need no data.
  Value scalar(OpBuilder &b, Value operand) override {
    TypedAttr number;
    if (matchPattern(operand, m_Constant(&number)))
      return arith::ConstantOp::create(b, location, number);
    return call(b, named("scalar", operand), {}, operand.getType());
  }
  Value perBatch(OpBuilder &b, Value table) override {
    return call(b, named("batch", table), {}, b.getI32Type());
  }
  Value dense(OpBuilder &b, Value table) override {
    return call(b, named("dense", table), {}, tile(elementOf(table)));
  }
  Value lookup(OpBuilder &b, Value table, Value index) override {
    return call(b, named("lookup", table), index, tile(elementOf(table)));
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
    return call(b, named("lookup", table), x, elementOf(table));
  }
  std::pair<Value, Value> tableRange(OpBuilder &b, Value table, Value from, Value to) override {
    Type i32 = b.getI32Type();
    auto op = func::CallOp::create(b, location, named("range", table), TypeRange{i32, i32},
                                   ValueRange{from, to});
    return {op.getResult(0), op.getResult(1)};
  }
  Value perHead(OpBuilder &b, Value table, Value x) override {
    return call(b, named("head", table), x, elementOf(table));
  }
  Value block(OpBuilder &b, Value table, Value y, Value x) override {
    Type i1 = b.getI1Type();
    return call(b, named("block", table), {y, x}, isa<ShapedType>(y.getType()) ? tile(i1) : i1);
  }

  /// Operands in the order of their numbers.
  SmallVector<Value> operands;

private:
  Type tile(Type element) { return RankedTensorType::get({rows, columns}, element); }
  static Type elementOf(Value table) { return cast<ShapedType>(table.getType()).getElementType(); }
  Value call(OpBuilder &b, StringRef name, ValueRange arguments, Type result) {
    return func::CallOp::create(b, location, name, TypeRange(result), arguments).getResult(0);
  }
  std::string named(StringRef what, Value operand) {
    auto *found = llvm::find(operands, operand);
    size_t number = found - operands.begin();
    if (found == operands.end())
      operands.push_back(operand);
    return (what + "." + Twine(number)).str();
  }

  Location location;
  Block &body;
  int64_t heads, rows, columns;
};
} // namespace

//===----------------------------------------------------------------------===//
// Code and data
//===----------------------------------------------------------------------===//

namespace {
/// A block of emitted code, and the functions that it calls.
class HostCode {
public:
  HostCode(Value mask, int64_t heads, const MaskInputs &inputs, int64_t rows, int64_t columns)
      : builder(mask.getContext()), site(mask.getLoc(), block, heads, rows, columns),
        inputs(inputs), rows(rows), columns(columns) {
    for (int n = 0; n < argumentCount; ++n)
      block.addArgument(builder.getI32Type(), mask.getLoc());
    builder.setInsertionPointToStart(&block);
  }

  /// After the code is emitted: an error's text, or nothing.
  std::string compile() {
    for (Value operand : site.operands)
      if (std::string error = check(operand); !error.empty())
        return error;
    return program.compile(block, [&](StringRef name) { return resolve(name); });
  }

  void run(const MaskPlace &at, const MaskTile &tile) {
    place = at;
    i0 = tile.i0;
    j0 = tile.j0;
    int64_t values[argumentCount] = {at.batch, at.head, at.queries, at.keys,
                                     tile.i0,  tile.i1, tile.j0,    tile.j1};
    for (auto [n, value] : llvm::enumerate(values))
      program.setArgument(n, value);
    program.run();
  }

private:
  std::string check(Value operand);
  HostProgram::Function resolve(StringRef name);
  HostProgram::Function resolveTable(StringRef what, const MaskData &data);

  /// `table[x]` or `table[b, x]`, 0 outside.
  uint32_t entry(const MaskData &data, int64_t x) const {
    int64_t size = data.shape.back(), row = data.shape.size() == 2 ? place.batch : 0;
    bool inside = x >= 0 && x < size && (data.shape.size() == 1 || row < data.shape[0]);
    return inside ? data.values[row * size + x] : 0;
  }

  /// `table[b|0, h|0, y, x]`; with `repeat` y and x are 0 in dimensions of 1 too.
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
  HostProgram program;

private:
  const MaskInputs &inputs;
  int64_t rows, columns;
  MaskPlace place;
  int64_t i0 = 0, j0 = 0;
};
} // namespace

std::string HostCode::check(Value operand) {
  auto found = inputs.find(operand);
  if (found == inputs.end())
    return "expected data for each operand of the mask, found none for one";
  const MaskData &data = found->second;
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (data.shape.size() != static_cast<size_t>(type ? type.getRank() : 0))
    return "expected data of rank " + std::to_string(type ? type.getRank() : 0) + ", found rank " +
           std::to_string(data.shape.size());
  int64_t count = 1;
  for (int64_t size : data.shape)
    count *= size;
  if (static_cast<int64_t>(data.values.size()) != count)
    return "expected " + std::to_string(count) + " values, found " +
           std::to_string(data.values.size());
  return "";
}

static void fill(Elements &result, int64_t rows, int64_t columns,
                 llvm::function_ref<uint32_t(int64_t, int64_t)> element) {
  result.resize(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[i * columns + j] = element(i, j);
}

HostProgram::Function HostCode::resolve(StringRef name) {
  if (name == "rows")
    return [this](auto, auto results) {
      fill(*results[0], rows, columns, [&](int64_t i, int64_t) { return i0 + i; });
    };
  if (name == "columns")
    return [this](auto, auto results) {
      fill(*results[0], rows, columns, [&](int64_t, int64_t j) { return j0 + j; });
    };
  if (name == "splat")
    return [this](auto operands, auto results) {
      results[0]->assign(rows * columns, (*operands[0])[0]);
    };
  auto [what, number] = name.split('.');
  return resolveTable(what, inputs.find(site.operands[std::stoul(number.str())])->second);
}

HostProgram::Function HostCode::resolveTable(StringRef what, const MaskData &data) {
  auto signedAt = [](const Elements &x, size_t n) { return static_cast<int32_t>(x[n]); };
  if (what == "scalar")
    return [&data](auto, auto results) { *results[0] = {data.values[0]}; };
  if (what == "batch")
    return [this, &data](auto, auto results) { *results[0] = {entry(data, place.batch)}; };
  if (what == "dense")
    return [this, &data](auto, auto results) {
      fill(*results[0], rows, columns,
           [&](int64_t i, int64_t j) { return entry(data, i0 + i, j0 + j, /*repeat=*/true); });
    };
  if (what == "head")
    return [this, &data, signedAt](auto operands, auto results) {
      *results[0] = {data.values[signedAt(*operands[0], 0) * data.shape[1] + place.head]};
    };
  if (what == "block")
    return [this, &data, signedAt](auto operands, auto results) {
      results[0]->resize(operands[0]->size());
      for (size_t n = 0; n < operands[0]->size(); ++n)
        (*results[0])[n] =
            entry(data, signedAt(*operands[0], n), signedAt(*operands[1], n), /*repeat=*/false);
    };
  if (what == "range")
    return [this, &data, signedAt](auto operands, auto results) {
      int64_t from = signedAt(*operands[0], 0), to = signedAt(*operands[1], 0);
      int32_t low = std::numeric_limits<int32_t>::max(), high = std::numeric_limits<int32_t>::min();
      for (int64_t x = from; x < to; ++x) {
        low = std::min(low, static_cast<int32_t>(entry(data, x)));
        high = std::max(high, static_cast<int32_t>(entry(data, x)));
      }
      *results[0] = {static_cast<uint32_t>(low)};
      *results[1] = {static_cast<uint32_t>(high)};
    };
  return [this, &data, signedAt](auto operands, auto results) { // lookup
    results[0]->resize(operands[0]->size());
    for (size_t n = 0; n < operands[0]->size(); ++n)
      (*results[0])[n] = entry(data, signedAt(*operands[0], n));
  };
}

//===----------------------------------------------------------------------===//
// The evaluator
//===----------------------------------------------------------------------===//

struct MaskEvaluator::Program {
  Program(Value mask, int64_t heads, const MaskInputs &inputs, int64_t rows, int64_t columns)
      : bounds(mask, heads, inputs, 1, 1), elements(mask, heads, inputs, rows, columns) {}

  HostCode bounds, elements;
  Value may, must, element;
};

MaskEvaluator::MaskEvaluator(std::unique_ptr<Program> program) : program(std::move(program)) {}
MaskEvaluator::MaskEvaluator(MaskEvaluator &&) = default;
MaskEvaluator &MaskEvaluator::operator=(MaskEvaluator &&) = default;
MaskEvaluator::~MaskEvaluator() = default;

llvm::Expected<MaskEvaluator> MaskEvaluator::create(Value value, int64_t heads,
                                                    const MaskInputs &inputs, int64_t tileRows,
                                                    int64_t tileColumns) {
  value.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect>();
  auto program = std::make_unique<Program>(value, heads, inputs, tileRows, tileColumns);
  HostCode &bounds = program->bounds, &elements = program->elements;
  if (isa<MaskType>(value.getType())) {
    auto at = [&](Argument n) -> Value { return bounds.block.getArgument(n); };
    TileTruth truth = boundOf(value, bounds.builder, bounds.site, {at(I0), at(I1), at(J0), at(J1)});
    program->may = truth.may;
    program->must = truth.must;
    program->element = elements.site.predicateOf(elements.builder, value);
  } else {
    program->element = biasOf(value).emitScore(elements.builder, elements.site);
  }
  for (HostCode *code : {&bounds, &elements})
    if (std::string error = code->compile(); !error.empty())
      return llvm::createStringError(error);
  return MaskEvaluator(std::move(program));
}

MaskBounds MaskEvaluator::bound(const MaskPlace &place, const MaskTile &tile) {
  if (!program->may)
    return {true, false};
  program->bounds.run(place, tile);
  HostProgram &code = program->bounds.program;
  return {code.result(program->may)[0] != 0, code.result(program->must)[0] != 0};
}

const std::vector<uint32_t> &MaskEvaluator::elements(const MaskPlace &place, int64_t i0,
                                                     int64_t j0) {
  program->elements.run(place, {i0, i0, j0, j0});
  return program->elements.program.result(program->element);
}

bool MaskEvaluator::hasTrapped() const {
  return program->bounds.program.trapped || program->elements.program.trapped;
}
