//===- StackReader.cpp - A stack of layers from JSON ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks keys that exclude each other, and masks that do not fit their place.

#include "StackReader.h"

#include "RotaryScaling.h"

#include "heddle/Support/Text.h"

#include <algorithm>

using namespace heddle;

//===- Before the layers -------------------------------------------------===//

void StackReader::embedding(StackDescription &stack) {
  const Keys &e = stack.embedding;
  if (e.gives("norm"))
    stack.embeddingNorm = norm(e.object("norm"));
  stack.embeddingSize = e.get<int64_t>("size", model.size);
  if (stack.embeddingSize != model.size && !stack.projects)
    errors.expected(e.path("projection"),
                    "an object with a size that is not the model's " + std::to_string(model.size),
                    e.has("projection") ? "null" : "no such key");
  // The key may be set for the whole model and mean the other side.
  bool ids = (model.source && !model.source->vectors) || (model.target && !model.target->vectors);
  if (stack.types && (isDecoder() || !ids))
    errors.expected(e.path("types"), "no such key but of a source of ids", "it");
  for (const char *key : {"size", "projection"})
    if (!ids && e.gives(key))
      errors.expected(e.path(key), "no such key where vectors come in", "it");
  if (!ids && (stack.embeddingScale != 1.0 || stack.zeroPaddingRow))
    errors.expected(e.path(stack.zeroPaddingRow ? "padding-row" : "scale"),
                    "no such key where vectors come in", "it");
}

void StackReader::position(StackDescription &stack) {
  if (stack.in.isNull("position"))
    return;
  PositionDescription &position = stack.position = {stack.in.object("position")};
  const Keys &in = position.in;
  in.checkOnly(errors);
  if (position.rotary() && isDecoder() && in.gives("length"))
    errors.expected(in.path("length"), "target.limit in its place in a decoder of rotary positions",
                    "it");
  if (!position.learned())
    return;
  const std::optional<int64_t> rows =
      isDecoder() ? std::nullopt : model.source->rows(); // each row has a position
  if (!rows && !in.gives("length"))
    errors.expected(in.path("length"), "the rows of the table of learned positions",
                    in.has("length") ? "null" : "no such key");
  if (rows && in.gives("length") && position.length != *rows)
    errors.expected(in.path("length"),
                    std::string("the rows of the ") + model.source->whole() + ", " +
                        std::to_string(*rows),
                    std::to_string(position.length));
  if (rows)
    position.length = *rows;
}

/// A layer's own rotary positions. Other kinds are added to the stack's rows, so a layer cannot set
/// them.
PositionDescription StackReader::position(const StackDescription &stack, const Keys &in,
                                          const Keys &override, int64_t headSize) {
  bool rotary = stack.position.rotary();
  if (override.has("position") && !rotary)
    errors.expected(override.path("position"),
                    "no such key in a layer with positions that are "
                    "not rotary",
                    "it");
  if (!rotary || override.isNull("position"))
    return {};
  PositionDescription own{in.object("position")};
  scaleRotary(own, headSize, isDecoder() ? model.target->limit : own.length, errors);
  return own;
}

//===- Parts of a layer --------------------------------------------------===//

/// `own`: place of score-bias and sinks, which cross attention does not inherit.
AttentionDescription StackReader::attention(const Keys &in, const Keys &own) {
  AttentionDescription a{in, own, model.size};
  auto divides = [&](const char *key, int64_t divisor, const char *what, int64_t number) {
    if (number % divisor != 0)
      errors.expected(in.path(key), std::string("a divisor of ") + what + std::to_string(number),
                      std::to_string(divisor));
  };
  if (!in.require("heads", errors))
    return a;
  if (!in.has("head-size"))
    divides("heads", a.heads, "size ", model.size);
  divides("key-value-heads", a.keyValueHeads, "heads ", a.heads);
  if (!a.outputProjection && a.heads * a.valueSize != model.size)
    errors.expected(in.path("output-projection"),
                    "true, or heads times value-size to be size " + std::to_string(model.size),
                    "false and " + std::to_string(a.heads * a.valueSize));
  if (in.gives("projection-norm"))
    a.projectionNorm = norm(in.object("projection-norm"));
  if (a.projectionNorm && a.projectionNorm->in.get<bool>("after-rotary") &&
      a.projectionNorm->in.is("over", "row"))
    errors.expected(a.projectionNorm->in.path("over"), "head or heads with after-rotary", "row");
  if (auto text = own.maybe<std::string>("score-bias")) {
    Expected<MaskExpression> rule = parseScoreRule(*text);
    if (rule)
      a.bias = *rule;
    else
      errors.add(own.path("score-bias"), rule.error().message);
  }
  if (a.bias)
    distances(a, own.path("score-bias"));
  return a;
}

