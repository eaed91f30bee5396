//===- DescriptionReader.cpp - Model descriptions from JSON ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what the schema cannot express: keys that exclude or require each other, and files. Reads
// the model, its sides, classifier and weights; StackReader reads the stacks.

#include "Description.h"
#include "DetectorReader.h"
#include "StackReader.h"
#include "TrainingReader.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/SettingsJson.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <array>
#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

constexpr int64_t maxId = (int64_t(1) << 31) - 1;

namespace {
class Reader {
public:
  Reader(Description &model, MaskOptions &masks)
      : errors(model.file), root(*model.document), masks(masks), model(model) {}
  Status run();

private:
  bool has(const char *stack) const { return model.kind.find(stack) != std::string::npos; }
  void checkParts();
  void weights();
  std::optional<SideDescription> side(const std::string &name);
  SearchSettings generation(const Json &settings, const std::string &path);
  void image(SideDescription &side);
  void frames(SideDescription &side);
  void text(SideDescription &side, const std::string &name);
  void ids(SideDescription &side);
  void limitSource();
  void limitByPositions();
  void checkShared();
  void classifier();
  void checkLoss(const ClassifierDescription &c);
  void classes(ClassifierDescription &c);
  int64_t fileLines(const std::string &file, const std::string &member, const std::string &path);
  bool takeTokenizer(SideDescription &side, const std::string &name);

  ErrorSink errors;
  const Keys root;
  MaskOptions &masks;
  Description &model;
};
} // namespace

//===- Parts -------------------------------------------------------------===//

/// Requires the parts that the kind needs and rejects the others.
void Reader::checkParts() {
  const std::pair<const char *, const char *> parts[] = {
      {"encoder", "encoder"}, {"decoder", "decoder"}, {"source", "encoder"}, {"target", "decoder"}};
  for (const auto &[key, part] : parts)
    if (has(part))
      root.require(key, errors);
    else if (root.has(key))
      errors.expected(key, "no such key in a description of kind " + model.kind, "it");
}

/// Returns whether `name` is a file in the folder of the description. File contents are copied into
/// the compiled model, so an untrusted description must not name files elsewhere.
static bool isFileName(const std::string &name) {
  constexpr size_t longest = 1024;
  return !name.empty() && name.size() <= longest && name.find('\0') == std::string::npos &&
         staysInFolder(name);
}

static constexpr const char *fileInFolder = "a file in the folder of the description";

void Reader::weights() {
  const auto file = root.maybe<std::string>("weights");
  if (file && !isFileName(*file))
    errors.expected("weights", fileInFolder, quotedText(*file));
  else if (file)
    model.weightsFile = (fs::path(model.file).parent_path() / *file).string();
  else
    model.seed = root.object("weights").get<uint64_t>("seed");
}

//===- Sides -------------------------------------------------------------===//

/// Describes invalid UTF-8 or a byte order mark, with the line; empty if the text is valid.
static std::string textProblem(llvm::StringRef text) {
  if (text.starts_with("\xef\xbb\xbf"))
    return "line 1: expected a name, found a byte order mark";
  auto *at = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  if (llvm::isLegalUTF8String(&at, reinterpret_cast<const llvm::UTF8 *>(text.end())))
    return {};
  auto *bad = reinterpret_cast<const char *>(at);
  return llvm::formatv("line {0}: expected UTF-8, found byte {1:x2}",
                       1 + std::count(text.begin(), bad, '\n'), static_cast<uint8_t>(*bad));
}

/// Describes the first duplicate line and the first blank line. The first of equal lines keeps the
/// name.
static std::vector<std::string> oddLines(llvm::StringRef text) {
  llvm::StringMap<int64_t> lines;
  std::string again, blank;
  for (int64_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef name = line.rtrim('\r');
    std::string place = "line " + std::to_string(number) + ": ";
    if (name.trim().empty() && name != " " && blank.empty()) // one blank is a token
      blank = place + "expected a name, found a blank line, which no text names";
    auto [first, isNew] = lines.try_emplace(name, number);
    if (!isNew && !name.trim().empty() && again.empty())
      again = place + "expected a name of its own, found " + quotedText(name.str()) +
              " again, which is that of line " + std::to_string(first->second);
  }
  std::vector<std::string> found;
  for (const std::string &warning : {again, blank})
    if (!warning.empty())
      found.push_back(warning);
  return found;
}

