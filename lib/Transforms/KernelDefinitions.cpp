//===- KernelDefinitions.cpp - Groups as shared definitions ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deduplicates groups by text: builds a group's definition under a neutral name, prints it, and
// looks the text up. Groups of later layers are usually equal even before that, so their definition
// is found by the structure of the body alone.

#include "KernelDefinitions.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

namespace {

/// Names expressions d0, d1, … in order of appearance.
class ScalarNames {
public:
  explicit ScalarNames(Builder b) : b(b) {}
  kernel::Size name(const SizeExpr &e) {
    return e.isConstant() ? kernel::Size(e.constantValue()) : nameOf(e);
  }
  /// Names an expression even if it is constant.
  kernel::Size nameOf(const SizeExpr &e) {
    auto it = llvm::find(list, e);
    size_t index = it - list.begin();
    if (it == list.end())
      list.push_back(e);
    return b.getStringAttr("d" + Twine(index));
  }
  SmallVector<SizeExpr> list;

private:
  Builder b;
};

} // namespace

KernelDefinitions::KernelDefinitions(ModuleOp module)
    : module(module), builder(module.getContext()) {
  for (auto symbol : module.getOps<SymbolOpInterface>()) // a function may have the name of a kernel
    names.insert(symbol.getName());
}

/// Whether weights of an op, or their gradients, belong to heads, so that rows of different heads
/// differ.
static bool weighsHeads(Operation &op) {
  if (auto columns = dyn_cast<GradientColumnsOp>(op))
    return columns.getOfHeads();
  auto gradient = dyn_cast<NormGradientOp>(op);
  Value gamma = isa<LayerNormOp, RmsNormOp>(op) ? op.getOperand(1)
                : gradient                      ? gradient.getGamma()
                                                : Value();
  return gamma && cast<ShapedType>(gamma.getType()).getRank() == 2;
}

/// Whether a kernel treats all rows alike, so that its leading dimensions can be merged.
static bool treatsRowsAlike(GroupOp group) {
  return group.getRoot() != kernel::Root::Relayout &&
         llvm::all_of(group.getBody().front(), [](Operation &op) {
           return (op.hasTrait<heddle::transformer::RowsAlike>() && !weighsHeads(op)) ||
                  op.hasTrait<OpTrait::Elementwise>() || op.hasTrait<OpTrait::IsTerminator>();
         });
}

/// Merges all leading dimensions into one number of rows.
static Shape flattened(const PlannedTensor &place, bool ids) {
  if (place.weight || place.dims.size() < 2)
    return place.dims;
  SizeExpr rows = 1;
  Shape result;
  for (const SizeExpr &dim : ids ? ArrayRef(place.dims) : ArrayRef(place.dims).drop_back())
    rows = rows * dim;
  result.push_back(rows);
  if (!ids)
    result.push_back(place.dims.back());
  return result;
}

/// Layout of an argument of this type; `ids` are words that callers pass, not codes.
static kernel::LayoutAttr layoutOf(const PlannedTensor &place, Type type, bool flat, bool ids,
                                   ScalarNames &names) {
  MLIRContext *context = type.getContext();
  if (place.scalar)
    return kernel::LayoutAttr::get(
        context, kernel::ViewType(), kernel::Storage::Memory,
        place.isSite ? names.nameOf(*place.scalar) : names.name(*place.scalar), {}, {}, -1, -1, 0);
  Shape sizes = flat ? flattened(place, ids) : place.dims;
  SmallVector<kernel::ViewDim> dims;
  for (const SizeExpr &size : sizes)
    dims.push_back(names.name(size));
  if (sizes.size() > 2 && !place.perRow && !(place.rows == sizes[sizes.size() - 2]))
    dims[dims.size() - 2].pitch = names.name(place.rows);
  // Rows of flag tables are padded like other rows; views of integers are dense without a pitch.
  if (!place.dense && !place.weight && !sizes.empty() && (ids || !sizes.back().isConstant()))
    dims.back().pitch = names.name(place.perRow ? place.rows : SizeExpr::roundUp(sizes.back(), 16));
  Type element = getElementTypeOrSelf(type);
  if (formatOf(element).kind == ElementFormat::Kind::Index) // flags too
    element = IntegerType::get(context, 32);
  auto optional = [&](const std::optional<SizeExpr> &size) {
    return size ? names.name(*size) : kernel::Size();
  };
  kernel::Size at = optional(place.at), slots = optional(place.slots);
  return kernel::LayoutAttr::get(
      context, kernel::ViewType::get(context, dims, element, place.panel ? 16 : 0, 0),
      place.storage(), {}, at, slots, place.places, place.counts, place.ring);
}

