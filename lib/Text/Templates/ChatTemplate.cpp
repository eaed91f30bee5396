//===- ChatTemplate.cpp - Chat templates of models ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and choice of templates. Newer folders have templates in separate files, which override
// tokenizer_config.json.
#include "heddle/Templates/ChatTemplate.h"

#include "heddle/Tokenizers/FolderFiles.h"
#include "heddle/Tokenizers/TokenizerSettings.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/GgufVocabulary.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace heddle {

using namespace tokenizers;
namespace fs = std::filesystem;

namespace {

struct Named {
  std::string name, text, file;
};

/// A template, or its error, which is reported only if the template is chosen.
struct ReadTemplate {
  Named source;
  Expected<Template> read;
};

constexpr const char *usual = "default", *ofTools = "tool_use", *ofPairs = "rerank";

} // namespace

struct ChatTemplate::Parts {
  std::string name;             ///< path of the folder or file
  Json tokens = Json::object(); ///< bos_token and similar
  std::vector<ReadTemplate> templates = {};

  Expected<const Template *> find(const std::string &wanted) const;
  Expected<const Template *> choose(const std::string &wanted, const Json &variables) const;
};

namespace {

/// Templates of a folder. A name is unique.
Expected<std::vector<Named>> templatesOf(const fs::path &folder, const Json &config) {
  std::vector<Named> found;
  if (const fs::path path = folder / "chat_template.jinja"; isThere(path))
    found.push_back({"default", HEDDLE_TRY(readText(path)), path.string()});
  std::vector<fs::path> others;
  if (const fs::path inner = folder / chatTemplateFolder; isThere(inner)) {
    std::error_code failure;
    for (fs::directory_iterator at(inner, failure), end; !failure && at != end;
         at.increment(failure))
      if (at->path().extension() == ".jinja")
        others.push_back(at->path());
    if (failure)
      return systemError(inner.string(), "a folder that can be read", failure.value());
  }
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
  auto add = [&](const std::string &name, std::string text) {
    std::erase_if(found, [&](const Named &each) { return each.name == name; });
    found.push_back({name, std::move(text), place + " " + printable(name)});
  };
  if (field->value().is_object()) {
    for (const auto &[name, text] : field->value().items())
      add(name, HEDDLE_TRY(field->textAt(name)));
    return found;
  }
  auto list = HEDDLE_TRY(field->list());
  for (const JsonField &entry : list) // the last one with a name counts
    add(HEDDLE_TRY(entry.textAt("name")), HEDDLE_TRY(entry.textAt("template")));
  return found;
}

/// bos_token, eos_token and the other special tokens that have names: keys that end in _token, and
/// objects of further tokens. The first file that has a name counts.
Json tokensOf(std::initializer_list<const Json *> files) {
  Json tokens = Json::object();
  auto add = [&](const std::string &key, const Json &value) {
    const std::string *text = tokenText(value);
    if (text && !tokens.contains(key))
      tokens[key] = *text;
  };
  for (const Json *file : files) {
    for (const auto &[key, value] : file->items())
      if (namesToken(key))
        add(key, value);
    for (const char *list : {"model_specific_special_tokens", "extra_special_tokens"})
      if (auto at = file->find(list); at != file->end() && at->is_object())
        for (const auto &[key, value] : at->items())
          add(key, value);
  }
  return tokens;
}

constexpr std::string_view ggufKey = "tokenizer.chat_template";

/// The template in Jinja for llama.cpp's template of pairs, which is a text with the words {query}
/// and {document} in the places of both texts.
std::string pairTemplate(std::string_view text) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.size();
    std::string_view role;
    for (std::string_view word : {"{query}", "{document}"})
      if (const size_t found = text.find(word, at); found < end) {
        end = found;
        role = word.substr(1, word.size() - 2);
      }
    if (end > at)
      made += "{{ " + Json(text.substr(at, end - at)).dump() + " }}";
    if (!role.empty())
      made += formatted("{{ messages | selectattr('role', 'equalto', '%s') | "
                        "map(attribute='content') | join }}",
                        std::string(role).c_str());
    at = role.empty() ? end : end + role.size() + 2;
  }
  return made;
}

