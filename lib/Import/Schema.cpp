//===- Schema.cpp - Checking JSON against a schema ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the subset of JSON Schema that model-description.schema.json uses; errors state the
// expected and the found value. The schema is embedded at build time.

#include "Schema.h"

#include "heddle/Support/Gguf.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <filesystem>

using namespace heddle;

std::string heddle::modelDescriptionSchema() {
  static const char text[] =
#include "model-description.schema.json.inc"
      ;
  return text;
}

/// Inlines definitions; keys next to "$ref" override them.
static void expand(Json &node, const Json &definitions) {
  if (auto reference = node.is_object() ? node.find("$ref") : node.end(); reference != node.end()) {
    std::string name = reference->get<std::string>().substr(sizeof("#/$defs/") - 1);
    Json whole = definitions.at(name);
    whole.update(node);
    whole.erase("$ref");
    node = std::move(whole);
  }
  for (Json &inner : node)
    if (inner.is_structured())
      expand(inner, definitions);
}

static const Json &schemaOfDescriptions() {
  static const Json schema = [] {
    Json text = Json::parse(modelDescriptionSchema());
    Json definitions = std::move(text["$defs"]);
    text.erase("$defs");
    expand(text, definitions);
    return text;
  }();
  return schema;
}

const Json &heddle::generationSchema() {
  return schemaOfDescriptions()["properties"]["target"]["properties"]["generation"];
}

Expected<Json> heddle::readJsonFile(const std::string &path) {
  std::string text = HEDDLE_TRY(readTextFile(path, int64_t(1) << 26));
  return parseJson(text, path);
}

Expected<Json> heddle::readJsonObject(const std::string &path) {
  Json json = HEDDLE_TRY(readJsonFile(path));
  if (!json.is_object())
    return inputError(path + ": expected an object, found " + shown(json));
  return json;
}

std::string heddle::configPath(const std::string &folder) {
  return isGguf(folder) ? folder : (std::filesystem::path(folder) / "config.json").string();
}

//===- Errors ------------------------------------------------------------===//

std::string heddle::shown(const Json &value) {
  if (value.is_string())
    return quotedText(value.get_ref<const std::string &>());
  std::string text = quotedText(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text.substr(1, text.size() - 2); // only strings are quoted
}

void ErrorSink::add(const std::string &path, const std::string &message) {
  if (!first)
    first = inputError(file + ": " + (path.empty() ? "" : path + ": ") + message);
}

void ErrorSink::expected(const std::string &path, const std::string &what,
                         const std::string &found) {
  add(path, "expected " + what + ", found " + found);
}

void ErrorSink::unknownKey(const std::string &path, const std::string &key,
                           const std::string &hint) {
  unknown.push_back({path, key, hint});
}

Error ErrorSink::take() {
  if (unknown.empty())
    return *first;
  if (const UnknownKey &only = unknown.front(); unknown.size() == 1)
    return inputError(file + ": " + only.path + ": expected a known key, found " + only.key + ", " +
                      only.hint);
  constexpr size_t most = 8;
  std::string found;
  for (const UnknownKey &each : std::span(unknown).first(std::min(unknown.size(), most)))
    found += (found.empty() ? "" : "; ") + each.path + ", " + each.hint;
  if (unknown.size() > most)
    found += "; and others";
  return inputError(file + ": expected known keys, found " + std::to_string(unknown.size()) +
                    " others: " + found);
}

//===- Checks ------------------------------------------------------------===//

/// Joins a path and a key: "a.b", or the key alone at the root.
static std::string joined(const std::string &path, const std::string &key) {
  return path.empty() ? key : path + "." + key;
}

/// JSON has one type of number, so 32.0 is an integer. Doubles are exact for integers up to 2^53.
static bool isInteger(const Json &value) {
  if (value.is_number_float())
    return std::trunc(value.get<double>()) == value.get<double>() &&
           std::abs(value.get<double>()) <= 0x1p53;
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t(INT64_MAX));
}

