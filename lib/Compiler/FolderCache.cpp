//===- FolderCache.cpp - Cache of compiled folders ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache of compiled Hugging Face folders. Its files are:
//
//   model-KEY.heddle   a compiled folder; the key is a hash of the compiler, the options
//                      and the content of the folder's files
//   model-KEY.json     the path of the folder, and the warnings of its compilation
//   folder-KEY.txt     maps a key that is faster to compute to the key above; it uses the
//                      size, time and inode of weights instead of their content

#include "CodeGeneration.h"
#include "KeptPieces.h"
#include "KernelCache.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/CacheFolder.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/TextFacts.h"
#include "heddle/Support/Try.h"
#include "heddle/Templates/ChatTemplate.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace heddle;
using llvm::StringRef;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

static constexpr const char *kLimitVariable = "HEDDLE_MODEL_CACHE_LIMIT";
static constexpr uint64_t kDefaultMegabytes = 4096;
static constexpr size_t kMaxFiles = 2000;
/// Limit for a file of a configuration; larger files are not cached.
static constexpr int64_t kMaxConfiguration = 256 << 20;

namespace {

/// Files of a folder that its compilation may read: configuration files with their content, and the
/// weights. Names are relative to the folder.
struct FolderFiles {
  std::vector<std::string> configuration; ///< name, content, name, …
  std::vector<std::string> weights;
};

/// A folder's place in the cache.
class CachedFolder {
public:
  /// Locates a model in the cache. None if models are not kept: the cache is off, or the model is
  /// not a folder of Hugging Face. If a folder could be kept but is not, a note says why.
  static Expected<std::optional<CachedFolder>>
  find(const std::string &model, const CompileOptions &options, std::vector<std::string> &notes);
  /// Opens the compiled file and reports the warnings of its compilation; none if it is missing or
  /// damaged. Damage is reported as a note.
  std::optional<Artifact> open(CompileReport &report, std::vector<std::string> &notes) const;
  /// Compiles into the cache. Error if the file cannot be written.
  Status compile(const CompileOptions &options, CompileReport &report) const;
  void limit() const { limitCache(cachedModels.prefix, kMaxFiles, limitBytes); }

private:
  Status keepFacts(const CompileReport &report) const;
  std::string path(const char *extension) const {
    return cacheDirectory() + "/" + std::string(cachedModels.prefix) + key + extension;
  }
  Status checkRoom() const;

  std::string model, key;
  std::string description; ///< of the options, for display
  uint64_t weightBytes = 0, limitBytes = 0;
};

} // namespace

//===- Keys --------------------------------------------------------------===//