/// Counts the lines of a text file in the description's folder; the text becomes a member of the
/// artifact.
int64_t Reader::fileLines(const std::string &file, const std::string &member,
                          const std::string &path) {
  const std::string &place =
      model.files.emplace_back((fs::path(model.file).parent_path() / file).string());
  auto text = readTextFile(place, int64_t(1) << 28);
  if (!text) {
    errors.add(path, text.error().message);
    return 1;
  }
  int64_t lines = std::count(text->begin(), text->end(), '\n');
  if (!text->empty() && text->back() != '\n')
    ++lines;
  if (lines == 0)
    errors.expected(path, "a file of one name a line", "an empty one, '" + file + "'");
  if (std::string problem = textProblem(*text); !problem.empty())
    errors.add(path, "'" + file + "', " + problem);
  for (const std::string &warning : oddLines(*text))
    model.warnings.push_back(errors.file + ": " + path + ": " + quotedText(file) + ", " + warning);
  model.texts[member] = std::move(*text);
  return std::max<int64_t>(lines, 1);
}

/// Returns whether a file is JSON. A list of tokens may also begin with a bracket.
static bool isJson(llvm::StringRef file, llvm::StringRef text) {
  if (file.ends_with(".json"))
    return true;
  const llvm::StringRef begin = text.ltrim();
  return (begin.starts_with("{") || begin.starts_with("[")) &&
         Json::accept(begin.begin(), begin.end());
}

/// Reads a vocabulary that is a tokenizer.json as for a folder; any other JSON is an error. Returns
/// false if the file is a list of tokens or cannot be read.
bool Reader::takeTokenizer(SideDescription &side, const std::string &name) {
  const std::string place = (fs::path(model.file).parent_path() / side.file).string();
  auto text = readTextFile(place, int64_t(1) << 28);
  if (!text || !isJson(side.file, *text))
    return false;
  auto tokenizer = Tokenizer::fromJson(*text, place);
  if (!tokenizer) {
    errors.add(side.in.path("vocabulary"),
               "expected one token a line or a tokenizer.json, found JSON that is neither: " +
                   tokenizer.error().message);
    side.size = 1;
    return true;
  }
  side.size = tokenizer->size();
  constexpr int64_t gap = 1024; // ids may have gaps
  for (int64_t id = side.size; id < std::min<int64_t>(side.size + gap, INT32_MAX); ++id)
    if (tokenizer->idToToken(static_cast<int32_t>(id)))
      side.size = id + 1;
  side.tokenizerFile = name + ".tokenizer.json";
  side.file.clear();
  // The schema's defaults are ids for lists of tokens.
  if (!side.in.has("start"))
    side.start.reset();
  if (!side.in.has("end"))
    side.ends.clear();
  side.unknown.reset();
  model.files.push_back(place);
  model.texts[side.tokenizerFile] = std::move(*text);
  return true;
}

/// Limits the length of the source by its positions.
void Reader::limitSource() {
  std::optional<int64_t> &most = model.source->most;
  for (const LayerDescription &layer : model.encoder->layers)
    if (int64_t rows = layer.position.rotatedRows)
      most = std::min(most.value_or(rows), rows);
  const PositionDescription &position = model.encoder->position;
  if (!position.learned() && !(position.rotary() && position.length > 0))
    return;
  most = std::min(most.value_or(position.length), position.length);
  if (model.source->length.value_or(0) > position.length)
    errors.expected("source.length",
                    "at most the rows of learned positions, " + std::to_string(position.length),
                    std::to_string(*model.source->length));
}

