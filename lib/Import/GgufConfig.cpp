//===- GgufConfig.cpp - Configurations in GGUF files ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts GGUF metadata to config.json, by `config` and `refuse` of a section `gguf`.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Pack/GgufWeights.h"
#include "heddle/Support/GgufVocabulary.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <utility>

using namespace heddle;

namespace {
/// Evaluates a section `gguf` on the metadata of a file.
class GgufValues {
public:
  GgufValues(const Gguf &file, const Json &section, std::string arch)
      : file(file), section(section), arch(std::move(arch)) {}

  /// Returns the values of `config`, and unread keys under their own names so that they are
  /// reported. The tokenizer's keys are read elsewhere.
  Expected<Json> config() {
    HEDDLE_TRY(checkCounts());
    HEDDLE_TRY(checkRefused());
    Json made = Json::object();
    const Json wanted = section.value("config", Json::object());
    for (const auto &[key, entry] : wanted.items()) {
      Json value = HEDDLE_TRY(named(key));
      if (!value.is_discarded())
        made[key] = std::move(value);
    }
    for (const auto &[key, value] : file.metadata())
      if (!key.starts_with("tokenizer.") && !read.contains(key))
        made[std::string(key)] = value.shown();
    return made;
  }

private:
  /// Replaces {arch}, the prefix of the keys of one architecture.
  std::string expanded(std::string text) const {
    constexpr std::string_view mark = "{arch}";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += arch.size())
      text.replace(at, mark.size(), arch);
    return text;
  }
  /// Checks the counts of heads and layers against the sizes and tensors of the file.
  Status checkCounts() const {
    auto whole = [&](const char *name) -> std::optional<int64_t> {
      const GgufValue *value = file.find(arch + name);
      return value ? value->integer() ? value->integer() : commonNumber(*value) : std::nullopt;
    };
    for (const char *name : {".attention.head_count", ".embedding_length", ".block_count"})
      if (const GgufValue *value = file.find(arch + name);
          value && value->number() && value->integer().value_or(0) < 1)
        return file.mistaken(arch + name, "an integer of at least 1");
    const auto heads = whole(".attention.head_count"), width = whole(".embedding_length"),
               layers = whole(".block_count");
    if (heads && width && *width % *heads != 0 && !file.find(arch + ".attention.key_length"))
      return file.mistaken(arch + ".attention.head_count",
                           "a divisor of embedding_length, " + std::to_string(*width));
    for (const GgufTensor &tensor : file.tensors()) {
      llvm::StringRef name(tensor.name);
      int64_t layer = 0;
      if (layers && name.consume_front("blk.") && !name.consumeInteger(10, layer) &&
          layer >= *layers)
        return file.mistaken(arch + ".block_count",
                             "more than the layer of the tensor " + printable(tensor.name));
    }
    return {};
  }
  /// Refuses keys and tensors that would change results and are not implemented, each with its
  /// reason and its harmless values.
  Status checkRefused() {
    const Json refused = section.value("refuse", Json::object());
    for (const auto &[pattern, entry] : refused.items()) {
      if (entry.is_null()) // a set refuses it, but this section implements it
        continue;
      const std::string wanted = expanded(pattern);
      const std::string why = entry.is_string() ? entry.get<std::string>() : entry.value("why", "");
      const auto tensor = std::ranges::find_if(file.tensors(), [&](const GgufTensor &given) {
        return Architecture::matches(wanted, given.name);
      });
      if (tensor != file.tensors().end())
        return inputError(file.name() + ": " + printable(tensor->name) +
                          ": expected no such tensor, found one: " + why);
      for (const auto &[key, value] : file.metadata())
        if (Architecture::matches(wanted, key))
          HEDDLE_TRY(checkRefused(std::string(key), entry, why));
    }
    return {};
  }
  Status checkRefused(const std::string &key, const Json &entry, const std::string &why) {
    if (entry.is_string())
      return inputError(file.mistaken(key, "no such key").message + ": " + why);
    Json allowed = entry.at("unless");
    if (!allowed.is_array())
      allowed = Json::array({allowed});
    const Json found = HEDDLE_TRY(metadata(key, nullptr));
    std::vector<std::string> shownOnes;
    for (const Json &one : allowed) {
      Json value = HEDDLE_TRY(evaluated(one.is_string() && !one.get<std::string>().starts_with('=')
                                            ? Json{{"value", one}}
                                            : one));
      if (found == value)
        return {};
      std::string text = value.is_string() ? quotedText(value.get<std::string>()) : value.dump();
      if (!llvm::is_contained(shownOnes, text))
        shownOnes.push_back(std::move(text));
    }
    return inputError(file.mistaken(key, listText(shownOnes, {}, " or ")).message + ": " + why);
  }
  /// Value of a key of `config`, or one of the lists `tensors` and `keys`.
  Expected<Json> named(const std::string &name) {
    if (auto found = known.find(name); found != known.end())
      return found->second;
    Json list = Json::array();
    if (name == "tensors")
      for (const GgufTensor &tensor : file.tensors())
        list.push_back(tensor.name);
    if (name == "keys")
      for (const auto &[key, value] : file.metadata())
        list.push_back(key);
    if (name == "tensors" || name == "keys")
      return known[name] = std::move(list);
    if (name == "ends")
      return known[name] = HEDDLE_TRY(ends());
    const Json wanted = section.value("config", Json::object());
    if (!wanted.contains(name) || !computing.insert(name).second)
      return inputError(
          "expected tensors, keys, ends or a key of gguf.config that does not need itself, "
          "found " +
          quotedText(name));
    const std::string outer = std::exchange(current, name);
    Json value = HEDDLE_TRY(evaluated(wanted[name]));
    HEDDLE_TRY(checkSize(name, wanted[name], value));
    current = outer;
    computing.erase(name);
    return known[name] = std::move(value);
  }
  /// Reports an invalid size by its metadata key, which the configuration's errors could not name.
  Status checkSize(const std::string &name, const Json &entry, const Json &value) const {
    const Json source = entry.is_object() ? entry.value("key", Json()) : entry;
    if (!source.is_string() || source.get_ref<const std::string &>().starts_with('=') ||
        Architecture::fits(name, value))
      return {};
    const std::string key = expanded(source.get<std::string>());
    return file.find(key) ? file.mistaken(key, "an integer of at least 1") : Status();
  }
  Expected<Json> expression(const std::string &text) {
    auto made = evaluateConfig(expanded(text), [this](const std::string &name) {
      auto value = named(name);
      if (!value && !failure)
        failure = value.error(); // the innermost error, which has its place
      return value;
    });
    if (made || failure)
      return made ? std::move(made) : *failure;
    return inputError(file.name() + ": " +
                      (current.empty() ? "" : "gguf.config." + current + ": ") +
                      printable(made.takeError().message));
  }
  /// Evaluates an entry of `config` or a part of one; discarded if it is omitted.
  Expected<Json> evaluated(const Json &entry) {
    if (entry.is_string()) {
      const auto text = entry.get<std::string>();
      return text.starts_with('=') ? expression(text.substr(1)) : metadata(text, nullptr);
    }
    if (!entry.is_object())
      return entry;
    const Json *otherwise = entry.contains("default") ? &entry["default"] : nullptr;
    if (entry.contains("key"))
      return metadata(entry["key"].get<std::string>(), otherwise);
    if (entry.contains("list"))
      return list(entry["list"].get<std::string>(), otherwise);
    if (entry.contains("labels"))
      return labels(entry["labels"].get<std::string>());
    if (entry.contains("numbers"))
      return numbers(entry["numbers"].get<std::string>());
    if (entry.contains("rows"))
      return rows(entry["rows"].get<std::string>(), otherwise);
    if (entry.contains("layers"))
      return layers(entry["layers"].get<std::string>());
    if (entry.contains("value"))
      return entry["value"];
    if (entry.contains("if")) {
      const Json holds = HEDDLE_TRY(expression(entry["if"].get<std::string>()));
      const char *side = holds == true ? "then" : "else";
      return entry.contains(side) ? evaluated(entry[side]) : Json(Json::value_t::discarded);
    }
    Json object = Json::object();
    for (const auto &[name, inner] : entry.items())
      object[name] = HEDDLE_TRY(evaluated(inner));
    return object;
  }
  Expected<Json> defaultOf(const Json &otherwise) {
    return otherwise.is_string() && otherwise.get<std::string>().starts_with('=')
               ? expression(otherwise.get<std::string>().substr(1))
               : Expected<Json>(otherwise);
  }
  Expected<Json> metadata(const std::string &name, const Json *otherwise) {
    const std::string key = expanded(name);
    const GgufValue *value = file.find(key);
    read.insert(key);
    if (!value && otherwise)
      return defaultOf(*otherwise);
    if (!value)
      return file.mistaken(key, "a value");
    if (auto text = value->text())
      return Json(printable(*text));
    if (auto flag = value->flag())
      return Json(*flag);
    if (auto whole = value->integer())
      return Json(*whole);
    if (auto number = value->number(); number && std::isfinite(*number))
      return Json(*number);
    if (auto common = commonNumber(*value))
      return Json(*common);
    return file.mistaken(key, value->number() ? "a finite number" : "one value, or equal ones");
  }
  /// The whole number that each element of a list is, such as the heads of each layer.
  static std::optional<int64_t> commonNumber(const GgufValue &value) {
    const auto given = value.numbers();
    if (!given || given->empty() || std::trunc(given->front()) != given->front() ||
        !llvm::all_equal(*given))
      return std::nullopt;
    return static_cast<int64_t>(given->front());
  }
  /// Reads a list of numbers or booleans.
  Expected<Json> list(const std::string &name, const Json *otherwise) {
    const std::string key = expanded(name);
    const GgufValue *value = file.find(key);
    read.insert(key);
    if (!value && otherwise)
      return defaultOf(*otherwise);
    if (auto flags = value ? value->flags() : std::nullopt)
      return Json(*flags);
    const auto given = value ? value->numbers() : std::nullopt;
    if (!given)
      return file.mistaken(key, "a list of numbers or booleans");
    if (value->elements == GgufType::F32 || value->elements == GgufType::F64)
      return Json(*given);
    return Json(std::vector<int64_t>(given->begin(), given->end()));
  }
  /// Reads a list of texts as an object with their numbers as keys; discarded without the key.
  Expected<Json> labels(const std::string &name) {
    const std::string key = expanded(name);
    read.insert(key);
    if (!file.find(key))
      return Json(Json::value_t::discarded);
    Json object = Json::object();
    for (std::string_view text : HEDDLE_TRY(file.texts(key)))
      object[std::to_string(object.size())] = printable(text);
    return object;
  }
  /// Reads the end tokens below the vocabulary's size: null, one token or a list.
  Expected<Json> ends() {
    const Json size = HEDDLE_TRY(named("vocab_size"));
    const int64_t rows = size.is_number_integer() ? size.get<int64_t>() : 0;
    const auto vocabulary =
        HEDDLE_TRY(GgufVocabulary::read(file, static_cast<size_t>(std::max<int64_t>(rows, 0))));
    Json list = Json::array();
    for (int64_t id : vocabulary.ends)
      if (id < rows || id == vocabulary.end)
        list.push_back(id);
    return list.empty() ? Json() : list.size() == 1 ? list[0] : list;
  }
  /// Reads the elements of a tensor that is not a weight, such as frequency factors.
  Expected<Json> numbers(const std::string &name) {
    constexpr int64_t most = 1 << 16;
    auto weights = HEDDLE_TRY(openGgufWeights(file.name()));
    const int index = weights->find(name);
    if (index < 0)
      return inputError(file.name() + ": expected a tensor " + name + ", found none");
    HEDDLE_TRY(weights->checkReadable(index));
    const int64_t count = weights->tensors()[index].elements();
    if (count > most)
      return inputError(file.name() + ": " + name + ": expected at most " + std::to_string(most) +
                        " numbers, found " + std::to_string(count));
    std::vector<float> values(count);
    weights->read(index, 0, values);
    if (!llvm::all_of(values, [](float value) { return std::isfinite(value); }))
      return inputError(file.name() + ": " + name + ": expected numbers, found one that is none");
    return Json(values);
  }
  /// Number of rows of a tensor; the metadata lacks the length of some tables.
  Expected<Json> rows(const std::string &name, const Json *otherwise) {
    auto found = std::ranges::find(file.tensors(), name, &GgufTensor::name);
    if (found != file.tensors().end() && !found->shape.empty())
      return Json(found->shape[0]);
    if (otherwise)
      return defaultOf(*otherwise);
    return inputError(file.name() + ": expected a tensor " + name + ", found none");
  }
  /// Numbers of the layers that have a tensor of this name, ascending.
  Json layers(const std::string &name) const {
    std::set<int64_t> numbers;
    for (const GgufTensor &tensor : file.tensors()) {
      llvm::StringRef given(tensor.name);
      int64_t layer = 0;
      if (given.consume_front("blk.") && !given.consumeInteger(10, layer) && layer >= 0 &&
          given.consume_front(".") && given == name)
        numbers.insert(layer);
    }
    return numbers;
  }

