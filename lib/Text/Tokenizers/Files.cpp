//===- Files.cpp - Tokenizer files of a folder ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the tokenizer of a folder. The files next to a tokenizer.json may
// change its settings. A folder without it has a vocabulary, from which the
// tokenizer's class builds a tokenizer.json.
#include "ClassComponents.h"
#include "GgufTokenizer.h"
#include "PieceFolders.h"
#include "SentencePiece.h"
#include "TokenizerClasses.h"
#include "heddle/Tokenizers/FolderFiles.h"

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
/// SentencePiece files, which do not name the tokens around a text.
constexpr const char *pieceFiles[] = {
    "tokenizer.model",     "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "spm.model",    "source.spm"};
/// Files that a tokenizer class reads.
constexpr const char *vocabularies[] = {"vocab.txt", "vocab.json"};

Expected<TokenizerFile> readPieces(const std::string &path) {
  const Json json = HEDDLE_TRY(sentencePieceJson(HEDDLE_TRY(readText(path)), path));
  return TokenizerFile{json.dump(), path};
}

/// Warns of settings in tokenizer_config.json that are not followed.
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

/// Reads tokenizer.json and applies the settings of the folder's other files.
Expected<TokenizerFile> readWithSettings(const std::string &path,
                                         const TokenizerSettings &settings) {
  TokenizerFile file{HEDDLE_TRY(readText(path)), path};
  Json json = HEDDLE_TRY(parseJson(file.json, path));
  HEDDLE_TRY(JsonField(json, path).checkObject());
  if (HEDDLE_TRY(applySettings(settings, json, file.warnings)))
    file.json = json.dump();
  return file;
}

/// Reads a vocabulary as the folder's tokenizer class does; `path` is the file that the folder has.
Expected<TokenizerFile> readVocabulary(const std::string &path, const TokenizerSettings &settings) {
  const TokenizerClass *type = tokenizerClassOf(settings);
  if (!type && settings.className().empty() && settings.modelType().empty() &&
      fs::path(path).filename() == vocabularies[0])
    type = bertClass(); // a lone vocab.txt
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

/// The family of a folder of SentencePiece models without tokenizer.json; null if it is unknown.
Expected<const PieceFamily *> familyOf(const TokenizerSettings &settings) {
  if (isThere(settings.folder() / tokenizerName))
    return nullptr;
  const PieceFamily *family = pieceFamilyOf(settings);
  return family && holdsFamily(*family, settings.folder().string()) ? family : nullptr;
}

/// Reads a SentencePiece model without tokenizer.json. The class of a model puts tokens around a
/// text, which the file does not give.
Expected<TokenizerFile> readLonePieces(const std::string &path, const TokenizerSettings &settings) {
  if (settings.className().empty() && settings.modelType().empty())
    return readPieces(path);
  return inputError(path +
                    ": expected tokenizer.json next to it, which gives the tokens around a text, "
                    "found none; Transformers writes it: "
                    "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
}

Expected<TokenizerFile> readTokenizerOf(const TokenizerSettings &settings) {
  const fs::path &folder = settings.folder();
  if (runsInPython(settings))
    return inputError(settings.classPlace() + ": expected a tokenizer that Heddle has, found " +
                      quotedText(settings.className()) +
                      ", which Transformers runs in Python and does not read from tokenizer.json");
  if (isThere(folder / tokenizerName))
    return readWithSettings((folder / tokenizerName).string(), settings);
  if (const PieceFamily *family = HEDDLE_TRY(familyOf(settings)))
    return readPieceFolder(*family, settings, /*written=*/false);
  for (const char *name : vocabularies)
    if (isThere(folder / name))
      return readVocabulary((folder / name).string(), settings);
  for (const char *name : pieceFiles)
    if (isThere(folder / name))
      return readLonePieces((folder / name).string(), settings);
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
    return true; // reading the tokenizer reports the error
  if (isGguf(*path)) {
    auto file = Gguf::open(*path);
    return !file || file->find("tokenizer.ggml.model"); // reading the tokenizer reports the error
  }
  // One file suffices here; reading reports the other files that the class needs.
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

/// Reads the tokenizer in the metadata of a GGUF file.
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
