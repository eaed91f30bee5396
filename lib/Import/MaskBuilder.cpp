//===- MaskBuilder.cpp - Mask expressions as mask ops ---------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   "causal & hide(x)" in decode_step:
//     %n = transformer.cache.length "P"
//     %c = transformer.mask.causal offset(%n)
//     %h = transformer.mask.dense %x       // [B, keys] seen as [B, 1, 1, keys]
//     %m = transformer.mask.and %c, not %h
//
//===----------------------------------------------------------------------===//

#include "MaskBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using Kind = MaskExpression::Kind;

static bool countsSource(const std::optional<MaskExpression> &mask) {
  return mask && mask->uses(Kind::Lengths, "source");
}

bool MaskBuilder::encoderUsesLengths() const {
  return d.encoder && llvm::any_of(d.encoder->layers, [](const LayerDescription &layer) {
           return countsSource(layer.mask);
         });
}

bool MaskBuilder::crossUsesLengths() const {
  return d.decoder && llvm::any_of(d.decoder->layers, [](const LayerDescription &layer) {
           return countsSource(layer.crossMask);
         });
}

Value MaskBuilder::sideLengths(FunctionBuilder &f, const std::string &side, Call call) const {
  std::string input = side + ".lengths";
  if (call.step && side == "source")
    return f.state(input, f.tensor({-1}, f.b.getI32Type()));
  const SideDescription &description = side == "source" ? *d.source : *d.target;
  Value value = f.input(input, f.tensor({-1}, f.b.getI32Type()), {"B"});
  if (side == call.side() && !description.vectors)
    f.defaultLengths(input, call.step ? "running_lengths_of" : "lengths_of", side,
                     description.padding);
  return value;
}

/// Tables of flags: keep and hide one a key, dense one a query and key. In a step callers may give
/// more keys than there are tokens.
Value MaskBuilder::flags(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  std::string keys = cross ? "S" : call.step ? "target.keys" : call.rows();
  if (e.kind == Kind::Dense)
    return f.flags(e.input, {1, 1, call.rowCount(), -1}, {"1", "1", call.rows(), keys},
                   {call.rows(), keys});
  return f.flags(e.input, {-1, 1, 1, -1}, {"B", "1", "1", keys}, {"B", keys});
}

Value MaskBuilder::build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  OpBuilder &b = f.b;
  SmallVector<Value> operands;
  for (const MaskExpression &operand : e.operands)
    operands.push_back(build(f, operand, cross, call));
  switch (e.kind) {
  case Kind::Causal: // an offset left out is the number of tokens before this call
    return MaskCausalOp::create(b, f.loc,
                                e.offset    ? f.integer(*e.offset)
                                : call.step ? f.cacheLength("P")
                                            : f.integer(0));
  case Kind::Lengths: {
    bool ofSide = e.input == "source" || e.input == "target";
    Value lengths = ofSide ? sideLengths(f, e.input, call)
                           : f.input(e.input, f.tensor({-1}, b.getI32Type()), {"B"});
    return MaskLengthsOp::create(b, f.loc, lengths);
  }
  case Kind::Keep:
  case Kind::Dense:
    return MaskDenseOp::create(b, f.loc, flags(f, e, cross, call));
  case Kind::Hide: {
    Value hidden = MaskDenseOp::create(b, f.loc, flags(f, e, cross, call));
    return MaskNotOp::create(b, f.loc, hidden);
  }
  case Kind::And:
    return MaskAndOp::create(b, f.loc, operands[0], operands[1]);
  case Kind::Or: { // by De Morgan's law, until masks have an `or` of their own
    Value left = MaskNotOp::create(b, f.loc, operands[0]);
    Value right = MaskNotOp::create(b, f.loc, operands[1]);
    Value neither = MaskAndOp::create(b, f.loc, left, right);
    return MaskNotOp::create(b, f.loc, neither);
  }
  case Kind::Not:
    return MaskNotOp::create(b, f.loc, operands[0]);
  }
  llvm_unreachable("unknown mask");
}
