//===- ChatTemplate.cpp - Conversations as a model reads them ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Newer folders have the template in a file of its own, which goes before
// tokenizer_config.json.
#include "heddle/Templates/ChatTemplate.h"

#include "FolderFiles.h"
#include "Utf8.h"

#include "heddle/Support/GgufVocabulary.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>

namespace heddle {

using namespace tokenizers;
namespace fs = std::filesystem;

struct ChatTemplate::Parts {
  std::string text;
  std::string name;             ///< of the file
  Json tokens = Json::object(); ///< bos_token and its like
  std::optional<Template> read = {};
};

namespace {

struct Named {
  std::string name, text, file;
};

/// The templates of a folder, the first of a name counting.
Expected<std::vector<Named>> templatesOf(const fs::path &folder, const Json &config) {
  std::vector<Named> found;
  if (const fs::path path = folder / "chat_template.jinja"; isThere(path))
    found.push_back({"default", HEDDLE_TRY(readText(path)), path.string()});
  std::vector<fs::path> others;
  std::error_code failure;
  for (fs::directory_iterator at(folder / "chat_templates", failure), end; !failure && at != end;
       at.increment(failure))
    if (at->path().extension() == ".jinja" && isThere(at->path()))
      others.push_back(at->path());
  std::ranges::sort(others);
  for (const fs::path &path : others)
    found.push_back({path.stem().string(), HEDDLE_TRY(readText(path)), path.string()});
  if (!found.empty())
    return found;
  const std::string path = (folder / tokenizerConfigName).string();
  const JsonField file(config, path);
  auto field = file.find("chat_template");
  if (!field)
    return found;
  const std::string place = path + ": chat_template";
  if (field->value().is_string()) {
    found.push_back({"default", HEDDLE_TRY(field->text()), place});
    return found;
  }
  auto list = HEDDLE_TRY(field->list());
  for (const JsonField &entry : list) {
    const std::string name = HEDDLE_TRY(entry.textAt("name"));
    found.push_back({name, HEDDLE_TRY(entry.textAt("template")), place + " " + printable(name)});
  }
  return found;
}

/// bos_token, eos_token and their like of the files that may have them, the first counting.
Json tokensOf(std::initializer_list<const Json *> files) {
  Json tokens = Json::object();
  for (const Json *file : files)
    for (const char *key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                            "cls_token", "mask_token"}) {
      auto at = file->find(key);
      if (at == file->end() || tokens.contains(key))
        continue;
      if (const std::string *text = tokenText(*at))
        tokens[key] = *text;
    }
  return tokens;
}

constexpr std::string_view ggufKey = "tokenizer.chat_template";

/// Templates of a GGUF file's metadata.
Expected<std::vector<Named>> templatesOf(const Gguf &file) {
  std::vector<Named> found;
  for (const auto &[key, value] : file.metadata()) {
    const bool isOther = key.starts_with(std::string(ggufKey) + ".");
    if (key != ggufKey && !isOther)
      continue;
    const std::string name(isOther ? key.substr(ggufKey.size() + 1) : "default");
    found.push_back(
        {name, std::string(HEDDLE_TRY(file.text(key))), file.name() + ": " + printable(key)});
  }
  return found;
}

/// bos_token and its like by their ids.
Expected<Json> tokensOf(const Gguf &file) {
  Json tokens = Json::object();
  if (!file.find("tokenizer.ggml.tokens"))
    return tokens;
  const auto vocabulary = HEDDLE_TRY(GgufVocabulary::read(file));
  for (auto [name, id] : {std::pair("bos_token", vocabulary.start),
                          {"eos_token", vocabulary.end},
                          {"unk_token", vocabulary.unknown},
                          {"sep_token", vocabulary.separator},
                          {"pad_token", vocabulary.padding},
                          {"cls_token", vocabulary.classes},
                          {"mask_token", vocabulary.mask}}) {
    if (!id)
      continue;
    const std::string text(vocabulary.texts[static_cast<size_t>(*id)]);
    HEDDLE_TRY(checkUtf8(text, file.name() + ": tokenizer.ggml.tokens"));
    tokens[name] = text;
  }
  return tokens;
}

} // namespace