/// Distance rules multiply whole panels, with the rows of all heads.
void StackReader::distances(const AttentionDescription &a, const std::string &path) {
  using Kind = MaskExpression::Kind;
  for (const MaskCall &call : a.bias->calls) {
    bool ofKeys = call.kind == Kind::KeyDistance;
    if (!ofKeys && call.kind != Kind::QueryDistance)
      continue;
    const char *word = ofKeys ? "key_distance" : "query_distance";
    if (isDecoder())
      errors.expected(path, "no rule of distances in a decoder, where it is not supported yet",
                      word);
    if (call.numbers[0] % 8)
      errors.expected(path, std::string("a multiple of 8 in ") + word,
                      std::to_string(call.numbers[0]));
    if (ofKeys && a.keyValueHeads != a.heads)
      errors.expected(path, "as many heads of keys as of queries with key_distance",
                      std::to_string(a.keyValueHeads));
  }
}

NormDescription heddle::readNorm(const Keys &in, ErrorSink &errors) {
  NormDescription n{in};
  if (n.rms && !n.root)
    errors.expected(in.path("root"), "true where the kind is rms", "false");
  return n;
}

//===- Layers ------------------------------------------------------------===//

/// Reads a mask: the command line overrides the layer, which overrides the stack.
std::optional<MaskExpression> StackReader::mask(const std::string &key, const Keys &override,
                                                size_t index) {
  const MaskExpression *replaced = masks.find(name + "." + std::to_string(index) + "." + key);
  // Look it up even if it is replaced: an option is unused only if each layer has its own mask.
  const MaskExpression *ofStack = override.has(key) ? nullptr : masks.find(name + "." + key);
  if (!replaced)
    replaced = ofStack;
  Keys in = own.overriddenBy(override);
  std::string place = replaced ? "--mask" : in.path(key);
  auto text = in.maybe<std::string>(key);
  if (!replaced && !text)
    return std::nullopt;
  Expected<MaskExpression> mask = replaced ? Expected<MaskExpression>(*replaced) : parseMask(*text);
  if (!mask) {
    errors.add(place, mask.error().message);
    return std::nullopt;
  }
  checkMask(*mask, key == "cross-mask", place);
  return *mask;
}

/// Checks that a mask's inputs do not clash with inputs of the functions, and that it counts the
/// right keys.
void StackReader::checkMask(const MaskExpression &mask, bool cross, const std::string &path) {
  using Kind = MaskExpression::Kind;
  const std::string side = isDecoder() && !cross ? "target" : "source";
  for (const MaskCall &call : mask.calls) {
    std::vector<std::string> inputs = call.inputs;
    if (!call.offsetInput.empty())
      inputs.push_back(call.offsetInput);
    for (const std::string &input : inputs) {
      bool ofSide = input == "source" || input == "target";
      if (call.kind == Kind::Lengths && ofSide && input != side)
        errors.expected(path, "lengths(" + side + ") over these keys", "lengths(" + input + ")");
      if (input == "memory" || input == "parents" || (ofSide && call.kind != Kind::Lengths))
        errors.expected(path, "a name for the mask's own input", "'" + input + "'");
    }
  }
  for (const auto &[kind, word] : {std::pair{Kind::Keep, "keep"},
                                   {Kind::Hide, "hide"},
                                   {Kind::Dense, "dense"},
                                   {Kind::Blocks, "blocks"}})
    if (mask.uses(Kind::PackedDocuments) && mask.uses(kind))
      errors.expected(path, "no table of whole rows with documents_packed", word);
  // Each patch or frame row exists, so these sources have no padding.
  if (side == "source" && model.source->rows())
    for (const auto &[found, word] : {std::pair{mask.uses(Kind::Lengths, side), "lengths(source)"},
                                      {mask.uses(Kind::PackedDocuments), "documents_packed"}})
      if (found)
        errors.expected(path,
                        model.source->image ? "no such mask over the patches of an image"
                                            : "no such mask over rows of frames",
                        word);
  // Packed sequences have no padding; their documents give the lengths.
  if (mask.uses(Kind::PackedDocuments) && mask.uses(Kind::Lengths, side))
    errors.expected(path, "lengths of documents by a name of their own with documents_packed",
                    "lengths(" + side + ")");
}