/// Templates of a GGUF file's metadata.
Expected<std::vector<Named>> templatesOf(const Gguf &file) {
  std::vector<Named> found;
  for (const auto &[key, value] : file.metadata()) {
    const bool isOther = key.starts_with(std::string(ggufKey) + ".");
    if (key != ggufKey && !isOther)
      continue;
    const std::string name(isOther ? key.substr(ggufKey.size() + 1) : "default");
    std::string text(HEDDLE_TRY(file.text(key)));
    if (name == ofPairs && text.find("{{") == text.npos && text.find("{%") == text.npos) {
      HEDDLE_TRY(checkUtf8(text, file.name() + ": " + printable(key)));
      text = pairTemplate(text);
    }
    found.push_back({name, std::move(text), file.name() + ": " + printable(key)});
  }
  return found;
}

/// Special tokens (bos_token, …) by their ids.
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

static std::string namesOf(const std::vector<ReadTemplate> &templates) {
  return listText(templates, [](const ReadTemplate &one) { return printable(one.source.name); });
}

/// The template with this name. Error if there is none, or if it is invalid.
Expected<const Template *> ChatTemplate::Parts::find(const std::string &wanted) const {
  for (const ReadTemplate &one : templates)
    if (one.source.name == wanted)
      return one.read ? Expected<const Template *>(&*one.read)
                      : inputError(one.read.error().message);
  return inputError(name + ": expected a chat template named " + quotedText(wanted) + ", found " +
                    namesOf(templates));
}

/// The template with the given name, or the one that Transformers chooses for these variables.
Expected<const Template *> ChatTemplate::Parts::choose(const std::string &wanted,
                                                       const Json &variables) const {
  const bool hasTools = variables.contains("tools") && !variables["tools"].is_null();
  if (!wanted.empty())
    return find(wanted);
  const bool asksTools = hasTools && std::ranges::any_of(templates, [](const ReadTemplate &one) {
                           return one.source.name == ofTools;
                         });
  return find(asksTools ? ofTools : usual);
}

/// Rejects variables that the template would ignore. Transformers ignores them silently.
static Status checkReads(const Template &chosen, const std::string &name, const Json &variables) {
  for (const char *key : {"tools", "documents"})
    if (const Json value = variables.value(key, Json()); !value.empty() && !chosen.names(key))
      return inputError(name + ": expected a chat template that reads " + key +
                        ", found one that would leave them out");
  return {};
}

Expected<ChatTemplate> ChatTemplate::make(Parts parts) {
  if (std::ranges::none_of(parts.templates, [](const ReadTemplate &one) { return bool(one.read); }))
    return Error(parts.templates.front().read.error());
  for (const ReadTemplate &one : parts.templates)
    if (one.source.name == usual && !one.read)
      return Error(one.read.error());
  return ChatTemplate(std::make_shared<const Parts>(std::move(parts)));
}

Expected<ChatTemplate> ChatTemplate::named(const std::string &name) const {
  HEDDLE_TRY(parts->find(name));
  ChatTemplate other = *this;
  other.chosen = name;
  return other;
}

bool ChatTemplate::hasPairs() const {
  return std::ranges::any_of(parts->templates,
                             [](const ReadTemplate &one) { return one.source.name == ofPairs; });
}

Expected<ChatTemplate> ChatTemplate::forPairs() const {
  return hasPairs() ? named(ofPairs) : Expected<ChatTemplate>(*this);
}

bool ChatTemplate::isIn(const std::string &folder) {
  const auto model = modelPath(folder);
  if (!model)
    return true; // `open` reports why it cannot be read
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
    return true; // `open` reports why it cannot be read
  auto found = templatesOf(path, *config);
  return !found || !found->empty();
}

