//===- MaskBuilder.cpp - Mask expressions as mask ops ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds mask ops from expressions, for example "causal & hide(x)" in decode_step:
//     %n = transformer.cache.length "P"
//     %c = transformer.mask.causal offset(%n)
//     %h = transformer.mask.dense %x       // [B, keys] as [B, 1, 1, keys]
//     %m = transformer.mask.and %c, not %h

#include "MaskBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using Kind = MaskCall::Kind;

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
  if (call.cached() && side == "source")
    return f.state(input, f.tensor({-1}, f.b.getI32Type()));
  const SideDescription &description = side == "source" ? *d.source : *d.target;
  if (call.cached()) // an input of this name counts the added tokens
    return f.rowsAfter();
  Value value = f.input(input, f.tensor({-1}, f.b.getI32Type()), {"B"});
  // A loss reads the tokens of both sides.
  if ((side == call.side() || call.loss) && !description.vectors)
    f.setDefault(input, "lengths_of", tokens, description.padding);
  return value;
}

/// A dense mask or score rule; its dimensions of sequences and heads broadcast.
static Value table(const MaskPlace &site, const std::string &name, Type element, std::string rows,
                   std::string columns) {
  return site.f.broadcastInput(
      name, element, {name + ".batch", name + ".heads", rows, columns},
      {site.call.sequences(), std::to_string(site.call.heads), rows, columns});
}

/// Document ids of queries and keys. In a step both inputs cover all tokens so far; this step's are
/// last.
static Value documents(const MaskPlace &site, const MaskCall &e) {
  FunctionBuilder &f = site.f;
  auto ids = [&](size_t i, const std::string &dim) {
    return f.input(e.inputs[i], f.b.getI32Type(), {site.call.sequences(), dim});
  };
  Value queries = ids(0, site.call.cached() ? site.call.keys(false) : site.call.rows()), offset;
  if (site.call.cached())
    offset = f.rowsBefore();
  return MaskDocumentsOp::create(f.b, f.loc, queries, ids(1, site.call.keys(site.cross)), offset,
                                 UnitAttr());
}

/// Flags of keys, for keep and hide.
static Value flags(const MaskPlace &site, const MaskCall &e) {
  std::string columns = site.call.keys(site.cross), sequences = site.call.sequences();
  return MaskDenseOp::create(
      site.f.b, site.f.loc,
      site.f.flags(e.inputs[0], {sequences, "1", "1", columns}, {sequences, columns}));
}

/// Offset of the queries. The default is the number of tokens before this call, or null for dialect
/// text, which has a default of its own.
static Value offset(const MaskPlace &site, const MaskCall &e) {
  FunctionBuilder &f = site.f;
  if (!e.offsetInput.empty()) {
    Value number = f.number(e.offsetInput);
    return number ? number
                  : f.broadcastInput(e.offsetInput, f.b.getI32Type(), {site.call.sequences()},
                                     {site.call.sequenceCount()});
  }
  if (!e.offset && site.call.sizes)
    return {};
  return e.offset ? f.integer(*e.offset) : site.call.cached() ? f.rowsBefore() : f.integer(0);
}

Value MaskBuilder::starts(FunctionBuilder &f, const std::string &input) const {
  return f.input(input, f.tensor({-1}, f.b.getI32Type()), {"documents.starts"});
}

Value MaskBuilder::within(FunctionBuilder &f, const Call &call, bool cross, Value mask) const {
  Value queries = starts(f, call.documents),
        keys = cross ? starts(f, call.memoryDocuments) : queries;
  Value own =
      MaskDocumentsOp::create(f.b, f.loc, queries, keys, /*offset=*/Value(), f.b.getUnitAttr());
  return mask ? MaskAndOp::create(f.b, f.loc, own, mask).getResult() : own;
}

