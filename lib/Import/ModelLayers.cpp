//===- ModelLayers.cpp - The sub-layers of a model ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds each sub-layer with its norm and residual. In a step, keys and values come from the
// session.

#include "ModelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

std::string heddle::dialectWord(std::string word) {
  std::ranges::replace(word, '-', '_');
  return word;
}

Activation heddle::activationOf(const std::string &word) {
  return symbolizeActivation(dialectWord(word)).value_or(Activation::None);
}

Value ModelBuilder::addPositions(FunctionBuilder &f, Value x, Call call) {
  const PositionDescription &position = stack(call).position;
  if (position.kind.empty() || position.rotary() || position.plane() || position.grid())
    return x;
  Value offset = call.cached() ? f.rowsBefore() : Value();
  Value starts = documents(call).empty() ? Value() : masks.starts(f, documents(call));
  auto scale = f.b.getF32FloatAttr(static_cast<float>(position.scale));
  if (!position.learned())
    return PositionSinusoidalOp::create(f.b, f.loc, x, offset, starts, scale);
  Value table = f.weight(std::string(call.side()) + ".position.weight",
                         {position.length, stack(call).embeddingSize});
  return PositionLearnedOp::create(f.b, f.loc, x, table, offset, starts, scale);
}

/// Adds a sub-layer to `onto`, which is x unless sub-layers are parallel: norm(onto + body(x)),
/// onto + body(norm(x)), onto + norm-after(body(norm(x))) or onto + norm(body(x)).
Value ModelBuilder::sublayer(FunctionBuilder &f, Value x, Value onto, NormPlace place,
                             const std::optional<NormDescription> &norm, const std::string &prefix,
                             Call call, llvm::function_ref<Value(Value)> body) {
  FunctionBuilder::Part part(f, prefix);
  auto normal = [&](Value value, const char *name) {
    return norm ? f.norm(value, prefix + name, d.size, *norm) : value;
  };
  auto added = [&](Value y) { return f.add(onto, dropped(f, y, "sublayer", call)); };
  if (place == NormPlace::Post)
    return normal(added(body(x)), ".norm");
  if (place == NormPlace::Output)
    return added(normal(body(x), ".norm"));
  Value y = body(normal(x, ".norm"));
  return added(place == NormPlace::Both ? normal(y, ".norm-after") : y);
}

/// Projects x to query, key or value heads.
Value ModelBuilder::heads(FunctionBuilder &f, Value x, const AttentionDescription &a,
                          const std::string &prefix, StringRef which) {
  bool query = which == "query", value = which == "value";
  int64_t count = query ? a.heads : a.keyValueHeads, size = value ? a.valueSize : a.headSize;
  bool bias = query ? a.queryBias : value ? a.valueBias : a.keyBias;
  std::string name = prefix + "." + which.str();
  FunctionBuilder::Part part(f, prefix, query ? "" : value ? "values" : "keys");
  Value y = f.linear(x, name, count * size, d.size, bias, activationOf(a.activation));
  if (a.perHeadProjection) { // maps the features of all heads; the heads' matrices are stacked
    Value matrices = f.matrix(name + ".head.weight", {count, size, count * size}, count * size);
    y = f.linear(y, matrices);
  }
  auto split = [&](Value rows) -> Value {
    return SplitHeadsOp::create(f.b, f.loc, rows, f.b.getI64IntegerAttr(count));
  };
  if (!a.projectionNorm || value || a.projectionNorm->in.get<bool>("after-rotary"))
    return split(y);
  if (a.projectionNorm->in.is("over", "row"))
    return split(f.norm(y, name + ".norm", count * size, *a.projectionNorm));
  return projectionNorm(f, split(y), a, prefix, which);
}

/// The norm of query or key heads.
Value ModelBuilder::projectionNorm(FunctionBuilder &f, Value heads, const AttentionDescription &a,
                                   const std::string &prefix, StringRef which) {
  const NormDescription &norm = *a.projectionNorm;
  return f.norm(heads, prefix + "." + which.str() + ".norm", a.headSize, norm,
                norm.in.is("over", "heads") ? cast<ShapedType>(heads.getType()).getDimSize(1) : 1);
}

/// Number of valid keys of each sequence in the cache; null if the mask already hides the rest. In
/// a step the token is its sequence's last, so a mask that hides later keys suffices.
Value ModelBuilder::keysAtHand(FunctionBuilder &f, const Site &site) {
  bool hides =
      site.mask && ((site.call.step && site.mask->hidesLater()) ||
                    (site.mask->conjunction && site.mask->uses(MaskCall::Kind::Lengths, "target")));
  bool replaces = site.mask && site.attention.hiddenScore; // hidden keys get a share
  return hides && !replaces ? Value() : f.rowsAfter();
}

