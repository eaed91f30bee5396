//===- DescriptionReader.cpp - Model descriptions from JSON ---------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function an object of the description. Keys that the language has and this
// version does not build are errors that say so.
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "JsonReader.h"

#include "heddle/Support/Json.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace heddle;
namespace fs = std::filesystem;

static const std::vector<std::string> sharedKeys = {"embedding", "position", "attention", "ffn", "norm"};
static const std::vector<std::string> activations = {"relu", "gelu", "gelu-tanh", "quick-gelu", "silu"};

static Expected<std::string> readFile(const std::string &path, int64_t most) {
  std::error_code error;
  auto size = fs::file_size(path, error);
  if (error || !fs::is_regular_file(path, error))
    return inputError(path + ": expected a readable file");
  if (static_cast<int64_t>(size) > most)
    return inputError(path + ": expected at most " + std::to_string(most) + " bytes, found " + std::to_string(size));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || in.bad())
    return inputError(path + ": expected a readable file");
  return text.str();
}

namespace {
class Reader {
public:
  Reader(const std::string &path, const Json &json, const std::vector<std::string> &masks) : errors(path), json(json), masks(masks) {}
  Expected<Description> run();

private:
  using Masks = std::map<std::string, std::string>;
  std::optional<SideDescription> side(ObjectReader &root, const std::string &name);
  void vocabulary(ObjectReader &in, SideDescription &side, const std::string &name);
  StackDescription stack(const std::string &name);
  void position(ObjectReader &in, StackDescription &stack);
  void embedding(ObjectReader &in, StackDescription &stack);
  AttentionDescription attention(ObjectReader in);
  FfnDescription ffn(ObjectReader in);
  NormDescription norm(ObjectReader in);
  LayerDescription layer(const std::string &name, const Json *override, size_t index);
  std::vector<ObjectReader::Layer> layersFor(const std::string &name, const Json *override, size_t index);
  std::string mask(ObjectReader &in, const std::string &key, const std::string &path);
  void classifier(ObjectReader &root);
  void weights(ObjectReader &root);
  void checkKeys(ObjectReader &root);
  void readMaskOptions();
  int64_t fileTokens(const std::string &file, const std::string &member, const std::string &keyPath);