bool heddle::isSize(const Json &value) { return isInteger(value) && value >= 1; }

static bool hasType(const Json &value, const std::string &type) {
  return type == "integer" ? isInteger(value)
         : type == "number"
             ? value.is_number() && std::isfinite(static_cast<float>(value.get<double>()))
             : type == value.type_name();
}

static bool lists(const Json &entry, const char *key, const Json &value) {
  return entry.contains(key) &&
         std::find(entry[key].begin(), entry[key].end(), value) != entry[key].end();
}

static std::vector<std::string> typesOf(const Json &entry) {
  if (entry.contains("enum"))
    return lists(entry, "enum", nullptr) ? std::vector<std::string>{"string", "null"}
                                         : std::vector<std::string>{"string"};
  if (!entry.contains("type"))
    return {};
  const Json &types = entry["type"];
  return types.is_array() ? types.get<std::vector<std::string>>()
                          : std::vector<std::string>{types.get<std::string>()};
}

static bool fits(const Json &value, const Json &entry) {
  if (entry.contains("const"))
    return value == entry["const"];
  if (entry.contains("oneOf"))
    return llvm::any_of(entry["oneOf"], [&](const Json &option) { return fits(value, option); });
  if (value.is_string() &&
      value.get_ref<const std::string &>().size() < entry.value("minLength", 0u))
    return false;
  return llvm::any_of(typesOf(entry), [&](const auto &type) { return hasType(value, type); });
}

static std::string integerWords(const Json &entry) {
  return "an integer of at least " + shown(entry["minimum"]) + " and at most " +
         shown(entry["maximum"]);
}

/// Describes the values that a schema entry allows, apart from null.
static std::string wordsOf(const Json &entry) {
  std::vector<std::string> types = typesOf(entry);
  llvm::erase(types, "null");
  if (types.size() != 1 || (types[0] == "array" && entry.contains("expected")))
    return entry.value("expected", "");
  return types[0] == "integer"   ? integerWords(entry)
         : types[0] == "number"  ? "a finite number"
         : types[0] == "boolean" ? "true or false"
         : types[0] == "object"  ? entry.value("expected", "an object")
                                 : (types[0] == "string" ? "a " : "an ") + types[0];
}

/// Translates key names of other libraries to keys of the description, or to a hint where no key
/// fits.
static llvm::StringRef peersName(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"dim", "hidden_size", "d_model", "n_embd", "width"}, "size")
      .Cases({"intermediate_size", "d_ff"}, "ffn.size")
      .Cases({"n_heads", "n_head", "num_heads", "num_attention_heads"}, "heads")
      .Cases({"kv_heads", "n_kv_heads", "num_kv_heads", "num_key_value_heads"}, "key-value-heads")
      .Cases({"head_dim", "d_head"}, "head-size")
      .Cases({"n_layers", "n_layer", "depth", "num_layers", "num_hidden_layers"}, "layers")
      .Cases({"eps", "norm_eps", "layer_norm_eps", "rms_norm_eps"}, "epsilon")
      .Cases({"rope_theta", "theta"}, "base")
      .Cases({"vocab_size", "vocab", "n_vocab"}, "vocabulary")
      .Cases({"hidden_act", "act", "hidden_activation"}, "activation")
      .Cases({"tie_word_embeddings", "tied_embeddings"}, "tied")
      .Cases({"swiglu", "glu", "geglu"}, "gated")
      .Cases({"rope", "rotary", "positions"}, "position")
      .Cases({"bias", "use_bias", "biases", "attention_bias", "mlp_bias"}, "bias")
      .Default("");
}

