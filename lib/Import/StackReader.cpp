//===- StackReader.cpp - A stack of layers from JSON ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function an object. Keys that the language has and this version does not
// build are errors that say so.
//
//===----------------------------------------------------------------------===//

#include "StackReader.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

static const std::vector<std::string> activations = {"relu", "gelu", "gelu-tanh", "quick-gelu",
                                                     "silu"};

StackReader::StackReader(const Json &json, std::string name, const Description &model,
                         MaskOptions &masks, ErrorSink &errors)
    : json(json), name(std::move(name)), model(model), masks(masks), errors(errors) {}

/// The whole file, the stack's object and the layer's, outermost first.
ObjectReader StackReader::reader(const Json *override, size_t index) const {
  std::vector<ObjectReader::Layer> layers = {{&json, ""}, {&json[name], name}};
  if (override)
    layers.push_back({override, name + ".layers." + std::to_string(index)});
  return ObjectReader(std::move(layers), errors);
}

//===----------------------------------------------------------------------===//
// What stands before the layers
//===----------------------------------------------------------------------===//

void StackReader::embedding(ObjectReader &in, StackDescription &stack) {
  ObjectReader e = in.object("embedding");
  e.known({"scale", "norm", "padding-row"});
  stack.embeddingScale = e.number("scale", 1.0);
  if (e.has("norm") && !e.isNull("norm"))
    stack.embeddingNorm = norm(e.object("norm"), /*ofSublayers=*/false);
  stack.zeroPaddingRow = e.word("padding-row", "stored", {"stored", "zero"}, 2) == "zero";
  // One key of the whole model may be meant for the other side.
  bool ids = (model.source && !model.source->vectors) || (model.target && !model.target->vectors);
  if (!ids && (stack.embeddingScale != 1.0 || stack.zeroPaddingRow))
    errors.expected(e.path(stack.zeroPaddingRow ? "padding-row" : "scale"),
                    "no such key where vectors come in", "it");
}

void StackReader::position(ObjectReader &in, StackDescription &stack) {
  PositionDescription &position = stack.position;
  if (in.isNull("position")) {
    position.kind = PositionKind::None;
    return;
  }
  ObjectReader p = in.object("position");
  p.known({"kind", "scale", "length", "base", "fraction"});
  std::string kind = p.word("kind", "sinusoidal", {"sinusoidal", "learned", "rotary"}, 2);
  for (const char *key : {"base", "fraction"})
    if (p.has(key))
      errors.expected(p.path(key), "no such key with " + kind + " positions", "it");
  position.scale = p.number("scale", 1.0);
  auto length = p.optionalInteger("length", std::nullopt, 1);
  if (kind != "learned")
    return;
  position.kind = PositionKind::Learned;
  const std::optional<ImageDescription> image =
      isDecoder() ? std::nullopt : model.source->image; // every row has a place in it
  if (image && length.value_or(image->rows()) != image->rows())
    errors.expected(p.path("length"), "the rows of the image, " + std::to_string(image->rows()),
                    std::to_string(*length));
  position.length = length.value_or(image ? image->rows() : 1);
  if (!length && !image)
    errors.expected(p.path("length"), "the rows of the table of learned positions",
                    p.has("length") ? "null" : "no such key");
}

//===----------------------------------------------------------------------===//
// Parts of a layer
//===----------------------------------------------------------------------===//

void StackReader::headSizes(ObjectReader &in, AttentionDescription &a) {
  a.heads = in.integer("heads", 1, 1, 1 << 16);
  if (!in.has("head-size") && model.size % a.heads != 0)
    errors.expected(in.path("heads"), "a divisor of size " + std::to_string(model.size),
                    std::to_string(a.heads));
  a.keyValueHeads = in.integer("key-value-heads", a.heads, 1, 1 << 16);
  if (a.heads % a.keyValueHeads != 0)
    errors.expected(in.path("key-value-heads"), "a divisor of heads " + std::to_string(a.heads),
                    std::to_string(a.keyValueHeads));
  a.headSize = in.integer("head-size", std::max<int64_t>(model.size / a.heads, 1), 1, 1 << 16);
  a.valueSize = in.integer("value-size", a.headSize, 1, 1 << 16);
  a.outputProjection = in.boolean("output-projection", true);
  if (!a.outputProjection && a.heads * a.valueSize != model.size)
    errors.expected(in.path("output-projection"),
                    "true, or heads times value-size to be size " + std::to_string(model.size),
                    "false and " + std::to_string(a.heads * a.valueSize));
}

