//===- OutlineKernels.cpp - From groups to programs -----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function of groups becomes a program: buffers with sizes and lifetimes,
// ports, checks, and one launch a group. The planner below decides where every
// tensor lies; KernelDefinitions turns a group and those places into a shared
// kernel.def.
//
//===----------------------------------------------------------------------===//

#include "KernelDefinitions.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

namespace {

/// Plans one function.
class Planner {
public:
  Planner(func::FuncOp func, KernelDefinitions &definitions, const llvm::StringSet<> &keyStates)
      : func(func), definitions(definitions), keyStates(keyStates), shapes(func), b(func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult planArguments();
  LogicalResult planGroups();
  LogicalResult planGroup(GroupOp group, int index);
  LogicalResult planResults();
  void planSession();
  void addChecks();

  Value bufferOf(StringRef name, StringRef kind, const SizeExpr &elements);
  FailureOr<Place> operandPlace(GroupOp group, unsigned index);
  FailureOr<Place> weightPlace(GroupOp group, unsigned index, WeightOp weight);
  Place statePlace(Operation *user, StringRef symbol, const Shape &content);
  FailureOr<Place> resultPlace(GroupOp group, unsigned index, int launch);
  Place tablePlace(PositionSinusoidalOp op, GroupOp group);
  FailureOr<Place> sinkPlace(Operation *sink);
  void lifetimes();
  StringAttr text(const SizeExpr &e) { return b.getStringAttr(e.str()); }
  ArrayAttr texts(ArrayRef<SizeExpr> list);
  SmallVector<SizeExpr> stateDims(StringRef symbol);

  func::FuncOp func;
  KernelDefinitions &definitions;
  const llvm::StringSet<> &keyStates;
  ShapeExpressions shapes;
  OpBuilder b;
  kernel::ProgramOp program;
  DenseMap<Value, Place> places;
  DenseMap<Value, Value> temporaries; ///< result of a group -> its buffer
  llvm::StringMap<Value> weights, states, tables;
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Dense tensors keep their rows as callers give them: indices and vectors.
static bool isDense(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getRank() <= 1 || shaped.getElementType().isInteger(32);
}

static SizeExpr product(ArrayRef<SizeExpr> sizes) {
  SizeExpr result = 1;
  for (const SizeExpr &size : sizes)
    result = result * size;
  return result;
}

/// Elements of a tensor in memory, where its rows of heads lie `rows` apart.
static SizeExpr elementsOf(const Shape &dims, const SizeExpr &rows, bool dense) {
  if (dense)
    return product(dims);
  SizeExpr total = SizeExpr::roundUp(dims.back(), 16) * rows;
  for (size_t i = 0; i + 2 < dims.size(); ++i)
    total = dims[i] * total;
  return total;
}

static SizeExpr rowsOf(const Shape &dims) { return dims.size() < 2 ? SizeExpr(1) : dims[dims.size() - 2]; }

Value Planner::bufferOf(StringRef name, StringRef kind, const SizeExpr &elements) {
  return kernel::BufferOp::create(b, func.getLoc(), b.getType<kernel::BufferType>(), b.getStringAttr(name),
                                  b.getStringAttr(kind), text(elements), b.getI64IntegerAttr(0),
                                  b.getI64IntegerAttr(0), StringAttr());
}

ArrayAttr Planner::texts(ArrayRef<SizeExpr> list) {
  SmallVector<Attribute> attrs(llvm::map_range(list, [&](const SizeExpr &e) { return text(e); }));
  return b.getArrayAttr(attrs);
}

/// Heads are cut out of the rows of a weight; a head that is no multiple of 16 is padded on its own.
static int64_t headGroup(LinearOp linear) {
  Value value = linear.getResult();
  while (value.hasOneUse()) {
    Operation *next = *value.getUsers().begin();
    if (auto split = dyn_cast<SplitHeadsOp>(next)) {
      int64_t size = cast<ShapedType>(split.getResult().getType()).getDimSize(3);
      return size % 16 ? size : 0;
    }
    if (next->getNumResults() != 1)
      break;
    value = next->getResult(0);
  }
  return 0;
}

/// A weight's storage follows from the op that reads it.
FailureOr<Place> Planner::weightPlace(GroupOp group, unsigned index, WeightOp weight) {
  BlockArgument argument = group.getBody().getArgument(index);
  OpOperand &use = *argument.use_begin();
  auto type = cast<RankedTensorType>(weight.getType());
  StringRef layout = isa<EmbeddingOp>(use.getOwner()) ? "rows" : type.getRank() == 2 ? "panels" : "vector";
  int64_t rowGroup = 0, columnGroup = 0;
  if (auto linear = dyn_cast<LinearOp>(use.getOwner())) {
    rowGroup = headGroup(linear);
    if (auto input = dyn_cast<BlockArgument>(linear.getInput()); input && layout == "panels")
      columnGroup = places.lookup(group->getOperand(input.getArgNumber())).group;
  }
  std::string key = (weight.getName() + "|" + layout + "|" + Twine(rowGroup) + "|" + Twine(columnGroup)).str();
  Value &handle = weights[key];
  if (!handle)
    handle = kernel::WeightOp::create(b, weight.getLoc(), b.getType<kernel::BufferType>(), weight.getNameAttr(),
                                      b.getStringAttr(layout), b.getDenseI64ArrayAttr(type.getShape()),
                                      b.getI64IntegerAttr(rowGroup), b.getI64IntegerAttr(columnGroup));
  Place place{handle, 0, {}, 1, false, true};
  for (int64_t size : type.getShape())
    place.dims.push_back(size);
  auto padGroups = [](SizeExpr &size, int64_t group) {
    if (group)
      size = size.constantValue() / group * ((group + 15) / 16 * 16);
  };
  padGroups(place.dims.front(), rowGroup);
  padGroups(place.dims.back(), layout == "panels" ? columnGroup : rowGroup);
  place.rows = rowsOf(place.dims);
  place.panel = layout == "panels";
  return place;
}

SmallVector<SizeExpr> Planner::stateDims(StringRef symbol) {
  auto op = SymbolTable::lookupNearestSymbolFrom<StateOp>(func, b.getStringAttr(symbol));
  return SmallVector<SizeExpr>(dimsFromAttr(op.getDims()));
}

Place Planner::statePlace(Operation *user, StringRef symbol, const Shape &content) {
  auto op = SymbolTable::lookupNearestSymbolFrom<StateOp>(user, b.getStringAttr(symbol));
  Shape dims = dimsFromAttr(op.getDims());
  Place place;
  place.dims = content;
  bool dense = place.dense = isDense(op.getType());
  if (dims.size() == 4)
    place.rows = SizeExpr::roundUp(op.getCapacity() ? SizeExpr(static_cast<int64_t>(*op.getCapacity())) : dims[2], 16);
  place.panel = keyStates.contains(symbol);
  Value &buffer = states[symbol];
  if (!buffer)
    buffer = bufferOf(symbol, "state", elementsOf(dims, place.rows, dense));
  place.buffer = buffer;
  return place;
}

/// The table of sinusoids that a position op reads, from the row of its first position on.
Place Planner::tablePlace(PositionSinusoidalOp op, GroupOp group) {
  int64_t size = cast<ShapedType>(op.getResult().getType()).getShape().back();
  const Shape &shape = shapes.of(op.getResult());
  SizeExpr first = 0, count = shape[shape.size() - 2];
  if (Value offset = op.getOffset()) {
    Value outer = group->getOperand(cast<BlockArgument>(offset).getArgNumber());
    auto length = cast<CacheLengthOp>(outer.getDefiningOp());
    first = SizeExpr::dim(length.getDim().str());
    count = first + count;
    func->getParentOfType<ModuleOp>().walk([&](StateOp state) { // as long as the cache may become
      for (const SizeExpr &dim : dimsFromAttr(state.getDims()))
        if (dim.dimName() == length.getDim() && state.getCapacity())
          count = static_cast<int64_t>(*state.getCapacity());
    });
  }
  int64_t pitch = (size + 15) / 16 * 16;
  std::string generator = "sinusoidal(" + std::to_string(size) + ")";
  Value &table = tables[generator + count.str()];
  if (!table) {
    table = bufferOf("positions", "table", count * pitch);
    table.getDefiningOp<kernel::BufferOp>().setGenerator(generator);
  }
  Place place{table, first * pitch, {shape[shape.size() - 2], size}, shape[shape.size() - 2]};
  place.role = "table";
  return place;
}

FailureOr<Place> Planner::operandPlace(GroupOp group, unsigned index) {
  Value operand = group->getOperand(index);
  Operation *def = operand.getDefiningOp();
  if (auto weight = dyn_cast_or_null<WeightOp>(def))
    return weightPlace(group, index, weight);
  if (auto get = dyn_cast_or_null<StateGetOp>(def))
    return statePlace(get, get.getState(), shapes.of(operand));
  if (auto length = dyn_cast_or_null<CacheLengthOp>(def)) {
    Place place;
    place.scalar = SizeExpr::dim(length.getDim().str());
    return place;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(def))
    if (auto value = dyn_cast<IntegerAttr>(constant.getValue())) {
      Place place;
      place.scalar = value.getInt();
      return place;
    }
  if (auto it = places.find(operand); it != places.end())
    return it->second;
  return group.emitOpError() << "expected operand " << index << " in planned memory, a weight or a state, found "
                             << operand.getType();
}

/// Where the store that ends a part goes, if it goes to a state.
FailureOr<Place> Planner::sinkPlace(Operation *sink) {
  if (auto append = dyn_cast<CacheAppendOp>(sink)) {
    Place place = statePlace(func, append.getState(), shapes.of(append.getResult()));
    place.at = stateDims(append.getState())[2]; // behind the rows that stand there already
    return place;
  }
  auto set = cast<StateSetOp>(sink);
  return statePlace(func, set.getState(), shapes.of(set.getValue()));
}

/// Attention over heads that are no multiple of 16 wide leaves them padded one by one.
static int64_t resultGroup(Value yielded, ArrayRef<Place> operands) {
  auto merge = yielded.getDefiningOp<MergeHeadsOp>();
  if (!merge)
    return 0;
  int64_t size = cast<ShapedType>(merge->getOperand(0).getType()).getDimSize(3);
  return size % 16 ? size : 0;
}

FailureOr<Place> Planner::resultPlace(GroupOp group, unsigned index, int launch) {
  Value result = group.getResult(index);
  Value yielded = group.getBody().front().getTerminator()->getOperand(index);
  if (auto append = yielded.getDefiningOp<CacheAppendOp>())
    return sinkPlace(append);
  Place place;
  place.dims = shapes.of(result);
  place.group = resultGroup(yielded, {});
  if (place.group)
    place.dims.back() = place.dims.back().constantValue() / place.group * ((place.group + 15) / 16 * 16);
  place.panel = llvm::any_of(result.getUses(), [](OpOperand &use) {
    auto reader = dyn_cast<GroupOp>(use.getOwner());
    return reader && llvm::any_of(reader.getBody().getArgument(use.getOperandNumber()).getUses(), [](OpOperand &inner) {
             return inner.getOperandNumber() == 1 && isa<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(inner.getOwner());
           });
  });
  place.rows = place.panel ? SizeExpr::roundUp(rowsOf(place.dims), 16) : rowsOf(place.dims);
  bool returned = llvm::any_of(result.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
  place.dense = isDense(result.getType());
  place.buffer = bufferOf(group.getName(), returned ? "argument" : "temporary", elementsOf(place.dims, place.rows, place.dense));
  auto buffer = place.buffer.getDefiningOp<kernel::BufferOp>();
  buffer.setFirst(launch);
  buffer.setLast(launch);
  places[result] = place;
  return place;
}

//===----------------------------------------------------------------------===//
// The parts of a program
//===----------------------------------------------------------------------===//

LogicalResult Planner::run() {
  b.setInsertionPoint(func);
  program = kernel::ProgramOp::create(b, func.getLoc(), func.getSymNameAttr(), b.getStrArrayAttr({}), b.getStrArrayAttr({}),
                                      b.getStrArrayAttr({}), UnitAttr(), UnitAttr(), StringAttr());
  b.createBlock(&program.getBody());
  if (failed(planArguments()) || failed(planGroups()) || failed(planResults()))
    return failure();
  planSession();
  addChecks();
  return success();
}

/// Lengths are at most the number of keys they limit.
static std::optional<SizeExpr> lengthLimit(Value argument, const ShapeExpressions &shapes) {
  for (OpOperand &use : argument.getUses())
    if (auto group = dyn_cast<GroupOp>(use.getOwner()))
      for (Operation *inner : group.getBody().getArgument(use.getOperandNumber()).getUsers())
        if (isa<MaskLengthsOp>(inner))
          for (Operation &op : group.getBody().front())
            if (isa<AttentionOp, AttentionWeightsOp>(op))
              return shapes.of(op.getOperand(1))[2] + 1;
  return std::nullopt;
}

LogicalResult Planner::planArguments() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto name = func.getArgAttrOfType<StringAttr>(index, "transformer.name");
    if (!name)
      name = b.getStringAttr("arg" + Twine(index));
    if (!type)
      return func.emitError() << "argument " << name << ": expected a tensor, found " << argument.getType();
    Type element = type.getElementType();
    if (!element.isF32() && !element.isInteger(32) && !element.isInteger(1))
      return func.emitError() << "argument " << name << ": expected elements of f32, i32 or i1, found " << element << ", which is not built yet";
    Place place;
    place.dims = shapes.of(argument);
    place.rows = rowsOf(place.dims);
    place.dense = isDense(type);
    place.buffer = bufferOf(name, "argument", elementsOf(place.dims, place.rows, place.dense));
    places[argument] = place;
    auto input = kernel::InputOp::create(b, func.getLoc(), name, place.buffer,
                                         b.getStringAttr(element.isF32() ? "f32" : element.isInteger(1) ? "bool" : "i32"),
                                         texts(place.dims), b.getI64IntegerAttr(0), place.dense ? b.getUnitAttr() : UnitAttr(), ArrayAttr(), DictionaryAttr());
    if (auto port = func.getArgAttrOfType<ArrayAttr>(index, "transformer.port")) // callers leave dimensions of 1 out
      input.setShapeAttr(texts(dimsFromAttr(port)));
    if (auto range = func.getArgAttrOfType<ArrayAttr>(index, "transformer.range"))
      input.setRangeAttr(texts(dimsFromAttr(range)));
    else if (auto limit = lengthLimit(argument, shapes))
      input.setRangeAttr(texts({SizeExpr(0), *limit}));
    if (auto fallback = func.getArgAttrOfType<DictionaryAttr>(index, "transformer.default"))
      input.setFallbackAttr(fallback);
  }
  return success();
}

LogicalResult Planner::planGroups() {
  int index = 0;
  for (Operation &op : func.getBody().front()) {
    if (auto group = dyn_cast<GroupOp>(op)) {
      if (failed(planGroup(group, index++)))
        return failure();
    } else if (!isa<WeightOp, arith::ConstantOp, StateGetOp, CacheLengthOp, CacheClearOp, CacheReorderOp, func::ReturnOp>(op)) {
      return op.emitOpError("expected a group, found an op outside of one; run group-kernels first");
    }
  }
  return success();
}

/// Heads side by side, padded one by one, can only be the input of a projection: its weight is packed alike.
static LogicalResult verifyGrouped(GroupOp group, unsigned operand, const Place &place) {
  for (OpOperand &use : group.getBody().getArgument(operand).getUses())
    if (place.group && !(isa<LinearOp>(use.getOwner()) && use.getOperandNumber() == 0))
      return group.emitOpError() << "operand " << operand << ": merged heads of " << place.group
                                 << " features (no multiple of 16) that enter '" << use.getOwner()->getName()
                                 << "' are not built yet, expected a projection";
  return success();
}

LogicalResult Planner::planGroup(GroupOp group, int index) {
  SmallVector<Place> operands, results;
  for (unsigned i = 0; i < group->getNumOperands(); ++i) {
    FailureOr<Place> place = operandPlace(group, i);
    if (failed(place) || failed(verifyGrouped(group, i, *place)))
      return failure();
    if (auto buffer = place->buffer ? place->buffer.getDefiningOp<kernel::BufferOp>() : nullptr)
      if (buffer.getKind() == "temporary")
        buffer.setLast(index);
    operands.push_back(*place);
  }
  std::optional<Place> table;
  for (Operation &op : group.getBody().front()) {
    if (auto position = dyn_cast<PositionSinusoidalOp>(op))
      table = tablePlace(position, group);
    if (isa<StateSetOp>(op) || (isa<CacheAppendOp>(op) && op.use_empty()))
      results.push_back(*sinkPlace(&op));
  }
  for (unsigned i = 0; i < group->getNumResults(); ++i) {
    FailureOr<Place> place = resultPlace(group, i, index);
    if (failed(place))
      return failure();
    results.push_back(*place);
    places[group.getResult(i)] = *place;
    places[group.getResult(i)].at.reset();
  }
  FailureOr<KernelUse> use = definitions.use(group, operands, table, results, shapes);
  if (failed(use))
    return failure();
  SmallVector<Value> buffers;
  SmallVector<SizeExpr> offsets;
  for (const Place &place : use->arguments) {
    buffers.push_back(place.buffer);
    offsets.push_back(place.offset);
  }
  kernel::LaunchOp::create(b, group.getLoc(), FlatSymbolRefAttr::get(b.getContext(), use->kernel), buffers, texts(offsets),
                           texts(use->scalars), text(use->flops), text(use->bytes));
  return success();
}

LogicalResult Planner::planResults() {
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    auto name = func.getResultAttrOfType<StringAttr>(index, "transformer.name");
    if (!name)
      name = b.getStringAttr("out" + Twine(index));
    auto it = places.find(value);
    if (it == places.end())
      return ret.emitOpError() << "result " << name << ": expected a value that a kernel writes or an argument";
    const Place &place = it->second;
    Shape shape = shapes.of(value);
    Type element = cast<ShapedType>(value.getType()).getElementType();
    bool dense = isDense(value.getType());
    kernel::OutputOp::create(b, func.getLoc(), name, place.buffer, b.getStringAttr(element.isF32() ? "f32" : element.isInteger(1) ? "bool" : "i32"),
                             texts(shape), b.getI64IntegerAttr(place.group), dense ? b.getUnitAttr() : UnitAttr(), ArrayAttr(), DictionaryAttr());
  }
  return success();
}

/// Dimensions that outlive the call.
void Planner::planSession() {
  llvm::SetVector<StringRef> kept;
  SmallVector<std::pair<std::string, SizeExpr>> updates;
  auto update = [&](const std::string &name, const SizeExpr &value) {
    for (auto &entry : updates)
      if (entry.first == name)
        return;
    updates.push_back({name, value});
  };
  auto keep = [&](StringRef symbol) {
    for (const SizeExpr &dim : stateDims(symbol))
      if (!dim.isConstant())
        kept.insert(b.getStringAttr(dim.dimName()).getValue());
  };
  bool session = false;
  func.walk([&](Operation *op) {
    if (auto append = dyn_cast<CacheAppendOp>(op)) {
      keep(append.getState());
      SmallVector<SizeExpr> dims = stateDims(append.getState());
      update(dims[2].dimName(), dims[2] + shapes.of(append.getRows())[2]);
    } else if (auto get = dyn_cast<StateGetOp>(op)) {
      keep(get.getState());
    } else if (auto set = dyn_cast<StateSetOp>(op)) {
      for (auto [dim, size] : llvm::zip(stateDims(set.getState()), shapes.of(set.getValue())))
        if (!dim.isConstant())
          update(dim.dimName(), size);
    } else if (auto clear = dyn_cast<CacheClearOp>(op)) {
      update(clear.getDim().str(), 0);
      program.setStartsStates(true);
    } else if (auto reorder = dyn_cast<CacheReorderOp>(op)) {
      auto argument = cast<BlockArgument>(reorder.getParents());
      program.setReorderBy(func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name"));
      func->getParentOfType<ModuleOp>().walk([&](StateOp state) {
        keep(state.getSymName());
        // The sizes that the states have afterwards: as many rows as there are parents.
        std::string batch = dimsFromAttr(state.getDims())[0].dimName();
        Place place = statePlace(func, state.getSymName(), dimsFromAttr(state.getDims()));
        auto buffer = place.buffer.getDefiningOp<kernel::BufferOp>();
        buffer.setElements(SizeExpr::parse(buffer.getElements().str())->substitute({{batch, shapes.of(argument)[0]}}).str());
        update(batch, shapes.of(argument)[0]);
      });
    } else {
      return;
    }
    session = true;
  });
  SmallVector<StringRef> dims(shapes.dims().begin(), shapes.dims().end());
  llvm::SetVector<StringRef> unique(dims.begin(), dims.end());
  program.setDimsAttr(b.getStrArrayAttr(unique.getArrayRef()));
  program.setStateDimsAttr(b.getStrArrayAttr(kept.getArrayRef()));
  SmallVector<Attribute> list;
  for (auto &[name, value] : updates)
    list.append({b.getStringAttr(name), text(value)});
  program.setUpdatesAttr(b.getArrayAttr(list));
  program.setNeedsSession(session);
}

void Planner::addChecks() {
  llvm::StringSet<> seen;
  auto check = [&](StringRef relation, const SizeExpr &left, const SizeExpr &right, const Twine &message) {
    if (seen.insert(left.str() + "|" + right.str()).second)
      kernel::CheckOp::create(b, func.getLoc(), b.getStringAttr(relation), text(left), text(right), b.getStringAttr(message));
  };
  for (const ShapeEquality &e : shapes.equalities())
    check(e.atMost ? "at_most" : "equal", e.left, e.right, func.getSymName() + ": " + e.what + ": expected " + e.left.str() + (e.atMost ? " <= " : " = ") + e.right.str() + ", found {left} and {right}");
  func.walk([&](CacheAppendOp append) {
    auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(func, append.getStateAttr().getAttr());
    if (auto capacity = state.getCapacity()) {
      SmallVector<SizeExpr> dims = stateDims(append.getState());
      check("at_most", dims[2] + shapes.of(append.getRows())[2], static_cast<int64_t>(*capacity),
            func.getSymName() + ": expected at most {right} steps, found step {left}");
    }
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// States whose content attention reads as keys: they are kept in panels.
static llvm::StringSet<> statesOfKeys(ModuleOp module) {
  llvm::StringSet<> result;
  module.walk([&](Operation *op) {
    if (!isa<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(op))
      return;
    Value key = op->getOperand(1);
    if (auto argument = dyn_cast<BlockArgument>(key))
      if (auto group = dyn_cast<GroupOp>(argument.getOwner()->getParentOp()))
        key = group->getOperand(argument.getArgNumber());
    if (auto group = key.getDefiningOp<GroupOp>())
      key = group.getBody().front().getTerminator()->getOperand(cast<OpResult>(key).getResultNumber());
    if (auto get = key.getDefiningOp<StateGetOp>())
      result.insert(get.getState());
    if (auto append = key.getDefiningOp<CacheAppendOp>())
      result.insert(append.getState());
  });
  return result;
}

namespace {
struct OutlineKernels : heddle::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelDefinitions definitions(module);
    llvm::StringSet<> keyStates = statesOfKeys(module);
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (failed(Planner(func, definitions, keyStates).run()))
        return signalPassFailure();
      func.erase();
    }
    for (auto state : llvm::make_early_inc_range(module.getOps<StateOp>()))
      state.erase();
  }
};
} // namespace
