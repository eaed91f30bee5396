//===- KernelBuilder.cpp - Arguments of a kernel as views -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the signature of a kernel.func from the layouts of its kernel.def.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using kernel::Size;

Value KernelBuilder::tableOf(transformer::TransformerOpInterface op) {
  // Tables are the last arguments, in this order.
  auto readers = transformer::readersOfTables(def.getBody().front());
  auto reader = llvm::find_if(readers, [&](auto r) { return r.rowTable() == op.rowTable(); });
  return view(arguments.end()[reader - readers.end()].view);
}

Value KernelBuilder::sizeValue(Size size) {
  if (size.isStatic())
    return t.index(size.value);
  return kernel::ScalarOp::create(t.b, t.loc, t.b.getIndexType(), size.name);
}

Value KernelBuilder::entryOf(int64_t view, Value sequence) {
  return t.toIndex(kernel::ReadOp::create(t.b, t.loc, func.getView(view), ValueRange{sequence}));
}

Value KernelBuilder::placeOf(unsigned result, Value sequence, Value row, Value &left) {
  kernel::LayoutAttr layout = results[result].layout;
  if (layout.getAt() != Size())
    return t.add(row, sizeValue(layout.getAt()));
  if (layout.getPlaces() < 0)
    return row;
  if (layout.getCounts() >= 0) {
    Value stored = entryOf(arguments[layout.getCounts()].view, sequence);
    left = t.min(left, t.sub(t.max(stored, row), row));
  }
  Value first = t.add(row, entryOf(arguments[layout.getPlaces()].view, sequence));
  return wrapped(layout.getRing(), first);
}

Value KernelBuilder::entriesOf(int64_t view, Value sequence, int64_t rows) {
  return kernel::LoadOp::create(t.b, t.loc, t.type(rows, 1, t.b.getI32Type()), func.getView(view),
                                ValueRange{sequence}, t.b.getUnitAttr());
}

Value KernelBuilder::placesOf(unsigned result, Value sequence, int64_t rows) {
  kernel::LayoutAttr layout = results[result].layout;
  RankedTensorType type = t.type(rows, 1, t.b.getI32Type());
  if (layout.getAt() != Size() || layout.getPlaces() < 0)
    return t.broadcast(t.i32(layout.getAt() == Size() ? t.index(0) : sizeValue(layout.getAt())),
                       type);
  Value places = entriesOf(arguments[layout.getPlaces()].view, sequence, rows);
  if (int64_t ring = layout.getRing())
    places =
        t.sub(places, t.mul(t.div(places, t.constantI(ring, places)), t.constantI(ring, places)));
  if (layout.getCounts() < 0)
    return places;
  Value counts = entriesOf(arguments[layout.getCounts()].view, sequence, rows);
  Value stores = t.less(t.constantI(0, counts), counts);
  return t.select(stores, places, t.constantI(-1, places));
}

/// Returns `row` modulo `ring`, the number of rows of a ring; 0: no ring.
Value KernelBuilder::wrapped(int64_t ring, Value row) {
  return ring ? arith::RemUIOp::create(t.b, t.loc, row, t.index(ring)).getResult() : row;
}

IntegerAttr KernelBuilder::ringOf(unsigned result) const {
  const int64_t ring = results[result].layout.getRing();
  return ring ? t.b.getI64IntegerAttr(ring) : IntegerAttr();
}

Value KernelBuilder::inRing(Value argument, Value row) {
  return wrapped(argumentOf(argument).layout.getRing(), row);
}

/// Number of the first tile of document d.
static Value firstTile(TileBuilder &t, Value starts, Value d, int64_t tile) {
  Value start = t.toIndex(kernel::ReadOp::create(t.b, t.loc, starts, ValueRange{d}));
  return t.add(t.div(start, t.index(tile)), d);
}