/// "the nearest known one is 'x'": the translation of another library's name, or else a key that is
/// a prefix, a substring or a superstring of the name, or else the one with the least Levenshtein
/// distance; the first wins a tie.
static std::string hintOf(llvm::StringRef name, const Json &properties) {
  constexpr size_t leastHeld = 3; // letters; shorter ones match by chance
  std::string best;
  unsigned least = ~0u;
  const std::string peers = peersName(name.lower()).str();
  for (const auto &[key, entry] : properties.items()) {
    const llvm::StringRef known = key;
    const bool begins = known.starts_with(name) || name.starts_with(known),
               holds = known.contains(name) || name.contains(known);
    const unsigned near = name.edit_distance(known);
    constexpr unsigned far = 1000; // exceeds every distance
    const bool longEnough = std::min(known.size(), name.size()) >= leastHeld;
    const unsigned distance = key == peers           ? 0
                              : near <= 2            ? 1 + near
                              : longEnough && begins ? far
                              : longEnough && holds  ? far + 1
                                                     : far + 2 + near;
    if (distance < least)
      best = key, least = distance;
  }
  std::string hint = "the nearest known one is '" + best + "'";
  if (!peers.empty() && !properties.contains(peers))
    hint = peers == "position"
               ? "which is `\"position\": {\"kind\": \"rotary\"}` of the model or a stack"
           : peers == "ffn.size" ? "which is 'size' of 'ffn'"
           : peers == "bias"     ? "which 'attention', 'ffn' and 'classifier' say for themselves"
                                 : "which is '" + peers + "' of another object";
  return hint;
}

static void check(const Json &value, const Json &entry, const std::string &path, ErrorSink &errors);

static void checkObject(const Json &value, const Json &entry, const std::string &path,
                        ErrorSink &errors) {
  const Json &properties = entry["properties"];
  for (const auto &[key, inner] : value.items())
    if (!properties.contains(key)) {
      std::string quoted = shown(key); // on one line
      errors.unknownKey(joined(path, quoted.substr(1, quoted.size() - 2)), quoted,
                        hintOf(key, properties));
    }
  for (const auto &[key, property] : properties.items())
    if (value.contains(key))
      check(value[key], property, joined(path, key), errors);
    else if (lists(entry, "required", key))
      errors.expected(joined(path, key), property.value("expected", ""), "no such key");
}

static void checkArray(const Json &value, const Json &entry, const std::string &path,
                       ErrorSink &errors) {
  ErrorSink inner(errors.file);
  ErrorSink &used = entry.contains("expected") ? inner : errors;
  size_t low = entry["minItems"], high = entry["maxItems"];
  if (value.size() < low || value.size() > high)
    used.expected(path,
                  std::to_string(low) + " to " + std::to_string(high) + " " +
                      path.substr(path.rfind('.') + 1),
                  std::to_string(value.size()));
  for (size_t i = 0; i < value.size() && !used.failed(); ++i)
    check(value[i], entry["items"], path + "." + std::to_string(i), used);
  if (inner.failed()) // one error for the whole list
    errors.expected(path, entry["expected"], shown(value));
}

static void checkNumber(const Json &value, const Json &entry, const std::string &path,
                        ErrorSink &errors) {
  double low = entry.value("minimum", -HUGE_VAL), high = entry.value("maximum", HUGE_VAL),
         above = entry.value("exclusiveMinimum", -HUGE_VAL),
         below = entry.value("exclusiveMaximum", HUGE_VAL);
  bool integer = llvm::is_contained(typesOf(entry), "integer");
  if (integer && (value < entry["minimum"] || value > entry["maximum"]))
    return errors.expected(path, integerWords(entry), shown(value));
  if (!integer && value.get<double>() < low)
    errors.expected(path, "a number of at least " + shown(entry["minimum"]), shown(value));
  if (value.get<double>() > high)
    errors.expected(path, "a number of at most " + shown(entry["maximum"]), shown(value));
  if (value.get<double>() <= above)
    errors.expected(path, "a number above " + shown(entry["exclusiveMinimum"]), shown(value));
  if (value.get<double>() >= below)
    errors.expected(path, "a number below " + shown(entry["exclusiveMaximum"]), shown(value));
}

