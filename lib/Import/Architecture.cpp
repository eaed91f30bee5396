//===- Architecture.cpp - A Hugging Face architecture as data -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are merged first (extends, then the head), checked once, and evaluated key
// by key as the description and its tensors ask for them.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/GlobPattern.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

//===- Files -------------------------------------------------------------===//

const Json &Architecture::section(const Json &document, const char *key) {
  static const Json none = Json::object();
  return document.contains(key) ? document[key] : none;
}

static constexpr BuiltInArchitecture builtIn[] = {
#include "architectures.inc"
};

std::span<const BuiltInArchitecture> heddle::builtInArchitectures() { return builtIn; }

/// The shared tables and lists, which are no architecture.
static constexpr std::string_view commonFile = "common";

static const BuiltInArchitecture *findBuiltIn(std::string_view name) {
  auto found = std::ranges::find(builtIn, name, &BuiltInArchitecture::name);
  return found == std::end(builtIn) ? nullptr : found;
}

/// What models of this type have that no description says; null where nothing is known of it.
static Json notBuilt(const Json &type) {
  static const Json common = Json::parse(findBuiltIn(commonFile)->text, nullptr, false);
  for (const auto &[what, types] : common["not-built"].items())
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

/// `over` over `under`, key by key; null is a value. A recipe is replaced whole, and null removes it.
static Json merged(Json under, const Json &over, bool recipes = false) {
  if (!under.is_object() || !over.is_object())
    return over;
  for (const auto &[key, value] : over.items())
    if (recipes && value.is_null())
      under.erase(key);
    else if (under.contains(key) && !recipes)
      under[key] = merged(std::move(under[key]), value, key == "tensors");
    else
      under[key] = value;
  return under;
}

/// A section `gguf` over what it extends: sets of common.json, which several families share.
Expected<Json> Architecture::ggufSection(const Json &own) const {
  if (!own.is_object() || !own.contains("extends"))
    return own;
  Json common = HEDDLE_TRY(parseJson(findBuiltIn(commonFile)->text, std::string(commonFile)));
  const Json &base = own["extends"];
  if (!base.is_string() || !common["gguf"].contains(base.get<std::string>()))
    return error("gguf.extends", "expected a set of common.json, found " + shown(base));
  Json under = HEDDLE_TRY(ggufSection(common["gguf"][base.get<std::string>()]));
  under.erase("extends");
  return merged(std::move(under), own);
}

/// The recipes of a GGUF file's tensors in place of those of a folder's.
Status Architecture::takeGgufTensors() {
  if (!isGguf(folder))
    return {};
  Json own = HEDDLE_TRY(ggufSection(section(document, "gguf")));
  if (!own.contains("tensors") || !own["tensors"].is_object())
    return error("gguf.tensors", "expected an object, found none");
  document["tensors"] = own["tensors"];
  document["ignore"] = own.value("ignore", Json::array());
  document.erase("config-at"); // the metadata has one level
  return {};
}

/// {stack} and {side} in keys and texts: encoder and source, or decoder and target.
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
  // What a built-in file cannot make of a configuration is a matter of the folder.
  const std::string place = file.starts_with(builtInWord) ? configPath(folder) + ": " : "";
  // Keys and names are any text, and a message is one line.
  return inputError(place + file + ": " + printable((key.empty() ? "" : key + ": ") + message));
}

/// One file with what it extends.
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
                                "require", "model", "tensors", "ignore", "heads", "head", "gguf"});
      !wrong.empty())
    return error("", wrong);
  if (document.value("heddle-architecture", Json()) != 1)
    return error("heddle-architecture", "expected version 1, found " +
                                            shown(document.value("heddle-architecture", Json())));
  for (const char *key : {"names", "config", "require", "model", "tensors", "heads", "gguf"})
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

