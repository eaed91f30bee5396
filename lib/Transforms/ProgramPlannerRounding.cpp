//===- ProgramPlannerRounding.cpp - Memory for rounded rows ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans memory for rows that another kernel rounds before matrix units multiply them. Only some GPUs
// have such units; the memory has no bytes elsewhere (FunctionLayout::unused).

#include "ProgramPlanner.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

SmallVector<std::pair<Value, SizeExpr>>
ProgramPlanner::roundedPlaces(GroupOp group, ArrayRef<PlannedTensor> operands, int launch) {
  auto linears = group.getBody().getOps<LinearOp>();
  if (group.getRoot() != kernel::Root::Linear || linears.empty())
    return {};
  LinearOp linear = *linears.begin();
  const unsigned input = cast<BlockArgument>(linear.getInput()).getArgNumber();
  const PlannedTensor &rows = operands[input];
  if (rows.element != DType::F32 || dtypeOf(linear.getWeight().getType()) != DType::F16)
    return {};
  PlannedTensor halves = rows;
  halves.element = DType::F16;
  const SizeExpr rowWords =
      elementsOf(rows.dims, rows.rows, /*dense=*/false, halves.elementBytes());
  Shape scales = rows.dims;
  scales.back() = 1;
  Value &buffer = roundings[group->getOperand(input)];
  if (!buffer)
    buffer =
        bufferOf({group.getName().str() + "_rounded", Buffer::Kind::Temporary,
                  rowWords + elementsOf(scales, rows.rows, /*dense=*/false, 4), launch, launch});
  lastReaders[buffer.getDefiningOp<kernel::BufferOp>()] = launch;
  return {{buffer, 0}, {buffer, rowWords}};
}