/// Limits generation by the learned positions.
void Reader::limitByPositions() {
  const PositionDescription &position = model.decoder->position;
  SideDescription &target = *model.target;
  if (!position.learned() || target.limit <= position.length)
    return;
  if (target.in.has("limit"))
    errors.expected(target.in.path("limit"),
                    "at most as many tokens as have learned positions, " +
                        std::to_string(position.length),
                    std::to_string(target.limit));
  target.limit = position.length;
}

/// Reads `image`, [channels, height, width], and its patches.
void Reader::image(SideDescription &side) {
  const Keys &in = side.in;
  if (!in.require("patch", errors))
    return;
  auto [channels, height, width] = in.find("image")->get<std::array<int64_t, 3>>();
  auto patch = in.get<int64_t>("patch");
  if (height % patch != 0 || width % patch != 0)
    return errors.expected(in.path("patch"),
                           "a divisor of the height " + std::to_string(height) + " and the width " +
                               std::to_string(width),
                           std::to_string(patch));
  if (model.sequenceFirst)
    errors.expected("layout", "batch-first with an image", "sequence-first");
  side.vectors = true;
  const Json *tokens = in.find("class-token");
  int64_t rows =
      tokens && !tokens->is_boolean() ? tokens->get<int64_t>() : tokens && tokens->get<bool>();
  side.image = {channels, height, width, patch, rows};
}

/// Reads `frames`, [channels, frames], and the convolutions that turn them into rows.
void Reader::frames(SideDescription &side) {
  const Keys &in = side.in;
  if (!in.require("convolutions", errors))
    return;
  if (!side.vectors)
    return errors.expected(in.path("vocabulary"), "null with frames", "a vocabulary");
  if (model.sequenceFirst)
    errors.expected("layout", "batch-first with frames", "sequence-first");
  auto [channels, count] = in.find("frames")->get<std::array<int64_t, 2>>();
  side.frames = {channels, count, {}};
  for (size_t i = 0; i < in.find("convolutions")->size(); ++i) {
    Keys convolution = in.item("convolutions", i);
    side.frames->convolutions.push_back({convolution});
    if (int64_t size = side.frames->convolutions.back().size; size % 2 == 0)
      errors.expected(convolution.path("size"), "an odd number of frames", std::to_string(size));
  }
}

/// Checks that ids are below the vocabulary's size; defaults that are too large are dropped.
void Reader::ids(SideDescription &side) {
  int64_t last = side.vectors ? maxId : std::max<int64_t>(side.size - 1, 0);
  auto check = [&](const char *key, int64_t id) {
    if (id <= last)
      return true;
    if (side.in.has(key))
      errors.expected(side.in.path(key),
                      "an integer of at least 0 and at most " + std::to_string(last),
                      shown(*side.in.find(key)));
    return false;
  };
  check("padding", side.padding);
  for (auto [key, id] : {std::pair{"unknown", &side.unknown}, {"start", &side.start}})
    if (*id && !check(key, **id))
      id->reset();
  std::erase_if(side.ends, [&](int32_t id) { return !check("end", id); });
}

void Reader::text(SideDescription &side, const std::string &name) {
  const Keys &in = side.in;
  if (!in.has("vocabulary")) // null: vectors
    return void(in.require("vocabulary", errors));
  if (!side.file.empty() && !isFileName(side.file))
    return errors.expected(in.path("vocabulary"), std::string(fileInFolder) + ", a size or null",
                           quotedText(side.file));
  if (!side.file.empty() && !takeTokenizer(side, name))
    side.size = fileLines(side.file, name + ".txt", in.path("vocabulary"));
  ids(side);
  // A key of the other side would be ignored, so it is an error.
  const std::tuple<const char *, bool, bool> keys[] = {
      {"limit", in.has("limit"), name == "target"},
      {"add", side.add, name == "source"},
      {"length", side.length.has_value(), name == "source"},
      {"too-long", side.cut, name == "source"}};
  for (auto [key, given, belongs] : keys)
    if (given && !belongs)
      errors.expected(in.path(key), "no such key of the " + name, "it");
}