/// Number of arguments for the memory that an op of training writes in addition to its results
/// (ProgramPlanner::addWritten). Zeros of `memoryType` represent each of them in a definition.
static int64_t memoriesOf(Operation &op) {
  return isa<WeightGradientOpInterface, GradientNormOp>(op) ? 1
         : isa<GradientJoinOp>(op)                          ? 2
         : isa<OptimizerOp>(op)                             ? 4
                                                            : 0;
}

static RankedTensorType memoryType(Builder b) { return RankedTensorType::get({1}, b.getF32Type()); }

/// Whether an argument has the numbers of rows, a matrix of integers.
static bool isRowNumbers(Value argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto dropout = dyn_cast<DropoutOp>(user);
    return dropout && dropout.getRows() == argument;
  });
}

/// Removes the name of a weight, because a definition does not know whose memory it writes.
static void forgetWeight(Operation &op) {
  if (!isa<WeightGradientOpInterface, GradientJoinOp>(op))
    return;
  Builder b(op.getContext());
  op.setAttr("name", b.getStringAttr("weight"));
  op.setAttr("use", b.getI64IntegerAttr(isa<GradientJoinOp>(op)));
}

/// Turns stores to states into results, because a definition does not know whose memory it writes.
static void yieldStores(Block &body) {
  Operation *yield = body.getTerminator();
  SmallVector<Value> values;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto set = dyn_cast<StateSetOp>(op)) {
      values.push_back(set.getValue());
      set.erase();
    } else if (auto append = dyn_cast<CacheAppendOp>(op)) {
      if (append.getResult().use_empty())
        values.push_back(append.getRows());
      append.getResult().replaceAllUsesWith(append.getRows());
      append.erase();
    } else if (const int64_t count = memoriesOf(op)) {
      OpBuilder b(&op);
      forgetWeight(op);
      values.append(count, arith::ConstantOp::create(b, op.getLoc(),
                                                     DenseElementsAttr::get(memoryType(b), 0.0F)));
    }
  }
  llvm::append_range(values, yield->getOperands());
  yield->setOperands(values);
}

/// Types of the values that the definition returns: values stored in states, then yielded values.
static SmallVector<Type> resultTypes(Block &body) {
  SmallVector<Type> types;
  for (Operation &op : body) {
    if (auto set = dyn_cast<StateSetOp>(op))
      types.push_back(set.getValue().getType());
    else if (auto append = dyn_cast<CacheAppendOp>(op); append && append.getResult().use_empty())
      types.push_back(append.getRows().getType());
    else
      types.append(memoriesOf(op), memoryType(Builder(op.getContext())));
  }
  for (Value yielded : body.getTerminator()->getOperands()) {
    auto append = yielded.getDefiningOp<CacheAppendOp>();
    types.push_back((append ? append.getRows() : yielded).getType());
  }
  return types;
}

//===- Equal bodies ------------------------------------------------------===//

namespace {

/// Encodes a body as words that are equal for equal bodies. Names of states are omitted, because a
/// definition does not know whose memory it writes. Attributes and types are unique in a context.
class BodyKey {
public:
  explicit BodyKey(KernelDefinitions::Key &words) : words(words) {}

  void add(const void *unique) { words.push_back(reinterpret_cast<uintptr_t>(unique)); }
  void add(Region &region) {
    for (Block &block : region) {
      words.push_back(block.getNumArguments());
      for (BlockArgument argument : block.getArguments())
        define(argument);
      for (Operation &op : block)
        add(op);
    }
    words.push_back(0); // ends a region
  }

private:
  void define(Value value) {
    numbers.try_emplace(value, numbers.size());
    add(value.getType().getAsOpaquePointer());
  }
  void add(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    NamedAttrList attributes(op.getAttrDictionary());
    if (isa<StateSetOp, CacheAppendOp>(op))
      attributes.erase("state");
    if (isa<WeightGradientOpInterface, GradientJoinOp>(op)) {
      attributes.erase("name");
      attributes.erase("use");
    }
    add(attributes.getDictionary(op.getContext()).getAsOpaquePointer());
    words.push_back(op.getNumOperands());
    for (Value operand : op.getOperands())
      words.push_back(numbers.lookup(operand));
    words.push_back(op.getNumResults());
    for (Value result : op.getResults())
      define(result);
    words.push_back(op.getNumRegions());
    for (Region &region : op.getRegions())
      add(region);
  }

