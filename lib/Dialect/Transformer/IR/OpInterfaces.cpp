//===- OpInterfaces.cpp - Interfaces of ops -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared parts of the implementations of op interfaces. The methods of a
// particular op are next to its verifier.

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

#include "heddle/Dialect/Transformer/IR/OpInterfaces.cpp.inc"

//===- Sizes -------------------------------------------------------------===//

SizeExpr heddle::product(ArrayRef<SizeExpr> sizes) {
  SizeExpr result = 1;
  for (const SizeExpr &size : sizes)
    result = result * size;
  return result;
}

Shape heddle::dimsFromAttr(ArrayAttr dims) {
  Shape shape;
  for (Attribute dim : dims) {
    if (auto name = dyn_cast<StringAttr>(dim))
      shape.push_back(SizeExpr::dim(name.getValue().str()));
    else
      shape.push_back(cast<IntegerAttr>(dim).getInt());
  }
  return shape;
}

Shape heddle::sizesFromAttr(ArrayAttr sizes) {
  Shape shape = dimsFromAttr(sizes);
  for (auto [size, attr] : llvm::zip(shape, sizes))
    if (auto text = dyn_cast<StringAttr>(attr))
      if (auto parsed = SizeExpr::parse(text.str()))
        size = *parsed;
  return shape;
}

std::optional<DefaultInput> heddle::defaultFromAttr(Attribute attribute) {
  using Kind = DefaultInput::Kind;
  auto entries = dyn_cast_if_present<DictionaryAttr>(attribute);
  if (!entries)
    return std::nullopt;
  DefaultInput result;
  for (NamedAttribute entry : entries) {
    Kind kind = llvm::StringSwitch<Kind>(entry.getName())
                    .Case("lengths_of", Kind::LengthsOf)
                    .Case("zeros_of", Kind::ZerosOf)
                    .Case("no_rows_of", Kind::NoRowsOf)
                    .Case("rows_before", Kind::RowsBefore)
                    .Case("rows_after", Kind::RowsAfter)
                    .Default(Kind::None);
    auto source = dyn_cast<StringAttr>(entry.getValue());
    auto padding = dyn_cast<IntegerAttr>(entry.getValue());
    if (kind != Kind::None && source && result.kind == Kind::None) {
      result.kind = kind;
      result.source = source.str();
    } else if (entry.getName() == "padding" && padding) {
      result.padding = padding.getInt();
    } else {
      return std::nullopt;
    }
  }
  if (result.kind != Kind::LengthsOf && (result.kind == Kind::None || entries.contains("padding")))
    return std::nullopt;
  return result;
}

Shape heddle::transformer::staticShape(Type type) {
  ArrayRef<int64_t> sizes = cast<ShapedType>(type).getShape();
  return Shape(sizes.begin(), sizes.end());
}

void SymbolicShapes::require(const SizeExpr &left, const SizeExpr &right, std::string what) {
  if (!(left == right))
    required.push_back({left, right, std::move(what), /*atMost=*/false});
}

void SymbolicShapes::requireAtMost(const SizeExpr &left, const SizeExpr &right, std::string what) {
  required.push_back({left, right, std::move(what), /*atMost=*/true});
}

void SymbolicShapes::requireBatchOfOne(Value rows) {
  require(of(rows)[0], 1, "the batch of packed documents");
}

/// Static features keep the size of the result type; all other sizes follow the operand.
void SymbolicShapes::inferRows(Operation *op) {
  for (Value result : op->getResults()) {
    auto type = dyn_cast<ShapedType>(result.getType());
    if (!type)
      continue;
    Shape shape = staticShape(type);
    if (op->getNumOperands() > 0 && knows(op->getOperand(0)))
      if (const Shape &rows = of(op->getOperand(0)); rows.size() == shape.size())
        for (size_t i = 0; i < shape.size(); ++i)
          if (i + 1 < shape.size() || type.isDynamicDim(i))
            shape[i] = rows[i];
    set(result, std::move(shape));
  }
}

//===- Operands ----------------------------------------------------------===//

OperandStorage heddle::transformer::storageByRank(OpOperand &operand) {
  auto type = dyn_cast<ShapedType>(operand.get().getType());
  return type && type.getRank() > 1 ? OperandStorage::Rows : OperandStorage::Vector;
}

OperandStorage heddle::transformer::storageOf(OpOperand &operand) {
  auto op = dyn_cast<TransformerOpInterface>(operand.getOwner());
  return op ? op.storageOf(operand) : storageByRank(operand);
}

bool heddle::transformer::takesWeight(OpOperand &operand) {
  auto op = dyn_cast<TransformerOpInterface>(operand.getOwner());
  return op && op.takesWeight(operand);
}

SmallVector<TransformerOpInterface> heddle::transformer::readersOfTables(Block &block) {
  SmallVector<TransformerOpInterface> readers;
  for (auto op : block.getOps<TransformerOpInterface>()) {
    std::optional<RowTable> table = op.rowTable();
    if (table && llvm::none_of(readers, [&](auto reader) { return reader.rowTable() == table; }))
      readers.push_back(op);
  }
  return readers;
}

bool heddle::transformer::readInPanels(OpOperand &use) {
  auto op = dyn_cast<ScoresOpInterface>(use.getOwner());
  return op && op.readsInPanels(use);
}