  ErrorSink errors;
  const Json &json;
  const std::vector<std::string> &masks;
  Masks replaced;
  Description d;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

/// Lines of a text file beside the description; the text becomes a member of the artifact.
int64_t Reader::fileTokens(const std::string &file, const std::string &member, const std::string &keyPath) {
  std::string path = (fs::path(d.file).parent_path() / file).string();
  auto text = readFile(path, int64_t(1) << 28);
  if (!text) {
    errors.add(keyPath, text.error().message);
    return 1;
  }
  int64_t lines = std::count(text->begin(), text->end(), '\n');
  if (!text->empty() && text->back() != '\n')
    ++lines;
  if (lines == 0)
    errors.expected(keyPath, "a file with one name a line", "an empty one, " + path);
  d.texts[member] = std::move(*text);
  return std::max<int64_t>(lines, 1);
}

void Reader::vocabulary(ObjectReader &in, SideDescription &side, const std::string &name) {
  const Json *value = in.find("vocabulary");
  if (!value)
    errors.expected(in.path("vocabulary"), "a file name, a size or null", "no such key");
  else if (value->is_null())
    side.vectors = true;
  else if (value->is_string())
    side.size = fileTokens(side.file = value->get<std::string>(), name + ".txt", in.path("vocabulary"));
  else
    side.size = in.integer("vocabulary", 1, 1, (int64_t(1) << 31) - 1);
}

std::optional<SideDescription> Reader::side(ObjectReader &root, const std::string &name) {
  if (!root.require(name, "an object with a vocabulary"))
    return std::nullopt;
  ObjectReader in = root.object(name);
  in.known({"vocabulary", "padding", "unknown", "start", "end", "add", "split", "length", "too-long", "limit", "image", "patch", "class-token"});
  if (in.has("image"))
    errors.notBuilt(in.path("image"), "an image as source");
  SideDescription side;
  vocabulary(in, side, name);
  int64_t last = side.vectors ? (int64_t(1) << 30) : side.size - 1;
  auto id = [&](const char *key, int64_t standard) { return in.optionalInteger(key, standard <= last ? std::optional(standard) : std::nullopt, 0, last); };
  side.padding = in.integer("padding", 0, 0, last);
  side.unknown = id("unknown", 1);
  side.start = id("start", 2);
  side.end = id("end", 3);
  side.add = in.boolean("add", false);
  side.split = in.word("split", "space", {"space", "character"}, 2);
  side.tooLong = in.word("too-long", "error", {"error", "cut"}, 2);
  side.length = in.optionalInteger("length", std::nullopt, 1);
  side.limit = in.integer("limit", 256, 1, 1 << 20);
  return side;
}

//===----------------------------------------------------------------------===//
// Parts of a layer
//===----------------------------------------------------------------------===//

AttentionDescription Reader::attention(ObjectReader in) {
  in.known({"heads", "key-value-heads", "head-size", "value-size", "score-scale", "bias", "activation", "output-projection", "per-head-projection",
            "hidden-score", "softcap", "sinks", "score-bias", "return-weights", "return-log-sum-exp"});
  AttentionDescription a;
  if (!in.require("heads", "a number of heads"))
    return a;
  a.heads = in.integer("heads", 1, 1, 1 << 16);
  if (!in.has("head-size") && d.size % a.heads != 0)
    errors.expected(in.path("heads"), "a divisor of size " + std::to_string(d.size), std::to_string(a.heads));
  a.keyValueHeads = in.integer("key-value-heads", a.heads, 1, 1 << 16);
  if (a.heads % a.keyValueHeads != 0)
    errors.expected(in.path("key-value-heads"), "a divisor of heads " + std::to_string(a.heads), std::to_string(a.keyValueHeads));
  a.headSize = in.integer("head-size", d.size / a.heads, 1, 1 << 16);
  a.valueSize = in.integer("value-size", a.headSize, 1, 1 << 16);
  a.scale = in.number("score-scale", 1.0 / std::sqrt(static_cast<double>(a.headSize)));
  ObjectReader bias = in.object("bias");
  bias.known({"query", "key", "value", "output"});
  a.queryBias = bias.boolean("query", false);
  a.keyBias = bias.boolean("key", false);
  a.valueBias = bias.boolean("value", false);
  a.outputBias = bias.boolean("output", true);
  if (in.has("activation") && !in.isNull("activation"))
    a.activation = in.word("activation", "relu", activations, activations.size());
  a.outputProjection = in.boolean("output-projection", true);
  if (!a.outputProjection && a.heads * a.valueSize != d.size)
    errors.expected(in.path("output-projection"), "heads times value-size to be size " + std::to_string(d.size) + " without it",
                    std::to_string(a.heads * a.valueSize));
  if (in.has("return-weights") && !in.isNull("return-weights")) {
    std::string kind = in.word("return-weights", "average", {"heads", "average"}, 2);
    a.returnWeights = kind == "heads" ? ReturnWeights::Heads : ReturnWeights::Average;
  }
  in.onlyBuilt("per-head-projection", {false});
  in.onlyBuilt("sinks", {false});
  in.onlyBuilt("return-log-sum-exp", {false});
  for (const char *key : {"hidden-score", "softcap", "score-bias"})
    in.onlyBuilt(key, {nullptr});
  return a;
}

FfnDescription Reader::ffn(ObjectReader in) {
  in.known({"size", "gated", "activation", "bias", "as"});
  FfnDescription f;
  if (!in.require("size", "a hidden size"))
    return f;
  f.size = in.integer("size", 1, 1);
  f.activation = in.word("activation", "relu", activations, activations.size());
  f.bias = in.boolean("bias", true);
  in.onlyBuilt("gated", {false});
  in.word("as", "linear", {"linear", "conv1x1"}, 1);
  return f;
}

NormDescription Reader::norm(ObjectReader in) {
  in.known({"kind", "epsilon", "place", "after-stack", "root"});
  NormDescription n;
  in.word("kind", "layer", {"layer", "rms"}, 1);
  n.epsilon = in.number("epsilon", 1e-5);
  if (n.epsilon < 0)
    errors.expected(in.path("epsilon"), "a number of at least 0", std::to_string(n.epsilon));
  n.pre = in.word("place", "post", {"post", "pre"}, 2) == "pre";
  n.afterStack = in.boolean("after-stack", false);
  in.onlyBuilt("root", {true});
  return n;
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

void Reader::position(ObjectReader &in, StackDescription &stack) {
  if (in.isNull("position")) {
    stack.sinusoidal = false;
    return;
  }
  ObjectReader p = in.object("position");
  p.known({"kind", "scale", "length", "base", "fraction"});
  p.word("kind", "sinusoidal", {"sinusoidal", "learned", "rotary"}, 1);
  stack.positionScale = p.number("scale", 1.0);
  p.optionalInteger("length", std::nullopt, 1);
}

void Reader::embedding(ObjectReader &in, StackDescription &stack) {
  ObjectReader e = in.object("embedding");
  e.known({"scale", "norm", "padding-row"});
  stack.embeddingScale = e.number("scale", 1.0);
  e.onlyBuilt("norm", {nullptr});
  stack.zeroPaddingRow = e.word("padding-row", "stored", {"stored", "zero"}, 2) == "zero";
}

/// The whole file, the stack's object and the layer's, outermost first.
std::vector<ObjectReader::Layer> Reader::layersFor(const std::string &name, const Json *override, size_t index) {
  std::vector<ObjectReader::Layer> layers = {{&json, ""}};
  if (json.contains(name) && json[name].is_object())
    layers.push_back({&json[name], name});
  if (override)
    layers.push_back({override, name + ".layers." + std::to_string(index)});
  return layers;
}

std::string Reader::mask(ObjectReader &in, const std::string &key, const std::string &path) {
  if (auto it = replaced.find(path); it != replaced.end())
    return it->second;
  // Masks are keys of a stack or a layer, never of the whole file.
  return in.has(key) && !in.isNull(key) ? in.text(key, "") : "";
}

LayerDescription Reader::layer(const std::string &name, const Json *override, size_t index) {
  ObjectReader in(layersFor(name, override, index), errors);
  LayerDescription layer;
  layer.self = attention(in.object("attention"));
  layer.ffn = ffn(in.object("ffn"));
  layer.norm = norm(in.object("norm"));
  layer.cross = layer.self;
  if (name == "decoder" && d.isEncoderDecoder()) {
    // `decoder.cross` overrides `attention` key by key.
    std::vector<ObjectReader::Layer> cross;
    for (const ObjectReader::Layer &l : layersFor(name, override, index)) {
      if (l.object->contains("attention"))
        cross.push_back({&(*l.object)["attention"], l.path.empty() ? "attention" : l.path + ".attention"});
      if (!l.path.empty() && l.object->contains("cross"))
        cross.push_back({&(*l.object)["cross"], l.path + ".cross"});
    }
    layer.cross = attention(ObjectReader(cross, errors));
  }
  std::string place = name + "." + std::to_string(index);
  auto choose = [&](const std::string &key, std::string &path) {
    std::string own = place + "." + key, shared = name + "." + key;
    path = override && override->contains(key) ? name + ".layers." + std::to_string(index) + "." + key : shared;
    if (replaced.count(own))
      return replaced[path = own];
    if (replaced.count(shared) && !(override && override->contains(key)))
      return replaced[shared];
    return mask(in, key, "");
  };
  layer.mask = choose("mask", layer.maskPath);
  if (name == "decoder" && d.isEncoderDecoder())
    layer.crossMask = choose("cross-mask", layer.crossMaskPath);
  return layer;
}

StackDescription Reader::stack(const std::string &name) {
  StackDescription stack;
  ObjectReader root({{&json, ""}}, errors);
  if (!root.require(name, "an object with layers"))
    return stack;
  ObjectReader own = root.object(name);
  std::vector<std::string> keys = sharedKeys;
  keys.insert(keys.end(), {"layers", "mask"});
  if (name == "encoder")
    keys.push_back("pool");
  else
    keys.insert(keys.end(), {"cross", "cross-mask"});
  own.known(keys);
  own.onlyBuilt("pool", {nullptr});
  if (name == "decoder" && !d.isEncoderDecoder())
    for (const char *key : {"cross", "cross-mask"})
      if (own.has(key))
        errors.expected(own.path(key), "no cross attention in a decoder without encoder", "it");
  ObjectReader in(layersFor(name, nullptr, 0), errors);
  embedding(in, stack);
  position(in, stack);
  stack.norm = norm(in.object("norm"));
  if (!own.require("layers", "a number of layers or an array of objects"))
    return stack;
  const Json &layers = *own.find("layers");
  if (layers.is_array()) {
    keys = {"attention", "ffn", "norm", "mask"};
    if (name == "decoder")
      keys.insert(keys.end(), {"cross", "cross-mask"});
    for (size_t i = 0; i < layers.size(); ++i) {
      ObjectReader({{&layers[i], name + ".layers." + std::to_string(i)}}, errors).known(keys);
      stack.layers.push_back(layer(name, layers[i].is_object() ? &layers[i] : nullptr, i));
    }
    return stack;
  }
  int64_t count = own.integer("layers", 1, 1, 4096);
  for (int64_t i = 0; i < count && !errors.failed(); ++i)
    stack.layers.push_back(layer(name, nullptr, i));
  return stack;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Reader::classifier(ObjectReader &root) {
  if (!root.has("classifier") || root.isNull("classifier"))
    return;
  ObjectReader in = root.object("classifier");
  in.known({"bias", "softmax", "tied", "loss", "size", "labels"});
  ClassifierDescription c;
  c.bias = in.boolean("bias", false);
  c.tied = in.boolean("tied", false);
  in.onlyBuilt("softmax", {false});
  in.onlyBuilt("loss", {false});
  const std::optional<SideDescription> &side = d.kind == "encoder" ? d.source : d.target;
  c.size = side ? side->size : 0;
  if (in.has("labels") && !in.isNull("labels"))
    c.size = fileTokens(c.labels = in.text("labels", ""), "labels.txt", in.path("labels"));
  c.size = in.integer("size", c.size, 1);
  if (c.size == 0)
    errors.expected(in.path("size"), "a number of classes where vectors come in", "no such key");
  if (c.tied && (!side || side->vectors || c.size != side->size))
    errors.expected(in.path("tied"), "a classifier of the vocabulary's size to share the embedding", std::to_string(c.size) + " classes");
  d.classifier = c;
}

void Reader::weights(ObjectReader &root) {
  if (!root.require("weights", "a safetensors file or {\"seed\": N}"))
    return;
  const Json &value = *root.find("weights");
  if (value.is_string()) {
    d.weightsFile = (fs::path(d.file).parent_path() / value.get<std::string>()).string();
    return;
  }
  ObjectReader in = root.object("weights");
  in.known({"seed"});
  if (in.require("seed", "a seed"))
    d.seed = static_cast<uint64_t>(in.integer("seed", 0, 0, INT64_MAX));
}

void Reader::checkKeys(ObjectReader &root) {
  root.known({"heddle", "kind", "size", "weights", "layout", "source", "target", "embedding", "position", "attention", "ffn", "norm", "encoder", "decoder",
              "classifier"});
  if (root.require("heddle", "the version 1") && root.integer("heddle", 1, 1) != 1)
    errors.expected("heddle", "version 1", shown(*root.find("heddle")));
  root.word("layout", "batch-first", {"batch-first", "sequence-first"}, 1);
  if (root.require("kind", "encoder, decoder or encoder-decoder"))
    d.kind = root.word("kind", "encoder", {"encoder", "decoder", "encoder-decoder"}, 3);
  for (const char *key : {"encoder", "decoder"})
    if (root.has(key) && d.kind.find(key) == std::string::npos)
      errors.expected(key, "no such key in a description of kind " + d.kind, "it");
  for (const auto &[key, part] : {std::pair{"source", "encoder"}, {"target", "decoder"}})
    if (root.has(key) && d.kind.find(part) == std::string::npos)
      errors.expected(key, "no such key in a description of kind " + d.kind, "it");
  if (root.require("size", "the model size"))
    d.size = root.integer("size", 1, 1, 1 << 20);
}

/// NAME=EXPR; NAME is a key path of a mask.
void Reader::readMaskOptions() {
  for (const std::string &option : masks) {
    size_t equal = option.find('=');
    std::string name = option.substr(0, equal);
    bool fits = equal != std::string::npos && (name.ends_with(".mask") || name.ends_with(".cross-mask")) &&
                (name.starts_with("encoder.") || name.starts_with("decoder."));
    if (!fits)
      errors.add("--mask", "expected NAME=EXPR with a name such as decoder.mask or encoder.3.mask, found '" + option + "'");
    else
      replaced[name] = option.substr(equal + 1);
  }
}

Expected<Description> Reader::run() {
  d.file = errors.file;
  readMaskOptions();
  ObjectReader root({{&json, ""}}, errors);
  checkKeys(root);
  if (errors.failed())
    return errors.take();
  weights(root);
  if (d.kind != "decoder") {
    d.source = side(root, "source");
    d.encoder = stack("encoder");
  }
  if (d.kind != "encoder") {
    d.target = side(root, "target");
    d.decoder = stack("decoder");
  }
  classifier(root);
  for (const auto &[name, text] : replaced) {
    bool cross = name.ends_with(".cross-mask");
    std::string place = name.substr(0, name.rfind('.'));
    size_t dot = place.find('.');
    const auto &stack = place.starts_with("encoder") ? d.encoder : d.decoder;
    bool indexed = dot != std::string::npos;
    bool number = indexed && place.find_first_not_of("0123456789", dot + 1) == std::string::npos && place.size() < dot + 6 && dot + 1 < place.size();
    if (!stack || (cross && !d.isEncoderDecoder()) || (cross && place.starts_with("encoder")) ||
        (indexed && (!number || std::stoul(place.substr(dot + 1)) >= stack->layers.size())))
      errors.add("--mask", "expected the name of a mask of this model, found '" + name + "'");
  }
  if (errors.failed())
    return errors.take();
  return std::move(d);
}

Expected<Description> heddle::readDescription(const std::string &path, const std::vector<std::string> &masks) {
  auto text = readFile(path, int64_t(1) << 26);
  if (!text)
    return text.takeError();
  auto json = parseJson(*text, path);
  if (!json)
    return json.takeError();
  if (!json->is_object())
    return inputError(path + ": expected an object, found " + shown(*json));
  return Reader(path, *json, masks).run();
}