  KernelDefinitions::Key &words;
  DenseMap<Value, size_t> numbers;
};

} // namespace

//===- Cost --------------------------------------------------------------===//

static SizeExpr flopsOf(GroupOp group, const ShapeExpressions &shapes) {
  SizeExpr total = 0;
  for (auto op : group.getBody().getOps<TransformerOpInterface>())
    total = total + op.countFlops(shapes);
  return total;
}

/// Bytes of `rows` rows of a matrix. Sixteen rows of codes with scales are stored together.
static SizeExpr bytesOfRows(const PlannedTensor &place, const SizeExpr &rows) {
  const SizeExpr &columns = place.dims.back();
  if (!formatOf(place.element).holdsScales())
    return rows * columns * place.elementBytes();
  return SizeExpr::floorDiv(rows * panelBytes(place.element, columns.constantValue()) + 15, 16);
}

/// Bytes of an operand that a launch reads. An id reads one row of a looked-up table. Rows in
/// groups read at most one group of the weight each.
static SizeExpr bytesRead(GroupOp group, unsigned operand, const PlannedTensor &place,
                          const ShapeExpressions &shapes) {
  const bool holdsScales = formatOf(place.element).holdsScales();
  for (OpOperand &use : group.getBody().getArgument(operand).getUses()) {
    if (storageOf(use) == OperandStorage::Table) {
      const Shape read = shapes.of(use.getOwner()->getResult(0));
      return holdsScales ? bytesOfRows(place, product(ArrayRef(read).drop_back()))
                         : product(read) * place.elementBytes();
    }
    auto op = dyn_cast<TransformerOpInterface>(use.getOwner());
    const std::optional<RowGroups> groups = op ? op.rowGroups() : std::nullopt;
    if (groups && use.get() == groups->weight)
      return bytesOfRows(place, SizeExpr::floorDiv(place.dims.front(), groups->count)) *
             SizeExpr::min(groups->count, shapes.of(op->getOperand(0))[0]);
  }
  if (holdsScales)
    return SizeExpr::floorDiv(SizeExpr::roundUp(place.dims.front(), 16), 16) *
           panelBytes(place.element, place.dims.back().constantValue());
  return product(place.dims) * place.elementBytes();
}

/// Bytes of a table of positions that a launch reads. Each row of the first operand reads one row.
static SizeExpr tableBytesRead(ArrayRef<PlannedTensor> operands, const PlannedTensor &table) {
  ArrayRef<SizeExpr> dims(table.dims);
  SizeExpr rows = dims.front();
  if (!operands.empty() && !operands.front().dims.empty())
    rows = SizeExpr::min(rows, product(ArrayRef(operands.front().dims).drop_back()));
  return rows * product(dims.drop_front()) * table.elementBytes();
}

//===- Definitions -------------------------------------------------------===//

/// Creates the definition of a group's body, under a name that the caller replaces.
kernel::DefOp KernelDefinitions::define(GroupOp group, Region &body,
                                        ArrayRef<kernel::LayoutAttr> layouts, size_t inputs,
                                        size_t scalars) {
  auto type = builder.getFunctionType(body.getArgumentTypes(),
                                      body.front().getTerminator()->getOperandTypes());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  auto def = kernel::DefOp::create(builder, group.getLoc(), "kernel", type, group.getRootAttr());
  def.getBody().takeBody(body);
  for (auto [i, layout] : llvm::enumerate(layouts.take_front(inputs)))
    def.setArgAttr(i, kernel::LayoutAttr::name, layout);
  for (auto [i, layout] : llvm::enumerate(layouts.drop_front(inputs)))
    def.setResultAttr(i, kernel::LayoutAttr::name, layout);
  SmallVector<Attribute> names;
  for (size_t i = 0; i < scalars; ++i)
    names.push_back(builder.getStringAttr("d" + Twine(i)));
  def.setScalarsAttr(builder.getArrayAttr(names));
  return def;
}