Value MaskBuilder::distance(const MaskPlace &site, const MaskCall &e) const {
  FunctionBuilder &f = site.f;
  const Call::Scores &scores = *site.call.scores;
  bool ofKeys = e.kind == Kind::KeyDistance;
  Value rows = ofKeys ? scores.key : scores.query;
  int64_t heads = site.call.heads, columns = 2 * e.numbers[0],
          features = cast<RankedTensorType>(rows.getType()).getShape().back();
  Value vectors = f.matrix(scores.prefix + (ofKeys ? ".key" : ".query") + ".distance.weight",
                           {heads, columns, features}, heads * columns);
  Value products = HeadProductsOp::create(f.b, f.loc, rows, vectors, llvm::APFloat(scores.scale));
  return BiasDistanceOp::create(f.b, f.loc, products, ofKeys);
}

/// Relative positions by buckets; one-directional in a decoder, as in T5.
Value MaskBuilder::relative(const MaskPlace &site, const MaskCall &e) const {
  FunctionBuilder &f = site.f;
  const Call &call = site.call;
  std::string owner = e.kind == Kind::LayerRelative ? call.scores->prefix
                      : call.decoder                ? "decoder"
                                                    : "encoder";
  Value distances = f.weight(owner + ".relative.weight", {e.numbers[0], call.heads});
  return BiasRelativeOp::create(f.b, f.loc, distances, e.numbers[1], offset(site, e),
                                /*bidirectional=*/!call.decoder);
}

Value MaskBuilder::write(const MaskPlace &site, const MaskCall &e, bool scoreRule) const {
  FunctionBuilder &f = site.f;
  OpBuilder &b = f.b;
  const Call &call = site.call;
  auto numbers = [&] { return f.input(e.inputs[0], b.getI32Type(), {call.sequences()}); };
  switch (e.kind) {
  case Kind::Causal:
    return MaskCausalOp::create(b, f.loc, offset(site, e));
  case Kind::Window:
    return MaskWindowOp::create(b, f.loc, e.numbers[0], e.numbers[1], offset(site, e));
  case Kind::Lengths: {
    if (!call.documents.empty())
      return {};
    bool ofSide = !call.sizes && (e.inputs[0] == "source" || e.inputs[0] == "target");
    return MaskLengthsOp::create(b, f.loc, ofSide ? sideLengths(f, e.inputs[0], call) : numbers());
  }
  case Kind::Prefix:
    return MaskPrefixOp::create(b, f.loc, numbers());
  case Kind::Keep:
    return flags(site, e);
  case Kind::Hide:
    return MaskNotOp::create(b, f.loc, flags(site, e));
  case Kind::Documents:
    return documents(site, e);
  case Kind::PackedDocuments: {
    Value queries = starts(f, e.inputs[0]);
    return MaskDocumentsOp::create(b, f.loc, queries, starts(f, e.inputs[1]), /*offset=*/Value(),
                                   b.getUnitAttr());
  }
  case Kind::Blocks: {
    Value blocks =
        table(site, e.inputs[0], b.getI1Type(), e.inputs[0] + ".rows", e.inputs[0] + ".columns");
    return MaskBlocksOp::create(b, f.loc, blocks, e.numbers[0], e.numbers[1]);
  }
  case Kind::Dense: {
    Type element = scoreRule ? Type(b.getF32Type()) : Type(b.getI1Type());
    Value dense = table(site, e.inputs[0], element, call.rows(), call.keys(site.cross));
    return scoreRule ? BiasDenseOp::create(b, f.loc, dense).getResult()
                     : MaskDenseOp::create(b, f.loc, dense).getResult();
  }
  case Kind::Where:
    return scoreRule ? BiasWhereOp::create(b, f.loc, BiasType::get(b.getContext())).getResult()
                     : MaskWhereOp::create(b, f.loc, MaskType::get(b.getContext())).getResult();
  case Kind::Alibi:
    return BiasAlibiOp::create(b, f.loc, offset(site, e), llvm::APFloat(e.factor));
  case Kind::Relative:
  case Kind::LayerRelative:
    return relative(site, e);
  case Kind::QueryDistance:
  case Kind::KeyDistance:
    return distance(site, e);
  }
  llvm_unreachable("unknown mask");
}