/// Subfolders named by modules.json, which have their own weights.
static Expected<std::vector<std::string>> moduleFolders(const fs::path &folder) {
  std::vector<std::string> folders = {""};
  const std::string path = (folder / "modules.json").string();
  if (!isThere(path))
    return folders;
  const std::string text = HEDDLE_TRY(readTextFile(path, kMaxConfiguration));
  auto modules = parseJson(text, "");
  if (modules && modules->is_array())
    for (const Json &module : *modules)
      if (module.is_object() && module.contains("path") && module["path"].is_string() &&
          staysInFolder(module["path"].get<std::string>()))
        folders.push_back(module["path"].get<std::string>());
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

/// Files that a compilation may read. Error if one of them cannot be read, even if the compilation
/// would not need it. For a GGUF file it is this file alone, or all parts of its model. Hidden files belong to editors and
/// version control, and no library reads them.
static Expected<FolderFiles> filesOf(const fs::path &model, const fs::path &folder) {
  if (model != folder) {
    FolderFiles files;
    for (const std::string &part : ggufParts(model.filename().string()))
      files.weights.push_back(part);
    return files;
  }
  std::vector<std::string> inside = HEDDLE_TRY(moduleFolders(folder));
  inside.push_back(chatTemplateFolder);
  std::vector<std::string> names;
  for (const std::string &inner : inside) {
    std::error_code failure;
    if (!isThere(folder / inner))
      continue; // a module without files, or no templates
    for (fs::directory_iterator at(folder / inner, failure), end; !failure && at != end;
         at.increment(failure)) {
      std::error_code none;
      const bool isHidden = at->path().filename().string().starts_with('.');
      if (!isHidden && !at->is_directory(none)) // reading other kinds of files fails below
        names.push_back((fs::path(inner) / at->path().filename()).string());
    }
    if (failure)
      return inputError((folder / inner).string() +
                        ": expected a folder that can be read, found: " + failure.message());
  }
  std::ranges::sort(names);
  FolderFiles files;
  for (const std::string &name : names) {
    StringRef extension = llvm::StringRef(name).rsplit('.').second;
    if (extension == "safetensors" || extension == "bin") {
      files.weights.push_back(name);
    } else if (extension == "json" || extension == "txt" || extension == "model" ||
               extension == "spm" || extension == "jinja") {
      std::error_code none;
      if (fs::file_size(folder / name, none) > kMaxConfiguration) {
        files.weights.push_back(name); // identified by its size, time and inode, like weights
        continue;
      }
      std::string content = HEDDLE_TRY(readTextFile((folder / name).string(), kMaxConfiguration));
      files.configuration.insert(files.configuration.end(), {name, std::move(content)});
    }
  }
  return files;
}

/// Hash of a file's content.
static Expected<std::string> contentOf(const fs::path &folder, const std::string &name) {
  const MappedBytes mapped = HEDDLE_TRY(MappedBytes::openFile((folder / name).string()));
  std::span<const std::byte> bytes = mapped.bytes();
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  return name + formatted(" %zu %016llx%016llx", bytes.size(),
                          static_cast<unsigned long long>(hash.high64),
                          static_cast<unsigned long long>(hash.low64));
}

/// Inputs of the compiled file other than the folder; none for options that no tool has.
static Expected<std::vector<std::string>> optionParts(const fs::path &folder,
                                                      const CompileOptions &options) {
  const bool pools = options.needsVectors && !isThere(folder / "modules.json");
  const auto choices = givenChoices(options);
  std::vector<std::string> parts = {"folder 3", pools ? "vectors" : "",
                                    options.attentionWeights ? "weights" : "",
                                    options.vulkanLevel ? std::to_string(*options.vulkanLevel) : "",
                                    std::to_string(choices.size())};
  for (const auto &[flag, value] : choices)
    parts.insert(parts.end(), {flag, value});
  if (!options.adapter.empty())
    for (const char *name : {"adapter_config.json", "adapter_model.safetensors"})
      parts.push_back(HEDDLE_TRY(contentOf(options.adapter, name)));
  parts.insert(parts.end(), options.targets.begin(), options.targets.end());
  for (const std::string &name : HEDDLE_TRY(checkedCpus(options)))
    parts.push_back(targetText(HEDDLE_TRY(findCpuTarget(name))));
  return parts;
}

static std::string keyOf(const KernelCache &cache, const std::vector<std::string> &parts) {
  std::vector<StringRef> views(parts.begin(), parts.end());
  return llvm::toHex(cache.keyOf(views), /*LowerCase=*/true);
}

/// Whether text from a file has the form of keyOf's results and is not a path.
static bool isKey(StringRef text) {
  constexpr size_t digits = 2 * std::tuple_size_v<KernelCache::Key>;
  return text.size() == digits && llvm::all_of(text, llvm::isHexDigit);
}

/// Name, size, time and inode of a file; none if the system does not report them.
static std::optional<std::string> factsOf(const fs::path &folder, const std::string &name,
                                          uint64_t &bytes) {
  struct stat facts = {};
  if (::stat((folder / name).c_str(), &facts) != 0)
    return std::nullopt;
  bytes += static_cast<uint64_t>(facts.st_size);
  return name + formatted(" %lld %lld.%09ld %llu %llu", static_cast<long long>(facts.st_size),
                          static_cast<long long>(facts.st_mtim.tv_sec), facts.st_mtim.tv_nsec,
                          static_cast<unsigned long long>(facts.st_ino),
                          static_cast<unsigned long long>(facts.st_dev));
}

/// The options of a kept folder, as `heddle cache` lists them.
static std::string describe(const CompileOptions &options) {
  std::string text = listText(options.targets, {}, ",");
  for (const auto &[flag, value] : givenChoices(options))
    text += ", " + flag.substr(2) + " " + value;
  return text;
}

Expected<std::optional<CachedFolder>> CachedFolder::find(const std::string &model,
                                                         const CompileOptions &options,
                                                         std::vector<std::string> &notes) {
  auto notKept = [&](const std::string &why) {
    notes.push_back(why + "; the compiled folder is not kept");
    return std::optional<CachedFolder>();
  };
  KernelCache cache = HEDDLE_TRY(KernelCache::open());
  CachedFolder found;
  found.limitBytes = HEDDLE_TRY(cacheLimit(kLimitVariable, kDefaultMegabytes));
  std::error_code none;
  const fs::path whole = fs::absolute(HEDDLE_TRY(modelPath(model)), none);
  const bool isFile = isGguf(whole.string());
  const fs::path folder = isFile ? whole.parent_path() : whole;
  if (found.limitBytes == 0 || !options.needsWeights || options.onTiled ||
      !options.weights.empty() ||
      (isFile ? !isThere(whole)
              : isThere(folder / "model.json") || !isThere(folder / "config.json")))
    return std::optional<CachedFolder>();
  if (HEDDLE_TRY(cacheLimit(kKernelLimitVariable, kDefaultKernelMegabytes)) == 0)
    return std::optional<CachedFolder>();
  if (const std::string why = whyNoCacheDirectory(); !why.empty())
    return notKept(why);
  if (!cache.isOn())
    return notKept("expected a compiler whose libraries have build ids, found one without");
  std::vector<std::string> fast = HEDDLE_TRY(optionParts(whole, options));
  Expected<FolderFiles> files = filesOf(whole, folder);
  if (!files)
    return notKept(files.error().message);
  found.model = whole.string();
  found.description = describe(options);
  fast.insert(fast.end(), files->configuration.begin(), files->configuration.end());
  std::vector<std::string> byContent = fast;
  byContent[0] = "content"; // so that the two keys always differ
  for (const std::string &name : files->weights) {
    std::optional<std::string> file = factsOf(folder, name, found.weightBytes);
    if (!file)
      return notKept(systemError((folder / name).string(), "a file that can be read").message);
    fast.push_back(std::move(*file));
  }
  const std::string link =
      cacheDirectory() + "/" + std::string(cachedFolders.prefix) + keyOf(cache, fast) + ".txt";
  if (auto known = readFromCache(link); known && isKey(*known)) {
    touchInCache(link);
    found.key = std::move(*known);
    return std::optional(std::move(found));
  }
  for (const std::string &name : files->weights) {
    Expected<std::string> content = contentOf(folder, name);
    if (!content)
      return notKept(content.error().message);
    byContent.push_back(std::move(*content));
  }
  found.key = keyOf(cache, byContent);
  keepInCache(link, found.key);
  limitCache(cachedFolders.prefix, kMaxFiles, UINTMAX_MAX);
  return std::optional(std::move(found));
}

//===- Files -------------------------------------------------------------===//

/// Hashes in the facts of a kept file; empty if there are none.
static std::vector<uint64_t> writtenHashes(const Json &facts) {
  std::vector<uint64_t> hashes;
  for (const Json &hash : facts.value("pieces", Json::array()))
    hashes.push_back(hash.is_number_unsigned() ? hash.get<uint64_t>() : 0);
  return hashes;
}

std::optional<Artifact> CachedFolder::open(CompileReport &report,
                                           std::vector<std::string> &notes) const {
  auto bytes = MappedBytes::openFile(path(".heddle"));
  auto text = readFromCache(path(".json"));
  auto facts = text ? parseJson(*text, "") : Expected<Json>(inputError(""));
  if (!bytes || !facts || !facts->is_object() || !(*facts)["warnings"].is_array() ||
      !(*facts)["folder"].is_string())
    return std::nullopt;
  const bool isSame = hasPieces(bytes->bytes(), writtenHashes(*facts));
  auto artifact = isSame ? Artifact::fromBytes(std::move(*bytes), model)
                         : Expected<Artifact>(inputError("damaged"));
  if (!artifact) {
    notes.push_back(path(".heddle") + ": expected the bytes that were written, found others: the "
                                      "folder is compiled again");
    return std::nullopt;
  }
  touchInCache(path(".heddle"));
  touchInCache(path(".json"));
  // A copy of the folder has another path, but equal warnings.
  const auto before = (*facts)["folder"].get<std::string>();
  for (const Json &warning : (*facts)["warnings"])
    if (warning.is_string()) {
      auto line = warning.get<std::string>();
      if (line.starts_with(before))
        line.replace(0, before.size(), model);
      report.warnings.push_back(std::move(line));
    }
  return std::move(*artifact);
}

/// Error if the compiled folder would not fit.
Status CachedFolder::checkRoom() const {
  const std::string directory = cacheDirectory();
  std::error_code failure = makeCacheFolder(directory);
  auto mebibytes = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  if (weightBytes > limitBytes)
    return inputError(directory + ": expected weights of at most " + mebibytes(limitBytes) + ", " +
                      kLimitVariable + ", found " + mebibytes(weightBytes));
  if (failure)
    return inputError(directory +
                      ": expected a folder that can be made, found: " + failure.message());
  clearPlace(path(".heddle"));
  auto file = AtomicFile::create(path(".heddle"));
  if (!file)
    return file.takeError();
  const fs::space_info space = fs::space(directory, failure);
  if (!failure && space.available / 2 < weightBytes)
    return inputError(directory + ": expected free space of twice the weights' " +
                      std::to_string(weightBytes) + " bytes, found " +
                      std::to_string(space.available));
  return {};
}

/// Writes the facts of a compiled file next to it.
Status CachedFolder::keepFacts(const CompileReport &report) const {
  const MappedBytes bytes = HEDDLE_TRY(MappedBytes::openFile(path(".heddle")));
  Json facts;
  facts["folder"] = model;
  facts["options"] = description;
  facts["warnings"] = report.warnings;
  facts["pieces"] = hashesOfPieces(bytes.bytes());
  keepInCache(path(".json"), facts.dump(-1, ' ', false, Json::error_handler_t::replace));
  return {};
}

Status CachedFolder::compile(const CompileOptions &options, CompileReport &report) const {
  HEDDLE_TRY(checkRoom());
  report = HEDDLE_TRY(compileModel(model, path(".heddle"), options));
  std::error_code none;
  fs::permissions(path(".heddle"), fs::perms::owner_read | fs::perms::owner_write, none);
  if (const uint64_t bytes = fs::file_size(path(".heddle"), none); !none && bytes > limitBytes)
    report.notes.push_back(
        formatted("%s: expected compiled folders of at most %llu MiB, %s, found one of %llu MiB, "
                  "which is not kept",
                  cacheDirectory().c_str(), static_cast<unsigned long long>(limitBytes >> 20),
                  kLimitVariable, static_cast<unsigned long long>(bytes >> 20)));
  return keepFacts(report);
}

/// Whether a compiled folder contains what turns texts into tokens, or images and sounds into
/// numbers. Commands that do not need this compile without it.
static bool takesTexts(const Artifact &artifact) {
  const auto facts = modelFactsFromJson(artifact.program().model);
  if (!facts)
    return false;
  auto takes = [](const std::optional<SideFacts> &side) {
    return side && !(side->tokenizerFile.empty() && side->preprocessorFile.empty());
  };
  return takes(facts->source) || takes(facts->target);
}

/// Opens or compiles a folder. `notes` are messages of the cache; `facts` receives the
/// compilation's messages.
static Expected<Artifact> openOnce(const std::string &model, const CompileOptions &options,
                                   CompileReport &facts, std::vector<std::string> &notes) {
  std::optional<CachedFolder> cached = HEDDLE_TRY(CachedFolder::find(model, options, notes));
  if (!cached)
    return compileToMemory(model, options, &facts);
  if (std::optional<Artifact> artifact = cached->open(facts, notes))
    if (!options.needsTexts || takesTexts(*artifact))
      return std::move(*artifact);
  Status kept = cached->compile(options, facts);
  if (kept) {
    CompileReport again; // its warnings repeat the compilation's
    std::vector<std::string> none;
    if (std::optional<Artifact> artifact = cached->open(again, none)) {
      cached->limit();
      return std::move(*artifact);
    }
    kept = inputError(cacheDirectory() + ": expected the file that was just written, found none");
  }
  auto artifact = compileToMemory(model, options, &facts);
  if (artifact) // otherwise the model itself has an error
    notes.push_back(kept.error().message + "; the compiled folder is not kept");
  return artifact;
}

Expected<Artifact> heddle::compileOnce(const std::string &model, const CompileOptions &options,
                                       CompileReport *report) {
  CompileReport own;
  CompileReport &facts = report ? *report : own;
  CompileOptions chosen = options;
  chosen.dtype = HEDDLE_TRY(chooseFormat(model, options.dtype));
  std::vector<std::string> notes;
  auto artifact = openOnce(model, chosen, facts, notes);
  facts.notes.insert(facts.notes.begin(), notes.begin(), notes.end());
  return artifact;
}

//===- heddle cache ------------------------------------------------------===//

static std::string megabytes(uintmax_t bytes) {
  return formatted("%.1f MB", static_cast<double>(bytes) / 1e6);
}

/// Time of a file's last use: "2026-11-23 13:45".
static std::string timeText(fs::file_time_type used) {
  const auto system = std::chrono::file_clock::to_sys(used);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(system));
  std::tm parts = {};
  char text[32] = "";
  if (localtime_r(&seconds, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

static std::string modelLine(const CachedFile &file) {
  fs::path facts = file.path;
  facts.replace_extension(".json");
  auto text = readFromCache(facts.string());
  auto json = text ? parseJson(*text, "") : Expected<Json>(inputError(""));
  auto word = [&](const char *key) {
    return json && json->is_object() && json->contains(key) && (*json)[key].is_string()
               ? (*json)[key].get<std::string>()
               : std::string("unknown");
  };
  return "folder " + printable(word("folder")) + " (" + printable(word("options")) + "), " +
         megabytes(file.bytes) + ", used " + timeText(file.used) + "\n";
}

std::string heddle::cacheText() {
  const std::string directory = cacheDirectory();
  if (directory.empty())
    return "no cache folder: " + whyNoCacheDirectory() + "\n";
  std::string text = directory + "\n";
  for (const CachedFile &file : cachedFiles(cachedModels.prefix))
    if (file.path.extension() == ".heddle")
      text += modelLine(file);
  for (const auto &[prefix, name] : cacheKinds) {
    uintmax_t bytes = 0;
    const std::vector<CachedFile> files = cachedFiles(prefix);
    for (const CachedFile &file : files)
      bytes += file.bytes;
    text += std::string(name) + ": " + std::to_string(files.size()) + " files, " + megabytes(bytes);
    const bool ofModels = prefix == cachedModels.prefix;
    const char *variable = ofModels ? kLimitVariable : kKernelLimitVariable;
    const uint64_t usual = ofModels ? kDefaultMegabytes : kDefaultKernelMegabytes;
    if (ofModels || prefix == cachedKernels.prefix)
      if (auto limit = cacheLimit(variable, usual))
        text += " of at most " + std::to_string(*limit >> 20) + " MiB (" + variable + ")";
    text += "\n";
  }
  return text;
}

std::pair<size_t, uintmax_t> heddle::clearCache() {
  std::pair<size_t, uintmax_t> sum;
  for (const auto &[prefix, name] : cacheKinds)
    for (const CachedFile &file : cachedFiles(prefix)) {
      std::error_code failure;
      if (const uintmax_t removed = fs::remove_all(file.path, failure); !failure && removed > 0) {
        ++sum.first;
        sum.second += file.bytes;
      }
    }
  return sum;
}
