//===- Architecture.cpp - A Hugging Face architecture as data -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges files (extends, then the head) and checks the result once. ArchitectureValues.cpp,
// Recipes.cpp and RecipeDistances.cpp evaluate it.

#include "Architecture.h"

#include "RotaryConfig.h"
#include "Schema.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

const Json &Architecture::section(const Json &document, const char *key) {
  static const Json none = Json::object();
  return document.contains(key) ? document[key] : none;
}

static constexpr BuiltInArchitecture builtIn[] = {
#include "architectures.inc"
};

std::span<const BuiltInArchitecture> heddle::builtInArchitectures() { return builtIn; }

/// File of shared tables and lists, not an architecture.
static constexpr std::string_view commonFile = "common";

static const BuiltInArchitecture *findBuiltIn(std::string_view name) {
  auto found = std::ranges::find(builtIn, name, &BuiltInArchitecture::name);
  return found == std::end(builtIn) ? nullptr : found;
}

const Json &Architecture::common() {
  static const Json json = Json::parse(findBuiltIn(commonFile)->text, nullptr, false);
  return json;
}

/// The unsupported feature of models of this type; null if the type is not listed.
Json Architecture::notBuilt(const Json &type) {
  for (const auto &[what, types] : common()["not-built"].items())
    if (std::ranges::find(types, type) != types.end())
      return what;
  return {};
}

static std::string knownArchitectures() {
  std::vector<std::string> names;
  for (const BuiltInArchitecture &architecture : builtIn)
    if (architecture.name != commonFile)
      names.emplace_back(architecture.name);
  return listText(names);
}

namespace {
/// Kind of an object's values, which determines how two objects are merged.
enum class Values : uint8_t {
  Plain,
  Recipes, ///< recipes of tensors
  Names,   ///< lists of alternatives
};
} // namespace

/// Alternatives of `over`, followed by the additional ones of `under`.
static Json joined(const Json &under, const Json &over) {
  Json all = over;
  for (const Json &one : under)
    if (std::ranges::find(all, one) == all.end())
      all.push_back(one);
  return all;
}

static Values valuesAt(std::string_view key) {
  return key == "tensors" ? Values::Recipes : key == "names" ? Values::Names : Values::Plain;
}

/// Merges `over` into `under` key by key; null is a value. A recipe replaces the whole older
/// recipe, and null removes it. Lists of alternatives (`or` and `names`) are joined. A condition
/// and an object of keys replace each other.
static Json merged(Json under, const Json &over, Values values = Values::Plain) {
  if (!under.is_object() || !over.is_object() || under.contains("if") != over.contains("if"))
    return over;
  const bool recipes = values == Values::Recipes;
  for (const auto &[key, value] : over.items())
    if (recipes && value.is_null())
      under.erase(key);
    else if ((values == Values::Names || key == "or") && under.contains(key) &&
             under[key].is_array() && value.is_array())
      under[key] = joined(under[key], value);
    else if (under.contains(key) && !recipes)
      under[key] = merged(std::move(under[key]), value, valuesAt(key));
    else
      under[key] = value;
  return under;
}

/// Merges a section `gguf` into the sets of common.json that it extends.
Expected<Json> Architecture::ggufSection(const Json &own) const {
  if (!own.is_object() || !own.contains("extends"))
    return own;
  const Json &base = own["extends"], &sets = common()["gguf"];
  if (!base.is_string() || !sets.contains(base.get<std::string>()))
    return error("gguf.extends", "expected a set of common.json, found " + shown(base));
  Json under = HEDDLE_TRY(ggufSection(sets[base.get<std::string>()]));
  under.erase("extends");
  return merged(std::move(under), own);
}

/// Replaces the recipes for a folder with the recipes for a GGUF file.
Status Architecture::takeGgufTensors() {
  if (!isGguf(folder))
    return {};
  Json own = HEDDLE_TRY(ggufSection(section(document, "gguf")));
  if (!own.contains("tensors") || !own["tensors"].is_object())
    return error("gguf.tensors", "expected an object, found none");
  document["tensors"] = own["tensors"];
  document["ignore"] = own.value("ignore", Json::array());
  document.erase("config-at"); // GGUF metadata is flat
  return {};
}