/// Checks that all layers of a stack use the same documents, because positions count from their
/// starts.
void StackReader::documents(StackDescription &stack) {
  for (size_t index = 0; index < stack.layers.size(); ++index)
    for (const auto *mask : {&stack.layers[index].mask, &stack.layers[index].crossMask}) {
      const MaskCall *packed =
          *mask ? (*mask)->find(MaskExpression::Kind::PackedDocuments) : nullptr;
      if (!packed)
        continue;
      if (stack.documents.empty())
        stack.documents = packed->inputs[0];
      if (packed->inputs[0] != stack.documents)
        errors.expected(name + ".layers." + std::to_string(index),
                        "the same documents in all masks of the stack, documents_packed(" +
                            stack.documents + ", …)",
                        "documents_packed(" + packed->inputs[0] + ", …)");
    }
}

/// Experts of a feed-forward block. Each has whole panels of its matrices.
ExpertsDescription StackReader::experts(const Keys &ffn) {
  ExpertsDescription e{ffn.object("experts")};
  constexpr int64_t panel = 16;
  for (const char *key : {"count", "per-token", "size"})
    e.in.require(key, errors);
  if (errors.failed())
    return e;
  e.router.checkOnly(errors);
  if (e.mixes && e.router.get<bool>("normalise"))
    errors.expected(e.router.path("normalise"), "false with the score sparse-mixer", "true");
  if (e.perToken > e.count)
    errors.expected(e.in.path("per-token"),
                    "at most count, " + std::to_string(e.count) + ", experts",
                    std::to_string(e.perToken));
  if (e.count % e.groups != 0)
    errors.expected(e.router.path("groups"),
                    "a divisor of count, " + std::to_string(e.count) + ", experts",
                    std::to_string(e.groups));
  else if (e.usedGroups > e.groups || e.perToken > e.count / e.groups * e.usedGroups)
    errors.expected(e.router.path("used-groups"),
                    "at most " + std::to_string(e.groups) + " groups, with at least " +
                        std::to_string(e.perToken) + " experts",
                    std::to_string(e.usedGroups));
  if (e.size % panel != 0)
    errors.expected(e.in.path("size"), "a multiple of 16", std::to_string(e.size));
  if (model.size % panel != 0)
    errors.expected(model.in.path("size"), "a multiple of 16 with experts",
                    std::to_string(model.size));
  if (e.sharedGate && e.shared == 0)
    errors.expected(e.in.path("shared-gate"), "false without shared experts", "true");
  if (ffn.is("as", "conv1x1"))
    errors.expected(ffn.path("as"), "linear with experts", "conv1x1");
  return e;
}

/// The norm of a sub-layer: the stack's, which a sub-layer may override or disable.
std::optional<NormDescription> StackReader::sublayerNorm(const Keys &norms, const Keys &in) {
  if (in.isNull("norm"))
    return std::nullopt;
  return norm(norms.overriddenBy(in.object("norm")));
}

LayerDescription StackReader::layer(const StackDescription &stack, const Keys &override,
                                    size_t index) {
  Keys in = model.in.overriddenBy(own).overriddenBy(override), attends = in.object("attention");
  LayerDescription layer;
  layer.self = attention(attends, attends);
  Keys ffn = in.object("ffn");
  if (!errors.failed() && ffn.gives("experts")) {
    layer.ffn = {ffn};
    layer.ffn.experts = experts(ffn);
  } else if (!errors.failed() && ffn.require("size", errors)) {
    layer.ffn = {ffn};
  }
  if (layer.ffn.hasSlopes && (layer.ffn.gated || layer.ffn.experts))
    errors.expected(ffn.path("activation"), "another one with a gate or experts", "xielu");
  for (const char *key : {"gate-limit", "input-offset"})
    if (!layer.ffn.gated && ffn.get<double>(key, 0) != 0)
      errors.expected(ffn.path(key), "no such key without a gate", shown(*ffn.find(key)));
  Keys norms = in.object("norm");
  layer.place = norms.is("place", "pre")      ? NormPlace::Pre
                : norms.is("place", "both")   ? NormPlace::Both
                : norms.is("place", "output") ? NormPlace::Output
                                              : NormPlace::Post;
  layer.parallel = in.get<bool>("parallel");
  if (layer.parallel && (layer.place == NormPlace::Post || hasCross()))
    errors.expected(in.path("parallel"),
                    hasCross() ? "false with cross attention" : "false with norm.place post",
                    "true");
  layer.selfNorm = sublayerNorm(norms, attends);
  layer.ffnNorm = sublayerNorm(norms, ffn);
  layer.position = position(stack, in, override, layer.self.headSize);
  layer.mask = mask("mask", override, index);
  if (hasCross()) {
    // `cross` overrides `attention`, whatever the place.
    Keys cross = own.overriddenBy(override).object("cross");
    layer.cross = attention(attends.overriddenBy(cross), cross);
    layer.crossNorm = sublayerNorm(norms, attends.overriddenBy(cross));
    layer.crossMask = mask("cross-mask", override, index);
  }
  return layer;
}

