//===- ModelBuilder.cpp - From a description to the dialect ---------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function of the model at a time, one sub-layer a function of ours:
//
//   encode: embed, layers of (self-attention, feed-forward), final norm
//   decode: embed, layers of (self-attention, cross-attention, feed-forward), final norm, classifier
//   decode_step: the same on one token, keys and values in the session's states
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "FunctionBuilder.h"
#include "MaskExpression.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {

/// What differs between encode, decode and decode_step.
struct Call {
  bool decoder = false, step = false;
  const char *side() const { return decoder ? "target" : "source"; }
};

class ModelBuilder {
public:
  ModelBuilder(const Description &d, MLIRContext &context, std::vector<TensorInfo> &tensors) : d(d), context(context), names(tensors) {}
  Expected<OwningOpRef<ModuleOp>> run();

private:
  Status parseMasks();
  Status encode();
  Status decode(bool step);
  Status decodeStart();
  void decodeReorder();
  void declareStates();

  Value embed(FunctionBuilder &f, const StackDescription &stack, const SideDescription &side, Call call);
  Value selfAttention(FunctionBuilder &f, Value x, const LayerDescription &layer, size_t index, Call call);
  Value crossAttention(FunctionBuilder &f, Value x, const LayerDescription &layer, size_t index, Call call);
  Value feedForward(FunctionBuilder &f, Value x, const LayerDescription &layer, const std::string &prefix);
  Value projected(FunctionBuilder &f, Value x, const AttentionDescription &a, const std::string &prefix, const char *which);
  Value attend(FunctionBuilder &f, Value q, Value k, Value v, const AttentionDescription &a, const MaskExpression *mask, const std::string &prefix,
               const std::string &result, bool cross, Call call);
  Value sublayer(FunctionBuilder &f, Value x, const NormDescription &norm, const std::string &prefix, llvm::function_ref<Value(Value)> body);
  Value mask(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call);
  Value lengths(FunctionBuilder &f, const std::string &name, bool cross, Call call);
  Value classify(FunctionBuilder &f, Value x);
  bool usesSourceLengths() const;

  const Description &d;
  MLIRContext &context;
  TensorNames names;
  OwningOpRef<ModuleOp> module;
  std::vector<std::optional<MaskExpression>> encoderMasks, decoderMasks, crossMasks;
};

} // namespace