/// Attention and output projection; adds the weights as a result if requested.
Value ModelBuilder::attend(FunctionBuilder &f, const Site &site, Value q, Value k, Value v) {
  const AttentionDescription &a = site.attention;
  Call call = site.call;
  call.heads = a.heads;
  call.scores = Call::Scores{q, k, static_cast<float>(a.scale), site.prefix};
  call.packed = !call.documents.empty();
  call.packed |= site.mask && site.mask->uses(MaskExpression::Kind::PackedDocuments);
  Value mask;
  if (site.mask)
    mask = masks.build(f, *site.mask, site.cross, call);
  else if (!call.documents.empty())
    mask = masks.within(f, call, site.cross, {});
  bool givesMore = !call.cached() && !call.loss && call.documents.empty();
  bool returns = a.returnWeights != ReturnWeights::None && givesMore;
  bool average = a.returnWeights == ReturnWeights::Average;
  WeightsResult weights = !returns  ? WeightsResult::None
                          : average ? WeightsResult::Averaged
                                    : WeightsResult::PerHead;
  auto real = [&](const std::optional<double> &value) {
    return value ? f.b.getF32FloatAttr(static_cast<float>(*value)) : FloatAttr();
  };
  ScoreRules rules;
  rules.softcap = real(a.softcap);
  if (mask) // no mask, no hidden pairs
    rules.hiddenScore = real(a.hiddenScore);
  if (a.bias)
    rules.bias = masks.build(f, *a.bias, site.cross, call);
  if (call.cached() && !site.cross)
    rules.keyCounts = keysAtHand(f, site);
  if (a.sinks)
    rules.sinks = f.weight(site.prefix + ".sinks", {a.heads});
  bool sums = a.returnLogSumExp && givesMore;
  auto attention = AttentionOp::create(f.b, f.loc, q, k, v, mask, static_cast<float>(a.scale),
                                       weights, sums, rules);
  // Marks keys and values that steps read from caches; packed documents have no session.
  if (double dropout = d.training.dropout.get<double>("attention"); call.loss && dropout > 0)
    attention.setDropoutAttr(real(dropout));
  attention.setKept(call.decoder && !call.cached() && d.decoder->documents.empty() && !d.detector);
  if (sums)
    f.result(site.result + "log-sum-exp", attention.getLse(),
             {"B", std::to_string(a.heads), site.call.rows()});
  std::string queries = site.call.rows(), keys = site.cross ? "S" : queries;
  if (returns && average)
    f.result(site.result + "weights", attention.getWeights(), {"B", queries, keys});
  else if (returns)
    f.result(site.result + "weights", attention.getWeights(),
             {"B", std::to_string(a.heads), queries, keys});
  Value merged = MergeHeadsOp::create(f.b, f.loc, attention.getOutput());
  if (!a.outputProjection)
    return merged;
  return f.linear(merged, site.prefix + ".output", d.size, a.heads * a.valueSize, a.outputBias,
                  Activation::None);
}

Value ModelBuilder::selfAttention(FunctionBuilder &f, Value x, size_t index, Call call) {
  const LayerDescription &layer = stack(call).layers[index];
  std::string name = layerName(call.decoder, index), prefix = name + ".attention";
  const AttentionDescription &a = layer.self;
  return sublayer(f, x, x, layer.place, layer.selfNorm, prefix, call, [&](Value in) {
    Value at = placed(f, in, call.decoder);
    Value q = heads(f, at, a, prefix, "query");
    Value k = heads(f, at, a, prefix, "key");
    Value v = heads(f, in, a, prefix, "value");
    if (const PositionDescription &position = layer.position; position.rotary()) {
      Value offset = call.cached() ? f.rowsBefore() : Value();
      Value starts = documents(call).empty() ? Value() : masks.starts(f, documents(call));
      DenseF64ArrayAttr frequencies;
      if (!position.frequencies.empty())
        frequencies = f.b.getDenseF64ArrayAttr(position.frequencies);
      IntegerAttr length;
      if (position.rotatedRows > 0)
        length = f.b.getI64IntegerAttr(position.rotatedRows);
      for (Value *rotated : {&q, &k})
        *rotated = RotaryOp::create(f.b, f.loc, rotated->getType(), *rotated, offset, starts,
                                    f.b.getF64FloatAttr(position.base),
                                    f.b.getF64FloatAttr(position.fraction),
                                    f.b.getF64FloatAttr(position.factor), frequencies,
                                    f.b.getF64FloatAttr(position.magnitude), length,
                                    position.inverse ? f.b.getUnitAttr() : UnitAttr());
    }
    if (a.projectionNorm && a.projectionNorm->in.get<bool>("after-rotary")) {
      q = projectionNorm(f, q, a, prefix, "query");
      k = projectionNorm(f, k, a, prefix, "key");
    }
    if (call.cached()) {
      Value counts = call.prompt ? addedTokens(f) : Value();
      k = f.append(name + ".self.key", k, counts);
      v = f.append(name + ".self.value", v, counts);
    }
    Site site{a, layer.mask, prefix, name + ".", /*cross=*/false, call};
    return attend(f, site, q, k, v);
  });
}

