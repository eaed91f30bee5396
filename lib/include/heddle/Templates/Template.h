//===- Template.h - Text templates ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subset of Jinja that chat templates use, with the settings for which they are written:
// trim_blocks, lstrip_blocks, loop controls, and values that a template cannot change.
// docs/templates.md lists it.
//
// Templates are part of models, so they may be damaged or hostile: parsing and rendering end with a
// text or with one line, `NAME:LINE: expected …, found …`.
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
  /// Time that strftime_now returns; none: the time of the call.
  std::optional<std::tm> now;
  /// Limit for the number of evaluated expressions, statements and list elements.
  int64_t steps = 10'000'000;
  /// Limit for the bytes of all created texts and lists, including the result.
  int64_t bytes = 256 << 20;
};

/// A text, and its parts (byte ranges, in order) that the template did not write. A part is from a
/// given text, even if the template cut it, joined it or changed its letters.
struct RenderedText {
  std::string text;
  std::vector<TokenSpan> given;
};

class Template {
public:
  /// Parses a template. Input errors begin with `name` and the line.
  static Expected<Template> parse(std::string_view text, const std::string &name);

  /// Renders the template with `variables`, an object; objects keep the order of their keys.
  Expected<std::string> render(const nlohmann::ordered_json &variables,
                               const RenderOptions &options = {}) const;

  /// As above, and reports which parts of the text are from texts in `given`, another object of
  /// variables, which overrides `own`. A `role` that consists of letters, digits, `-` and `_`
  /// counts as the template's text.
  Expected<RenderedText> renderParts(const nlohmann::ordered_json &own,
                                     const nlohmann::ordered_json &given,
                                     const RenderOptions &options = {}) const;

  /// Whether a variable with this name occurs anywhere in the template; attributes do not count.
  bool names(std::string_view variable) const;

private:
  struct Parts;
  explicit Template(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  std::shared_ptr<const Parts> parts;
};

} // namespace heddle
