//===- ProgramPlanner.cpp - Planning of a program -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the storage of tensors by their kind (weight, state, table, scalar, result), then the
// program in order: arguments, groups, results.

#include "ProgramPlanner.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/DropoutSites.h"
#include "heddle/Planning/Limits.h"
#include "heddle/Support/Program.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

//===- Storage of tensors -------------------------------------------------===//

/// Whether rows are stored as callers pass them: indices, vectors and numbers.
static bool isDense(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || shaped.getRank() <= 1 || shaped.getElementType().isInteger(32);
}

SizeExpr heddle::elementsOf(const Shape &dims, const SizeExpr &rows, bool dense, int64_t bytes) {
  if (dense)
    return product(dims);
  SizeExpr total = SizeExpr::floorDiv(SizeExpr::roundUp(dims.back(), 16) * bytes, 4) * rows;
  for (size_t i = 0; i + 2 < dims.size(); ++i)
    total = dims[i] * total;
  return total;
}

static std::vector<SizeExpr> listOf(ArrayRef<SizeExpr> sizes) { return sizes.vec(); }

static SizeExpr rowsOf(const Shape &dims) {
  return dims.size() < 2 ? SizeExpr(1) : dims[dims.size() - 2];
}

Value ProgramPlanner::bufferOf(Buffer buffer) {
  return kernel::BufferOp::create(b, func.getLoc(), b.getType<kernel::BufferType>(),
                                  kernel::BufferAttr::get(b.getContext(), std::move(buffer)));
}

/// Layout of a weight in the program. Tables are stored in rows, unless their type is narrow or a
/// product reads the same matrix; the matrix is then stored once.
PackEntry::Layout ProgramPlanner::layoutOf(WeightOp weight, OperandStorage storage) const {
  if (weight.getScales())
    return PackEntry::Layout::Scales;
  if (storage == OperandStorage::Vector)
    return PackEntry::Layout::Vector;
  const bool inPanels =
      storage == OperandStorage::Panels ||
      (storage == OperandStorage::Table &&
       (formatOf(weight.getType()).isNarrow() || matrices.contains(weight.getName())));
  return inPanels ? PackEntry::Layout::Panels : PackEntry::Layout::Rows;
}

/// Storage of a weight, determined by the op that reads it.
FailureOr<PlannedTensor> ProgramPlanner::weightPlace(GroupOp group, unsigned index,
                                                     WeightOp weight) {
  BlockArgument argument = group.getBody().getArgument(index);
  OpOperand &use = *argument.use_begin();
  auto type = cast<RankedTensorType>(weight.getType());
  PackEntry entry;
  entry.tensor = weight.getName().str();
  entry.layout = layoutOf(weight, storageOf(use));
  entry.type = dtypeOf(type);
  bool isPanel = entry.layout == PackEntry::Layout::Panels;
  // Padded heads: rows of a projection into heads, or columns of a matrix that reads merged heads.
  if (rootOf(use.getOwner()) == kernel::Root::Linear) {
    entry.rowGroup = paddedHeadsOfProduct(use.getOwner()->getResult(0));
    if (auto input = dyn_cast<BlockArgument>(use.getOwner()->getOperand(0)); input && isPanel)
      if (const PlannedTensor *place = places.lookup(group->getOperand(input.getArgNumber())))
        entry.columnGroup = place->group;
  }
  if (entry.type != DType::F32 && !isPanel)
    return weight.emitOpError("expected a weight of ")
           << type.getElementType() << " to be a table or the matrix of a product";
  if (formatOf(entry.type).holdsScales() && entry.columnGroup)
    return weight.emitOpError("expected a weight of ")
           << type.getElementType()
           << " to have columns that are stored side by side, found heads of " << entry.columnGroup
           << ", which are padded";
  entry.shape = weight.getCheckpointShape().vec();
  int64_t rows = type.getDimSize(weight.getScales() ? 1 : 0);
  if (type.getRank() == 2 && (entry.shape.empty() || entry.shape.front() != rows))
    entry.rows = rows;
  auto pack = kernel::PackAttr::get(b.getContext(), entry);
  Value &handle = weights[pack];
  if (!handle)
    handle = kernel::WeightOp::create(b, weight.getLoc(), b.getType<kernel::BufferType>(), pack);
  PlannedTensor place{handle, 0, {}, 1, false, true};
  for (int64_t size : type.getShape())
    place.dims.push_back(size);
  auto padGroups = [](SizeExpr &size, int64_t group) {
    if (group)
      size = size.constantValue() / group * padded(group);
  };
  if (entry.layout != PackEntry::Layout::Scales) // two rows
    padGroups(place.dims.front(), entry.rowGroup);
  padGroups(place.dims.back(), isPanel ? entry.columnGroup : entry.rowGroup);
  place.rows = rowsOf(place.dims);
  place.element = entry.type;
  place.panel = isPanel;
  packs[weight.getName()].insert({pack, place});
  return place;
}