/// Reads the stages after an encoder that no decoder reads.
void StackReader::output(StackDescription &stack) {
  stack.outputSize = stack.pooledSize = model.size * std::max<int64_t>(stack.pool.size(), 1);
  if (!own.gives("output"))
    return;
  if (model.isEncoderDecoder())
    errors.expected(own.path("output"), "null where a decoder reads the encoder's output",
                    "a list");
  const Json &stages = *own.find("output");
  for (size_t i = 0; i < stages.size(); ++i) {
    OutputStage &stage = stack.output.emplace_back();
    if (stages[i].is_string())
      continue;
    stage.dense = own.item("output", i).object("dense");
    stack.outputSize = stage.dense->get<int64_t>("size");
  }
}

/// Reads how rows become one. The pooling by attention has the parts of a layer.
void StackReader::pooling(StackDescription &stack) {
  stack.pool = own.words("pool");
  auto expect = [&](const std::string &expected) {
    errors.expected(own.path("pool"), expected, shown(*own.find("pool")));
  };
  if (!stack.pool.empty() && model.isEncoderDecoder())
    expect("null where a decoder reads the encoder's output");
  if (stack.pool != std::vector<std::string>{"attention"} || errors.failed())
    return;
  if (isDecoder() || !model.source->image)
    return expect("another pooling without source.image");
  stack.poolLayer = layer(stack, Keys(), stack.layers.size());
  const FfnDescription &ffn = stack.poolLayer->ffn;
  if (ffn.experts || ffn.convolution || ffn.hasSlopes || stack.poolLayer->self.bias)
    expect("another pooling with experts, conv1x1, xielu or a score-bias");
}

StackDescription StackReader::read() {
  for (const char *key : {"cross", "cross-mask"})
    if (own.has(key) && !hasCross())
      errors.expected(own.path(key), "no cross attention in a decoder without encoder", "it");
  StackDescription stack{model.in.overriddenBy(own)};
  embedding(stack);
  position(stack);
  if (Keys norms = stack.in.object("norm"); norms.get<bool>("after-stack"))
    stack.norm = norm(norms);
  const Json &layers = *own.find("layers");
  size_t count = layers.is_array() ? layers.size() : own.get<size_t>("layers");
  for (size_t i = 0; i < count && !errors.failed(); ++i) {
    Keys override = layers.is_array() ? own.item("layers", i) : Keys();
    if (Keys norm = override.object("norm"); norm.has("after-stack"))
      errors.expected(norm.path("after-stack"), "no such key in a layer", "it");
    stack.layers.push_back(layer(stack, override, i));
  }
  documents(stack);
  pooling(stack);
  stack.poolsParts = !stack.pool.empty() && own.get<bool>("pool-parts");
  if (own.get<bool>("pool-parts") && stack.pool.empty())
    errors.expected(own.path("pool-parts"), "false without pool", "true");
  output(stack);
  return stack;
}

//===- Masks of the command line -----------------------------------------===//

Expected<MaskOptions> MaskOptions::parse(const std::vector<std::string> &list) {
  MaskOptions masks;
  for (const std::string &option : list) {
    size_t equal = option.find('=');
    if (equal == std::string::npos || equal == 0)
      return usageError("--mask: expected NAME=EXPR, found " + quotedText(option));
    std::string name = option.substr(0, equal);
    Expected<MaskExpression> mask = parseMask(std::string_view(option).substr(equal + 1));
    if (!mask)
      return inputError("--mask " + name + ": " + mask.error().message);
    if (!masks.options.try_emplace(name, Option{std::move(*mask)}).second)
      return usageError("--mask: expected each name once, found " + quotedText(name) + " twice");
  }
  return masks;
}

const MaskExpression *MaskOptions::find(const std::string &path) {
  if (std::find(asked.begin(), asked.end(), path) == asked.end())
    asked.push_back(path);
  auto it = options.find(path);
  if (it == options.end())
    return nullptr;
  it->second.used = true;
  return &it->second.mask;
}

Status MaskOptions::allUsed(const std::string &what) const {
  std::string names = asked.empty() ? "it has none" : firstText(asked, 8);
  for (const auto &[name, option] : options)
    if (!option.used)
      return inputError("--mask: expected " + what + " (" + names + "), found " + quotedText(name));
  return {};
}
