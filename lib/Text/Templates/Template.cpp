//===- Template.cpp - Text templates --------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and rendering of templates.
#include "heddle/Templates/Template.h"

#include "Interpreter.h"
#include "Syntax.h"

#include "heddle/Support/Try.h"

#include <nlohmann/json.hpp>
#include <set>

namespace heddle {

struct Template::Parts {
  std::string name;
  templates::Body body;
  std::set<std::string, std::less<>> names;
};

/// Names inside tags that are not attributes.
static Expected<std::set<std::string, std::less<>>> namesIn(std::string_view text,
                                                            const std::string &name) {
  std::set<std::string, std::less<>> names;
  bool isAttribute = false;
  for (templates::Token &token : HEDDLE_TRY(templates::tokensOf(text, name))) {
    const bool isPoint = token.isSign(".");
    if (token.kind == templates::Token::Name && !isAttribute)
      names.insert(std::move(token.text));
    isAttribute = isPoint;
  }
  return names;
}

Expected<Template> Template::parse(std::string_view text, const std::string &name) {
  return withinMemory([&]() -> Expected<Template> {
    auto parts = std::make_shared<Parts>();
    parts->name = name;
    parts->body = HEDDLE_TRY(templates::parseTemplate(text, name));
    parts->names = HEDDLE_TRY(namesIn(text, name));
    return Template(std::move(parts));
  });
}

bool Template::names(std::string_view variable) const { return parts->names.contains(variable); }

Expected<std::string> Template::render(const nlohmann::ordered_json &variables,
                                       const RenderOptions &options) const {
  return HEDDLE_TRY(renderParts(variables, nlohmann::ordered_json::object(), options)).text;
}

Expected<RenderedText> Template::renderParts(const nlohmann::ordered_json &own,
                                             const nlohmann::ordered_json &given,
                                             const RenderOptions &options) const {
  return withinMemory(
      [&] { return templates::Interpreter(parts->name, options).run(parts->body, own, given); });
}

} // namespace heddle