SmallVector<SizeExpr> ProgramPlanner::stateDims(StringRef symbol) {
  return SmallVector<SizeExpr>(ArrayRef<SizeExpr>(shapes.ofState(b.getStringAttr(symbol))));
}

/// Rows of the ring of a windowed cache: the rows that a call of `mostRowsOfRing` rows needs, and
/// the call's own rows; 0: all rows are kept. Chunks of keys are contiguous in the ring on every
/// device.
int64_t heddle::ringOf(StateOp op) {
  if (!op.getWindow() || !op.getCapacity())
    return 0;
  const auto needed = static_cast<int64_t>(*op.getWindow()) - 1 + mostRowsOfRing;
  const auto rows = static_cast<int64_t>(llvm::alignTo(needed, commonChunk));
  return rows < static_cast<int64_t>(*op.getCapacity()) ? rows : 0;
}

/// Number of matrices per sequence of a state, where the last `own` dimensions form a matrix.
/// Unknown dimensions count as one.
static int64_t matricesOf(const Shape &dims, size_t own) {
  int64_t count = 1;
  for (size_t i = 1; i + own < dims.size(); ++i)
    count *= dims[i].isConstant() ? dims[i].constantValue() : 1;
  return count;
}

/// Storage of a state: one buffer, sized for its capacity, or for the content that is read.
PlannedTensor ProgramPlanner::statePlace(StringRef symbol, const Shape &content) {
  StateOp op = stateNamed(symbol);
  Shape dims = dimsFromAttr(op.getDims());
  PlannedTensor place;
  place.dims = content;
  bool dense = place.dense = isDense(op.getType());
  place.element = dtypeOf(op.getType());
  place.ring = static_cast<int32_t>(ringOf(op));
  place.perRow = dims.size() == 3 && !dims.back().isConstant();
  if (place.ring)
    place.rows = place.ring;
  else if (dims.size() == 4 || place.perRow)
    place.rows = SizeExpr::roundUp(
        op.getCapacity() ? SizeExpr(static_cast<int64_t>(*op.getCapacity())) : dims[2], 16);
  place.panel = keyStates.contains(symbol);
  if (place.perRow)
    dims[2] = place.rows;
  Value &buffer = states[symbol];
  if (!buffer) {
    Buffer planned{
        symbol.str(), Buffer::Kind::State,
        elementsOf(dims, place.perRow ? dims[1] : place.rows, dense, place.elementBytes())};
    planned.matrices = matricesOf(dims, place.perRow ? 1 : 2);
    if (place.rows.isConstant() && (op.getCapacity() || place.ring))
      planned.rows = place.rows.constantValue();
    buffer = bufferOf(std::move(planned));
  }
  place.buffer = buffer;
  return place;
}

/// Storage of the table that an op reads, starting at the row of its first position.
PlannedTensor ProgramPlanner::tablePlace(TransformerOpInterface op, GroupOp group) {
  const RowTable read = *op.rowTable();
  const SizeExpr rows = rowsOf(shapes.of(op->getResult(0)));
  SizeExpr first = 0, count = rows, extent = rows;
  if (Value offset = read.offset) {
    Value outer = group->getOperand(cast<BlockArgument>(offset).getArgNumber());
    std::string length = lengthOf(func, outer);
    bool shared = outer.getDefiningOp<CacheLengthOp>() != nullptr;
    if (shared)
      first = SizeExpr::dim(length);
    if (auto capacity = capacities.find(length); capacity != capacities.end()) // the cache's limit
      count = SizeExpr(capacity->second) + (shared ? SizeExpr(0) : rows);
    extent = shared ? rows : count;
  }
  int64_t pitch = padded(read.columns);
  Value &table = tables[read.generator + count.str()];
  if (!table)
    table = bufferOf({"positions", Buffer::Kind::Table, count * pitch, 0, 0, read.generator});
  PlannedTensor place{table, first * pitch, {extent, read.columns}, extent};
  place.table = true;
  return place;
}

/// Whether an argument of a group is the site of a dropout.
static bool isSite(Value argument) {
  return llvm::any_of(argument.getUsers(),
                      [&](Operation *user) { return siteOf(user) == argument; });
}

