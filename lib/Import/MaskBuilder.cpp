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

#include "FormulaBuilder.h"

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
  std::string tokens = side == call.side() ? call.input() : side, input = tokens + ".lengths";
  if (call.step && side == "source")
    return f.state(input, f.tensor({-1}, f.b.getI32Type()));
  const SideDescription &description = side == "source" ? *d.source : *d.target;
  Value value = f.input(input, f.tensor({-1}, f.b.getI32Type()), {"B"});
  // A loss reads both sides.
  if ((side == call.side() || call.loss) && !description.vectors)
    f.defaultLengths(input, call.step ? "running_lengths_of" : "lengths_of", tokens,
                     description.padding);
  return value;
}

/// Name of the dimension of keys. In a step callers may give more keys than there are tokens.
std::string MaskBuilder::keys(bool cross, Call call) const {
  return call.sizes  ? call.sizes->keys
         : cross     ? call.sourceRows()
         : call.step ? "target.keys"
                     : call.rows();
}

/// A dense mask or score rule: sentences and heads may share it, which the call tells.
Value MaskBuilder::table(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call,
                         Type element) const {
  const std::string &name = e.inputs[0];
  std::string columns = keys(cross, call);
  return f.spreading(name, element, {name + ".batch", name + ".heads", call.rows(), columns},
                     {call.sequences(), std::to_string(call.heads), call.rows(), columns});
}

/// Ids of documents. In a step both sides are given over all tokens so far, this one's last.
Value MaskBuilder::documents(FunctionBuilder &f, const MaskExpression &e, bool cross,
                             Call call) const {
  auto ids = [&](size_t i, const std::string &dim) {
    return f.input(e.inputs[i], f.b.getI32Type(), {call.sequences(), dim});
  };
  Value queries = ids(0, call.step ? keys(/*cross=*/false, call) : call.rows()), offset;
  if (call.step)
    offset = f.cacheLength("P");
  return MaskDocumentsOp::create(f.b, f.loc, queries, ids(1, keys(cross, call)), offset,
                                 UnitAttr());
}

Value MaskBuilder::packedDocuments(FunctionBuilder &f, const MaskExpression &e) const {
  Value queries = starts(f, e.inputs[0]);
  return MaskDocumentsOp::create(f.b, f.loc, queries, starts(f, e.inputs[1]), /*offset=*/Value(),
                                 f.b.getUnitAttr());
}

Value MaskBuilder::blocks(FunctionBuilder &f, const MaskExpression &e, Call call) const {
  const std::string &name = e.inputs[0], rows = name + ".rows", columns = name + ".columns";
  Value table =
      f.spreading(name, f.b.getI1Type(), {name + ".batch", name + ".heads", rows, columns},
                  {call.sequences(), std::to_string(call.heads), rows, columns});
  return MaskBlocksOp::create(f.b, f.loc, table, e.numbers[0], e.numbers[1]);
}

/// A region with the formula of a mask or, as `Op` says, of a score rule.
template <typename Op>
static Value formulaOf(FunctionBuilder &f, const MaskExpression &e, Call call, Type type,
                       bool scoreRule) {
  Value before = call.step ? f.cacheLength("P") : Value();
  auto where = Op::create(f.b, f.loc, type);
  buildFormula(f, e.formula, where->getRegion(0), before, scoreRule, call.sequences());
  return where.getResult();
}

/// Flags of keys: keep and hide.
Value MaskBuilder::flags(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  std::string columns = keys(cross, call), sequences = call.sequences();
  return f.flags(e.inputs[0], {sequences, "1", "1", columns}, {sequences, columns});
}

/// An offset left out is the number of tokens before this call, or what the dialect makes it.
Value MaskBuilder::offset(FunctionBuilder &f, const MaskExpression &e, Call call) const {
  if (!e.offsetInput.empty()) {
    Value number = f.number(e.offsetInput);
    return number ? number
                  : f.spreading(e.offsetInput, f.b.getI32Type(), {call.sequences()},
                                {call.sequenceCount()});
  }
  if (!e.offset && call.sizes)
    return {};
  return e.offset ? f.integer(*e.offset) : call.step ? f.cacheLength("P") : f.integer(0);
}