Expected<ChatTemplate> ChatTemplate::open(const std::string &model) {
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
    tokens =
        config.contains("added_tokens_decoder") ? tokensOf({&config}) : tokensOf({&map, &config});
  }
  if (found.empty())
    return inputError(folder + ": expected a chat template in " +
                      (isGguf(folder) ? std::string(ggufKey)
                                      : "chat_template.jinja, additional_chat_templates "
                                        "or tokenizer_config.json") +
                      ", found none");
  Parts parts{.name = folder, .tokens = std::move(tokens)};
  for (Named &one : found) {
    Expected<Template> read = Template::parse(one.text, one.file);
    if (!read && read.error().kind == ErrorKind::System)
      return read.takeError();
    parts.templates.push_back({std::move(one), std::move(read)});
  }
  return make(std::move(parts));
}

Expected<ChatTemplate> ChatTemplate::fromJson(std::string_view json, const std::string &name) {
  const Json value = HEDDLE_TRY(parseJson(json, name));
  const JsonField field(value, name);
  Parts parts{.name = name};
  auto add = [&](const std::string &own, std::string text) {
    Expected<Template> read =
        Template::parse(text, own == usual ? name : name + " " + printable(own));
    parts.templates.push_back({{own, std::move(text), name}, std::move(read)});
  };
  const auto others = field.find("others");
  if (!others || field.find("template"))
    add(usual, HEDDLE_TRY(field.textAt("template")));
  if (others)
    for (const JsonField &entry : HEDDLE_TRY(others->list()))
      add(HEDDLE_TRY(entry.textAt("name")), HEDDLE_TRY(entry.textAt("template")));
  if (parts.templates.empty())
    return field.expected("a template");
  if (auto tokens = field.find("tokens")) {
    HEDDLE_TRY(tokens->checkObject());
    for (const auto &[key, token] : tokens->value().items())
      parts.tokens[key] = HEDDLE_TRY(tokens->textAt(key));
  }
  return make(std::move(parts));
}

/// Writes `template` for the default template: older readers know only this key.
std::string ChatTemplate::toJson() const {
  Json json = Json::object();
  for (const auto &[source, read] : parts->templates)
    if (source.name == usual)
      json["template"] = source.text;
    else
      json["others"].push_back({{"name", source.name}, {"template", source.text}});
  json["tokens"] = parts->tokens;
  return json.dump();
}

Expected<std::string> ChatTemplate::render(const Json &messages, bool addGenerationPrompt,
                                           const Json &variables,
                                           const RenderOptions &options) const {
  return HEDDLE_TRY(renderParts(messages, addGenerationPrompt, variables, options)).text;
}

bool ChatTemplate::marks(std::string_view token) const {
  auto isAscii = [](char c, int (*is)(int)) { return (c & 0x80) == 0 && is(c) != 0; };
  if (token.size() < 3 || !isAscii(token.front(), std::ispunct) ||
      !isAscii(token.back(), std::ispunct) ||
      std::ranges::none_of(token, [&](char c) { return isAscii(c, std::isalnum); }))
    return false;
  return token.starts_with("<|") || token.starts_with("<｜") ||
         std::ranges::any_of(parts->templates, [&](const ReadTemplate &one) {
           return one.source.text.find(token) != std::string::npos;
         });
}

Expected<RenderedText> ChatTemplate::renderParts(const Json &messages, bool addGenerationPrompt,
                                                 const Json &variables,
                                                 const RenderOptions &options) const {
  if (!messages.is_array() || std::ranges::any_of(messages, [](const Json &message) {
        return !message.is_object() || !message.contains("role");
      }))
    return inputError(parts->name + ": expected messages as a list of objects with a role, found " +
                      quotedText(messages.dump()));
  if (!variables.is_object())
    return inputError(parts->name + ": expected an object of variables, found another value");
  Json own = parts->tokens;
  own["tools"] = nullptr; // templates test whether `tools` is none
  own["documents"] = nullptr;
  own["add_generation_prompt"] = addGenerationPrompt;
  Json given = {{"messages", messages}};
  given.update(variables);
  const Template &one = *HEDDLE_TRY(parts->choose(chosen, variables));
  HEDDLE_TRY(checkReads(one, parts->name, variables));
  return one.renderParts(own, given, options);
}

} // namespace heddle