Value ModelBuilder::crossAttention(FunctionBuilder &f, Value x, size_t index, Call call) {
  const LayerDescription &layer = stack(call).layers[index];
  std::string name = layerName(true, index), prefix = name + ".cross";
  const AttentionDescription &a = layer.cross;
  return sublayer(f, x, x, layer.place, layer.crossNorm, prefix, call, [&](Value in) {
    Value q = heads(f, placed(f, in, /*ofDecoder=*/true), a, prefix, "query"), k, v;
    if (call.cached()) {
      k = f.state(prefix + ".key", f.tensor({-1, a.keyValueHeads, -1, a.headSize}));
      v = f.state(prefix + ".value", f.tensor({-1, a.keyValueHeads, -1, a.valueSize}));
    } else {
      k = heads(f, placed(f, memory(f), /*ofDecoder=*/false), a, prefix, "key");
      v = heads(f, memory(f), a, prefix, "value");
    }
    Site site{a, layer.crossMask, prefix, name + ".cross-", /*cross=*/true, call};
    return attend(f, site, q, k, v);
  });
}

/// The result of one learned row that attends to the rows of each image, and of a feed-forward block.
Value ModelBuilder::poolByAttention(FunctionBuilder &f, Value x, Call call) {
  const LayerDescription &layer = *stack(call).poolLayer;
  const AttentionDescription &a = layer.self;
  const std::string name = "encoder.pool", prefix = name + ".attention";
  Value row = RepeatRowsOp::create(f.b, f.loc, map, f.weight(name + ".query.weight", {1, d.size}));
  const std::optional<MaskExpression> unmasked;
  Site site{a, unmasked, prefix, name + ".", /*cross=*/true, call};
  Value y = attend(f, site, heads(f, row, a, prefix, "query"), heads(f, x, a, prefix, "key"),
                   heads(f, x, a, prefix, "value"));
  y = sublayer(f, y, y, layer.place, layer.ffnNorm, name + ".ffn", call,
               [&](Value in) { return block(f, in, layer.ffn, name + ".ffn", layer.ffn.size); });
  return PoolOp::create(f.b, f.loc, y, Value(), Value(),
                        f.b.getArrayAttr(PoolingAttr::get(&context, Pooling::Cls)));
}

/// The limit of a gate; null without one.
static FloatAttr limitOf(FunctionBuilder &f, const FfnDescription &ffn) {
  return ffn.gateLimit ? f.b.getF32FloatAttr(static_cast<float>(*ffn.gateLimit)) : FloatAttr();
}

static llvm::APFloat offsetOf(const FfnDescription &ffn) {
  return llvm::APFloat(static_cast<float>(ffn.inputOffset));
}

