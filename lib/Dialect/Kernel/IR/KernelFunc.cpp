//===- KernelFunc.cpp - Kernels and their parts -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text, builders and verifiers of the ops that hold a body: func, part, def and
// group.

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace heddle::kernel;

//===- Groups and kernels over tensors -----------------------------------===//

/// C2 of group, C1 of def: the block ends in a yield of these types.
static LogicalResult verifyYield(Operation *op, Region &body, TypeRange results) {
  auto yield = body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
  if (!yield)
    return op->emitOpError("expected the body to end in kernel.yield");
  if (yield.getOperandTypes() != results)
    return op->emitOpError() << "expected kernel.yield of " << results << ", found "
                             << yield.getOperandTypes();
  return success();
}

static bool copiesPackedKeys(Block &body) {
  Operation *yield = body.getTerminator();
  return body.getNumArguments() == 2 && yield->getNumOperands() > 0 &&
         yield->getOperand(0) == body.getArgument(0);
}

bool GroupOp::packsDocuments() { return copiesPackedKeys(getBody().front()); }
bool DefOp::packsDocuments() {
  // An append to a cache has the same body and arguments; only its `places` distinguishes it.
  LayoutAttr layout = getResultLayout(0);
  return copiesPackedKeys(getBody().front()) && (!layout || layout.getPlaces() < 0);
}

LogicalResult GroupOp::verify() {
  if (TypeRange(getBody().getArgumentTypes()) != TypeRange(getInputs().getTypes()))
    return emitOpError() << "C1: expected body arguments of " << getInputs().getTypes()
                         << ", found " << getBody().getArgumentTypes();
  return verifyYield(*this, getBody(), getResultTypes());
}

void DefOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                  RootAttr root) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  if (root)
    state.addAttribute(getRootAttrName(state.name), root);
  Region *body = state.addRegion();
  body->push_back(new Block());
  for (Type input : type.getInputs())
    body->addArgument(input, state.location);
}

ParseResult DefOp::parse(OpAsmParser &parser, OperationState &result) {
  auto type = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                 function_interface_impl::VariadicFlag,
                 std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), type,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void DefOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

/// C2 of def: an argument or result has a layout over the def's scalars.
static LogicalResult verifyLayout(DefOp def, LayoutAttr layout, StringRef what, unsigned index) {
  if (!layout)
    return def.emitOpError() << "C2: expected a kernel.layout of " << what << " " << index
                             << ", found none";
  for (int64_t argument : {layout.getPlaces(), layout.getCounts()})
    if (argument < -1 || argument >= static_cast<int64_t>(def.getNumArguments()))
      return def.emitOpError() << "C2: expected the number of an argument, found " << argument;
  SmallVector<Size> sizes{layout.getScalar(), layout.getAt(), layout.getSlots()};
  if (ViewType view = layout.getView())
    for (const ViewDim &dim : view.getDims())
      sizes.append({dim.extent, dim.pitch});
  for (const Size &size : sizes)
    if (!size.isStatic() && !llvm::is_contained(def.getScalarsAttr(), Attribute(size.name)))
      return def.emitOpError() << "C2: expected layouts over the kernel's scalars, found "
                               << size.name.getValue();
  return success();
}

/// C3 of def: one to three plans with tiles.
static LogicalResult verifyPlans(DefOp def) {
  ArrayAttr plans = def.getPlansAttr();
  if (!plans)
    return success();
  if (plans.empty() || plans.size() > 3)
    return def.emitOpError() << "C3: expected one to three plans, found " << plans.size();
  for (PlanAttr plan : plans.getAsRange<PlanAttr>())
    if (!plan.getTile())
      return def.emitOpError() << "C3: expected a plan with a tile, found " << plan;
  return success();
}

