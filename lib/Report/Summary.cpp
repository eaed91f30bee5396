//===- Summary.cpp - Summary of a model -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summary of a model, from the facts in Program::model that text commands read too. A program of
// dialect text has no such facts.

#include "Summary.h"

#include "heddle/Support/Formats.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"

#include <map>
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

namespace heddle {

namespace {

class Summary {
public:
  Summary(const std::string &model, const Program &program) : model(model), program(program) {
    if (auto parsed = parseJson(program.model, "model"); parsed && parsed->is_object())
      facts = std::move(*parsed);
  }

  std::string text() const {
    std::string lines;
    for (const auto &[name, value] : {std::pair<const char *, std::string>("model", model),
                                      {"kind", kind()},
                                      {"size", size()},
                                      {"weights", weights()},
                                      {"lengths", lengths()},
                                      {"tokenizer", ofSides(&Summary::tokenizer)},
                                      {"template", ofSides(&Summary::chatTemplate)},
                                      {"labels", labels()}})
      lines += formatted("%-10s ", name) + printable(value.empty() ? "none" : value) + "\n";
    return lines;
  }

  Json json() const {
    Json object{{"model", model}, {"kind", kindWord()}};
    if (std::string head = word(facts, "head"); !head.empty())
      object["head"] = std::move(head);
    object["parameters"] = parameters();
    object["weights"] = typeBytes();
    for (const auto &[side, most] : {std::pair("source", "most"), {"target", "limit"}})
      if (facts.contains(side))
        object[side] = sideJson(facts[side], most);
    if (const Json classifier = part("classifier"); !word(classifier, "labels").empty())
      object["labels"] = {{"file", word(classifier, "labels")},
                          {"count", number(classifier, "size").value_or(0)}};
    return object;
  }

private:
  /// `most`: the key of the maximum number of tokens of a text.
  static Json sideJson(const Json &side, const char *most) {
    Json object = Json::object();
    for (const auto &[name, key] : {std::pair("tokens", most), {"vocabulary", "vocabulary"}})
      if (auto value = number(side, key))
        object[name] = *value;
    for (const auto &[name, key] :
         {std::pair("tokenizer", "tokenizer"), {"template", "chat-template"}})
      if (std::string value = word(side, key); !value.empty())
        object[name] = std::move(value);
    return object;
  }
  static std::string word(const Json &object, const char *key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string()
               ? found->get<std::string>()
               : "";
  }
  static std::optional<int64_t> number(const Json &object, const char *key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer())
      return std::nullopt;
    return object[key].get<int64_t>();
  }
  Json part(const char *key) const { return facts.value(key, Json()); }

  std::string kindWord() const {
    return facts.contains("kind") ? word(facts, "kind") : "dialect text";
  }
  std::string kind() const {
    const std::string head = word(facts, "head");
    return kindWord() + (head.empty() ? "" : ", " + head);
  }

  int64_t parameters() const {
    int64_t parameters = 0;
    for (const PackEntry &entry : program.pack) {
      int64_t count =
          entry.layout != PackEntry::Layout::Scales; // scales belong to a counted tensor
      for (int64_t extent : entry.shape)
        count *= extent;
      parameters += count;
    }
    return parameters;
  }
  std::string size() const { return std::to_string(parameters()) + " parameters"; }

  /// Bytes of stored parameters by type.
  std::map<std::string, int64_t> typeBytes() const {
    std::map<std::string, int64_t> bytes;
    for (const PackEntry &entry : program.pack)
      bytes[toString(entry.type)] += 4 * packedElements(entry);
    return bytes;
  }
  std::string weights() const {
    return listText(typeBytes(), [](const auto &type) {
      return type.first + formatted(" %.2f MB", static_cast<double>(type.second) / 1e6);
    });
  }

  std::string lengths() const {
    std::string text;
    if (auto most = number(part("source"), "most"))
      text = "a source of at most " + std::to_string(*most) + " tokens";
    if (auto limit = number(part("target"), "limit"))
      text += (text.empty() ? "" : ", ") + ("a text of at most " + std::to_string(*limit)) +
              " tokens" + (text.empty() ? ", prompt and answer" : "");
    return text;
  }

  /// Result of `of` for the source and the target; given once if they are equal.
  std::string ofSides(std::string (*of)(const Json &)) const {
    const std::string source = of(part("source")), target = of(part("target"));
    return source.empty() || target.empty() || source == target
               ? (source.empty() ? target : source)
               : source + "; of the target " + target;
  }
  static std::string tokenizer(const Json &side) {
    const std::string name = word(side, "tokenizer");
    auto vocabulary = number(side, "vocabulary");
    if (name.empty() || !vocabulary)
      return name;
    return name + ", " + std::to_string(*vocabulary) + " tokens";
  }
  static std::string chatTemplate(const Json &side) { return word(side, "chat-template"); }

  std::string labels() const {
    const Json classifier = part("classifier");
    const std::string file = word(classifier, "labels");
    return file.empty() ? ""
                        : std::to_string(number(classifier, "size").value_or(0)) + " in " + file;
  }

  const std::string &model;
  const Program &program;
  Json facts = Json::object();
};

} // namespace

std::string summaryText(const std::string &model, const Program &program) {
  return Summary(model, program).text();
}

Json summaryJson(const std::string &model, const Program &program) {
  return Summary(model, program).json();
}

} // namespace heddle