/// Experts that a router chooses for each row, and shared experts, which are added last.
Value ModelBuilder::experts(FunctionBuilder &f, Value x, const FfnDescription &ffn,
                            const std::string &prefix) {
  const ExpertsDescription &e = *ffn.experts;
  const Activation activation = activationOf(ffn.activation);
  Value logits = f.linear(x, prefix + ".router", e.count, d.size, e.bias, Activation::None);
  Value correction = e.correction ? f.weight(prefix + ".router.correction", {e.count}) : Value();
  auto score = e.mixes     ? RouterScore::SparseMixer
               : e.sigmoid ? RouterScore::Sigmoid
                           : RouterScore::Softmax;
  auto chosen = [&](Type element) {
    return RankedTensorType::get({e.perToken, ShapedType::kDynamic}, element);
  };
  auto route = RouteOp::create(f.b, f.loc, chosen(f.b.getI32Type()), chosen(f.b.getF32Type()),
                               logits, correction, e.perToken, score, e.normalise,
                               llvm::APFloat(static_cast<float>(e.scale)), e.groups, e.usedGroups,
                               llvm::APFloat(static_cast<float>(e.jitter)));
  auto matrix = [&](const char *part, int64_t out, int64_t in) {
    return f.matrix(prefix + ".experts" + part + ".weight", {e.count, out, in}, e.count * out);
  };
  auto bias = [&](const char *part, int64_t size) {
    return ffn.bias ? f.vector(prefix + ".experts" + part + ".bias", {e.count, size}) : Value();
  };
  Value w1 = matrix(".in", e.size, d.size), b1 = bias(".in", e.size);
  Value gate = ffn.gated ? matrix(".gate", e.size, d.size) : Value(),
        gateBias = gate ? bias(".gate", e.size) : Value();
  Value w2 = matrix(".out", d.size, e.size), b2 = bias(".out", d.size);
  Value sum = ExpertsOp::create(f.b, f.loc, x.getType(), x, route.getExperts(), route.getWeights(),
                                w1, b1, w2, b2, gate, gateBias, e.count, activation,
                                limitOf(f, ffn), offsetOf(ffn));
  if (!e.shared)
    return sum;
  Value shared = block(f, x, ffn, prefix + ".shared", e.shared * e.size);
  if (e.sharedGate)
    shared = ScaleRowsOp::create(
        f.b, f.loc, shared,
        f.linear(x, prefix + ".shared.router", 1, d.size, /*bias=*/false, Activation::Sigmoid));
  return f.add(sum, shared);
}

ModelBuilder::FfnWeights ModelBuilder::ffnWeights(FunctionBuilder &f, const FfnDescription &ffn,
                                                  const std::string &prefix, int64_t hidden) {
  auto weight = [&](const char *part, int64_t out, int64_t in) {
    SmallVector<int64_t> shape{out, in};
    if (ffn.convolution)
      shape.push_back(1);
    return f.weight(prefix + part + ".weight", shape);
  };
  auto bias = [&](const char *part, int64_t size) {
    return ffn.bias ? f.weight(prefix + part + ".bias", {size}) : Value();
  };
  FfnWeights w;
  w.in = weight(".in", hidden, d.size), w.inBias = bias(".in", hidden);
  if (ffn.gated)
    w.gate = weight(".gate", hidden, d.size), w.gateBias = bias(".gate", hidden);
  w.out = weight(".out", d.size, hidden), w.outBias = bias(".out", d.size);
  return w;
}

Value ModelBuilder::block(FunctionBuilder &f, Value x, const FfnDescription &ffn,
                          const std::string &prefix, int64_t hidden) {
  const FfnWeights w = ffnWeights(f, ffn, prefix, hidden);
  return FfnOp::create(f.b, f.loc, x, w.in, w.inBias, w.out, w.outBias, w.gate, w.gateBias,
                       activationOf(ffn.activation), limitOf(f, ffn), offsetOf(ffn));
}

Value ModelBuilder::feedForward(FunctionBuilder &f, Value x, Value onto, size_t index, Call call) {
  const LayerDescription &layer = stack(call).layers[index];
  const FfnDescription &ffn = layer.ffn;
  std::string prefix = layerName(call.decoder, index) + ".ffn";
  Activation activation = activationOf(ffn.activation);
  return sublayer(f, x, onto, layer.place, layer.ffnNorm, prefix, call, [&](Value in) -> Value {
    const bool drops = call.loss && d.training.dropout.get<double>("ffn") > 0;
    if (ffn.experts)
      return experts(f, in, ffn, prefix);
    if (!ffn.convolution && !drops && !ffn.hasSlopes)
      return block(f, in, ffn, prefix, ffn.size);
    const FfnWeights w = ffnWeights(f, ffn, prefix, ffn.size);
    auto product = [&](Value x, Value w, Value b, Activation function) -> Value {
      if (ffn.convolution)
        return Conv1x1Op::create(f.b, f.loc, x, w, b, function);
      return f.linear(x, w, b, function);
    };
    const bool isLimited = ffn.gateLimit || ffn.inputOffset != 0;
    Value hidden = product(in, w.in, w.inBias, w.gate ? Activation::None : activation);
    Value gate;
    if (w.gate)
      gate = product(in, w.gate, w.gateBias, isLimited ? Activation::None : activation);
    if (gate && isLimited)
      hidden = GateOp::create(f.b, f.loc, gate, hidden, activation, limitOf(f, ffn), offsetOf(ffn));
    else if (gate)
      hidden = arith::MulFOp::create(f.b, f.loc, gate, hidden);
    if (ffn.hasSlopes)
      hidden = XieluOp::create(f.b, f.loc, hidden, f.weight(prefix + ".slopes", {2}));
    return product(dropped(f, hidden, "ffn", call), w.out, w.outBias, Activation::None);
  });
}
