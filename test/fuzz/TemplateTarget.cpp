//===- TemplateTarget.cpp - Fuzz target of chat templates -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Renders a template with the variables after a NUL, or else with a small conversation.
#include "Targets.h"

#include "heddle/Support/Json.h"
#include "heddle/Templates/ChatTemplate.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

/// Aborts on an error that is not one line with the template's name first.
template <typename T>
bool succeeded(const T &result) {
  if (result)
    return true;
  const std::string &message = result.error().message;
  if (!message.starts_with("t:") || message.find('\n') != std::string::npos)
    std::abort();
  return false;
}

constexpr std::string_view conversation = R"({
  "messages": [{"role": "system", "content": "Be \"terse\"."}, {"role": "user", "content": "Hé 🙂\n"},
               {"role": "assistant", "content": null, "tool_calls": [{"id": 1.5, "function": {"name": "f", "arguments": {"a": [1, true]}}}]},
               {"role": "tool", "content": [{"type": "text", "text": "a,b"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
  "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "n": 7, "l": [3, 1, 2]})";

} // namespace

void fuzz::readTemplate(std::string_view bytes) {
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  auto read = Template::parse(bytes.substr(0, end), "t");
  if (!succeeded(read))
    return;
  const std::string_view given = end < bytes.size() ? bytes.substr(end + 1) : conversation;
  auto variables = parseJson(given, "variables.json");
  if (!variables || !variables->is_object())
    return;
  succeeded(read->render(*variables, {.now = std::tm{}, .steps = 200'000, .bytes = 16 << 20}));
}