/// Replaces {stack} and {side} in keys and texts: by encoder and source, or decoder and target.
static Json renamed(const Json &value, const std::string &stack, const std::string &side) {
  auto inText = [&](std::string text) {
    for (auto [word, name] : {std::pair("{stack}", stack), std::pair("{side}", side)})
      for (size_t at; (at = text.find(word)) != std::string::npos;)
        text.replace(at, std::string_view(word).size(), name);
    return text;
  };
  if (value.is_string())
    return inText(value.get<std::string>());
  Json result = value.is_object() ? Json::object() : Json::array();
  if (value.is_object())
    for (const auto &[key, inner] : value.items()) {
      std::string name = inText(key);
      Json made = renamed(inner, stack, side);
      result[name] = result.contains(name) ? merged(result[name], made) : made;
    }
  else if (value.is_array())
    for (const Json &inner : value)
      result.push_back(renamed(inner, stack, side));
  else
    return value;
  return result;
}

Error Architecture::error(const std::string &key, const std::string &message) const {
  // An embedded file that rejects a configuration reports the folder.
  const std::string place = file.starts_with(builtInWord) ? configPath(folder) + ": " : "";
  // Keys and names may be any text, but a message is one line.
  return inputError(place + file + ": " + printable((key.empty() ? "" : key + ": ") + message));
}

/// Reads one file, merged into the file that it extends.
Expected<Json> Architecture::readFile(const std::string &name) const {
  const BuiltInArchitecture *found = findBuiltIn(name);
  if (!found)
    return error("extends",
                 "expected one of " + knownArchitectures() + ", found " + quotedText(name));
  Json json = HEDDLE_TRY(parseJson(found->text, "architecture " + name));
  if (!json.contains("extends"))
    return json;
  Json base = HEDDLE_TRY(readFile(json["extends"].get<std::string>()));
  return merged(std::move(base), json);
}

std::string Architecture::unknownKey(const Json &object,
                                     std::initializer_list<std::string_view> allowed) {
  for (const auto &[key, value] : object.items())
    if (std::ranges::find(allowed, std::string_view(key)) == allowed.end())
      return "expected one of " +
             listText(allowed, [](std::string_view word) { return std::string(word); }) +
             ", found " + quotedText(key);
  return {};
}

Status Architecture::check() const {
  auto object = [&](const Json &in, const char *key) -> Status {
    if (!in.contains(key) || in[key].is_object())
      return {};
    return error(key, "expected an object, found " + shown(in[key]));
  };
  if (!document.is_object())
    return error("", "expected an object, found " + shown(document));
  if (std::string wrong =
          unknownKey(document, {"heddle-architecture", "extends", "names", "config", "config-at",
                                "require", "model", "generation", "dropout", "tensors", "ignore",
                                "heads", "head", "same-heads", "ties", "gguf"});
      !wrong.empty())
    return error("", wrong);
  if (document.value("heddle-architecture", Json()) != 1)
    return error("heddle-architecture", "expected version 1, found " +
                                            shown(document.value("heddle-architecture", Json())));
  for (const char *key : {"names", "config", "require", "model", "generation", "dropout", "tensors",
                          "heads", "same-heads", "gguf"})
    HEDDLE_TRY(object(document, key));
  for (const char *key : {"model", "tensors"})
    if (!document.contains(key))
      return error(key, "expected an object, found none");
  for (const Json &name : document.value("ignore", Json::array()))
    if (!document["ignore"].is_array() || !name.is_string())
      return error("ignore", "expected a list of names, found " + shown(document["ignore"]));
  for (const auto &[key, entry] : section(document, "config").items()) {
    if (!entry.is_object())
      return error("config." + key, "expected an object, found " + shown(entry));
    if (std::string wrong = unknownKey(entry, {"or", "default", "null"}); !wrong.empty())
      return error("config." + key, wrong);
  }
  return {};
}

/// The class that the configuration names; empty if it names none.
std::string Architecture::className() const {
  const Json classes = config.is_object() ? config.value("architectures", Json()) : Json();
  const bool isNamed = classes.is_array() && !classes.empty() && classes[0].is_string();
  return isNamed ? classes[0].get<std::string>() : "";
}