/// Emits a bisection of [0, count) in at most 31 steps, because counts are i32. Returns the last n
/// for which first(n) is at most `number`.
static Value lastAtMost(TileBuilder &t, Value count, Value number,
                        llvm::function_ref<Value(Value)> first) {
  Value zero = t.index(0), one = t.index(1);
  auto loop = scf::ForOp::create(t.b, t.loc, zero, t.index(31), one, ValueRange{zero, count});
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value low = loop.getRegionIterArg(0), high = loop.getRegionIterArg(1);
  Value middle = t.div(t.add(low, high), t.index(2));
  Value beyond = t.less(number, first(middle));
  // Once one is left, both bounds are kept.
  Value open = t.less(t.add(low, one), high);
  Value down = arith::AndIOp::create(t.b, t.loc, open, beyond);
  Value nextHigh = t.select(down, middle, high);
  Value nextLow = t.select(beyond, low, middle);
  nextLow = t.select(open, nextLow, low);
  scf::YieldOp::create(t.b, t.loc, ValueRange{nextLow, nextHigh});
  return loop.getResult(0);
}

DocumentTile heddle::findDocument(TileBuilder &t, Value starts, Value count, Value number,
                                  int64_t tile) {
  Value document =
      lastAtMost(t, count, number, [&](Value d) { return firstTile(t, starts, d, tile); });
  return {document, firstTile(t, starts, document, tile)};
}

Value heddle::documentOf(TileBuilder &t, Value starts, Value count, Value row) {
  return lastAtMost(t, count, row, [&](Value d) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, starts, ValueRange{d}));
  });
}

DocumentRow heddle::findRow(KernelBuilder &f, Value documents, Value row) {
  const unsigned view = f.viewOf(documents);
  Value count = f.t.sub(f.sizeValue(f.viewType(view).getDim(0).extent), f.t.index(1));
  Value document = documentOf(f.t, f.view(view), count, row);
  return {document, f.t.sub(row, f.entryOf(view, document))};
}

Value KernelBuilder::scalar(Value argument) {
  const Argument &known = argumentOf(argument);
  if (known.view >= 0) // a caller's number is in memory
    return kernel::ReadOp::create(t.b, t.loc, func.getView(known.view), ValueRange{t.index(0)});
  return t.i32(sizeValue(known.layout.getScalar()));
}

/// Adds the views of rounded rows. They have the dimensions of the product's rows.
void KernelBuilder::addRounded(SmallVectorImpl<Type> &viewTypes) {
  auto linear = *def.getBody().front().getOps<transformer::LinearOp>().begin();
  kernel::ViewType rows = viewTypeOf(linear.getInput());
  SmallVector<kernel::ViewDim> dims(rows.getDims());
  viewTypes.push_back(kernel::ViewType::get(t.b.getContext(), dims, t.b.getF16Type(), 0, 0));
  dims.back() = kernel::ViewDim(1);
  viewTypes.push_back(kernel::ViewType::get(t.b.getContext(), dims, t.b.getF32Type(), 0, 0));
}

kernel::FuncOp KernelBuilder::createFunc(ArrayRef<Size> gridSizes, ArrayRef<int64_t> gridTiles) {
  SmallVector<Type> viewTypes(types.begin(), types.end());
  SmallVector<StringRef> scalars;
  for (auto name : def.getScalarsAttr().getAsRange<StringAttr>())
    scalars.push_back(name.getValue());
  SmallVector<Attribute> storages(storage);
  if (rounds || plan.getRounded()) {
    addRounded(viewTypes);
    storages.resize(viewTypes.size(),
                    kernel::StorageAttr::get(t.b.getContext(), kernel::Storage::Memory));
  }
  std::string name = (def.getSymName() + (rounds               ? "_rounded"
                                          : fewRows.isStatic() ? ""
                                                               : "_few"))
                         .str();
  func = kernel::FuncOp::create(t.b, t.loc, name, viewTypes, scalars, gridSizes, gridTiles);
  if (!fewRows.isStatic())
    func.setFewRowsAttr(fewRows.name);
  func.setRounds(rounds);
  func.setStorageAttr(t.b.getArrayAttr(storages));
  t.b.setInsertionPointToStart(&func.getBody().front());
  return func;
}

Value KernelBuilder::slice(Value view, ValueRange points) {
  return points.empty() ? view : kernel::SliceOp::create(t.b, t.loc, view, points).getResult();
}
