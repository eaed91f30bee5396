//===- Languages.cpp - Languages and tasks of a translation -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Languages.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

namespace {

using Wanted = Languages::Wanted;

std::string known(const Languages &languages) {
  return listText(languages.tokens, [](const auto &language) { return language.first; });
}

Expected<int32_t> tokenOf(const Languages &languages, const char *flag, const std::string &name) {
  for (const auto &[language, token] : languages.tokens)
    if (language == name)
      return token;
  return usageError(std::string(flag) + ": expected a language of the model (" + known(languages) +
                    "), found " + quotedText(name));
}

bool isLanguage(const Languages &languages, std::optional<int32_t> token) {
  return token && std::ranges::any_of(languages.tokens,
                                      [&](const auto &own) { return own.second == *token; });
}

/// Returns an error if a language is needed and none is given; the model would choose one by
/// chance.
Status checkNamed(const Languages &languages, const TextSide &target) {
  const bool isNamed = languages.wanted == Wanted::Front ||
                       isLanguage(languages, target.generation.first) ||
                       isLanguage(languages, target.start);
  if (isNamed)
    return {};
  return usageError("--to: expected a language of the model (" + known(languages) +
                    "), found none");
}

/// Sets the target language. Returns the prefix of each source text.
Expected<std::string> chooseTarget(const Languages &languages, const std::string &name,
                                   TextModel &model) {
  const int32_t token = HEDDLE_TRY(tokenOf(languages, "--to", name));
  if (languages.wanted == Wanted::First)
    model.target->generation.first = token;
  else if (languages.wanted == Wanted::Start)
    model.target->start = token;
  else
    return model.source->tokenizer->idToToken(token).value_or("");
  return std::string();
}

Expected<std::string> chooseTask(const std::string &name, TextModel &model) {
  if (model.tasks.empty())
    return usageError("--task: expected a model with tasks, found one without");
  auto task = std::ranges::find(model.tasks, name, &TextTask::name);
  if (task == model.tasks.end())
    return usageError("--task: expected a task of the model (" +
                      listText(model.tasks, [](const TextTask &own) { return own.name; }) +
                      "), found " + quotedText(name));
  model.target->generation = task->generation;
  return task->prefix;
}

} // namespace

Expected<std::string> heddle::chooseLanguages(const TranslateCommand &command, TextModel &model) {
  const Languages &languages = model.languages;
  std::string before;
  if (command.task)
    before = HEDDLE_TRY(chooseTask(*command.task, model));
  for (const auto &[flag, name] : {std::pair("--from", command.from), {"--to", command.to}})
    if (name && languages.tokens.empty())
      return usageError(std::string(flag) + ": expected a model with languages, found one without");
  if (command.from && !languages.namesSource)
    return usageError("--from: expected a model that is told the language of a text, found one "
                      "that is not");
  if (command.from)
    model.source->language = HEDDLE_TRY(tokenOf(languages, "--from", *command.from));
  if (command.to)
    before = HEDDLE_TRY(chooseTarget(languages, *command.to, model)) + before;
  if (!languages.tokens.empty())
    HEDDLE_TRY(checkNamed(languages, *model.target));
  return before;
}