LogicalResult DefOp::verify() {
  if (failed(verifyYield(*this, getBody(), getResultTypes())))
    return failure();
  for (unsigned i = 0; getScalars() && i < getNumArguments(); ++i)
    if (failed(verifyLayout(*this, getArgLayout(i), "argument", i)))
      return failure();
  for (unsigned i = 0; getScalars() && i < getNumResults(); ++i)
    if (failed(verifyLayout(*this, getResultLayout(i), "result", i)))
      return failure();
  return verifyPlans(*this);
}

//===- Sizes of the grid -------------------------------------------------===//

/// `%j = 512 by 64`: one axis, its index argument added to `arguments`.
static ParseResult parseAxis(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &arguments,
                             Attribute &size, int64_t &tile) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::Argument &argument = arguments.emplace_back();
  argument.type = builder.getIndexType();
  if (parser.parseArgument(argument) || parser.parseEqual())
    return failure();
  int64_t number = 0;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  StringRef name;
  if (isNumber.has_value() ? failed(*isNumber) : failed(parser.parseKeyword(&name)))
    return failure();
  size = isNumber.has_value() ? Attribute(builder.getI64IntegerAttr(number))
                              : Attribute(builder.getStringAttr(name));
  return failure(parser.parseKeyword("by") || parser.parseInteger(tile));
}

static void printAxis(OpAsmPrinter &printer, Value index, Size size, int64_t tile) {
  printer.printOperand(index);
  printer.getStream() << " = " << size << " by " << tile;
}

static LogicalResult verifySize(Operation *op, FuncOp func, Size size, StringRef rule,
                                StringRef what) {
  if (size.isStatic() || func.getScalarIndex(size.name) >= 0)
    return success();
  return op->emitOpError() << rule << ": expected " << what << " over the kernel's scalars, found "
                           << size.name.getValue();
}

//===- FuncOp ------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, ArrayRef<Type> views,
                   ArrayRef<StringRef> scalars, ArrayRef<Size> gridSizes,
                   ArrayRef<int64_t> gridTiles, PlanAttr plan) {
  MLIRContext *context = builder.getContext();
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  SmallVector<Attribute> sizes;
  for (const Size &size : gridSizes)
    sizes.push_back(size.toAttribute(context));
  state.addAttribute(getScalarsAttrName(state.name), builder.getStrArrayAttr(scalars));
  state.addAttribute(getGridSizesAttrName(state.name), builder.getArrayAttr(sizes));
  state.addAttribute(getGridTilesAttrName(state.name), builder.getDenseI64ArrayAttr(gridTiles));
  if (plan)
    state.addAttribute(getPlanAttrName(state.name), plan);
  Region *body = state.addRegion();
  body->push_back(new Block());
  for (Type view : views)
    body->addArgument(view, state.location);
  for (size_t i = 0; i < gridTiles.size(); ++i)
    body->addArgument(builder.getIndexType(), state.location);
}

