//===- FolderTexts.cpp - Tokenizers and preprocessors of a folder ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are stored in the compiled model unchanged. Parsing them here reports errors at import
// time.

#include "FolderTexts.h"

#include "PreprocessorFile.h"

#include "heddle/Images/Image.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Templates/ChatTemplate.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include "llvm/ADT/STLExtras.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

bool heddle::takesAudio(const Description &description) {
  return description.source && description.source->frames;
}

/// The side whose texts the folder's tokenizer splits, with its name: the source, or the target of
/// a decoder or a speech model. No side if it takes vectors or images.
static std::optional<std::pair<std::string, SideDescription *>> textsOf(Description &description) {
  const bool reads = description.source && !takesAudio(description);
  std::optional<SideDescription> &side = reads ? description.source : description.target;
  if (!side || side->vectors)
    return std::nullopt;
  return std::pair(std::string(reads ? "source" : "target"), &*side);
}

/// Warns if a token's id has no row in the model's table; a text with that token is an error.
static void checkVocabulary(const Tokenizer &tokenizer, const std::string &file,
                            Description &description) {
  constexpr int64_t gap = 1024; // ids may have gaps; ids far beyond the table are not checked
  const int64_t rows = textsOf(description)->second->size;
  for (int64_t id = rows; id < std::min<int64_t>(rows + gap, INT32_MAX); ++id)
    if (std::optional<std::string> token = tokenizer.idToToken(static_cast<int32_t>(id))) {
      description.warnings.push_back(file + ": expected ids below the model's " +
                                     std::to_string(rows) + " tokens, found " + std::to_string(id) +
                                     " of " + quotedText(*token));
      return;
    }
}

/// Returns whether a normalizer lowercases text.
static bool lowers(const Json &normalizer) {
  if (!normalizer.is_object())
    return false;
  const Json type = normalizer.value("type", Json());
  if (type == "Lowercase" || (type == "BertNormalizer" && normalizer.value("lowercase", true)))
    return true;
  return llvm::any_of(normalizer.value("normalizers", Json::array()), lowers);
}

static Status change(TokenizerFile &file, const TokenizerChanges &changes) {
  if (!changes.lowers && !changes.leavesSpecials)
    return {};
  Json json = HEDDLE_TRY(parseJson(file.json, file.name));
  if (!json.is_object())
    return {}; // the tokenizer's reader reports it
  if (Json old = json.value("normalizer", Json()); changes.lowers && !lowers(old)) {
    Json steps = Json::array({{{"type", "Lowercase"}}});
    if (!old.is_null())
      steps.push_back(std::move(old));
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  }
  if (changes.leavesSpecials)
    json["post_processor"] = nullptr;
  file.json = json.dump();
  return {};
}

/// Reads the tokenizer of a folder and its file.
static Expected<std::pair<TokenizerFile, Tokenizer>>
readTokenizer(const std::string &folder, const TokenizerChanges &changes) {
  TokenizerFile file = HEDDLE_TRY(readTokenizerFile(folder));
  HEDDLE_TRY(change(file, changes));
  Tokenizer tokenizer = HEDDLE_TRY(Tokenizer::fromJson(file.json, file.name));
  return std::pair(std::move(file), std::move(tokenizer));
}

/// Returns whether the model reads text on one side and writes it on the other.
static bool writesBeside(const Description &description) {
  return description.source && !takesAudio(description) && description.target &&
         !description.target->vectors;
}

/// Stores a tokenizer file in the compiled model and sets it as the tokenizer of `side`.
static void carryTokenizer(TokenizerFile file, std::string_view name, SideDescription &side,
                           Description &description) {
  side.tokenizerFile = std::string(name) + ".tokenizer.json";
  description.files.push_back(file.name);
  description.texts[side.tokenizerFile] = std::move(file.json);
}

/// Reads the tokenizer of the target if the folder has a separate one.
static Expected<std::optional<TokenizerFile>> readTargetTokenizer(const std::string &folder,
                                                                  const Description &description) {
  if (!writesBeside(description))
    return std::optional<TokenizerFile>();
  std::optional<TokenizerFile> file = HEDDLE_TRY(readTargetTokenizerFile(folder));
  if (file)
    HEDDLE_TRY(Tokenizer::fromJson(file->json, file->name));
  return file;
}

Status heddle::addTokenizer(const std::string &folder, bool needsTexts,
                            const TokenizerChanges &changes, Description &description) {
  auto texts = textsOf(description);
  if (!texts || (!needsTexts && !holdsTokenizer(folder)))
    return {};
  auto read = readTokenizer(folder, changes);
  auto target = readTargetTokenizer(folder, description);
  if (!read || !target) {
    const bool isOfTarget = read || (!target && target.error().kind == ErrorKind::System);
    Error error = isOfTarget ? target.takeError() : read.takeError();
    if (needsTexts || error.kind == ErrorKind::System)
      return error; // an unreadable file, not an unknown kind
    description.warnings.push_back(error.message + "; the model takes ids and no text");
    return {};
  }
  auto &[file, tokenizer] = *read;
  checkVocabulary(tokenizer, file.name, description);
  llvm::append_range(description.warnings, file.warnings);
  auto &[name, side] = *texts;
  carryTokenizer(std::move(file), name, *side, description);
  if (*target)
    carryTokenizer(std::move(**target), "target", *description.target, description);
  else if (writesBeside(description))
    description.target->tokenizerFile = description.source->tokenizerFile;
  return {};
}

Status heddle::addChatTemplate(const std::string &folder, Description &description) {
  auto texts = textsOf(description);
  if (!texts || texts->second->tokenizerFile.empty() || !ChatTemplate::isIn(folder))
    return {};
  Expected<ChatTemplate> chat = ChatTemplate::open(folder);
  if (!chat && chat.error().kind == ErrorKind::System)
    return chat.takeError();
  if (!chat) {
    description.warnings.push_back(chat.error().message +
                                   "; the model takes texts and no messages");
    return {};
  }
  auto &[name, side] = *texts;
  side->chatTemplateFile = name + ".chat-template.json";
  description.texts[side->chatTemplateFile] = chat->toJson();
  if (isGguf(folder) && description.classifier && chat->hasPairs())
    side->pairMessages = true;
  return {};
}

Status heddle::addPreprocessor(const std::string &folder, bool needsFiles,
                               Description &description) {
  const bool vectors = description.source && description.source->vectors;
  if (!vectors || takesAudio(description) || (!needsFiles && !hasPreprocessor(folder)))
    return {};
  auto steps = readPreprocessor(folder, "image_processor", description);
  Expected<ImageProcessor> read = steps ? ImageProcessor::fromJson(steps->text, steps->place)
                                        : Expected<ImageProcessor>(steps.takeError());
  if (!read && (needsFiles || read.error().kind == ErrorKind::System))
    return read.takeError();
  if (!read) {
    description.warnings.push_back(read.error().message + "; the model takes no files of images");
    return {};
  }
  description.source->preprocessorFile = "source.preprocessor.json";
  description.texts[description.source->preprocessorFile] = std::move(steps->text);
  return {};
}