/// Merges the head for the class name with which the folder was saved.
Status Architecture::selectHead() {
  Json heads = document.value("heads", Json::object()), named = document.value("head", Json());
  if (!named.is_null() && (!named.is_string() || !heads.contains(named.get<std::string>())))
    return error("head", "expected one of the file's heads, found " + shown(named));
  std::string wanted = named.is_string() ? named.get<std::string>() : "";
  if (const std::string name = className(); wanted.empty() && !name.empty()) {
    size_t suffix = name.rfind("For");
    wanted = suffix == std::string::npos ? "" : name.substr(suffix);
    for (const auto &[head, value] : heads.items()) // CLIPTextModelWithProjection
      if (wanted.empty() && llvm::StringRef(name).ends_with(head))
        wanted = head;
    for (const auto &[head, value] : section(document, "same-heads").items())
      if (wanted.empty() && llvm::StringRef(name).ends_with(head))
        wanted = head;
  }
  if (const Json same = section(document, "same-heads").value(wanted, Json());
      same.is_string() && !heads.contains(wanted))
    wanted = same.get<std::string>();
  if (!heads.contains(wanted) || heads[wanted].is_null()) { // null removes a head of the base
    missing = wanted;
    return {};
  }
  if (heads[wanted].is_string())
    return inputError(configPath(folder) + ": architectures: expected another head, found " +
                      quotedText(wanted) + ": " + printable(heads[wanted].get<std::string>()));
  if (!heads[wanted].is_object())
    return error("heads." + wanted,
                 "expected an object, a text or null, found " + shown(heads[wanted]));
  headName = wanted;
  document = merged(std::move(document), heads[wanted]);
  return check();
}

/// `join`: two of the parts, of texts and of images.
Expected<std::vector<std::string>>
Architecture::joinedOf(const Json &json, const std::vector<std::string> &names) const {
  std::vector<std::string> list;
  for (const Json &name : json.is_array() ? json : Json::array())
    if (name.is_string() && llvm::is_contained(names, name.get<std::string>()))
      list.push_back(name.get<std::string>());
  if (!json.is_array() || json.size() != 2 || list.size() != 2)
    return error("join", "expected two of the parts, of texts and of images, found " + shown(json));
  return list;
}

/// The part that alone has the head of the folder's class; empty if there is none.
std::string Architecture::partOfClass(const Json &parts) const {
  std::vector<std::string> found;
  for (const auto &[name, part] : parts.items())
    for (const auto &[head, value] : section(part, "heads").items())
      if (!value.is_null() && llvm::StringRef(className()).ends_with(head))
        found.push_back(name);
  return found.size() == 1 ? found[0] : "";
}

/// Selects the wanted part of a file with several models and merges it into the file that it
/// extends.
Status Architecture::selectPart(const std::string &wanted) {
  const Json parts = document.is_object() ? document.value("parts", Json()) : Json();
  if (parts.is_null())
    return wanted.empty()
               ? Status()
               : Status(usageError("--part: expected a folder with several models, found " +
                                   folder + ", which holds one"));
  if (!parts.is_object() || parts.empty())
    return error("parts", "expected an object, found " + shown(parts));
  std::vector<std::string> names, left;
  for (const auto &[name, ignored] : parts.items())
    names.push_back(name);
  const std::string own = wanted.empty() ? partOfClass(parts) : wanted;
  std::string chosen = own.empty() ? names.front() : own;
  if (!parts.contains(chosen))
    return usageError("--part: expected " + listText(names, {}, " or ") + ", found " +
                      quotedText(chosen));
  llvm::copy_if(names, std::back_inserter(left), [&](auto &name) { return name != chosen; });
  if (own.empty()) // nothing chose
    others = listText(left);
  if (own.empty() && document.contains("join"))
    joined = HEDDLE_TRY(joinedOf(document["join"], names));
  Json part = parts[chosen];
  if (!part.is_object() || !part.value("extends", Json()).is_string())
    return error("parts." + chosen, "expected an object with extends, found " + shown(part));
  document = merged(HEDDLE_TRY(readFile(part["extends"].get<std::string>())), part);
  file += ", part " + chosen;
  return {};
}

