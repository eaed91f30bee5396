//===- Files.cpp - What a folder holds of its tokenizer ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Older folders have vocabularies only; what surrounds them there was written in
// Python, one class a family, and is written here as the JSON of it.
#include "FolderFiles.h"
#include "GgufTokenizer.h"
#include "PieceFolders.h"
#include "SentencePiece.h"
#include "Utf8.h"
#include "Vocabulary.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <filesystem>

namespace heddle {

using namespace tokenizers;
namespace fs = std::filesystem;

namespace {

/// Lines without their ends.
Expected<std::vector<std::string>> readLines(const std::string &path) {
  const std::string text = HEDDLE_TRY(readText(path));
  HEDDLE_TRY(checkUtf8(text, path));
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r'))
      lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

std::string besidePath(const std::string &vocabulary, const char *name) {
  return (fs::path(vocabulary).parent_path() / name).string();
}

/// A special token of tokenizer_config.json.
std::string specialToken(const Json &config, const char *key, const char *otherwise) {
  auto at = config.find(key);
  const std::string *text = at == config.end() ? nullptr : tokenText(*at);
  return text ? *text : otherwise;
}

/// Tokens that are cut out as they are, if the vocabulary has them.
Json addedTokens(const Json &vocab, const std::vector<std::string> &contents) {
  Json added = Json::array();
  for (const std::string &content : contents)
    if (vocab.contains(content))
      added.push_back({{"id", vocab[content]},
                       {"content", content},
                       {"special", true},
                       {"normalized", false},
                       {"lstrip", content == "<mask>"}});
  return added;
}

Expected<Json> idOf(const Json &vocab, const std::string &token, const std::string &file) {
  if (vocab.contains(token))
    return vocab[token];
  return inputError(file + ": expected the token " + quotedText(token) + ", found none");
}

/// A piece of a template.
Json piece(const char *kind, const std::string &id, int type) {
  return {{kind, {{"id", id}, {"type_id", type}}}};
}

//===- vocab.txt -----------------------------------------------------------===//

/// Tokens by their lines; of equal ones the last counts.
Json vocabularyOf(const std::vector<std::string> &lines) {
  TextMap<size_t> last;
  for (size_t id = 0; id < lines.size(); ++id)
    last.insert_or_assign(lines[id], id);
  Json vocab = Json::object();
  // Appended as they come: the object's own functions look for the key each time.
  auto &entries = vocab.get_ref<Json::object_t &>();
  for (size_t id = 0; id < lines.size(); ++id)
    if (last.at(lines[id]) == id)
      entries.push_back({lines[id], id});
  return vocab;
}

Expected<Json> bertJson(const std::string &path) {
  const std::string configPath = besidePath(path, tokenizerConfigName);
  const Json config = HEDDLE_TRY(readObject(configPath));
  const JsonField settings(config, configPath);
  const Json vocab = vocabularyOf(HEDDLE_TRY(readLines(path)));
  const std::string unknown = specialToken(config, "unk_token", "[UNK]"),
                    start = specialToken(config, "cls_token", "[CLS]"),
                    end = specialToken(config, "sep_token", "[SEP]"),
                    padding = specialToken(config, "pad_token", "[PAD]"),
                    mask = specialToken(config, "mask_token", "[MASK]");
  const Json startId = HEDDLE_TRY(idOf(vocab, start, path));
  const Json endId = HEDDLE_TRY(idOf(vocab, end, path));
  const bool lower = HEDDLE_TRY(settings.flagAt("do_lower_case", true));
  const bool accents = HEDDLE_TRY(settings.flagAt("strip_accents", lower));
  const bool chinese = HEDDLE_TRY(settings.flagAt("tokenize_chinese_chars", true));
  auto special = [](const std::string &token, const Json &id) {
    return Json{{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}};
  };
  Json single = Json::array(
      {piece("SpecialToken", start, 0), piece("Sequence", "A", 0), piece("SpecialToken", end, 0)});
  Json pair = single;
  pair.push_back(piece("Sequence", "B", 1));
  pair.push_back(piece("SpecialToken", end, 1));
  return Json{
      {"added_tokens", addedTokens(vocab, {padding, unknown, start, end, mask})},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", chinese},
        {"strip_accents", accents},
        {"lowercase", lower}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", single},
        {"pair", pair},
        {"special_tokens", {{start, special(start, startId)}, {end, special(end, endId)}}}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"model", {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", vocab}}}};
}

//===- vocab.json and merges.txt -------------------------------------------===//

Expected<Json> readMergeLines(const std::string &path) {
  Json merges = Json::array();
  const auto lines = HEDDLE_TRY(readLines(path));
  for (const std::string &line : lines)
    if (!line.empty() && !line.starts_with("#version"))
      merges.push_back(line);
  return merges;
}

Expected<Json> byteLevelJson(const std::string &path) {
  const std::string configPath = besidePath(path, tokenizerConfigName);
  const Json config = HEDDLE_TRY(readObject(configPath));
  const JsonField settings(config, configPath);
  const bool prefix = HEDDLE_TRY(settings.flagAt("add_prefix_space", false));
  Json vocab = HEDDLE_TRY(parseJson(HEDDLE_TRY(readText(path)), path));
  HEDDLE_TRY(JsonField(vocab, path).checkObject());
  if (vocab.contains("a</w>"))
    return inputError(path + ": expected a byte-level vocabulary as GPT-2 and RoBERTa have it, "
                             "found one with ends of words; save the tokenizer as tokenizer.json");
  Json merges = HEDDLE_TRY(readMergeLines(besidePath(path, "merges.txt")));
  const bool roberta = vocab.contains("<s>") && vocab.contains("</s>");
  Json post = {{"type", "ByteLevel"}, {"trim_offsets", false}, {"add_prefix_space", prefix}};
  Json added;
  if (roberta) {
    const std::string start = specialToken(config, "cls_token", "<s>"),
                      end = specialToken(config, "sep_token", "</s>");
    const Json startId = HEDDLE_TRY(idOf(vocab, start, path));
    const Json endId = HEDDLE_TRY(idOf(vocab, end, path));
    post = {{"type", "RobertaProcessing"},
            {"sep", Json::array({end, endId})},
            {"cls", Json::array({start, startId})},
            {"trim_offsets", true},
            {"add_prefix_space", prefix}};
    added = addedTokens(vocab, {start, "<pad>", end, "<unk>", "<mask>"});
  } else {
    added = addedTokens(vocab, {"<|endoftext|>"});
  }
  return Json{
      {"added_tokens", added},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", prefix}}},
      {"post_processor", post},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(merges)}}}};
}

//===- Paths ---------------------------------------------------------------===//

Expected<Json> pieceJson(const std::string &path) {
  return sentencePieceJson(HEDDLE_TRY(readText(path)), path);
}

/// What a folder may hold, the best first.
struct Kind {
  const char *name;
  Expected<Json> (*read)(const std::string &path); ///< null: it is JSON already
};
constexpr Kind kinds[] = {
    {"tokenizer.json", nullptr},        {"vocab.txt", bertJson},
    {"vocab.json", byteLevelJson},      {"tokenizer.model", pieceJson},
    {"spiece.model", pieceJson},        {"sentencepiece.bpe.model", pieceJson},
    {"sentencepiece.model", pieceJson}, {"source.spm", pieceJson},
};

Expected<TokenizerFile> readKind(const Kind &kind, const std::string &path) {
  if (!kind.read)
    return TokenizerFile{HEDDLE_TRY(readText(path)), path};
  const Json json = HEDDLE_TRY(kind.read(path));
  return TokenizerFile{json.dump(), path, kind.read == pieceJson};
}

/// The family of a folder of SentencePiece models, where no tokenizer.json says what it is; null:
/// none that is known.
Expected<const PieceFamily *> familyOf(const std::string &folder) {
  if (isThere(fs::path(folder) / "tokenizer.json"))
    return nullptr;
  const PieceFamily *family = HEDDLE_TRY(pieceFamilyOf(folder));
  return family && holdsFamily(*family, folder) ? family : nullptr;
}

Expected<TokenizerFile> readFolder(const std::string &folder) {
  if (const PieceFamily *family = HEDDLE_TRY(familyOf(folder)))
    return readPieceFolder(*family, folder, /*written=*/false);
  for (const Kind &kind : kinds)
    if (const std::string file = (fs::path(folder) / kind.name).string(); isThere(file))
      return readKind(kind, file);
  std::string known;
  for (const Kind &kind : kinds)
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  return inputError(folder + ": expected a folder with one of " + known + ", found none");
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
  auto family = pieceFamilyOf(folder);
  if (family && *family && holdsFamily(**family, folder))
    return true; // reading says which of its files are not there
  return std::ranges::any_of(
      kinds, [&](const Kind &kind) { return isThere((fs::path(folder) / kind.name).string()); });
}

Expected<std::optional<TokenizerFile>> readTargetTokenizerFile(const std::string &path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure))
    return std::optional<TokenizerFile>();
  const PieceFamily *family = HEDDLE_TRY(familyOf(path));
  if (!family || writesAsItReads(*family))
    return std::optional<TokenizerFile>();
  return std::optional(HEDDLE_TRY(readPieceFolder(*family, path, /*written=*/true)));
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
  for (const Kind &kind : kinds)
    if (name == kind.name)
      return readKind(kind, path);
  if (name.ends_with(".txt"))
    return readKind({"", bertJson}, path);
  if (name.ends_with(".spm") || name.ends_with(".model"))
    return readKind({"", pieceJson}, path);
  return readKind({"", nullptr}, path);
}

} // namespace heddle
