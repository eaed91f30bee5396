//===- ChatTemplate.h - Chat templates of models ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chat templates of a model's folder: render messages to one text. The text is tokenized without
// the special tokens that the tokenizer would add, because the template writes them.
#pragma once

#include "heddle/Templates/Template.h"

namespace heddle {

/// Subfolder of a model's folder with named templates.
inline constexpr const char *chatTemplateFolder = "additional_chat_templates";

class ChatTemplate {
public:
  /// Whether a folder or a .gguf file has templates, including unreadable files in their place.
  static bool isIn(const std::string &folder);

  /// Reads the templates and the special tokens of a folder or a .gguf file. In a folder, templates
  /// are chat_template.jinja, which is named default, and additional_chat_templates/NAME.jinja, or
  /// else the chat_template of tokenizer_config.json. In a .gguf file they are
  /// tokenizer.chat_template and tokenizer.chat_template.NAME.
  static Expected<ChatTemplate> open(const std::string &folder);
  /// Copy that always renders the template named `name`. Input error if there is none.
  Expected<ChatTemplate> named(const std::string &name) const;
  /// Whether there is a template `rerank`, which formats a query and a document, as in .gguf files.
  bool hasPairs() const;
  /// Copy for pairs: it renders the template `rerank` if there is one.
  Expected<ChatTemplate> forPairs() const;
  /// Reads the result of `toJson`, as a compiled model contains it. Input errors begin with `name`.
  static Expected<ChatTemplate> fromJson(std::string_view json, const std::string &name);
  std::string toJson() const;

  /// Renders messages: a list of objects with role and content. `variables` is an object with other
  /// variables that the template may read (tools, documents, enable_thinking); they override
  /// special tokens with equal names. As in Transformers, the template is tool_use if it exists and
  /// tools are given, else default. Input error for tools or documents that the template does not
  /// read.
  Expected<std::string> render(const nlohmann::ordered_json &messages, bool addGenerationPrompt,
                               const nlohmann::ordered_json &variables,
                               const RenderOptions &options = {}) const;

  /// As above, and reports which parts of the text are from messages and variables.
  Expected<RenderedText> renderParts(const nlohmann::ordered_json &messages,
                                     bool addGenerationPrompt,
                                     const nlohmann::ordered_json &variables,
                                     const RenderOptions &options = {}) const;
  /// Whether a token that is not declared special may delimit parts of a conversation: a token in
  /// brackets (or similar) that the templates write, or one that looks like `<|user|>`.
  bool marks(std::string_view token) const;

private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  static Expected<ChatTemplate> make(Parts parts);
  std::shared_ptr<const Parts> parts;
  std::string chosen; ///< a name; empty: chosen as in Transformers
};

} // namespace heddle
