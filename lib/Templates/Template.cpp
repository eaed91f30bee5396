//===- Template.cpp - Templates of text -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Template.h.
#include "heddle/Templates/Template.h"

#include "Interpreter.h"
#include "Syntax.h"

namespace heddle {

struct Template::Parts {
  std::string name;
  templates::Body body;
};

Expected<Template> Template::parse(std::string_view text, const std::string &name) {
  return withinMemory([&]() -> Expected<Template> {
    auto parts = std::make_shared<Parts>();
    parts->name = name;
    parts->body = HEDDLE_TRY(templates::parseTemplate(text, name));
    return Template(std::move(parts));
  });
}

Expected<std::string> Template::render(const nlohmann::ordered_json &variables,
                                       const RenderOptions &options) const {
  return withinMemory(
      [&] { return templates::Interpreter(parts->name, options).run(parts->body, variables); });
}

} // namespace heddle
