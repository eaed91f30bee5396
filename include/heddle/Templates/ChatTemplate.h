//===- ChatTemplate.h - Conversations as a model reads them -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's folder says how messages become one text. The text is tokenised
// without the special tokens that the tokenizer would add: the template wrote them.
#pragma once

#include "heddle/Templates/Template.h"

namespace heddle {

/// The folder, inside a model's, of the templates that have names.
inline constexpr const char *chatTemplateFolder = "additional_chat_templates";

class ChatTemplate {
public:
  /// Whether a folder or a .gguf file has templates, or files that cannot be read in their place.
  static bool isIn(const std::string &folder);

  /// The folder's templates: chat_template.jinja, which is named default, and
  /// additional_chat_templates/NAME.jinja, or else the chat_template of tokenizer_config.json; and its
  /// special tokens. Of a .gguf file tokenizer.chat_template and tokenizer.chat_template.NAME.
  static Expected<ChatTemplate> open(const std::string &folder);
  /// The same templates, of which the one of this name renders; error if there is none.
  Expected<ChatTemplate> named(const std::string &name) const;
  /// What `toJson` wrote, as a compiled model carries it. Errors begin with `name`.
  static Expected<ChatTemplate> fromJson(std::string_view json, const std::string &name);
  std::string toJson() const;

  /// The text of messages: a list of objects with role and content. `variables` is an object of
  /// anything else that the template may read (tools, documents, enable_thinking); they go before
  /// special tokens of the same name. As in Transformers, the template is tool_use where tools are
  /// given and it exists, else default. Error for tools or documents that it does not read.
  Expected<std::string> render(const nlohmann::ordered_json &messages, bool addGenerationPrompt,
                               const nlohmann::ordered_json &variables,
                               const RenderOptions &options = {}) const;

  /// The same, with what the text holds of messages and variables.
  Expected<RenderedText> renderParts(const nlohmann::ordered_json &messages,
                                     bool addGenerationPrompt,
                                     const nlohmann::ordered_json &variables,
                                     const RenderOptions &options = {}) const;
  /// Whether a token that is not marked special marks parts of a conversation: one in brackets or
  /// their like that the templates write, or that looks like `<|user|>`.
  bool marks(std::string_view token) const;

private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  static Expected<ChatTemplate> make(Parts parts);
  std::shared_ptr<const Parts> parts;
  std::string chosen; ///< a name; empty: as Transformers chooses
};

} // namespace heddle