static Activation activationOf(const std::string &name) {
  return llvm::StringSwitch<Activation>(name)
      .Case("relu", Activation::Relu)
      .Case("gelu", Activation::Gelu)
      .Case("gelu-tanh", Activation::GeluTanh)
      .Case("quick-gelu", Activation::QuickGelu)
      .Case("silu", Activation::Silu)
      .Default(Activation::None);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Status ModelBuilder::parseMasks() {
  auto parse = [&](const std::string &text, const std::string &path, std::vector<std::optional<MaskExpression>> &list) -> Status {
    list.emplace_back();
    if (text.empty())
      return {};
    auto mask = parseMask(text, d.file + ": " + path);
    if (!mask)
      return mask.takeError();
    list.back() = std::move(*mask);
    return {};
  };
  for (const auto *stack : {&d.encoder, &d.decoder})
    if (*stack)
      for (const LayerDescription &layer : (*stack)->layers) {
        bool encoder = stack == &d.encoder;
        if (Status status = parse(layer.mask, layer.maskPath, encoder ? encoderMasks : decoderMasks); !status)
          return status;
        if (!encoder)
          if (Status status = parse(layer.crossMask, layer.crossMaskPath, crossMasks); !status)
            return status;
      }
  return {};
}

bool ModelBuilder::usesSourceLengths() const {
  auto any = [](const auto &list) {
    return llvm::any_of(list, [](const auto &m) { return m && m->uses(MaskExpression::Kind::Lengths, "source"); });
  };
  return any(encoderMasks) || any(crossMasks);
}

/// The lengths that a mask names: an input, by default computed from the ids where they are at hand.
Value ModelBuilder::lengths(FunctionBuilder &f, const std::string &name, bool cross, Call call) {
  if (name != "source" && name != "target")
    return f.input(name, f.tensor({-1}, f.b.getI32Type()), {"B"});
  std::string input = name + ".lengths";
  if (call.step && cross && name == "source")
    return f.state("source.lengths", f.tensor({-1}, f.b.getI32Type()));
  const auto &side = name == "source" ? d.source : d.target;
  bool idsHere = side && !side->vectors && name == call.side();
  Value value = f.input(input, f.tensor({-1}, f.b.getI32Type()), {"B"});
  if (idsHere)
    f.defaultLengths(input, call.step ? "running_lengths_of" : "lengths_of", name, side->padding);
  return value;
}

Value ModelBuilder::mask(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) {
  OpBuilder &b = f.b;
  auto operand = [&](size_t i) { return mask(f, e.operands[i], cross, call); };
  std::string keys = cross ? "S" : call.step ? "target.keys" : call.decoder ? "T" : "S";
  std::string queries = call.step ? "1" : call.decoder ? "T" : "S";
  switch (e.kind) {
  case MaskExpression::Kind::Causal: {
    Value offset = e.offset ? f.integer(*e.offset) : call.step ? f.cacheLength("P") : f.integer(0);
    return MaskCausalOp::create(b, f.loc, offset);
  }
  case MaskExpression::Kind::Lengths:
    return MaskLengthsOp::create(b, f.loc, lengths(f, e.input, cross, call));
  case MaskExpression::Kind::Keep:
    return MaskDenseOp::create(b, f.loc, f.flags(e.input, {-1, 1, 1, -1}, {"B", "1", "1", keys}, {"B", keys}));
  case MaskExpression::Kind::Hide: {
    Value hidden = MaskDenseOp::create(b, f.loc, f.flags(e.input, {-1, 1, 1, -1}, {"B", "1", "1", keys}, {"B", keys}));
    return MaskNotOp::create(b, f.loc, hidden);
  }
  case MaskExpression::Kind::Dense:
    return MaskDenseOp::create(b, f.loc, f.flags(e.input, {1, 1, call.step ? 1 : -1, -1}, {"1", "1", queries, keys}, {queries, keys}));
  case MaskExpression::Kind::And: {
    Value left = operand(0), right = operand(1);
    return MaskAndOp::create(b, f.loc, left, right);
  }
  case MaskExpression::Kind::Or: { // by De Morgan's law, until masks have an `or` of their own
    Value left = MaskNotOp::create(b, f.loc, operand(0)), right = MaskNotOp::create(b, f.loc, operand(1));
    return MaskNotOp::create(b, f.loc, Value(MaskAndOp::create(b, f.loc, left, right)));
  }
  case MaskExpression::Kind::Not:
    return MaskNotOp::create(b, f.loc, operand(0));
  }
  llvm_unreachable("unknown mask");
}

//===----------------------------------------------------------------------===//
// Sub-layers
//===----------------------------------------------------------------------===//

/// Ids or vectors in, positions added.
Value ModelBuilder::embed(FunctionBuilder &f, const StackDescription &stack, const SideDescription &side, Call call) {
  std::string name = call.side(), length = call.step ? "1" : call.decoder ? "T" : "S";
  int64_t columns = call.step ? 1 : -1;
  Value x;
  if (side.vectors) {
    x = f.input(name, f.tensor({-1, columns, d.size}), {"B", length, std::to_string(d.size)});
  } else {
    Value ids = f.input(name, f.tensor({-1, columns}, f.b.getI32Type()), {"B", length});
    f.range(name, "0", std::to_string(side.size));
    Value table = f.weight(name + ".embedding.weight", {side.size, d.size});
    IntegerAttr padding = stack.zeroPaddingRow ? f.b.getI64IntegerAttr(side.padding) : IntegerAttr();
    x = EmbeddingOp::create(f.b, f.loc, ids, table, f.b.getF32FloatAttr(static_cast<float>(stack.embeddingScale)), padding);
  }
  if (!stack.sinusoidal)
    return x;
  Value offset = call.step ? f.cacheLength("P") : Value();
  return PositionSinusoidalOp::create(f.b, f.loc, x, offset, f.b.getF32FloatAttr(static_cast<float>(stack.positionScale)));
}

/// norm(x + body(x)), or x + body(norm(x)).
Value ModelBuilder::sublayer(FunctionBuilder &f, Value x, const NormDescription &norm, const std::string &prefix, llvm::function_ref<Value(Value)> body) {
  auto normalise = [&](Value value) { return f.layerNorm(value, prefix + ".norm", d.size, norm.epsilon); };
  if (norm.pre)
    return f.add(x, body(normalise(x)));
  return normalise(f.add(x, body(x)));
}

/// Query, key or value heads of x.
Value ModelBuilder::projected(FunctionBuilder &f, Value x, const AttentionDescription &a, const std::string &prefix, const char *which) {
  bool query = which == std::string("query"), value = which == std::string("value");
  int64_t heads = query ? a.heads : a.keyValueHeads, size = value ? a.valueSize : a.headSize;
  bool bias = query ? a.queryBias : value ? a.valueBias : a.keyBias;
  Value y = f.linear(x, prefix + "." + which, heads * size, d.size, bias, activationOf(a.activation));
  return SplitHeadsOp::create(f.b, f.loc, y, f.b.getI64IntegerAttr(heads));
}

Value ModelBuilder::attend(FunctionBuilder &f, Value q, Value k, Value v, const AttentionDescription &a, const MaskExpression *formula,
                           const std::string &prefix, const std::string &result, bool cross, Call call) {
  Value m = formula ? mask(f, *formula, cross, call) : Value();
  WeightsResult weights = WeightsResult::None;
  if (!call.step && a.returnWeights != ReturnWeights::None)
    weights = a.returnWeights == ReturnWeights::Heads ? WeightsResult::PerHead : WeightsResult::Averaged;
  auto attention = AttentionOp::create(f.b, f.loc, q, k, v, m, static_cast<float>(a.scale), weights);
  if (attention.getWeights())
    f.result(result, attention.getWeights());
  Value merged = MergeHeadsOp::create(f.b, f.loc, attention.getOutput());
  if (!a.outputProjection)
    return merged;
  return f.linear(merged, prefix + ".output", d.size, a.heads * a.valueSize, a.outputBias, Activation::None);
}

static std::string layerName(bool decoder, size_t index) { return (decoder ? "decoder." : "encoder.") + std::to_string(index); }

Value ModelBuilder::selfAttention(FunctionBuilder &f, Value x, const LayerDescription &layer, size_t index, Call call) {
  std::string name = layerName(call.decoder, index), prefix = name + ".attention";
  const auto &formula = call.decoder ? decoderMasks[index] : encoderMasks[index];
  return sublayer(f, x, layer.norm, prefix, [&](Value in) {
    Value q = projected(f, in, layer.self, prefix, "query"), k = projected(f, in, layer.self, prefix, "key"), v = projected(f, in, layer.self, prefix, "value");
    if (call.step) {
      k = f.append(name + ".self.key", k);
      v = f.append(name + ".self.value", v);
    }
    return attend(f, q, k, v, layer.self, formula ? &*formula : nullptr, prefix, name + ".weights", false, call);
  });
}

Value ModelBuilder::crossAttention(FunctionBuilder &f, Value x, const LayerDescription &layer, size_t index, Call call) {
  std::string name = layerName(true, index), prefix = name + ".cross";
  const AttentionDescription &a = layer.cross;
  const auto &formula = crossMasks[index];
  return sublayer(f, x, layer.norm, prefix, [&](Value in) {
    Value q = projected(f, in, a, prefix, "query"), k, v;
    if (call.step) {
      k = f.state(name + ".cross.key", f.tensor({-1, a.keyValueHeads, -1, a.headSize}));
      v = f.state(name + ".cross.value", f.tensor({-1, a.keyValueHeads, -1, a.valueSize}));
    } else {
      Value memory = f.input("memory", f.tensor({-1, -1, d.size}), {"B", "S", std::to_string(d.size)});
      k = projected(f, memory, a, prefix, "key");
      v = projected(f, memory, a, prefix, "value");
    }
    return attend(f, q, k, v, a, formula ? &*formula : nullptr, prefix, name + ".cross-weights", true, call);
  });
}

Value ModelBuilder::feedForward(FunctionBuilder &f, Value x, const LayerDescription &layer, const std::string &name) {
  std::string prefix = name + ".ffn";
  const FfnDescription &ffn = layer.ffn;
  return sublayer(f, x, layer.norm, prefix, [&](Value in) -> Value {
    Value w1 = f.weight(prefix + ".in.weight", {ffn.size, d.size}), b1 = ffn.bias ? f.weight(prefix + ".in.bias", {ffn.size}) : Value();
    Value w2 = f.weight(prefix + ".out.weight", {d.size, ffn.size}), b2 = ffn.bias ? f.weight(prefix + ".out.bias", {d.size}) : Value();
    return FfnOp::create(f.b, f.loc, in, w1, b1, w2, b2, ActivationAttr::get(&context, activationOf(ffn.activation)));
  });
}

Value ModelBuilder::classify(FunctionBuilder &f, Value x) {
  const ClassifierDescription &c = *d.classifier;
  std::string table = std::string(d.kind == "encoder" ? "source" : "target") + ".embedding.weight";
  Value weight = f.weight(c.tied ? table : "classifier.weight", {c.size, d.size});
  Value bias = c.bias ? f.weight("classifier.bias", {c.size}) : Value();
  return LinearOp::create(f.b, f.loc, x, weight, bias, ActivationAttr::get(&context, Activation::None));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Status ModelBuilder::encode() {
  FunctionBuilder f(*module, names, "encode");
  Call call;
  Value x = embed(f, *d.encoder, *d.source, call);
  for (auto [index, layer] : llvm::enumerate(d.encoder->layers)) {
    x = selfAttention(f, x, layer, index, call);
    x = feedForward(f, x, layer, layerName(false, index));
  }
  if (d.encoder->norm.afterStack)
    x = f.layerNorm(x, "encoder.norm", d.size, d.encoder->norm.epsilon);
  if (d.isEncoderDecoder()) {
    f.firstResult("memory", x);
    if (usesSourceLengths())
      f.secondResult("source.lengths", lengths(f, "source", false, call));
  } else {
    f.firstResult(d.classifier ? "logits" : "output", d.classifier ? classify(f, x) : x);
  }
  return f.finish(d.file);
}

Status ModelBuilder::decode(bool step) {
  FunctionBuilder f(*module, names, step ? "decode_step" : "decode");
  Call call{true, step};
  Value x = embed(f, *d.decoder, *d.target, call);
  if (d.isEncoderDecoder() && !step)
    f.input("memory", f.tensor({-1, -1, d.size}), {"B", "S", std::to_string(d.size)});
  for (auto [index, layer] : llvm::enumerate(d.decoder->layers)) {
    x = selfAttention(f, x, layer, index, call);
    if (d.isEncoderDecoder())
      x = crossAttention(f, x, layer, index, call);
    x = feedForward(f, x, layer, layerName(true, index));
  }
  if (d.decoder->norm.afterStack)
    x = f.layerNorm(x, "decoder.norm", d.size, d.decoder->norm.epsilon);
  f.firstResult(d.classifier ? "logits" : "output", d.classifier ? classify(f, x) : x);
  return f.finish(d.file);
}

/// Keys and values of the memory are projected once; all lengths become 0.
Status ModelBuilder::decodeStart() {
  FunctionBuilder f(*module, names, "decode_start");
  if (d.isEncoderDecoder()) {
    Value memory = f.input("memory", f.tensor({-1, -1, d.size}), {"B", "S", std::to_string(d.size)});
    for (auto [index, layer] : llvm::enumerate(d.decoder->layers)) {
      std::string name = layerName(true, index);
      f.setState(name + ".cross.key", projected(f, memory, layer.cross, name + ".cross", "key"));
      f.setState(name + ".cross.value", projected(f, memory, layer.cross, name + ".cross", "value"));
    }
    if (llvm::any_of(crossMasks, [](const auto &m) { return m && m->uses(MaskExpression::Kind::Lengths, "source"); }))
      f.setState("source.lengths", lengths(f, "source", true, Call{true, false}));
  }
  CacheClearOp::create(f.b, f.loc, "P");
  return f.finish(d.file);
}

void ModelBuilder::decodeReorder() {
  FunctionBuilder f(*module, names, "decode_reorder");
  Value parents = f.input("parents", f.tensor({-1}, f.b.getI32Type()), {"rows"});
  f.range("parents", "0", "B");
  CacheReorderOp::create(f.b, f.loc, parents);
  (void)f.finish(d.file);
}

void ModelBuilder::declareStates() {
  OpBuilder b(&context);
  b.setInsertionPointToStart(module->getBody());
  auto declare = [&](const std::string &name, int64_t heads, int64_t size, const char *length, std::optional<int64_t> capacity) {
    auto type = RankedTensorType::get({ShapedType::kDynamic, heads, ShapedType::kDynamic, size}, b.getF32Type());
    ArrayAttr dims = b.getArrayAttr({b.getStringAttr("B"), b.getI64IntegerAttr(heads), b.getStringAttr(length), b.getI64IntegerAttr(size)});
    StateOp::create(b, b.getUnknownLoc(), name, dims, capacity ? b.getI64IntegerAttr(*capacity) : IntegerAttr(), type);
  };
  for (auto [index, layer] : llvm::enumerate(d.decoder->layers)) {
    std::string name = layerName(true, index);
    declare(name + ".self.key", layer.self.keyValueHeads, layer.self.headSize, "P", d.target->limit);
    declare(name + ".self.value", layer.self.keyValueHeads, layer.self.valueSize, "P", d.target->limit);
    if (d.isEncoderDecoder()) {
      declare(name + ".cross.key", layer.cross.keyValueHeads, layer.cross.headSize, "S", std::nullopt);
      declare(name + ".cross.value", layer.cross.keyValueHeads, layer.cross.valueSize, "S", std::nullopt);
    }
  }
  if (llvm::any_of(crossMasks, [](const auto &m) { return m && m->uses(MaskExpression::Kind::Lengths, "source"); }))
    StateOp::create(b, b.getUnknownLoc(), "source.lengths", b.getArrayAttr({b.getStringAttr("B")}), IntegerAttr(),
                    RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type()));
}

Expected<OwningOpRef<ModuleOp>> ModelBuilder::run() {
  if (Status status = parseMasks(); !status)
    return status.takeError();
  module = ModuleOp::create(UnknownLoc::get(&context));
  if (d.encoder)
    if (Status status = encode(); !status)
      return status.takeError();
  if (d.decoder) {
    declareStates();
    for (auto build : {+[](ModelBuilder &m) { return m.decode(false); }, +[](ModelBuilder &m) { return m.decodeStart(); },
                       +[](ModelBuilder &m) { return m.decode(true); }})
      if (Status status = build(*this); !status)
        return status.takeError();
    decodeReorder();
  }
  return std::move(module);
}

Expected<OwningOpRef<ModuleOp>> heddle::buildModel(const Description &description, MLIRContext &context, std::vector<TensorInfo> &tensors) {
  return ModelBuilder(description, context, tensors).run();
}