static void check(const Json &value, const Json &entry, const std::string &path,
                  ErrorSink &errors) {
  if (!fits(value, entry))
    return errors.expected(
        path, value.is_null() ? entry.value("expected", wordsOf(entry)) : wordsOf(entry),
        shown(value));
  for (const Json &option : entry.value("oneOf", Json::array()))
    if (fits(value, option))
      return check(value, option, path, errors);
  if (value.is_string() && entry.contains("enum") && !lists(entry, "enum", value)) {
    std::string words;
    for (const Json &word : entry["enum"])
      if (word.is_string())
        words += (words.empty() ? "" : ", ") + word.get<std::string>();
    errors.expected(path, "one of " + words, shown(value));
  }
  if (lists(entry, "not-built", value))
    errors.add(path, shown(value) + " is not supported yet");
  if (value.is_object())
    checkObject(value, entry, path, errors);
  if (value.is_array())
    checkArray(value, entry, path, errors);
  if (value.is_number() && !entry.contains("const"))
    checkNumber(value, entry, path, errors);
}

void heddle::checkDescription(const Json &document, ErrorSink &errors) {
  check(document, schemaOfDescriptions(), "", errors);
}

//===- Values ------------------------------------------------------------===//

Keys::Keys(const Json &document) : places{{&document, ""}}, schema(&schemaOfDescriptions()) {}

const Keys::Object *Keys::placeOf(const std::string &key) const {
  for (auto it = places.rbegin(); it != places.rend(); ++it)
    if (it->object->contains(key))
      return &*it;
  return nullptr;
}

const Json *Keys::find(const std::string &key) const {
  const Object *place = placeOf(key);
  return place ? &(*place->object)[key] : nullptr;
}

std::string Keys::path(const std::string &key) const {
  const Object *place = placeOf(key);
  if (!place && !places.empty())
    place = &places.front();
  return joined(place ? place->path : nowhere, key);
}

const Json *Keys::entry(const std::string &key) const {
  if (!schema || !(*schema)["properties"].contains(key))
    return nullptr;
  return &(*schema)["properties"][key];
}

const Json *Keys::standard(const std::string &key) const {
  const Json *known = entry(key);
  return known && known->contains("default") ? &(*known)["default"] : nullptr;
}

void Keys::checkOnly(ErrorSink &errors) const {
  for (const auto &[key, property] : (*schema)["properties"].items()) {
    if (!property.contains("only") || !gives(key)) // null counts as absent
      continue;
    const Json &only = property["only"];
    std::string other = only.begin().key(), value = get<std::string>(other),
                expected = only["expected"];
    if (!lists(only, other.c_str(), value))
      errors.expected(path(key), expected.replace(expected.find('*'), 1, value), "it");
  }
}

bool Keys::require(const std::string &key, ErrorSink &errors) const {
  if (gives(key))
    return true;
  errors.expected(path(key), entry(key)->value("expected", ""), has(key) ? "null" : "no such key");
  return false;
}

Keys Keys::object(const std::string &key) const {
  Keys inner;
  inner.schema = entry(key);
  inner.nowhere = path(key);
  for (const Object &place : places)
    if (place.object->contains(key) && (*place.object)[key].is_object())
      inner.places.push_back({&(*place.object)[key], joined(place.path, key)});
  return inner;
}

Keys Keys::item(const std::string &key, size_t index) const {
  Keys inner;
  auto having = [](const Json *schema, const char *word) {
    if (!schema->contains(word))
      for (const Json &option : (*schema)["oneOf"])
        if (option.contains(word))
          return &option;
    return schema;
  };
  const Json *items = &(*having(entry(key), "items"))["items"];
  inner.schema = having(items, "properties");
  inner.places.push_back({&(*find(key))[index], path(key) + "." + std::to_string(index)});
  return inner;
}

Keys Keys::overriddenBy(const Keys &inner) const {
  Keys all = *this;
  all.places.insert(all.places.end(), inner.places.begin(), inner.places.end());
  return all;
}
