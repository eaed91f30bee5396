//===- Template.h - Templates of text ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Jinja that chat templates use, with the settings that they were
// written for: trim_blocks, lstrip_blocks, loop controls, values that a template
// cannot change. docs/templates.md lists it.
//
// Templates come with models, so they may be damaged or hostile: parsing and
// rendering end with a text or with one line, `NAME:LINE: expected …, found …`.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct RenderOptions {
  /// What strftime_now tells; none: the time of the call.
  std::optional<std::tm> now;
  /// Expressions, statements and elements of lists that may be looked at.
  int64_t steps = 10'000'000;
  /// Bytes of all texts and lists that are made, the result among them.
  int64_t bytes = 256 << 20;
};

/// A text, and which parts of it the template did not write: bytes, in order. A part is of a text that
/// was given, also where the template cut it, joined it or changed its letters.
struct RenderedText {
  std::string text;
  std::vector<TokenSpan> given;
};

class Template {
public:
  /// Errors begin with `name` and the line.
  static Expected<Template> parse(std::string_view text, const std::string &name);

  /// The text for `variables`, an object; objects keep the order of their keys.
  Expected<std::string> render(const nlohmann::ordered_json &variables,
                               const RenderOptions &options = {}) const;

  /// The same, with what the text holds of the texts in `given`, another object of variables, whose names go
  /// first. A `role` that is a word of letters, digits, `-` and `_` counts as the template's.
  Expected<RenderedText> renderParts(const nlohmann::ordered_json &own,
                                     const nlohmann::ordered_json &given,
                                     const RenderOptions &options = {}) const;

  /// Whether a variable of this name stands anywhere in the template, but for attributes.
  bool names(std::string_view variable) const;

private:
  struct Parts;
  explicit Template(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  std::shared_ptr<const Parts> parts;
};

} // namespace heddle
