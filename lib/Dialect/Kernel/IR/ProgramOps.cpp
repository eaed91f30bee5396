//===- ProgramOps.cpp - Launch lists and buffers --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text and verifiers of the ops of stage `program`. Verifiers check that tables
// have generators and that a launch has one offset for each argument.

#include "ProgramText.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Text of an attribute that holds a program value, without the attribute's name.
template <typename AttrT>
static ParseResult parseBare(OpAsmParser &parser, AttrT &attribute) {
  std::decay_t<decltype(attribute.getValue())> value;
  if (parseValue(parser, value))
    return failure();
  attribute = AttrT::get(parser.getContext(), std::move(value));
  return success();
}

template <typename AttrT>
static void printBare(OpAsmPrinter &printer, Operation *, AttrT attribute) {
  printValue(printer, attribute.getValue());
}

LogicalResult BufferOp::verify() {
  const Buffer &buffer = getInfo().getValue();
  if ((buffer.kind == Buffer::Kind::Table) == buffer.generator.empty())
    return emitOpError("expected a generator for tables, and only for them");
  return success();
}

void BufferOp::change(function_ref<void(Buffer &)> change) {
  Buffer buffer = getInfo().getValue();
  change(buffer);
  setInfoAttr(BufferAttr::get(getContext(), std::move(buffer)));
}

LogicalResult LaunchOp::verify() {
  if (size_t offsets = getOffsets().getValue().size(); offsets != getArguments().size())
    return emitOpError() << "expected one offset an argument: " << getArguments().size()
                         << ", found " << offsets;
  if (getRounded() && getArguments().size() < roundedArguments)
    return emitOpError() << "expected " << roundedArguments
                         << " arguments of a launch that is rounded, found "
                         << getArguments().size();
  return success();
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/ProgramOps.cpp.inc"
