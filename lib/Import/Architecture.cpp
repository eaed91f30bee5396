//===- Architecture.cpp - A Hugging Face architecture as data -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are merged first (extends, then the head), checked once, and evaluated key
// by key as the description and its tensors ask for them.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

//===- Files -------------------------------------------------------------===//

/// The object under a key; an empty one where there is none.
static const Json &section(const Json &document, const char *key) {
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
  return inputError(file + ": " + (key.empty() ? "" : key + ": ") + message);
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

/// Keys of `object` are among `allowed`.
static std::string unknownKey(const Json &object, std::initializer_list<std::string_view> allowed) {
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
                                "require", "model", "tensors", "ignore", "heads"});
      !wrong.empty())
    return error("", wrong);
  if (document.value("heddle-architecture", Json()) != 1)
    return error("heddle-architecture", "expected version 1, found " +
                                            shown(document.value("heddle-architecture", Json())));
  for (const char *key : {"names", "config", "require", "model", "tensors", "heads"})
    HEDDLE_TRY(object(document, key));
  for (const char *key : {"model", "tensors"})
    if (!document.contains(key))
      return error(key, "expected an object, found none");
  for (const auto &[key, entry] : section(document, "config").items()) {
    if (!entry.is_object())
      return error("config." + key, "expected an object, found " + shown(entry));
    if (std::string wrong = unknownKey(entry, {"or", "default", "null"}); !wrong.empty())
      return error("config." + key, wrong);
  }
  return {};
}

/// The file's head for the name of the class that the folder was saved from.
Status Architecture::selectHead(std::string wanted) {
  Json heads = document.value("heads", Json::object());
  if (wanted.empty() && config.contains("architectures") && config["architectures"].is_array() &&
      !config["architectures"].empty() && config["architectures"][0].is_string()) {
    auto name = config["architectures"][0].get<std::string>();
    size_t suffix = name.rfind("For");
    wanted = suffix == std::string::npos ? "" : name.substr(suffix);
    for (const auto &[head, value] : heads.items()) // CLIPTextModelWithProjection
      if (wanted.empty() && llvm::StringRef(name).ends_with(head))
        wanted = head;
  }
  if (!heads.contains(wanted))
    return {};
  headName = wanted;
  document = merged(std::move(document), heads[wanted]);
  return {};
}

Expected<Architecture> Architecture::load(const std::string &folder, Json config,
                                          std::string head) {
  Architecture made(folder, std::move(config));
  fs::path own = fs::path(folder) / "heddle.json";
  std::error_code none;
  made.file = (fs::path(folder) / "config.json").string();
  if (fs::exists(own, none)) {
    made.file = own.string();
    std::string text = HEDDLE_TRY(readTextFile(made.file, int64_t(1) << 24));
    made.document = HEDDLE_TRY(parseJson(text, made.file));
    if (made.document.is_object() && made.document.contains("extends")) {
      Json base = made.document["extends"];
      if (!base.is_string())
        return made.error("extends", "expected the name of an architecture, found " + shown(base));
      made.document = merged(HEDDLE_TRY(made.readFile(base.get<std::string>())), made.document);
    }
  } else {
    Json type = made.config.is_object() ? made.config.value("model_type", Json()) : Json();
    if (!type.is_string() || type == commonFile || !findBuiltIn(type.get<std::string>()))
      return made.error("model_type",
                        "expected one of " + knownArchitectures() + ", found " + shown(type) +
                            "; a file heddle.json in the folder can describe another");
    auto name = type.get<std::string>();
    made.document = HEDDLE_TRY(made.readFile(name));
    made.file = "architecture " + name;
  }
  HEDDLE_TRY(made.check());
  HEDDLE_TRY(made.selectHead(std::move(head)));
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
    if (const Json *found = at(config, place)) {
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
  Json list = Json::array();
  bool empty = true;
  for (int64_t layer = 0; layer < count; ++layer) {
    bound["layer"] = layer;
    list.push_back(HEDDLE_TRY(evaluated(json.value("layer", Json::object()), key + ".layer")));
    empty &= list.back() == Json::object();
  }
  bound.erase("layer");
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
    Json holds = HEDDLE_TRY(evaluated("=" + condition, "require"));
    if (holds != true)
      return inputError((fs::path(folder) / "config.json").string() + ": expected " + condition +
                        ", found otherwise: " +
                        (message.is_string() ? message.get<std::string>() : shown(message)));
  }
  return {};
}

Expected<Json> Architecture::description() { return evaluated(document["model"], "model"); }