SearchSettings Reader::generation(const Json &settings, const std::string &path) {
  Expected<SearchSettings> read = searchSettingsFromJson(settings, path);
  if (read)
    return *read;
  errors.add("", read.error().message); // the schema allows no other values
  return {};
}

std::optional<SideDescription> Reader::side(const std::string &name) {
  SideDescription side(root.object(name));
  const Keys &in = side.in;
  if (const Json *settings = in.find("generation"))
    side.generation = generation(*settings, in.path("generation"));
  bool isImage = in.has("image");
  for (const auto &[key, value] : root.find(name)->items()) {
    bool ofImage = key == "image" || key == "patch" || key == "class-token";
    if (key == "images" || key == "queries")
      continue;
    if (ofImage != isImage)
      errors.expected(in.path(key), isImage ? "no such key with an image" : "an image with it",
                      isImage ? "it" : "none");
  }
  for (const char *key : {"image", "frames", "convolutions", "images"})
    if (in.has(key) && name == "target")
      errors.expected(in.path(key), "no such key of the target", "it");
  if (in.has("convolutions") && !in.has("frames"))
    errors.expected(in.path("convolutions"), "frames with it", "none");
  if (in.has("queries") && name == "source")
    errors.expected(in.path("queries"), "no such key of the source", "it");
  const bool isAlone = in.has("images") || in.has("queries");
  for (const auto &[key, value] : root.find(name)->items())
    if (isAlone && key != "images" && key != "queries")
      errors.expected(in.path(key),
                      std::string("no such key with ") + (in.has("images") ? "images" : "queries"),
                      "it");
  if (in.has("images"))
    readImages(side, errors);
  else if (in.has("queries"))
    side.vectors = true;
  else if (isImage)
    image(side);
  else
    text(side, name);
  if (in.has("frames") && !isImage)
    frames(side);
  return side;
}

/// Checks that the target can read the table of the source.
void Reader::checkShared() {
  if (!model.decoder || !model.decoder->sharesTable)
    return;
  const Keys &keys = model.decoder->embedding;
  if (!model.encoder)
    errors.expected(keys.path("shared"), "false in a decoder, which has no source", "true");
  else if (model.source->size != model.target->size || model.source->size == 0)
    errors.expected(keys.path("shared"), "false, or vocabularies of the same size",
                    "true and " + std::to_string(model.source->size) + " and " +
                        std::to_string(model.target->size) + " tokens");
  else if (model.encoder->embeddingSize != model.decoder->embeddingSize)
    errors.expected(keys.path("shared"), "false, or embeddings of the same size",
                    "true and sizes of " + std::to_string(model.encoder->embeddingSize) + " and " +
                        std::to_string(model.decoder->embeddingSize));
}

//===- Classifier --------------------------------------------------------===//

/// Number of classes: `labels`, `size` or the vocabulary.
void Reader::classes(ClassifierDescription &c) {
  const SideDescription &side = model.target ? *model.target : *model.source;
  c.size = side.size;
  bool labeled = !c.labels.empty();
  if (labeled && !isFileName(c.labels))
    errors.expected(c.in.path("labels"), fileInFolder, quotedText(c.labels));
  else if (labeled)
    c.size = fileLines(c.labels, "labels.txt", c.in.path("labels"));
  auto given = c.in.maybe<int64_t>("size");
  if (given && labeled && *given != c.size)
    errors.expected(c.in.path("size"), "the number of labels, " + std::to_string(c.size),
                    std::to_string(*given));
  if (given)
    c.size = *given;
  if (c.size == 0)
    errors.expected(c.in.path("size"), "a number of classes where vectors come in", "no such key");
  if (c.tied && (side.vectors || c.size != side.size))
    errors.expected(c.in.path("tied"), "false, or one class a token of the embedding",
                    "true and " + std::to_string(c.size) + " classes");
}

