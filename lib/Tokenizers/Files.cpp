//===- Files.cpp - What a folder holds of its tokenizer ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json says everything but what the files next to it change. A folder without
// it holds a vocabulary. The class of its tokenizer makes a tokenizer.json of it.
#include "FolderFiles.h"
#include "GgufTokenizer.h"
#include "PieceFolders.h"
#include "SentencePiece.h"
#include "TokenizerClasses.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <filesystem>

namespace heddle {

using namespace tokenizers;
namespace fs = std::filesystem;

namespace {

constexpr const char *tokenizerName = "tokenizer.json";
/// Files of SentencePiece, which do not say which tokens stand around a text.
constexpr const char *pieceFiles[] = {
    "tokenizer.model",     "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "spm.model",    "source.spm"};
/// Files that a class of tokenizers reads.
constexpr const char *vocabularies[] = {"vocab.txt", "vocab.json"};

Expected<TokenizerFile> readPieces(const std::string &path) {
  const Json json = HEDDLE_TRY(sentencePieceJson(HEDDLE_TRY(readText(path)), path));
  return TokenizerFile{json.dump(), path, /*isBare=*/true};
}

/// Warnings about what tokenizer_config.json says and nothing follows.
void warnOfSettings(const TokenizerSettings &settings, TokenizerFile &file) {
  if (const std::vector<std::string> keys = settings.unknownKeys(); !keys.empty())
    file.warnings.push_back(
        settings.path() + ": expected only keys that Heddle knows, found " +
        firstText(keys, 5, [](const std::string &key) { return quotedText(key); }) +
        ", which is not followed");
  const auto code = settings.field().find("auto_map");
  if (code && code->find("AutoTokenizer"))
    file.warnings.push_back(settings.path() +
                            ": auto_map: the folder's own code of a tokenizer is not run; " +
                            fs::path(file.name).filename().string() + " is read without it");
}

/// tokenizer.json with what the folder's other files say.
Expected<TokenizerFile> readWithSettings(const std::string &path,
                                         const TokenizerSettings &settings) {
  TokenizerFile file{HEDDLE_TRY(readText(path)), path};
  Json json = HEDDLE_TRY(parseJson(file.json, path));
  HEDDLE_TRY(JsonField(json, path).checkObject());
  if (HEDDLE_TRY(applySettings(settings, json, file.warnings)))
    file.json = json.dump();
  return file;
}

/// A vocabulary as the folder's class reads it; `path` is the file that the folder has.
Expected<TokenizerFile> readVocabulary(const std::string &path, const TokenizerSettings &settings) {
  const TokenizerClass *type = tokenizerClassOf(settings);
  if (!type && settings.className().empty() && settings.modelType().empty() &&
      fs::path(path).filename() == vocabularies[0])
    type = bertClass(); // a vocab.txt alone
  if (!type)
    return inputError(
        settings.classPlace() + ": expected a class of tokenizers that reads " +
        fs::path(path).filename().string() + ", or tokenizer.json next to it, found " +
        quotedText(settings.className().empty() ? settings.modelType() : settings.className()));
  TokenizerFile file{.name = (settings.folder() / vocabularyFiles(*type)[0]).string()};
  Json json = HEDDLE_TRY(classJson(*type, settings));
  HEDDLE_TRY(applySettings(settings, json, file.warnings));
  file.json = json.dump();
  return file;
}

/// The family of a folder of SentencePiece models, where no tokenizer.json says what it is; null:
/// none that is known.
Expected<const PieceFamily *> familyOf(const TokenizerSettings &settings) {
  if (isThere(settings.folder() / tokenizerName))
    return nullptr;
  const PieceFamily *family = pieceFamilyOf(settings);
  return family && holdsFamily(*family, settings.folder().string()) ? family : nullptr;
}

Expected<TokenizerFile> readTokenizerOf(const TokenizerSettings &settings) {
  const fs::path &folder = settings.folder();
  if (isThere(folder / tokenizerName))
    return readWithSettings((folder / tokenizerName).string(), settings);
  if (const PieceFamily *family = HEDDLE_TRY(familyOf(settings)))
    return readPieceFolder(*family, settings, /*written=*/false);
  for (const char *name : vocabularies)
    if (isThere(folder / name))
      return readVocabulary((folder / name).string(), settings);
  for (const char *name : pieceFiles)
    if (isThere(folder / name))
      return readPieces((folder / name).string());
  return inputError(folder.string() +
                    ": expected a folder with tokenizer.json, vocab.txt, vocab.json or a model of "
                    "SentencePiece, found none");
}

Expected<TokenizerFile> readFolder(const std::string &folder) {
  const TokenizerSettings settings = HEDDLE_TRY(TokenizerSettings::read(folder));
  TokenizerFile file = HEDDLE_TRY(readTokenizerOf(settings));
  warnOfSettings(settings, file);
  return file;
}

} // namespace

bool holdsTokenizer(const std::string &folder) {
  const auto path = modelPath(folder);
  if (!path)
    return true; // reading it says what is wrong with it
  if (isGguf(*path)) {
    auto file = Gguf::open(*path);
    return !file || file->find("tokenizer.ggml.model"); // reading it says what is wrong with it
  }
  // Reading says which of a class's files are not there.
  auto holds = [&](const char *name) { return isThere(fs::path(folder) / name); };
  return holds(tokenizerName) || std::ranges::any_of(vocabularies, holds) ||
         std::ranges::any_of(pieceFiles, holds) || holds("target.spm");
}

Expected<std::optional<TokenizerFile>> readTargetTokenizerFile(const std::string &path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure))
    return std::optional<TokenizerFile>();
  const TokenizerSettings settings = HEDDLE_TRY(TokenizerSettings::read(path));
  const PieceFamily *family = HEDDLE_TRY(familyOf(settings));
  if (!family || writesAsItReads(*family))
    return std::optional<TokenizerFile>();
  return std::optional(HEDDLE_TRY(readPieceFolder(*family, settings, /*written=*/true)));
}

/// The tokenizer in the metadata of a GGUF file.
static Expected<TokenizerFile> readGguf(const std::string &path) {
  TokenizerFile file{.json = {}, .name = path};
  file.json = HEDDLE_TRY(ggufTokenizerJson(HEDDLE_TRY(Gguf::open(path)), &file.warnings)).dump();
  return file;
}

Expected<TokenizerFile> readTokenizerFile(const std::string &model) {
  const std::string path = HEDDLE_TRY(modelPath(model));
  if (isGguf(path))
    return readGguf(path);
  std::error_code failure;
  if (fs::is_directory(path, failure))
    return readFolder(path);
  const std::string name = fs::path(path).filename().string();
  if (name == vocabularies[1] || name.ends_with(".txt"))
    return readVocabulary(path, HEDDLE_TRY(TokenizerSettings::read(fs::path(path).parent_path())));
  if (name.ends_with(".spm") || name.ends_with(".model"))
    return readPieces(path);
  return TokenizerFile{HEDDLE_TRY(readText(path)), path};
}

} // namespace heddle