Expected<ChatTemplate> ChatTemplate::make(Parts parts) {
  parts.read = HEDDLE_TRY(Template::parse(parts.text, parts.name));
  return ChatTemplate(std::make_shared<const Parts>(std::move(parts)));
}

bool ChatTemplate::isIn(const std::string &folder) {
  const auto model = modelPath(folder);
  if (!model)
    return true; // `open` says why it cannot be read
  const fs::path path(*model);
  if (isGguf(*model)) {
    auto file = Gguf::open(*model);
    auto found = file ? templatesOf(*file) : Expected<std::vector<Named>>(file.takeError());
    return !found || !found->empty();
  }
  if (isThere(path / "chat_template.jinja"))
    return true;
  auto config = readObject(path / tokenizerConfigName);
  if (!config)
    return true; // `open` says why it cannot be read
  auto found = templatesOf(path, *config);
  return !found || !found->empty();
}

Expected<ChatTemplate> ChatTemplate::open(const std::string &model, const std::string &wanted) {
  const std::string folder = HEDDLE_TRY(modelPath(model));
  const fs::path path(folder);
  std::vector<Named> found;
  Json tokens;
  if (isGguf(folder)) {
    const Gguf file = HEDDLE_TRY(Gguf::open(folder));
    found = HEDDLE_TRY(templatesOf(file));
    tokens = HEDDLE_TRY(tokensOf(file));
  } else {
    const Json config = HEDDLE_TRY(readObject(path / tokenizerConfigName));
    const Json map = HEDDLE_TRY(readObject(path / "special_tokens_map.json"));
    found = HEDDLE_TRY(templatesOf(path, config));
    tokens = tokensOf({&config, &map});
  }
  if (found.empty())
    return inputError(folder + ": expected a chat template in " +
                      (isGguf(folder) ? std::string(ggufKey)
                                      : "chat_template.jinja, chat_templates "
                                        "or tokenizer_config.json") +
                      ", found none");
  const auto chosen = std::ranges::find(found, wanted, &Named::name);
  if (chosen == found.end())
    return inputError(folder + ": expected a chat template named " + quotedText(wanted) +
                      ", found " + printable(namesOf(found)));
  return make({std::move(chosen->text), std::move(chosen->file), std::move(tokens)});
}

Expected<ChatTemplate> ChatTemplate::fromJson(std::string_view json, const std::string &name) {
  const Json value = HEDDLE_TRY(parseJson(json, name));
  const JsonField field(value, name);
  Parts parts{HEDDLE_TRY(field.textAt("template")), name};
  if (auto tokens = field.find("tokens")) {
    HEDDLE_TRY(tokens->checkObject());
    for (const auto &[key, token] : tokens->value().items())
      parts.tokens[key] = HEDDLE_TRY(tokens->textAt(key));
  }
  return make(std::move(parts));
}

std::string ChatTemplate::toJson() const {
  return Json{{"template", parts->text}, {"tokens", parts->tokens}}.dump();
}

Expected<std::string> ChatTemplate::render(const Json &messages, bool addGenerationPrompt,
                                           const Json &variables,
                                           const RenderOptions &options) const {
  if (!messages.is_array() || std::ranges::any_of(messages, [](const Json &message) {
        return !message.is_object() || !message.contains("role");
      }))
    return inputError(parts->name + ": expected messages as a list of objects with a role, found " +
                      quotedText(messages.dump()));
  if (!variables.is_object())
    return inputError(parts->name + ": expected an object of variables, found another value");
  Json all = parts->tokens;
  all["messages"] = messages;
  all["tools"] = nullptr; // templates ask whether they are none
  all["documents"] = nullptr;
  all["add_generation_prompt"] = addGenerationPrompt;
  all.update(variables);
  return parts->read->render(all, options);
}

} // namespace heddle