/// What changes scores. `own` is where score-bias and sinks are looked for: cross attention does
/// not inherit them.
void StackReader::scoreRules(ObjectReader &in, ObjectReader &own, AttentionDescription &a) {
  auto real = [&](const char *key) -> std::optional<double> {
    if (!in.has(key) || in.isNull(key))
      return std::nullopt;
    return in.number(key, 0);
  };
  a.softcap = real("softcap");
  if (a.softcap && !(*a.softcap > 0))
    errors.expected(in.path("softcap"), "a number above 0", shown(*in.find("softcap")));
  a.hiddenScore = real("hidden-score");
  a.returnLogSumExp = in.boolean("return-log-sum-exp", false);
  a.sinks = own.boolean("sinks", false);
  if (!own.has("score-bias") || own.isNull("score-bias"))
    return;
  Expected<MaskExpression> rule = parseScoreRule(own.text("score-bias", "alibi"));
  if (!rule)
    return errors.add(own.path("score-bias"), rule.error().message);
  a.bias = *rule;
}

AttentionDescription StackReader::attention(ObjectReader in, ObjectReader own) {
  in.known({"heads", "key-value-heads", "head-size", "value-size", "score-scale", "bias",
            "activation", "output-projection", "per-head-projection", "hidden-score", "softcap",
            "sinks", "score-bias", "return-weights", "return-log-sum-exp"});
  AttentionDescription a;
  if (!in.require("heads", "a number of heads"))
    return a;
  headSizes(in, a);
  a.scale = in.number("score-scale", 1.0 / std::sqrt(static_cast<double>(a.headSize)));
  ObjectReader bias = in.object("bias");
  bias.known({"query", "key", "value", "output"});
  a.queryBias = bias.boolean("query", false);
  a.keyBias = bias.boolean("key", false);
  a.valueBias = bias.boolean("value", false);
  a.outputBias = bias.boolean("output", true);
  if (in.has("activation") && !in.isNull("activation"))
    a.activation = in.word("activation", "relu", activations, activations.size());
  if (in.has("return-weights") && !in.isNull("return-weights")) {
    std::string kind = in.word("return-weights", "average", {"heads", "average"}, 2);
    a.returnWeights = kind == "heads" ? ReturnWeights::Heads : ReturnWeights::Average;
  }
  a.perHeadProjection = in.boolean("per-head-projection", false);
  scoreRules(in, own, a);
  return a;
}

FfnDescription StackReader::ffn(ObjectReader in) {
  in.known({"size", "gated", "activation", "bias", "as"});
  FfnDescription f;
  if (!in.require("size", "a hidden size"))
    return f;
  f.size = in.integer("size", 1, 1, 1 << 24);
  f.activation = in.word("activation", "relu", activations, activations.size());
  f.bias = in.boolean("bias", true);
  in.onlyBuilt("gated", {false});
  f.convolution = in.word("as", "linear", {"linear", "conv1x1"}, 2) == "conv1x1";
  return f;
}

