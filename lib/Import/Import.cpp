//===- Import.cpp - Reading a model as an MLIR module ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Determines the kind of a model and calls its reader.

#include "heddle/Import/Import.h"

#include "DescriptionImport.h"
#include "DialectText.h"
#include "FolderImport.h"
#include "Schema.h"

#include "heddle/Support/Gguf.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

/// Returns whether a file belongs to a Hugging Face folder, which is the actual model.
static bool isOfFolder(const fs::path &path) {
  const fs::path config = path.parent_path() / "config.json";
  if (path.filename() == "tokenizer.json" || path.extension() == ".safetensors")
    return isThere(config);
  if (path.filename() != "config.json")
    return false;
  Expected<Json> json = readJsonFile(path.string());
  return json && json->is_object() && json->contains("model_type");
}

/// A hint if `path` has the form of a name on the Hugging Face Hub: OWNER/NAME.
static std::string hubHint(llvm::StringRef path) {
  auto [owner, name] = path.split('/');
  const bool isFile =
      llvm::is_contained({".heddle", ".json", ".gguf", ".mlir"}, fs::path(path.str()).extension());
  if (owner.empty() || name.empty() || name.contains('/') || isFile || isThere(owner.str()))
    return "";
  return "; Heddle downloads no models: `hf download " + path.str() + " --local-dir FOLDER` does";
}

/// Usage error for an option that only a Hugging Face folder has.
static Status checkNoFolderOptions(const ImportOptions &options, const std::string &path) {
  for (const auto &[flag, isGiven] : {std::pair("--pool", !options.pool.empty()),
                                      {"--labels", !options.labels.empty()},
                                      {"--recipe", !options.recipe.empty()}})
    if (isGiven)
      return usageError(std::string(flag) + ": expected a Hugging Face folder with it, found " +
                        path);
  return {};
}

Expected<ImportedModel> heddle::importModel(const std::string &model, const ImportOptions &options,
                                            mlir::MLIRContext &context) {
  if (model.empty())
    return inputError("expected a model, found an empty name");
  if (!options.keep.empty() && !options.training)
    return usageError("--keep: expected --training with it, found none");
  const std::string path = HEDDLE_TRY(modelPath(model));
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!isThere(path))
    return inputError(path + ": expected a model, found no such file or folder" + hubHint(path));
  if (error)
    return systemError(path, "a model that can be read", error.value());
  if (fs::is_directory(status)) {
    fs::path description = fs::path(path) / "model.json";
    if (isThere(description)) {
      HEDDLE_TRY(checkNoFolderOptions(options, path));
      return importDescription(description.string(), options, context);
    }
    if (isThere(fs::path(path) / "config.json") || isThere(fs::path(path) / "modules.json"))
      return importFolder(path, options, context);
    return inputError(path +
                      ": expected a folder with model.json, config.json or a GGUF file, found " +
                      (isThere(fs::path(path) / "adapter_config.json")
                           ? "an adapter, which peft merges into its model"
                           : "none"));
  }
  if (isGguf(path) && fs::is_regular_file(status))
    return importFolder(path, options, context);
  if (!fs::is_regular_file(status))
    return inputError(path + ": expected a file or a folder, found a device or a pipe");
  std::string extension = fs::path(path).extension().string();
  if (!options.part.empty())
    return usageError("--part: expected a Hugging Face folder with it, found " + path);
  HEDDLE_TRY(checkNoFolderOptions(options, path));
  if (isOfFolder(path))
    return inputError(
        path + ": expected a model, found a file of a Hugging Face folder: the folder " +
        quotedText(fs::absolute(path, error).parent_path().filename().string()) + " is the model");
  if (extension == ".mlir" || extension == ".mlirbc")
    return importDialectText(path, options, context);
  if (extension == ".json")
    return importDescription(path, options, context);
  return inputError(path +
                    ": expected a model (a Hugging Face folder, a .gguf file, a folder with "
                    "model.json, .json, .mlir or .heddle), found " +
                    (extension.empty() ? "a file without extension" : "'" + extension + "'"));
}