/// Parses the region of an op with arguments; an empty one gets a block.
static ParseResult parseBody(OpAsmParser &parser, OperationState &result,
                             ArrayRef<OpAsmParser::Argument> arguments) {
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->push_back(new Block());
  return success();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> scalars, sizes;
  SmallVector<int64_t> tiles;
  auto scalar = [&]() -> ParseResult {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    scalars.push_back(builder.getStringAttr(word));
    return success();
  };
  auto axis = [&] {
    return parseAxis(parser, arguments, sizes.emplace_back(), tiles.emplace_back());
  };
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseKeyword("scalars") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, scalar) ||
      parser.parseKeyword("grid") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, axis) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getScalarsAttrName(result.name), builder.getArrayAttr(scalars));
  result.addAttribute(getGridSizesAttrName(result.name), builder.getArrayAttr(sizes));
  result.addAttribute(getGridTilesAttrName(result.name), builder.getDenseI64ArrayAttr(tiles));
  return parseBody(parser, result, arguments);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments().take_front(getNumViews()), printer,
                        [&](BlockArgument view) { printer.printRegionArgument(view); });
  printer << ") scalars(";
  llvm::interleaveComma(getScalars().getAsRange<StringAttr>(), printer,
                        [&](StringAttr name) { printer << name.getValue(); });
  printer << ") grid(";
  llvm::interleaveComma(llvm::seq<int64_t>(getNumAxes()), printer, [&](int64_t i) {
    printAxis(printer, getGridIndex(i), getGridSize(i), getGridTiles()[i]);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {SymbolTable::getSymbolAttrName(), getScalarsAttrName(),
                                            getGridSizesAttrName(), getGridTilesAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

int64_t FuncOp::getScalarIndex(StringRef name) {
  for (auto [i, scalar] : llvm::enumerate(getScalars().getAsRange<StringAttr>()))
    if (scalar.getValue() == name)
      return i;
  return -1;
}

bool FuncOp::hasParts() { return !getBody().front().getOps<PartOp>().empty(); }

/// The grid axis along which the form for few rows is restricted, or -1.
static int64_t axisOfFewRows(FuncOp func) {
  for (int64_t axis = 0; axis < func.getNumAxes(); ++axis)
    if (func.getFewRows() && func.getGridSizes()[axis] == func.getFewRowsAttr())
      return axis;
  return -1;
}

int64_t FuncOp::getMostRows() {
  int64_t axis = axisOfFewRows(*this);
  return axis < 0 ? 0 : getGridTiles()[axis];
}

bool FuncOp::isWritten(int64_t i) {
  return getBody()
      .walk([&](StoreOpInterface store) {
        Value view = store.getView();
        while (auto slice = view.getDefiningOp<SliceOp>())
          view = slice.getView();
        return view == getView(i) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool FuncOp::isWeight(int64_t i) {
  ArrayAttr storage = getStorageAttr();
  return storage && cast<StorageAttr>(storage[i]).getValue() == Storage::Weight;
}

/// Whether a body has a product over rows (`overRows`) or over features.
static bool hasProduct(FuncOp func, bool overRows) {
  return func
      .walk([&](ProductOpInterface op) {
        return op.isOverRows() == overRows ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool FuncOp::multiplies() { return hasProduct(*this, false) || hasProduct(*this, true); }

/// C7 of func: the body has the products of its mapping. C8: an axis of the grid has the plan's rows.
static LogicalResult verifyPlan(FuncOp func) {
  PlanAttr plan = func.getPlanAttr();
  if (!plan)
    return success();
  if (plan.getTile() && !llvm::is_contained(func.getGridTiles(), plan.getRows()))
    return func.emitOpError() << "C8: expected a grid axis of " << plan.getRows()
                              << " rows, as the tile of the plan, found none";
  auto expected = [&](StringRef what) {
    return func.emitOpError() << "C7: expected " << what << " in a body with mapping "
                              << stringifyMapping(plan.getMapping()) << ", found "
                              << (func.multiplies() ? "another" : "none");
  };
  if (isOfAttention(plan.getMapping()) && !hasProduct(func, /*overRows=*/true))
    return expected("a product over rows");
  if (stages(plan.getMapping()) && !hasProduct(func, /*overRows=*/false))
    return expected("a product over features");
  if (plan.getMapping() == Mapping::Blocked && !func.multiplies())
    return expected("a product");
  if (plan.getMapping() == Mapping::Strided && func.multiplies())
    return func.emitOpError("C7: expected no product in a body with mapping strided");
  return success();
}

/// C1 and C3 of func: arguments are views over listed scalars.
static LogicalResult verifyViews(FuncOp func) {
  for (BlockArgument argument : func.getBody().getArguments().take_front(func.getNumViews())) {
    auto view = dyn_cast<ViewType>(argument.getType());
    if (!view)
      return func.emitOpError() << "C3: expected a view as argument " << argument.getArgNumber()
                                << ", found " << argument.getType();
    for (const ViewDim &dim : view.getDims())
      if (failed(verifySize(func, func, dim.extent, "C1", "an extent")) ||
          failed(verifySize(func, func, dim.pitch, "C1", "a pitch")))
        return failure();
  }
  return success();
}

/// C2 and C3 of func: axes over listed scalars, positive tiles, an index for each axis.
static LogicalResult verifyGrid(FuncOp func) {
  if (func.getGridSizes().size() != func.getGridTiles().size())
    return func.emitOpError("C2: expected one tile an axis");
  for (int64_t i = 0; i < func.getNumAxes(); ++i) {
    if (!isa<StringAttr, IntegerAttr>(func.getGridSizes()[i]))
      return func.emitOpError("C2: expected a grid axis to be a number or a scalar");
    if (failed(verifySize(func, func, func.getGridSize(i), "C2", "a grid axis")))
      return failure();
    if (func.getGridTiles()[i] < 1)
      return func.emitOpError() << "C2: expected a positive tile, found " << func.getGridTiles()[i];
    if (!func.getGridIndex(i).getType().isIndex())
      return func.emitOpError("C3: expected one index argument a grid axis");
  }
  return success();
}

/// C5 of func: `storage` names memory or weight for each view.
static LogicalResult verifyStorage(FuncOp func) {
  ArrayAttr storage = func.getStorageAttr();
  auto isTable = [](StorageAttr of) { return of.getValue() == Storage::Table; };
  if (!storage || (static_cast<int64_t>(storage.size()) == func.getNumViews() &&
                   llvm::none_of(storage.getAsRange<StorageAttr>(), isTable)))
    return success();
  return func.emitOpError("C5: expected storage to be memory or weight for each of ")
         << func.getNumViews() << " views, found " << storage;
}

LogicalResult FuncOp::verify() {
  if (getNumViews() < 0)
    return emitOpError("C3: expected one index argument a grid axis");
  if (failed(verifyViews(*this)) || failed(verifyGrid(*this)) || failed(verifyStorage(*this)) ||
      failed(verifyPlan(*this)))
    return failure();
  if (getFewRows() && axisOfFewRows(*this) < 0)
    return emitOpError() << "C6: expected the scalar of a grid axis as few_rows, found "
                         << getFewRowsAttr();
  int64_t axes = getNumAxes() + (hasParts() ? 1 : 0);
  if (axes < 1 || axes > 3)
    return emitOpError() << "C4: expected one to three grid axes, found " << axes;
  if (hasParts())
    for (Operation &op : getBody().front())
      if (!isa<PartOp>(op))
        return emitOpError() << "C4: expected nothing beside kernel.part, found " << op.getName();
  return success();
}

//===- PartOp ------------------------------------------------------------===//

void PartOp::build(OpBuilder &builder, OperationState &state, Size size, int64_t tile) {
  state.addAttribute(getSizeAttrName(state.name), size.toAttribute(builder.getContext()));
  state.addAttribute(getTileAttrName(state.name), builder.getI64IntegerAttr(tile));
  Region *body = state.addRegion();
  body->push_back(new Block());
  body->addArgument(builder.getIndexType(), state.location);
}

ParseResult PartOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  Attribute size;
  int64_t tile = 0;
  if (parser.parseLParen() || parseAxis(parser, arguments, size, tile) || parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getSizeAttrName(result.name), size);
  result.addAttribute(getTileAttrName(result.name), parser.getBuilder().getI64IntegerAttr(tile));
  return parseBody(parser, result, arguments);
}

void PartOp::print(OpAsmPrinter &printer) {
  printer << '(';
  printAxis(printer, getIndex(), getExtent(), getTile());
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSizeAttrName(), getTileAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

LogicalResult PartOp::verify() {
  if (getTile() < 1)
    return emitOpError() << "C1: expected a positive tile, found " << getTile();
  if (!isa<StringAttr, IntegerAttr>(getSize()))
    return emitOpError("expected the size to be a number or a scalar");
  if (getBody().getNumArguments() != 1 || !getIndex().getType().isIndex())
    return emitOpError("C2: expected one index argument");
  return verifySize(*this, cast<FuncOp>((*this)->getParentOp()), getExtent(), "C1", "a size");
}