Value MaskBuilder::starts(FunctionBuilder &f, const std::string &input) const {
  return f.input(input, f.tensor({-1}, f.b.getI32Type()), {"documents.starts"});
}

Value MaskBuilder::build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  OpBuilder &b = f.b;
  call.packed |= e.uses(Kind::PackedDocuments);
  auto numbers = [&](size_t i) { return f.input(e.inputs[i], b.getI32Type(), {call.sequences()}); };
  SmallVector<Value> operands;
  for (const MaskExpression &operand : e.operands)
    operands.push_back(build(f, operand, cross, call));
  switch (e.kind) {
  case Kind::Causal:
    return MaskCausalOp::create(b, f.loc, offset(f, e, call));
  case Kind::Window:
    return MaskWindowOp::create(b, f.loc, e.numbers[0], e.numbers[1], offset(f, e, call));
  case Kind::Lengths: {
    bool ofSide = !call.sizes && (e.inputs[0] == "source" || e.inputs[0] == "target");
    return MaskLengthsOp::create(b, f.loc, ofSide ? sideLengths(f, e.inputs[0], call) : numbers(0));
  }
  case Kind::Prefix:
    return MaskPrefixOp::create(b, f.loc, numbers(0));
  case Kind::Dense:
    return MaskDenseOp::create(b, f.loc, table(f, e, cross, call, b.getI1Type()));
  case Kind::Keep:
    return MaskDenseOp::create(b, f.loc, flags(f, e, cross, call));
  case Kind::Hide: {
    Value hidden = MaskDenseOp::create(b, f.loc, flags(f, e, cross, call));
    return MaskNotOp::create(b, f.loc, hidden);
  }
  case Kind::Documents:
    return documents(f, e, cross, call);
  case Kind::PackedDocuments:
    return packedDocuments(f, e);
  case Kind::Blocks:
    return blocks(f, e, call);
  case Kind::Where:
    return formulaOf<MaskWhereOp>(f, e, call, MaskType::get(b.getContext()), /*scoreRule=*/false);
  case Kind::And:
    return MaskAndOp::create(b, f.loc, operands[0], operands[1]);
  case Kind::Or:
    return MaskOrOp::create(b, f.loc, operands[0], operands[1]);
  case Kind::Not:
    return MaskNotOp::create(b, f.loc, operands[0]);
  default:
    llvm_unreachable("a score rule is no mask");
  }
}

Value MaskBuilder::buildRule(FunctionBuilder &f, const MaskExpression &e, bool cross,
                             Call call) const {
  OpBuilder &b = f.b;
  switch (e.kind) {
  case Kind::Add: {
    Value left = buildRule(f, e.operands[0], cross, call);
    return BiasAddOp::create(b, f.loc, left, buildRule(f, e.operands[1], cross, call));
  }
  case Kind::Alibi:
    return BiasAlibiOp::create(b, f.loc, offset(f, e, call));
  case Kind::Relative: { // T5: one-directional in a decoder
    std::string name = std::string(call.decoder ? "decoder" : "encoder") + ".relative.weight";
    Value table = f.weight(name, {e.numbers[0], call.heads});
    return BiasRelativeOp::create(b, f.loc, table, e.numbers[1], offset(f, e, call),
                                  /*bidirectional=*/!call.decoder);
  }
  case Kind::Dense:
    return BiasDenseOp::create(b, f.loc, table(f, e, cross, call, b.getF32Type()));
  case Kind::Where:
    return formulaOf<BiasWhereOp>(f, e, call, BiasType::get(b.getContext()), /*scoreRule=*/true);
  default:
    llvm_unreachable("a mask is no score rule");
  }
}