NormDescription StackReader::norm(ObjectReader in, bool ofSublayers) {
  in.known(ofSublayers ? std::vector<std::string>{"kind", "epsilon", "place", "after-stack", "root"}
                       : std::vector<std::string>{"kind", "epsilon", "root"});
  NormDescription n;
  n.rms = in.word("kind", "layer", {"layer", "rms"}, 2) == "rms";
  n.root = in.boolean("root", true);
  if (n.rms && !n.root)
    errors.expected(in.path("root"), "true where the kind is rms", "false");
  n.epsilon = in.number("epsilon", 1e-5);
  if (n.epsilon < 0)
    errors.expected(in.path("epsilon"), "a number of at least 0", shown(*in.find("epsilon")));
  if (!ofSublayers)
    return n;
  n.pre = in.word("place", "post", {"post", "pre"}, 2) == "pre";
  n.afterStack = in.boolean("after-stack", false);
  return n;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The objects of the stack and the layer, without the whole file's.
ObjectReader StackReader::ownObject(size_t index, const Json *override) {
  std::vector<ObjectReader::Layer> layers = {{&json[name], name}};
  if (override)
    layers.push_back({override, name + ".layers." + std::to_string(index)});
  return ObjectReader(std::move(layers), errors);
}

/// Command line first, then the layer, then the stack.
std::optional<MaskExpression> StackReader::mask(const std::string &key, size_t index,
                                                const Json *override) {
  bool ofLayer = override && override->contains(key);
  std::string shared = name + "." + key, layer = name + "." + std::to_string(index) + "." + key;
  const MaskExpression *replaced = masks.find(layer);
  if (const MaskExpression *ofStack = ofLayer ? nullptr : masks.find(shared); !replaced)
    replaced =
        ofStack; // looked for even so: an option is unused where every layer has its own mask
  if (replaced) {
    checkMask(*replaced, key == "cross-mask", "--mask");
    return *replaced;
  }
  ObjectReader in(ofLayer ? std::vector<ObjectReader::Layer>{{override, name + ".layers." +
                                                                            std::to_string(index)}}
                          : std::vector<ObjectReader::Layer>{{&json[name], name}},
                  errors);
  if (!in.has(key) || in.isNull(key))
    return std::nullopt;
  Expected<MaskExpression> parsed = parseMask(in.text(key, "causal"));
  if (!parsed) {
    errors.add(in.path(key), parsed.error().message);
    return std::nullopt;
  }
  checkMask(*parsed, key == "cross-mask", in.path(key));
  return *parsed;
}

/// Names of the tables that a formula reads.
static void collectTables(const Formula &formula, std::vector<std::string> &names) {
  if (formula.kind == Formula::Kind::Table)
    names.push_back(formula.word);
  for (const Formula &operand : formula.operands)
    collectTables(operand, names);
}

/// Names of inputs that functions have anyway, and whose keys a mask counts.
void StackReader::checkMask(const MaskExpression &mask, bool cross, const std::string &path) {
  using Kind = MaskExpression::Kind;
  for (const MaskExpression &operand : mask.operands)
    checkMask(operand, cross, path);
  const std::string side = isDecoder() && !cross ? "target" : "source";
  std::vector<std::string> inputs = mask.inputs;
  if (!mask.offsetInput.empty())
    inputs.push_back(mask.offsetInput);
  collectTables(mask.formula, inputs);
  for (const std::string &input : inputs) {
    bool ofSide = input == "source" || input == "target";
    if (mask.kind == Kind::Lengths && ofSide && input != side)
      errors.expected(path, "lengths(" + side + ") over these keys", "lengths(" + input + ")");
    if (input == "memory" || input == "parents" || (ofSide && mask.kind != Kind::Lengths))
      errors.expected(path, "a name for the mask's own input", "'" + input + "'");
  }
  for (const auto &[kind, word] : {std::pair{Kind::Keep, "keep"},
                                   {Kind::Hide, "hide"},
                                   {Kind::Dense, "dense"},
                                   {Kind::Blocks, "blocks"}})
    if (mask.uses(Kind::PackedDocuments) && mask.uses(kind))
      errors.expected(path, "no table of whole rows beside documents_packed", word);
  // An image is whole: each of its patches is a row.
  if (side == "source" && model.source->image)
    for (const auto &[found, word] : {std::pair{mask.uses(Kind::Lengths, side), "lengths(source)"},
                                      {mask.uses(Kind::PackedDocuments), "documents_packed"}})
      if (found)
        errors.expected(path, "no such mask over the patches of an image", word);
  // Packed sentences have no padding to count: their lengths are those of their documents.
  if (mask.uses(Kind::PackedDocuments) && mask.uses(Kind::Lengths, side))
    errors.expected(path, "lengths of documents by a name of their own beside documents_packed",
                    "lengths(" + side + ")");
}

/// All layers of a stack see the same documents: its positions are counted from their starts.
void StackReader::documents(StackDescription &stack) {
  for (size_t index = 0; index < stack.layers.size(); ++index)
    for (const auto *mask : {&stack.layers[index].mask, &stack.layers[index].crossMask}) {
      const MaskExpression *packed =
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

/// Only an encoder whose rows nobody else reads may give one vector a text.
void StackReader::pool(ObjectReader &own, StackDescription &stack) {
  if (!own.has("pool") || own.isNull("pool"))
    return;
  stack.pool = own.word("pool", "mean", {"cls", "mean", "last"}, 3);
  if (model.isEncoderDecoder())
    errors.expected(own.path("pool"), "null where a decoder reads the encoder's output",
                    "\"" + stack.pool + "\"");
}

LayerDescription StackReader::layer(size_t index, const Json *override) {
  ObjectReader in = reader(override, index);
  LayerDescription layer;
  layer.self = attention(in.object("attention"), in.object("attention"));
  layer.ffn = ffn(in.object("ffn"));
  layer.norm = norm(in.object("norm"));
  layer.mask = mask("mask", index, override);
  if (hasCross()) {
    // `attention` of all places, then `cross` of all places.
    ObjectReader own = ownObject(index, override).object("cross");
    layer.cross = attention(in.object("attention").overriddenBy(own), own);
    layer.crossMask = mask("cross-mask", index, override);
  }
  return layer;
}

std::vector<std::string> StackReader::layerKeys() const {
  std::vector<std::string> keys = {"attention", "ffn", "norm", "mask"};
  if (isDecoder())
    keys.insert(keys.end(), {"cross", "cross-mask"});
  return keys;
}

void StackReader::layers(ObjectReader &own, StackDescription &stack) {
  if (!own.require("layers", "a number of layers or an array of objects"))
    return;
  const Json &layers = *own.find("layers");
  if (!layers.is_array()) {
    int64_t count = own.integer("layers", 1, 1, 4096);
    for (int64_t i = 0; i < count && !errors.failed(); ++i)
      stack.layers.push_back(layer(i, nullptr));
    return;
  }
  if (layers.empty() || layers.size() > 4096)
    errors.expected(own.path("layers"), "1 to 4096 layers", std::to_string(layers.size()));
  for (size_t i = 0; i < layers.size() && !errors.failed(); ++i) {
    std::string path = name + ".layers." + std::to_string(i);
    if (!layers[i].is_object())
      return errors.expected(path, "an object", shown(layers[i]));
    ObjectReader in({{&layers[i], path}}, errors);
    in.known(layerKeys());
    if (ObjectReader norm = in.object("norm"); norm.has("after-stack"))
      errors.expected(norm.path("after-stack"), "no such key in a layer", "it");
    stack.layers.push_back(layer(i, &layers[i]));
  }
}

void StackReader::checkStackKeys(ObjectReader &own) {
  std::vector<std::string> keys = layerKeys();
  keys.insert(keys.end(), {"layers", "embedding", "position"});
  if (!isDecoder())
    keys.push_back("pool");
  own.known(keys);
  for (const char *key : {"cross", "cross-mask"})
    if (own.has(key) && !hasCross())
      errors.expected(own.path(key), "no cross attention in a decoder without encoder", "it");
}

StackDescription StackReader::read() {
  StackDescription stack;
  ObjectReader root({{&json, ""}}, errors);
  if (!root.require(name, "an object with layers"))
    return stack;
  ObjectReader own = root.object(name);
  checkStackKeys(own);
  if (errors.failed())
    return stack;
  ObjectReader in = reader();
  embedding(in, stack);
  position(in, stack);
  stack.norm = norm(in.object("norm"));
  layers(own, stack);
  documents(stack);
  pool(own, stack);
  return stack;
}

//===----------------------------------------------------------------------===//
// Masks of the command line
//===----------------------------------------------------------------------===//

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
  constexpr size_t shownNames = 8;
  std::string names;
  for (size_t i = 0; i < asked.size() && i < shownNames; ++i)
    names += (i ? ", " : "") + asked[i];
  if (asked.size() > shownNames)
    names += " and " + std::to_string(asked.size() - shownNames) + " more";
  for (const auto &[name, option] : options)
    if (!option.used)
      return inputError("--mask: expected " + what + " (" +
                        (names.empty() ? "it has none" : names) + "), found " + quotedText(name));
  return {};
}