FailureOr<PlannedTensor> ProgramPlanner::operandPlace(GroupOp group, unsigned index) {
  Value operand = group->getOperand(index);
  Operation *def = operand.getDefiningOp();
  if (auto weight = dyn_cast_or_null<WeightOp>(def))
    return weightPlace(group, index, weight);
  if (auto get = dyn_cast_or_null<StateGetOp>(def))
    return statePlace(get.getState(), shapes.of(operand));
  if (auto length = dyn_cast_or_null<CacheLengthOp>(def)) {
    PlannedTensor place;
    place.scalar = SizeExpr::dim(length.getDim().str());
    return place;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(def))
    if (auto value = dyn_cast<IntegerAttr>(constant.getValue())) {
      PlannedTensor place;
      place.scalar = value.getInt();
      place.isSite = isSite(group.getBody().getArgument(index));
      return place;
    }
  if (const PlannedTensor *place = places.lookup(operand))
    return *place;
  return group.emitOpError() << "expected operand " << index
                             << " in planned memory, a weight or a state, found "
                             << operand.getType();
}

/// Storage that an op stores a state to.
PlannedTensor ProgramPlanner::statePlaceOf(Operation *store) {
  if (auto append = dyn_cast<CacheAppendOp>(store)) {
    PlannedTensor place = statePlace(append.getState(), shapes.of(append.getResult()));
    if (append.getAt()) {
      auto numberOf = [](Value operand) {
        return static_cast<int32_t>(cast<BlockArgument>(operand).getArgNumber());
      };
      place.places = numberOf(append.getAt());
      if (append.getCount())
        place.counts = numberOf(append.getCount());
    } else {
      place.at = stateDims(append.getState())[2]; // after the existing rows
    }
    place.appended = product(shapes.of(append.getRows()));
    return place;
  }
  auto set = cast<StateSetOp>(store);
  return statePlace(set.getState(), shapes.of(set.getValue()));
}

/// The place of the logits, which the gradient of the loss replaces if no other group reads them: a
/// row is read before its gradient is stored. Null for other results.
const PlannedTensor *ProgramPlanner::replacedPlace(GroupOp group, Value yielded) const {
  auto loss = yielded.getDefiningOp<CrossEntropyGradientOp>();
  auto argument = loss ? dyn_cast<BlockArgument>(loss.getLogits()) : BlockArgument();
  if (!argument || yielded != loss.getGradient())
    return nullptr;
  Value logits = group.getOperand(argument.getArgNumber());
  const PlannedTensor *place = places.lookup(logits);
  auto buffer = place && place->buffer ? place->buffer.getDefiningOp<kernel::BufferOp>() : nullptr;
  const bool isOwn = buffer && buffer.getInfo().getValue().kind == Buffer::Kind::Temporary;
  return isOwn && logits.hasOneUse() && !place->panel ? place : nullptr;
}