/// The file's head for the name of the class that the folder was saved from.
Status Architecture::selectHead() {
  Json heads = document.value("heads", Json::object()), named = document.value("head", Json());
  if (!named.is_null() && (!named.is_string() || !heads.contains(named.get<std::string>())))
    return error("head", "expected one of the file's heads, found " + shown(named));
  std::string wanted = named.is_string() ? named.get<std::string>() : "";
  if (wanted.empty() && config.contains("architectures") && config["architectures"].is_array() &&
      !config["architectures"].empty() && config["architectures"][0].is_string()) {
    auto name = config["architectures"][0].get<std::string>();
    size_t suffix = name.rfind("For");
    wanted = suffix == std::string::npos ? "" : name.substr(suffix);
    for (const auto &[head, value] : heads.items()) // CLIPTextModelWithProjection
      if (wanted.empty() && llvm::StringRef(name).ends_with(head))
        wanted = head;
  }
  if (!heads.contains(wanted) || heads[wanted].is_null()) { // null: what the base has is not here
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

/// Of a file of several models the one that is wanted, over what it extends.
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
  std::string chosen = wanted.empty() ? names.front() : wanted;
  if (!parts.contains(chosen))
    return usageError("--part: expected " + listText(names, {}, " or ") + ", found " +
                      quotedText(chosen));
  llvm::copy_if(names, std::back_inserter(left), [&](auto &name) { return name != chosen; });
  others = listText(left);
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
  if (std::error_code none; fs::exists(own, none))
    return fromJson(HEDDLE_TRY(readJsonFile(own.string())), own.string(), folder, std::move(config),
                    part);
  Architecture reader(folder, config);
  reader.file = configPath(folder);
  Json type = config.is_object() ? config.value("model_type", Json()) : Json();
  if (const Json why = notBuilt(type); why.is_string())
    return reader.error("model_type", "expected a model without " + why.get<std::string>() +
                                          ", which are not supported yet, found " + shown(type));
  if (!type.is_string() || type == commonFile || !findBuiltIn(type.get<std::string>()))
    return reader.error("model_type",
                        "expected one of " + knownArchitectures() + ", found " + shown(type) +
                            "; a file heddle.json in the folder can describe another");
  auto name = type.get<std::string>();
  Json document = HEDDLE_TRY(reader.readFile(name));
  document.erase("extends"); // which is merged
  return fromJson(std::move(document), std::string(builtInWord) + name, folder, std::move(config),
                  part);
}

Expected<Architecture> Architecture::fromJson(Json document, const std::string &file,
                                              const std::string &folder, Json config,
                                              const std::string &part) {
  Architecture made(folder, std::move(config));
  made.file = file;
  made.document = std::move(document);
  Json own; // recipes that somebody wrote for this folder
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
  made.root = made.config;
  if (made.document.contains("config-at")) {
    Json key = made.document["config-at"];
    if (!key.is_string() || !made.config.contains(key.get<std::string>()))
      return made.error("config-at", "expected a key of config.json, found " + shown(key));
    Json inner = made.config[key.get<std::string>()];
    made.config = std::move(inner);
  }
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
  Json common = HEDDLE_TRY(parseJson(findBuiltIn(commonFile)->text, std::string(commonFile)));
  for (const auto &[name, table] : common["tables"].items())
    made.bound[name] = table;
  made.bound["harmless"] = common["harmless"];
  made.bound["stack"] = stack;
  HEDDLE_TRY(made.checkRequirements());
  return made;
}

//===- Values ------------------------------------------------------------===//

/// The value at a path like "rope_parameters.rope_theta"; null pointer: there is none.
static const Json *at(const Json &object, llvm::StringRef path) {
  const Json *value = &object;
  while (!path.empty()) {
    auto [key, rest] = path.split('.');
    if (!value->is_object() || !value->contains(key.str()))
      return nullptr;
    value = &(*value)[key.str()];
    path = rest;
  }
  return value;
}

Expected<Json> Architecture::value(const std::string &name) {
  if (auto found = bound.find(name); found != bound.end())
    return found->second;
  if (auto found = known.find(name); found != known.end())
    return found->second;
  const Json *entry = document.contains("config") && document["config"].contains(name)
                          ? &document["config"][name]
                          : nullptr;
  if (!entry)
    return inputError("expected a key of `config`, a table or a name bound here, found " +
                      quotedText(name));
  if (!computing.insert(name).second)
    return inputError("expected a default that does not need itself, found " + quotedText(name));
  auto done = llvm::make_scope_exit([&] { computing.erase(name); });
  Json made = HEDDLE_TRY(configValue(name, *entry));
  return known[name] = std::move(made);
}

Expected<Json> Architecture::configValue(const std::string &name, const Json &entry) {
  std::vector<std::string> places{name};
  if (entry.contains("or")) {
    if (!entry["or"].is_array())
      return error("config." + name + ".or", "expected a list, found " + shown(entry["or"]));
    for (const Json &place : entry["or"])
      places.push_back(place.is_string() ? place.get<std::string>() : "");
  }
  bool isNull = false;
  for (const std::string &place : places)
    if (const Json *found = place.starts_with('/') ? at(root, llvm::StringRef(place).substr(1))
                                                   : at(config, place)) {
      if (!found->is_null())
        return *found;
      isNull = true;
    }
  if (isNull && entry.contains("null"))
    return evaluated(entry["null"], "config." + name + ".null");
  if (entry.contains("default"))
    return evaluated(entry["default"], "config." + name + ".default");
  return inputError("expected the key " + quotedText(name) + " in config.json, found none");
}

Expected<std::string> Architecture::expanded(const std::string &text, const std::string &key) {
  Expected<std::string> made =
      expandConfig(text, [this](const std::string &name) { return value(name); });
  if (!made)
    return error(key, made.takeError().message);
  return made;
}

/// One entry for each of a number of layers; equal ones that say nothing are the number alone.
Expected<Json> Architecture::each(const Json &json, const std::string &key) {
  int64_t count = HEDDLE_TRY(integer(json["each"], key + ".each"));
  if (count < 1 || count > 4096)
    return error(key + ".each", "expected 1 to 4096 layers, found " + std::to_string(count));
  auto outer = bound.find("layer") == bound.end() ? Json() : bound["layer"];
  Json list = Json::array();
  bool empty = true;
  for (int64_t layer = 0; layer < count; ++layer) {
    bound["layer"] = layer;
    list.push_back(HEDDLE_TRY(evaluated(json.value("layer", Json::object()), key + ".layer")));
    empty &= list.back() == Json::object();
  }
  if (outer.is_null())
    bound.erase("layer");
  else // a list of the configuration that a layer of another list asks for
    bound["layer"] = std::move(outer);
  return empty ? Json(count) : list;
}

/// The side of an `if` that its condition chooses, as it is written; discarded where there is none.
Expected<Json> Architecture::branch(const Json &json, const std::string &key) {
  if (!json["if"].is_string())
    return error(key + ".if", "expected an expression, found " + shown(json["if"]));
  Json holds = HEDDLE_TRY(evaluated("=" + json["if"].get<std::string>(), key + ".if"));
  if (!holds.is_boolean())
    return error(key + ".if", "expected true or false, found " + shown(holds));
  return json.value(holds.get<bool>() ? "then" : "else", Json(Json::value_t::discarded));
}

/// A value of the file with its expressions computed; discarded where an `if` leaves it out.
Expected<Json> Architecture::evaluated(const Json &json, const std::string &key) {
  constexpr int64_t mostValues = 1 << 17; // lists of lists of layers would take forever
  if (++made > mostValues)
    return error(key, "expected at most " + std::to_string(mostValues) + " values, found more");
  if (json.is_string()) {
    auto text = json.get<std::string>();
    if (!text.starts_with('='))
      return Json(HEDDLE_TRY(expanded(text, key)));
    Expected<Json> made = evaluateConfig(std::string_view(text).substr(1),
                                         [this](const std::string &name) { return value(name); });
    if (!made)
      return error(key, made.takeError().message);
    return made;
  }
  if (json.is_array()) {
    Json list = Json::array();
    for (const Json &inner : json)
      list.push_back(HEDDLE_TRY(evaluated(inner, key)));
    return list;
  }
  if (!json.is_object())
    return json;
  if (json.contains("if")) {
    Json chosen = HEDDLE_TRY(branch(json, key));
    return chosen.is_discarded() ? Expected<Json>(chosen) : evaluated(chosen, key);
  }
  if (json.contains("each"))
    return each(json, key);
  Json object = Json::object();
  for (const auto &[name, inner] : json.items()) {
    Json made = HEDDLE_TRY(evaluated(inner, key + "." + name));
    if (!made.is_discarded())
      object[name] = std::move(made);
  }
  return object;
}

Expected<int64_t> Architecture::integer(const Json &json, const std::string &key) {
  Json made = HEDDLE_TRY(evaluated(json, key));
  if (!made.is_number_integer())
    return error(key, "expected an integer, found " + shown(made));
  return made.get<int64_t>();
}

Status Architecture::checkRequirements() {
  for (const auto &[condition, message] : section(document, "require").items()) {
    std::vector<std::string> found; // values of the keys that the condition asks for
    auto asked = [&](const std::string &name) {
      Expected<Json> made = value(name);
      if (made && section(document, "config").contains(name))
        if (std::string text = name + " = " + shown(*made); !llvm::is_contained(found, text))
          found.push_back(std::move(text));
      return made;
    };
    Expected<Json> holds = evaluateConfig(condition, asked);
    if (!holds)
      return error("require", holds.takeError().message);
    if (*holds != true)
      return inputError(
          configPath(folder) + ": expected " +
          printable(condition + ", found " + (found.empty() ? "otherwise" : listText(found)) +
                    ": " + (message.is_string() ? message.get<std::string>() : shown(message))));
  }
  return {};
}

Expected<Json> Architecture::description() { return evaluated(document["model"], "model"); }

Error Architecture::ofDescription(Error problem, const std::string &path) const {
  llvm::StringRef message = problem.message;
  if (!message.consume_front(path + ": "))
    return problem;
  auto [key, rest] = message.split(": ");
  if (rest.empty() || key.contains(' '))
    return problem;
  const Json *given = at(document["model"], key);
  const std::string from =
      given && given->is_string() ? " (" + given->get<std::string>() + ")" : "";
  return error("model." + key.str() + from, rest.str());
}

bool Architecture::matches(std::string_view pattern, std::string_view name) {
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (glob)
    return glob->match(name);
  llvm::consumeError(glob.takeError());
  return pattern == name;
}

std::vector<std::string> Architecture::unreadRecipes() const {
  std::vector<std::string> texts;
  for (const auto &[pattern, taken] : unreadOwn)
    texts.push_back(quotedText(pattern) + (taken.empty() ? "" : " behind " + quotedText(taken)));
  return texts;
}

std::vector<std::string> Architecture::unreadKeys() const {
  std::set<std::string, std::less<>> used;
  for (const auto &[key, entry] : section(document, "config").items()) {
    used.insert(key);
    for (const Json &place : entry.value("or", Json::array()))
      if (place.is_string())
        used.insert(llvm::StringRef(place.get_ref<const std::string &>()).split('.').first.str());
  }
  std::vector<std::string> unread;
  const Json &harmless = bound.at("harmless");
  for (const auto &[key, value] : config.items()) {
    bool known = used.contains(key) || value.is_null();
    for (const Json &pattern : harmless)
      known = known || matches(pattern.get_ref<const std::string &>(), key);
    if (!known)
      unread.push_back(key);
  }
  return unread;
}
