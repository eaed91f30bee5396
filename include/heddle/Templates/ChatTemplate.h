//===- ChatTemplate.h - Conversations as a model reads them -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's folder says how messages become one text. The text is tokenised
// without the special tokens that the tokenizer would add: the template wrote them.
#pragma once

#include "heddle/Templates/Template.h"

namespace heddle {

class ChatTemplate {
public:
  /// Whether a folder or a .gguf file has templates, or files that cannot be read in their place.
  static bool isIn(const std::string &folder);

  /// The folder's template: chat_template.jinja, chat_templates/NAME.jinja, or the chat_template of
  /// tokenizer_config.json; and its special tokens. `wanted`: of several the one of this name. Of a
  /// .gguf file tokenizer.chat_template, or tokenizer.chat_template.NAME.
  static Expected<ChatTemplate> open(const std::string &folder,
                                     const std::string &wanted = "default");
  /// What `toJson` wrote, as a compiled model carries it. Errors begin with `name`.
  static Expected<ChatTemplate> fromJson(std::string_view json, const std::string &name);
  std::string toJson() const;

  /// The text of messages: a list of objects with role and content. `variables` is an object of
  /// anything else that the template may read (tools, documents, enable_thinking); they go before
  /// special tokens of the same name.
  Expected<std::string> render(const nlohmann::ordered_json &messages, bool addGenerationPrompt,
                               const nlohmann::ordered_json &variables,
                               const RenderOptions &options = {}) const;

private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  static Expected<ChatTemplate> make(Parts parts);
  std::shared_ptr<const Parts> parts;
};

} // namespace heddle