/// Checks that a loss can compare the classes of each position with the next token of the decoder's
/// text.
void Reader::checkLoss(const ClassifierDescription &c) {
  if (std::string found = model.whyNoLoss(); !found.empty())
    errors.expected(c.in.path("loss"),
                    "false, or a decoder of tokens with a start and one class a token, or an "
                    "encoder with one class a text",
                    found);
}

void Reader::classifier() {
  if (!root.gives("classifier"))
    return;
  ClassifierDescription c{root.object("classifier")};
  if (c.in.gives("hidden")) {
    c.hidden = HiddenLayerDescription{c.in.object("hidden"), model.size};
    if (c.hidden->in.gives("norm"))
      c.hidden->norm = readNorm(c.hidden->in.object("norm"), errors);
  }
  classes(c);
  const StackDescription &stack = model.decoder ? *model.decoder : *model.encoder;
  int64_t features = c.hidden ? c.hidden->size : model.decoder ? model.size : stack.outputSize;
  if (c.tied && features != stack.embeddingSize)
    errors.expected(c.hidden ? c.hidden->in.path("size") : c.in.path("tied"),
                    "the features of the embedding's rows, " + std::to_string(stack.embeddingSize) +
                        ", with tied",
                    std::to_string(features));
  bool rows = model.encoder && !model.decoder && model.encoder->pool.empty();
  if (!c.pool.empty() && !rows)
    errors.expected(c.in.path("pool"), "null but in an encoder without encoder.pool",
                    shown(*c.in.find("pool")));
  if (!c.pool.empty() && c.sigmoid)
    errors.expected(c.in.path("pool"), "null with sigmoid", shown(*c.in.find("pool")));
  if (c.softmax && c.sigmoid)
    errors.expected(c.in.path("sigmoid"), "false with softmax", "true");
  if (c.scale != 1 && c.sigmoid)
    errors.expected(c.in.path("scale"), "1 with sigmoid", shown(*c.in.find("scale")));
  if (c.softcap && c.sigmoid)
    errors.expected(c.in.path("softcap"), "null with sigmoid", shown(*c.in.find("softcap")));
  model.classifier = c;
  if (c.loss)
    checkLoss(c);
}

//===- Everything --------------------------------------------------------===//

Status Reader::run() {
  checkParts();
  if (errors.failed())
    return errors.take();
  weights();
  if (has("encoder"))
    model.source = side("source");
  if (has("decoder"))
    model.target = side("target");
  if (has("encoder") && !errors.failed())
    model.encoder = StackReader("encoder", model, masks, errors).read();
  if (has("encoder") && !errors.failed())
    limitSource();
  if (has("decoder") && !errors.failed())
    model.decoder = StackReader("decoder", model, masks, errors).read();
  if (has("decoder") && !errors.failed())
    limitByPositions();
  if (!errors.failed())
    checkShared();
  if (!errors.failed())
    classifier();
  if (!errors.failed())
    readDetector(model, errors);
  if (!errors.failed())
    readTraining(model, errors);
  if (errors.failed())
    return errors.take();
  return masks.allUsed("the key path of a mask of this model");
}

Expected<Description> heddle::readDescription(Json json, const std::string &path,
                                              const std::vector<std::string> &options) {
  auto masks = HEDDLE_TRY(MaskOptions::parse(options));
  ErrorSink errors(path);
  checkDescription(json, errors);
  if (errors.failed())
    return errors.take();
  Description model{path, std::make_shared<const Json>(std::move(json))};
  model.files.push_back(path);
  HEDDLE_TRY(Reader(model, masks).run());
  return model;
}

Expected<Description> heddle::readDescription(const std::string &path,
                                              const std::vector<std::string> &options) {
  Json json = HEDDLE_TRY(readJsonFile(path));
  return readDescription(std::move(json), path, options);
}