Expected<Architecture> Architecture::load(const std::string &folder, Json config,
                                          const std::string &part) {
  fs::path own = fs::path(folder) / architectureFile;
  if (isThere(own))
    return fromJson(HEDDLE_TRY(readJsonFile(own.string())), own.string(), folder, std::move(config),
                    part);
  Architecture reader(folder, config);
  reader.file = configPath(folder);
  Json type = config.is_object() ? config.value("model_type", Json()) : Json();
  if (const Json why = notBuilt(type); why.is_string())
    return reader.error("model_type", "expected a model without " + why.get<std::string>() +
                                          ", which are not supported yet, found " + shown(type));
  if (!type.is_string() || type == commonFile || !findBuiltIn(type.get<std::string>()))
    return reader.error("model_type", "expected an architecture that Heddle knows, found " +
                                          shown(type) +
                                          "; a file heddle.json in the folder can describe it");
  auto name = type.get<std::string>();
  Json document = HEDDLE_TRY(reader.readFile(name));
  document.erase("extends"); // already merged
  return fromJson(std::move(document), std::string(builtInWord) + name, folder, std::move(config),
                  part);
}

void Architecture::complete(Json &config) {
  for (auto &[key, value] : config.items())
    // RoBERTa numbers positions from pad_token_id + 1, so -1 is valid there: they begin at 0.
    if (llvm::StringRef(key).ends_with("_token_id") && key != "pad_token_id" && value == -1)
      value = nullptr;
  constexpr int64_t mostClasses = 1 << 20;
  const Json labels = config.value("id2label", Json()), count = config.value("num_labels", Json());
  if (!labels.is_null() || !count.is_number_integer() || count < 1 || count > mostClasses)
    return;
  Json names = Json::object();
  for (int64_t i = 0; i < count.get<int64_t>(); ++i)
    names[std::to_string(i)] = "LABEL_" + std::to_string(i);
  config["id2label"] = std::move(names);
}

/// The family affects rotary positions too, so `complete` alone cannot normalize them.
void Architecture::completeConfig() {
  complete(config);
  const Json &keys = section(document, "config");
  RotaryClass family;
  family.byLayerType = keys.contains("rope_local_scaling");
  family.scalesBoth = keys.contains("global_rope_theta");
  if (keys.contains("rotary_emb_base"))
    family.base = "rotary_emb_base";
  for (const char *part : {"rotary_pct", "rotary_emb_fraction"})
    if (keys.contains(part))
      family.part = part;
  if (const Json own = keys.value("original_max_position_embeddings", Json());
      own.is_object() && own.value("default", Json()).is_number_integer() && !isGguf(folder))
    family.original = own["default"].get<int64_t>();
  chooseRotary(config, family, disagreements);
}

Expected<Architecture> Architecture::fromJson(Json document, const std::string &file,
                                              const std::string &folder, Json config,
                                              const std::string &part) {
  Architecture made(folder, std::move(config));
  made.file = file;
  made.document = std::move(document);
  Json own; // recipes written for this folder
  if (made.document.is_object() && !file.starts_with(builtInWord))
    own = made.document.value("tensors", Json());
  if (made.document.is_object() && made.document.contains("extends")) {
    Json base = made.document["extends"];
    if (!base.is_string())
      return made.error("extends", "expected the name of an architecture, found " + shown(base));
    made.document = merged(HEDDLE_TRY(made.readFile(base.get<std::string>())), made.document);
  }
  HEDDLE_TRY(made.selectPart(part));
  HEDDLE_TRY(made.check());
  HEDDLE_TRY(made.selectHead());
  HEDDLE_TRY(made.takeGgufTensors());
  made.isLoose = made.document.value("ties", Json()) == "by-checkpoint";
  made.root = made.config;
  if (made.document.contains("config-at")) {
    Json key = made.document["config-at"];
    if (!key.is_string() || !made.config.contains(key.get<std::string>()))
      return made.error("config-at", "expected a key of config.json, found " + shown(key));
    Json inner = made.config[key.get<std::string>()];
    made.config = std::move(inner);
  }
  if (made.config.is_object())
    made.completeConfig();
  const Json kind = made.document["model"].value("kind", Json());
  bool decodes = kind == "decoder";
  std::string stack = decodes ? "decoder" : "encoder", side = decodes ? "target" : "source";
  for (const char *key : {"model", "tensors", "ignore"})
    if (made.document.contains(key))
      made.document[key] = renamed(made.document[key], stack, side);
  own = renamed(own, stack, side);
  for (const auto &[pattern, recipe] : own.items())
    if (own.is_object() && !recipe.is_null())
      made.unreadOwn[pattern];
  for (const auto &[name, table] : common()["tables"].items())
    made.bound[name] = table;
  made.bound["stack"] = stack;
  HEDDLE_TRY(made.checkRequirements());
  return made;
}