/// Whether `name` is `pattern`, in which `*` stands for any text.
static bool matches(llvm::StringRef pattern, llvm::StringRef name) {
  auto [head, rest] = pattern.split('*');
  if (!name.consume_front(head))
    return false;
  if (!pattern.contains('*'))
    return name.empty();
  for (size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (matches(rest, name.drop_front(skipped)))
      return true;
  return false;
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

//===- Tensors -----------------------------------------------------------===//

/// The first name of a recipe, for finding out which prefix the checkpoint has.
static const std::string *firstName(const Json &recipe) {
  if (recipe.is_string())
    return recipe.get_ptr<const std::string *>();
  for (const char *key : {"of", "concat", "then"})
    if (recipe.is_object() && recipe.contains(key))
      return firstName(recipe[key]);
  return recipe.is_array() && !recipe.empty() ? firstName(recipe[0]) : nullptr;
}

static std::string replacedAll(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

/// Binds each prefix to the first alternative under which the checkpoint has the first tensor that
/// is named with it.
Status Architecture::choosePrefixes(const WeightSource &checkpoint) {
  if (std::exchange(prefixesChosen, true))
    return {};
  for (const auto &[prefix, alternatives] : section(document, "names").items()) {
    std::string key = "names." + prefix, mark = "{" + prefix + "}";
    if (!alternatives.is_array() || alternatives.empty() ||
        !std::ranges::all_of(alternatives, [](const Json &text) { return text.is_string(); }))
      return error(key, "expected a list of texts, found " + shown(alternatives));
    bound[prefix] = alternatives[0];
    const std::string *probe = nullptr;
    for (const auto &[name, recipe] : document["tensors"].items())
      if (const std::string *first = firstName(recipe);
          first && first->find(mark) < first->size()) {
        probe = first;
        break;
      }
    for (const Json &alternative : alternatives) {
      if (!probe)
        break;
      bound[prefix] = alternative;
      bound["layer"] = 0;
      std::string name = HEDDLE_TRY(expanded(replacedAll(*probe, "*", "weight"), key));
      bound.erase("layer");
      if (checkpoint.find(name) >= 0)
        break;
      bound[prefix] = alternatives[0];
    }
  }
  return {};
}

bool Architecture::ignores(std::string_view tensor) {
  for (const Json &pattern : document.value("ignore", Json::array())) {
    Expected<std::string> text = pattern.is_string()
                                     ? expanded(pattern.get<std::string>(), "ignore")
                                     : Expected<std::string>(std::string());
    if (text && matches(*text, tensor))
      return true;
  }
  return false;
}

/// Matches a tensor's name with the key of a recipe: {layer} is a number, a `*` at the end the rest.
static bool bindNames(llvm::StringRef pattern, llvm::StringRef name,
                      std::map<std::string, Json, std::less<>> &bound, std::string &leaf) {
  while (!pattern.empty()) {
    if (pattern.consume_front("{layer}")) {
      unsigned layer = 0;
      if (name.consumeInteger(10, layer))
        return false;
      bound["layer"] = layer;
    } else if (pattern == "*") {
      leaf = name.str();
      return name == "weight" || name == "bias";
    } else if (name.empty() || pattern.front() != name.front()) {
      return false;
    } else {
      pattern = pattern.drop_front();
      name = name.drop_front();
    }
  }
  return name.empty();
}

/// A recipe with `*` replaced in all names of tensors.
static Json withLeaf(const Json &recipe, const std::string &leaf) {
  if (recipe.is_string())
    return recipe.get_ref<const std::string &>().starts_with('=')
               ? recipe
               : Json(replacedAll(recipe.get<std::string>(), "*", leaf));
  Json made = recipe;
  for (Json &inner : made)
    if (inner.is_structured() || inner.is_string())
      inner = withLeaf(inner, leaf);
  return made;
}

Expected<TensorViewRef> Architecture::tensor(const TensorInfo &wanted,
                                             const WeightSource &checkpoint) {
  HEDDLE_TRY(choosePrefixes(checkpoint));
  for (const auto &[pattern, json] : document["tensors"].items()) {
    std::string leaf;
    bound.erase("layer");
    if (!bindNames(pattern, wanted.name, bound, leaf))
      continue;
    std::string key = "tensors." + pattern;
    TensorViewRef view = HEDDLE_TRY(recipe(withLeaf(json, leaf), key, wanted.shape, checkpoint));
    // Dimensions of 1 come and go; any other difference is a wrong file or a wrong recipe.
    auto withoutOnes = [](std::vector<int64_t> shape) {
      std::erase(shape, 1);
      return shape;
    };
    if (withoutOnes(view->shape()) != withoutOnes(wanted.shape))
      return inputError(checkpoint.name() + ": " + view->recipe() + ": expected " +
                        shapeText(wanted.shape) + " for " + wanted.name + ", found " +
                        shapeText(view->shape()));
    return reshaped(view, wanted.shape);
  }
  return error("tensors", "expected a recipe for " + quotedText(wanted.name) + ", found none");
}

/// The first tensor of a list of names that the checkpoint has.
Expected<TensorViewRef> Architecture::stored(const Json &names, const std::string &key,
                                             const WeightSource &checkpoint) {
  std::vector<std::string> tried;
  for (const Json &name : names.is_array() ? names : Json::array({names})) {
    if (!name.is_string())
      return error(key, "expected the name of a tensor, found " + shown(name));
    tried.push_back(HEDDLE_TRY(expanded(name.get<std::string>(), key)));
    int index = checkpoint.find(tried.back());
    if (index < 0)
      continue;
    const TensorInfo &info = checkpoint.tensors()[index];
    if (info.type != "f32" && info.type != "f16" && info.type != "bf16")
      return inputError(checkpoint.name() + ": " + info.name +
                        ": expected f32, f16 or bf16, found " + info.type);
    read.insert(info.name);
    return viewOf(checkpoint, index);
  }
  return inputError(checkpoint.name() + ": expected a tensor " + listText(tried, {}, " or ") +
                    " (" + key + " of " + file + "), found none of this name");
}

/// Where a recipe's numbers come from.
Expected<TensorViewRef> Architecture::origin(const Json &json, const std::string &key,
                                             std::span<const int64_t> wanted,
                                             const WeightSource &checkpoint) {
  std::vector<int64_t> shape(wanted.begin(), wanted.end());
  if (json.contains("fill")) {
    Json number = HEDDLE_TRY(evaluated(json["fill"], key + ".fill"));
    if (!number.is_number())
      return error(key + ".fill", "expected a number, found " + shown(number));
    return filled(shape, number.get<float>());
  }
  if (!json.contains("concat")) {
    if (!json.contains("of"))
      return error(key, "expected of, concat or fill, found none of them");
    return stored(json["of"], key, checkpoint);
  }
  if (!json["concat"].is_array() || json["concat"].empty())
    return error(key + ".concat", "expected a list of recipes, found " + shown(json["concat"]));
  std::vector<TensorViewRef> parts;
  for (const Json &part : json["concat"]) {
    parts.push_back(HEDDLE_TRY(recipe(part, key + ".concat", {}, checkpoint)));
    if (parts.back()->columns() != parts.front()->columns())
      return error(key + ".concat",
                   "expected parts of " + std::to_string(parts.front()->columns()) +
                       " columns, found " + std::to_string(parts.back()->columns()));
  }
  return concatenated(std::move(parts));
}

/// `view` and `at`: the rows as a table of those extents, of which each dimension is taken whole
/// (null), at an index, or from one index to another.
Expected<std::vector<int64_t>> Architecture::pickedRows(const Json &json, const std::string &key,
                                                        int64_t rows) {
  const Json &view = json["view"], at = json.value("at", Json::array());
  if (!view.is_array() || !at.is_array() || at.size() > view.size())
    return error(key + ".view", "expected a list of extents and at most as many places in `at`");
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Json &extent : view) {
    extents.push_back(HEDDLE_TRY(integer(extent, key + ".view")));
    if (extents.back() < 1 || __builtin_mul_overflow(count, extents.back(), &count))
      return error(key + ".view", "expected extents above 0, found " + shown(view));
  }
  if (count != rows)
    return error(key + ".view", "expected extents of " + std::to_string(rows) + " rows, found " +
                                    shapeText(extents));
  std::vector<int64_t> taken{0};
  for (size_t d = 0; d < extents.size(); ++d) {
    int64_t from = 0, to = extents[d];
    Json place = d < at.size() ? HEDDLE_TRY(evaluated(at[d], key + ".at")) : Json();
    if (place.is_number_integer())
      from = place.get<int64_t>(), to = from + 1;
    else if (place.is_array() && place.size() == 2 && place[0].is_number_integer() &&
             place[1].is_number_integer())
      from = place[0].get<int64_t>(), to = place[1].get<int64_t>();
    else if (!place.is_null())
      return error(key + ".at", "expected null, an index or [from, to], found " + shown(place));
    if (from < 0 || to <= from || to > extents[d])
      return error(key + ".at", "expected places below " + std::to_string(extents[d]) + ", found " +
                                    shown(place));
    std::vector<int64_t> next;
    for (int64_t row : taken)
      for (int64_t i = from; i < to; ++i)
        next.push_back(row * extents[d] + i);
    taken = std::move(next);
  }
  return taken;
}

/// `plus` and `times`: a number, or a recipe.
Expected<TensorViewRef> Architecture::numbers(const Json &json, const std::string &key,
                                              const WeightSource &checkpoint) {
  if (json.is_object() && json.contains("if"))
    return numbers(HEDDLE_TRY(branch(json, key)), key, checkpoint);
  if (json.is_object())
    return recipe(json, key, {}, checkpoint);
  Json number = HEDDLE_TRY(evaluated(json, key));
  if (!number.is_number())
    return error(key, "expected a number or a recipe, found " + shown(number));
  return filled({1}, number.get<float>());
}

Expected<TensorViewRef> Architecture::recipe(const Json &json, const std::string &key,
                                             std::span<const int64_t> wanted,
                                             const WeightSource &checkpoint) {
  if (json.is_string() || json.is_array())
    return stored(json, key, checkpoint);
  if (!json.is_object())
    return error(key, "expected a recipe, found " + shown(json));
  if (json.contains("if"))
    return recipe(HEDDLE_TRY(branch(json, key)), key, wanted, checkpoint);
  if (std::string wrong = unknownKey(json, {"of", "concat", "fill", "transpose", "view", "at",
                                            "rows", "halves", "plus", "times"});
      !wrong.empty())
    return error(key, wrong);
  TensorViewRef view = HEDDLE_TRY(origin(json, key, wanted, checkpoint));
  auto two = [&](const char *name) -> Expected<std::pair<double, double>> {
    Json made = HEDDLE_TRY(evaluated(json[name], key + "." + name));
    if (!made.is_array() || made.size() != 2 || !made[0].is_number() || !made[1].is_number())
      return error(key + "." + name, "expected two numbers, found " + shown(made));
    return std::pair(made[0].get<double>(), made[1].get<double>());
  };
  auto take = [&](int64_t count, auto rowOf) {
    std::vector<int64_t> taken(count);
    for (int64_t r = 0; r < count; ++r)
      taken[r] = rowOf(r);
    view = gathered(view, std::move(taken));
  };
  if (json.value("transpose", false))
    view = transposed(view);
  if (json.contains("view"))
    view = gathered(view, HEDDLE_TRY(pickedRows(json, key, view->rows())));
  if (json.contains("rows")) {
    auto range = HEDDLE_TRY(two("rows"));
    auto from = static_cast<int64_t>(range.first), to = static_cast<int64_t>(range.second);
    if (!(range.first >= 0) || to <= from || !(range.second <= double(view->rows())))
      return error(key + ".rows", "expected rows of " + std::to_string(view->rows()) + ", found [" +
                                      std::to_string(from) + ", " + std::to_string(to) + "]");
    take(to - from, [&](int64_t r) { return from + r; });
  }
  if (json.contains("halves")) { // the rotated pairs (0, 1), (2, 3), … of each head become halves
    auto [size, fraction] = HEDDLE_TRY(two("halves"));
    bool fits = size >= 1 && size <= double(view->rows()) && fraction >= 0 && fraction <= 1;
    auto head = static_cast<int64_t>(fits ? size : 1);
    auto rotated = static_cast<int64_t>(double(head) * (fits ? fraction : 0));
    if (!fits || rotated % 2 || view->rows() % head)
      return error(key + ".halves", "expected a head size that divides " +
                                        std::to_string(view->rows()) +
                                        " rows and a fraction of it that is an even number");
    take(view->rows(), [&](int64_t r) {
      int64_t k = r % head, half = rotated / 2;
      return r - k + (k >= rotated ? k : k < half ? 2 * k : 2 * (k - half) + 1);
    });
  }
  for (const char *change : {"plus", "times"}) {
    if (!json.contains(change))
      continue;
    bool scales = change == std::string_view("times");
    std::string place = key + "." + change;
    TensorViewRef by = HEDDLE_TRY(numbers(json[change], place, checkpoint));
    int64_t fits = scales || view->shape().size() == 1 ? view->rows() : view->columns();
    if (by->elements() != 1 && by->elements() != fits)
      return error(place, "expected " + std::to_string(fits) + " numbers, found " +
                              shapeText(by->shape()));
    view = scales ? scaled(view, by) : shifted(view, by);
  }
  return view;
}