/// Storage of a result: after the rows of a state, in the place of an operand, or a new buffer, which
/// is in panels if attention reads it as keys.
FailureOr<PlannedTensor> ProgramPlanner::resultPlace(GroupOp group, unsigned index, int launch) {
  Value result = group.getResult(index);
  Value yielded = group.getBody().front().getTerminator()->getOperand(index);
  if (auto append = yielded.getDefiningOp<CacheAppendOp>())
    return statePlaceOf(append);
  if (const PlannedTensor *replaced = replacedPlace(group, yielded))
    return *replaced;
  PlannedTensor place;
  place.dims = shapes.of(result);
  place.group = paddedHeadsOfContext(group, yielded);
  if (place.group)
    place.dims.back() = place.dims.back().constantValue() / place.group * padded(place.group);
  place.panel = llvm::any_of(result.getUses(), [](OpOperand &use) {
    auto reader = dyn_cast<GroupOp>(use.getOwner());
    return reader &&
           llvm::any_of(reader.getBody().getArgument(use.getOperandNumber()).getUses(),
                        [](OpOperand &read) { return storageOf(read) == OperandStorage::Panels; });
  });
  place.rows = place.panel ? SizeExpr::roundUp(rowsOf(place.dims), 16) : rowsOf(place.dims);
  if (group.packsDocuments()) // one more panel for each
    place.rows =
        (SizeExpr::floorDiv(rowsOf(place.dims), 16) + shapes.of(group->getOperand(1))[0] - 1) * 16;
  bool returned =
      llvm::any_of(result.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
  place.dense = isDense(result.getType());
  place.element = dtypeOf(result.getType());
  place.buffer = bufferOf(
      {group.getName().str(), returned ? Buffer::Kind::Argument : Buffer::Kind::Temporary,
       elementsOf(place.dims, place.rows, place.dense, place.elementBytes()), launch, launch});
  return place;
}

//===- Planning of the program --------------------------------------------===//

LogicalResult ProgramPlanner::run() {
  b.setInsertionPoint(func);
  program = kernel::ProgramOp::create(b, func.getLoc(), func.getSymNameAttr(),
                                      kernel::FunctionAttr::get(b.getContext(), Function()));
  b.createBlock(&program.getBody());
  if (failed(checkSignature(func)) || failed(checkCounts(func)) || failed(planArguments()) ||
      failed(planGroups()) || failed(planResults()))
    return failure();
  planSession();
  addChecks();
  return success();
}

/// Whether callers see the first two dimensions of an argument or result transposed.
static bool isTransposed(DictionaryAttr attributes) {
  if (!attributes)
    return false;
  auto dims = attributes.getAs<ArrayAttr>(TransformerDialect::dimsAttr),
       port = attributes.getAs<ArrayAttr>(TransformerDialect::portAttr);
  return dims && port && TransformerDialect::isTransposed(dims, port);
}

std::string ProgramPlanner::argumentName(unsigned index) {
  if (auto name = func.getArgAttrOfType<StringAttr>(index, "transformer.name"))
    return name.str();
  return "arg" + std::to_string(index);
}

/// Sets the range of an argument. Calls are rejected if they bind values that readers cannot use,
/// or values outside the range that the argument names.
void ProgramPlanner::limitValues(Port &input, const ArgumentLimits &limits, ArrayAttr named) {
  input.starts = !limits.allStarts().empty();
  Shape range{0, 0};
  if (named && !input.starts)
    range = sizesFromAttr(named);
  if (std::optional<SizeExpr> high = limits.high())
    range[1] = named && !input.starts ? SizeExpr::min(range[1], *high) : *high;
  else if (!named)
    return;
  input.range = {range[0], range[1]};
  for (BlockArgument starts : limits.boundedBy())
    input.boundedBy.push_back(argumentName(starts.getArgNumber()));
  input.maxLength = limits.maxLength;
  std::string rows = "rows that " + input.name + " cuts into documents";
  for (const SizeExpr &other : limits.allStarts().drop_front(input.starts ? 1 : 0))
    limitChecks.push_back({limits.allStarts().front() - 1, other - 1, rows, /*atMost=*/false});
  if (input.starts && limits.highOfOthers())
    limitChecks.push_back({*limits.high(), *limits.highOfOthers(), rows, /*atMost=*/true});
}

LogicalResult ProgramPlanner::planArguments() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    Port port;
    port.name = argumentName(index);
    PlannedTensor place;
    place.dims = type ? shapes.of(argument) : Shape{1}; // a number is a vector of one element
    place.rows = rowsOf(place.dims);
    place.dense = isDense(argument.getType());
    place.buffer = bufferOf(
        {port.name, Buffer::Kind::Argument, elementsOf(place.dims, place.rows, place.dense, 4)});
    setPlace(argument, place);
    port.type = dtypeOf(argument.getType());
    port.dense = place.dense;
    if (auto callers = func.getArgAttrOfType<ArrayAttr>(
            index, "transformer.port")) // they omit dimensions of size 1
      port.shape = listOf(dimsFromAttr(callers));
    else if (type)
      port.shape = listOf(place.dims);
    port.transposed = isTransposed(func.getArgAttrDict(index));
    if (auto broadcast = func.getArgAttrOfType<ArrayAttr>(index, "transformer.broadcast"))
      port.broadcast = listOf(sizesFromAttr(broadcast));
    limitValues(port, ArgumentLimits(argument, shapes),
                func.getArgAttrOfType<ArrayAttr>(index, TransformerDialect::rangeAttr));
    port.fallback = defaultFromAttr(func.getArgAttr(index, TransformerDialect::defaultAttr))
                        .value_or(DefaultInput());
    kernel::InputOp::create(b, func.getLoc(), kernel::PortAttr::get(b.getContext(), port),
                            place.buffer);
  }
  return success();
}

LogicalResult ProgramPlanner::planGroups() {
  int index = 0;
  for (Operation &op : func.getBody().front()) {
    if (auto group = dyn_cast<GroupOp>(op)) {
      if (failed(planGroup(group, index++)))
        return failure();
    } else if (!staysBetweenKernels(&op) && !isa<func::ReturnOp>(op)) {
      return op.emitOpError(
          "expected a group, found an op outside of one; run group-kernels first");
    }
  }
  for (auto [buffer, last] : lastReaders)
    kernel::BufferOp(buffer).change([last = last](Buffer &b) { b.last = last; });
  return success();
}

