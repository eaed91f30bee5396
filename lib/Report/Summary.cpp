//===- Summary.cpp - Summary of a model -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summary of a model, from the facts in Program::model that text commands read too. A program of
// dialect text has no such facts.

#include "Summary.h"

#include "heddle/Support/Formats.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/TextFacts.h"

#include <map>
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

namespace heddle {

namespace {

class Summary {
public:
  Summary(const std::string &model, const Program &program) : model(model), program(program) {
    if (auto parsed = modelFactsFromJson(program.model))
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
    if (!facts.text.head.empty())
      object["head"] = facts.text.head;
    object["parameters"] = parameters();
    object["weights"] = typeBytes();
    if (const auto &source = facts.source)
      object["source"] = sideJson(*source, source->most);
    if (const auto &target = facts.target)
      object["target"] = sideJson(*target, target->limit);
    if (!facts.text.labelsFile.empty())
      object["labels"] = {{"file", facts.text.labelsFile}, {"count", facts.text.classes}};
    return object;
  }

private:
  /// `most`: the maximum number of tokens of a text.
  static Json sideJson(const SideFacts &side, std::optional<int64_t> most) {
    Json object = Json::object();
    if (most)
      object["tokens"] = *most;
    if (side.vocabularySize > 0)
      object["vocabulary"] = side.vocabularySize;
    for (const auto &[name, file] :
         {std::pair("tokenizer", &side.tokenizerFile), {"template", &side.chatTemplateFile}})
      if (!file->empty())
        object[name] = *file;
    return object;
  }

  std::string kindWord() const {
    return facts.text.kind.empty() ? "dialect text" : facts.text.kind;
  }
  std::string kind() const {
    return kindWord() + (facts.text.head.empty() ? "" : ", " + facts.text.head);
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
    if (facts.source && facts.source->most)
      text = "a source of at most " + std::to_string(*facts.source->most) + " tokens";
    if (facts.target)
      text += (text.empty() ? "" : ", ") +
              ("a text of at most " + std::to_string(facts.target->limit)) + " tokens" +
              (text.empty() ? ", prompt and answer" : "");
    return text;
  }

  /// Result of `of` for the source and the target; given once if they are equal.
  std::string ofSides(std::string (*of)(const SideFacts &)) const {
    const std::string source = facts.source ? of(*facts.source) : "",
                      target = facts.target ? of(*facts.target) : "";
    return source.empty() || target.empty() || source == target
               ? (source.empty() ? target : source)
               : source + "; of the target " + target;
  }
  static std::string tokenizer(const SideFacts &side) {
    if (side.tokenizerFile.empty() && !side.vocabularyFile.empty())
      return "a list of " + std::to_string(side.vocabularySize) + " words";
    if (side.tokenizerFile.empty() || side.vocabularySize == 0)
      return side.tokenizerFile;
    return side.tokenizerFile + ", " + std::to_string(side.vocabularySize) + " tokens";
  }
  static std::string chatTemplate(const SideFacts &side) { return side.chatTemplateFile; }

  std::string labels() const {
    return facts.text.labelsFile.empty()
               ? ""
               : std::to_string(facts.text.classes) + " in " + facts.text.labelsFile;
  }

  const std::string &model;
  const Program &program;
  ModelFacts facts;
};

} // namespace

std::string summaryText(const std::string &model, const Program &program) {
  return Summary(model, program).text();
}

Json summaryJson(const std::string &model, const Program &program) {
  return Summary(model, program).json();
}

} // namespace heddle