  const Gguf &file;
  const Json &section;
  std::string arch;
  std::map<std::string, Json, std::less<>> known;
  std::set<std::string, std::less<>> computing, read;
  std::string current;          ///< key of `config` that is being evaluated
  std::optional<Error> failure; ///< first error in an expression
};
} // namespace

/// Whether the metadata has a key of the architecture, with another number than 0.
static bool hasNumber(const Gguf &file, const std::string &arch, const std::string &key) {
  const GgufValue *value = file.find(arch + "." + key);
  return value && value->number().value_or(0) != 0;
}

Expected<Json> Architecture::ggufConfig(const Gguf &file) {
  const std::string arch(HEDDLE_TRY(file.text("general.architecture")));
  std::vector<std::string> all;
  std::string chosen;
  for (const BuiltInArchitecture &known : builtInArchitectures()) {
    const Json document = HEDDLE_TRY(parseJson(known.text, std::string(known.name)));
    const Json own = section(document, "gguf");
    if (!own.contains("architecture"))
      continue;
    all.push_back(own["architecture"].get<std::string>());
    // Several families may share a name. A key of the metadata then tells one of them.
    const std::string key = own.value("with", std::string());
    if (all.back() == arch && (key.empty() ? chosen.empty() : hasNumber(file, arch, key)))
      chosen = known.name;
  }
  if (chosen.empty())
    return file.mistaken("general.architecture", "one of " + listText(all));
  Architecture reader(file.name(), Json::object());
  reader.file = std::string(builtInWord) + chosen;
  const Json document = HEDDLE_TRY(reader.readFile(chosen));
  const Json own = HEDDLE_TRY(reader.ggufSection(section(document, "gguf")));
  Json config = HEDDLE_TRY(GgufValues(file, own, arch).config());
  config["model_type"] = chosen;
  return config;
}