/// If a body treats all rows alike, erases from its types that each sequence has one row. The
/// definition of a decoding step then equals the definition for all rows.
static void forgetRows(Block &body) {
  auto forget = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() < 3 || !type.isDynamicDim(0))
      return;
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t &size : MutableArrayRef(shape).drop_front().drop_back())
      if (size == 1)
        size = ShapedType::kDynamic;
    value.setType(type.clone(shape));
  };
  llvm::for_each(body.getArguments(), forget);
  for (Operation &op : body)
    llvm::for_each(op.getResults(), forget);
}

/// Returns the name of the definition with this body and these layouts, and creates it if it is
/// new.
StringAttr KernelDefinitions::nameOf(GroupOp group, ArrayRef<Type> tables,
                                     ArrayRef<kernel::LayoutAttr> layouts, size_t scalars) {
  Region body;
  IRMapping mapping;
  group.getBody().cloneInto(&body, mapping);
  yieldStores(body.front());
  if (treatsRowsAlike(group))
    forgetRows(body.front());
  for (Type table : tables)
    body.addArgument(table, group.getLoc());
  kernel::DefOp def = define(group, body, layouts, body.getNumArguments(), scalars);

  // Definitions with equal text are equal; a new one is named after its group.
  std::string text;
  llvm::raw_string_ostream stream(text);
  def->print(stream, OpPrintingFlags().useLocalScope()); // numbers no values of other ops
  StringAttr &name = known[text];
  if (name) {
    def.erase();
  } else {
    std::string base = group.getName().str(), unique = base;
    for (int i = 2; !names.insert(unique).second; ++i)
      unique = base + "_" + std::to_string(i);
    name = builder.getStringAttr(unique);
    def.setSymNameAttr(name);
  }
  return name;
}

FailureOr<KernelUse> KernelDefinitions::use(GroupOp group, ArrayRef<PlannedTensor> operands,
                                            ArrayRef<PlannedTensor> tables,
                                            ArrayRef<PlannedTensor> results,
                                            const ShapeExpressions &shapes) {
  bool flat = treatsRowsAlike(group);
  ScalarNames scalars(builder);
  SmallVector<kernel::LayoutAttr> layouts;
  KernelUse use;
  use.bytes = 0;
  auto argument = [&](const PlannedTensor &place, Type type, bool ids, const SizeExpr &bytes) {
    layouts.push_back(layoutOf(place, type, flat, ids, scalars));
    if (place.scalar)
      return;
    use.buffers.push_back(place.buffer);
    use.offsets.push_back(place.offset);
    use.bytes = use.bytes + bytes;
  };
  for (auto [i, place] : llvm::enumerate(operands)) {
    Type type = group->getOperand(i).getType();
    bool ids = isa<ShapedType>(type) && formatOf(type).kind == ElementFormat::Kind::Index &&
               !isRowNumbers(group.getBody().getArgument(i));
    argument(place, type, ids, bytesRead(group, i, place, shapes));
  }
  SmallVector<Type> tableTypes;
  for (const PlannedTensor &table : tables) {
    tableTypes.push_back(RankedTensorType::get(
        {ShapedType::kDynamic, table.dims.back().constantValue()}, builder.getF32Type()));
    argument(table, tableTypes.back(), false, tableBytesRead(operands, table));
  }
  for (auto [place, type] : llvm::zip(results, resultTypes(group.getBody().front())))
    argument(place, type, false,
             place.appended.value_or(product(place.dims)) * place.elementBytes());

  Key key;
  BodyKey words(key);
  words.add(group.getRootAttr().getAsOpaquePointer());
  words.add(group.getBody());
  for (Type table : tableTypes)
    words.add(table.getAsOpaquePointer());
  for (kernel::LayoutAttr layout : layouts)
    words.add(layout.getAsOpaquePointer());
  StringAttr &name = byBody[key];
  if (!name)
    name = nameOf(group, tableTypes, layouts, scalars.list.size());
  use.kernel = name;
  use.scalars = scalars.list;
  use.flops = flopsOf(group, shapes);
  return use;
}