/// Sets the rows of the grid over packed documents. Each document may end in a partial tile, and
/// the largest tile of any device is assumed.
void ProgramPlanner::addSlots(TransformerOpInterface op, SmallVectorImpl<PlannedTensor> &operands) {
  if (const std::optional<RowGroups> groups = op.rowGroups()) {
    // Groups without rows follow the others and have no tiles.
    const SizeExpr rows = rowsOf(shapes.of(op->getOperand(0)));
    operands[cast<BlockArgument>(groups->starts).getArgNumber()].slots =
        rows + SizeExpr::min(rows, groups->count) * largestLinearRows;
    return;
  }
  Value starts = op.documentStarts(), rows = starts ? op->getOperand(0) : Value();
  if (auto scores = dyn_cast<ScoresOpInterface>(*op); scores && scores.rowsAreKeys())
    rows = scores.getKey();
  if (starts)
    operands[cast<BlockArgument>(starts).getArgNumber()].slots =
        rowsOf(shapes.of(rows)) + (shapes.of(starts)[0] - 1) * largestAttentionRows;
}

LogicalResult ProgramPlanner::planGroup(GroupOp group, int index) {
  SmallVector<PlannedTensor> operands, results;
  operands.reserve(group->getNumOperands());
  for (unsigned i = 0; i < group->getNumOperands(); ++i) {
    FailureOr<PlannedTensor> place = operandPlace(group, i);
    if (failed(place))
      return failure();
    // A temporary lives until its last reader.
    if (auto buffer = place->buffer ? place->buffer.getDefiningOp<kernel::BufferOp>() : nullptr)
      if (buffer.getInfo().getValue().kind == Buffer::Kind::Temporary)
        lastReaders[buffer] = index;
    operands.push_back(std::move(*place));
  }
  SmallVector<PlannedTensor> tables;
  for (TransformerOpInterface reader : readersOfTables(group.getBody().front()))
    tables.push_back(tablePlace(reader, group));
  for (Operation &op : group.getBody().front()) {
    if (auto known = dyn_cast<TransformerOpInterface>(op))
      addSlots(known, operands);
    if (isa<StateSetOp>(op) || (isa<CacheAppendOp>(op) && op.use_empty()))
      results.push_back(statePlaceOf(&op));
    if (failed(addWritten(&op, results)))
      return failure();
  }
  for (unsigned i = 0; i < group->getNumResults(); ++i) {
    FailureOr<PlannedTensor> place = resultPlace(group, i, index);
    if (failed(place))
      return failure();
    setPlace(group.getResult(i), place->whole());
    results.push_back(std::move(*place));
  }
  FailureOr<KernelUse> use = definitions.use(group, operands, tables, results, shapes);
  if (failed(use))
    return failure();
  const auto rounded = roundedPlaces(group, operands, index);
  for (const auto &[buffer, offset] : rounded) {
    use->buffers.push_back(buffer);
    use->offsets.push_back(offset);
  }
  MLIRContext *context = b.getContext();
  kernel::LaunchOp::create(b, group.getLoc(), FlatSymbolRefAttr::get(context, use->kernel),
                           use->buffers, kernel::SizesAttr::get(context, use->offsets),
                           kernel::SizesAttr::get(context, listOf(use->scalars)),
                           kernel::SizeAttr::get(context, use->flops),
                           kernel::SizeAttr::get(context, use->bytes),
                           rounded.empty() ? UnitAttr() : b.getUnitAttr());
  return success();
}

LogicalResult ProgramPlanner::planResults() {
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    auto name = func.getResultAttrOfType<StringAttr>(index, "transformer.name");
    if (!name)
      name = b.getStringAttr("out" + Twine(index));
    const PlannedTensor *planned = places.lookup(value);
    if (!planned)
      return ret.emitOpError() << "result " << name
                               << ": expected a value that a kernel writes or an argument";
    const PlannedTensor &place = *planned;
    Shape shape = shapes.of(value);
    Port port;
    port.name = name.str();
    port.type = dtypeOf(value.getType());
    port.group = place.group;
    port.dense = isDense(value.getType());
    port.transposed = isTransposed(func.getResultAttrDict(index));
    if (port.transposed)
      std::swap(shape[0], shape[1]);
    port.shape = listOf(shape);
    kernel::OutputOp::create(b, func.getLoc(), kernel::PortAttr::get(b.getContext(), port),
                             place.buffer);
  }
  return success();
}
