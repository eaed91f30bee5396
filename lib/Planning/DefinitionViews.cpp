//===- DefinitionViews.cpp - Arguments of a definition as views -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Planning/DefinitionViews.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle;

DefinitionViews::DefinitionViews(kernel::DefOp def) : def(def) {
  for (unsigned i = 0; i < def.getNumArguments(); ++i)
    arguments.push_back(describe(def.getArgLayout(i)));
  resultStart = types.size();
  for (unsigned i = 0; i < def.getNumResults(); ++i)
    results.push_back(describe(def.getResultLayout(i)));
}

/// Appends the view of an argument or result. Scalars have no view.
DefinitionViews::Argument DefinitionViews::describe(kernel::LayoutAttr layout) {
  if (!layout.getView())
    return {layout, -1};
  types.push_back(layout.getView());
  // A kernel reads tables as it reads other memory.
  const bool isWeight = layout.getStorage() == kernel::Storage::Weight;
  storage.push_back(kernel::StorageAttr::get(
      layout.getContext(), isWeight ? kernel::Storage::Weight : kernel::Storage::Memory));
  return {layout, static_cast<int64_t>(types.size()) - 1};
}

void DefinitionViews::setDims(unsigned view, ArrayRef<kernel::ViewDim> dims) {
  types[view] = kernel::ViewType::get(types[view].getContext(), dims, types[view].getElementType(),
                                      types[view].getPanel(), types[view].getStrip());
}

void DefinitionViews::transpose(unsigned view) { types[view] = types[view].transposed(); }

const DefinitionViews::Argument &DefinitionViews::argumentOf(Value argument) const {
  return arguments[cast<BlockArgument>(argument).getArgNumber()];
}

bool DefinitionViews::isWeight(unsigned view) const {
  return cast<kernel::StorageAttr>(storage[view]).getValue() == kernel::Storage::Weight;
}

DType DefinitionViews::elementOf(Value argument) const {
  return dtypeOf(viewTypeOf(argument).getElementType());
}

int64_t DefinitionViews::featuresOf(Value argument) const {
  return viewTypeOf(argument).getDims().back().extent.value;
}

const NumberFormat *DefinitionViews::productOf(Value rows, Value weights) const {
  return findKeptProduct(elementOf(rows), elementOf(weights));
}

SmallVector<Value> heddle::yieldedValues(kernel::DefOp def) {
  return llvm::map_to_vector(def.getBody().front().getTerminator()->getOperands(),
                             transformer::beforeRounding);
}
