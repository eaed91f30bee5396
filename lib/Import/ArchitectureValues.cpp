//===- ArchitectureValues.cpp - Values of an architecture -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a merged architecture file: keys of the configuration, on demand, and the model
// description made from them.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/GlobPattern.h"

#include <algorithm>

using namespace heddle;

/// Value at a path like "rope_parameters.rope_theta"; null pointer if absent.
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

bool Architecture::fits(const std::string &name, const Json &value) {
  const Json &sizes = common()["sizes"];
  return isSize(value) || std::ranges::find(sizes, Json(name)) == sizes.end();
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
      // Check the size here: later errors would name other keys.
      if (!found->is_null() && !fits(name, *found))
        return inputError(configPath(folder) + ": " + printable(place) +
                          ": expected an integer of at least 1, found " + shown(*found));
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

/// Computes an expression at `key`. An error in the value of a name already has its place and is
/// returned unchanged.
template <typename Made>
Expected<Made> Architecture::computed(Expected<Made> (*compute)(std::string_view,
                                                                const ConfigNames &),
                                      std::string_view text, const std::string &key) {
  std::optional<Error> placed;
  Expected<Made> made = compute(text, [&](const std::string &name) {
    Expected<Json> found = value(name);
    if (!found && found.error().message.starts_with(configPath(folder) + ": "))
      placed = found.error();
    return found;
  });
  if (!made)
    return placed ? *placed : error(key, made.takeError().message);
  return made;
}

Expected<std::string> Architecture::expanded(const std::string &text, const std::string &key) {
  return computed(expandConfig, text, key);
}

/// Makes one entry per layer; if all entries are empty, the result is the number of layers.
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
  else // nested: a layer of an outer list needs this list
    bound["layer"] = std::move(outer);
  return empty ? Json(count) : list;
}

/// Selects the side of an `if` without evaluating it; discarded if the side is absent.
Expected<Json> Architecture::branch(const Json &json, const std::string &key) {
  if (!json["if"].is_string())
    return error(key + ".if", "expected an expression, found " + shown(json["if"]));
  Json holds = HEDDLE_TRY(evaluated("=" + json["if"].get<std::string>(), key + ".if"));
  if (!holds.is_boolean())
    return error(key + ".if", "expected true or false, found " + shown(holds));
  return json.value(holds.get<bool>() ? "then" : "else", Json(Json::value_t::discarded));
}

/// Evaluates all expressions of a value; discarded if an `if` selects nothing.
Expected<Json> Architecture::evaluated(const Json &json, const std::string &key) {
  constexpr int64_t mostValues = 1 << 17; // bounds nested lists of layers
  if (++made > mostValues)
    return error(key, "expected at most " + std::to_string(mostValues) + " values, found more");
  if (json.is_string()) {
    auto text = json.get<std::string>();
    if (!text.starts_with('='))
      return Json(HEDDLE_TRY(expanded(text, key)));
    return computed(evaluateConfig, std::string_view(text).substr(1), key);
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
    if (message.is_null()) // null removes a requirement of the base
      continue;
    std::vector<std::string> found; // values of the configuration keys in the condition
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

Expected<Json> Architecture::description() {
  Json made = HEDDLE_TRY(evaluated(document["model"], "model"));
  for (const char *side : {"source", "target"}) // no padding token: commands pass lengths
    if (made.contains(side) && made[side].is_object() && made[side].value("padding", Json()) == -1)
      made[side]["padding"] = 0;
  return made;
}

Expected<Json> Architecture::generation() {
  return evaluated(section(document, "generation"), "generation");
}

Expected<Json> Architecture::dropout() {
  if (!document.contains("dropout"))
    return error("dropout", "expected the places of dropout, which training needs, found none");
  return evaluated(section(document, "dropout"), "dropout");
}

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
    texts.push_back(quotedText(pattern) + (taken.empty() ? "" : " after " + quotedText(taken)));
  return texts;
}

/// Appends the paths of unread values. A value is read if its path is in `used`. If only paths
/// below it are, its keys are checked one by one.
static void addUnread(const Json &value, const std::string &path,
                      const std::set<std::string, std::less<>> &used,
                      llvm::function_ref<bool(const std::string &, const Json &)> changesNothing,
                      std::vector<std::string> &unread) {
  if (value.is_null() || used.contains(path))
    return;
  auto below = used.lower_bound(path + ".");
  if (!value.is_object() || below == used.end() || !below->starts_with(path + "."))
    return unread.push_back(path);
  for (const auto &[key, inner] : value.items())
    if (!changesNothing(key, inner))
      addUnread(inner, path + "." + key, used, changesNothing, unread);
}

std::vector<std::string> Architecture::unreadKeys() const {
  std::set<std::string, std::less<>> used;
  for (const auto &[key, entry] : section(document, "config").items()) {
    used.insert(key);
    for (const Json &place : entry.value("or", Json::array()))
      if (place.is_string())
        used.insert(place.get<std::string>());
  }
  std::vector<std::string> unread;
  const Json &harmless = common()["harmless"];
  const Json &values = section(common(), "harmless-values");
  auto changesNothing = [&](const std::string &key, const Json &value) {
    // llvm::is_contained would call Json::contains, which looks up keys.
    if (values.contains(key) && std::ranges::find(values[key], value) != std::end(values[key]))
      return true;
    return llvm::any_of(harmless, [&](const Json &pattern) {
      return matches(pattern.get_ref<const std::string &>(), key);
    });
  };
  for (const auto &[key, value] : config.items())
    if (!changesNothing(key, value))
      addUnread(value, key, used, changesNothing, unread);
  return unread;
}
