//===- DescriptionReader.cpp - Model descriptions from JSON ---------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole file: what model it is, its sides, its classifier, its weights. The
// stacks are StackReader's.
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "JsonReader.h"
#include "StackReader.h"

#include "heddle/Support/Json.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace heddle;
namespace fs = std::filesystem;

constexpr int64_t maxId = (int64_t(1) << 31) - 1;

static Expected<std::string> readFile(const std::string &path, int64_t most) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return inputError(path + ": expected a file, found " +
                      (fs::exists(path, error) ? "something else" : "none"));
  auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (error || size > most)
    return inputError(path + ": expected at most " + std::to_string(most) + " bytes, found " +
                      std::to_string(size));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || static_cast<int64_t>(text.view().size()) != size)
    if (size != 0 || !in.is_open())
      return inputError(path + ": expected a readable file");
  return text.str();
}

namespace {
class Reader {
public:
  Reader(const std::string &path, const Json &json, MaskOptions &masks)
      : errors(path), json(json), masks(masks) {}
  Expected<Description> run();

private:
  bool has(const char *stack) const { return model.kind.find(stack) != std::string::npos; }
  void checkKeys(ObjectReader &root);
  void checkParts(ObjectReader &root);
  void weights(ObjectReader &root);
  SideDescription side(ObjectReader &root, const std::string &name);
  void image(ObjectReader &in, SideDescription &side);
  void vocabulary(ObjectReader &in, SideDescription &side, const std::string &name);
  void limitSource();
  void limitByPositions(ObjectReader &root);
  void classifier(ObjectReader &root);
  void checkLoss(ObjectReader &in, const ClassifierDescription &c);
  void classes(ObjectReader &in, ClassifierDescription &c);
  int64_t fileLines(const std::string &file, const std::string &member, const std::string &path);

  ErrorSink errors;
  const Json &json;
  MaskOptions &masks;
  Description model;
};
} // namespace

//===----------------------------------------------------------------------===//
// The model as a whole
//===----------------------------------------------------------------------===//

void Reader::checkKeys(ObjectReader &root) {
  root.known({"heddle", "kind", "size", "weights", "layout", "source", "target", "embedding",
              "position", "attention", "ffn", "norm", "encoder", "decoder", "classifier"});
  if (root.require("heddle", "the version 1") && root.integer("heddle", 1, 0) != 1)
    errors.expected("heddle", "version 1", shown(*root.find("heddle")));
  const std::vector<std::string> kinds = {"encoder", "decoder", "encoder-decoder"};
  if (root.require("kind", "encoder, decoder or encoder-decoder"))
    model.kind = root.word("kind", "encoder", kinds, kinds.size());
  if (root.require("size", "the model size"))
    model.size = root.integer("size", 1, 1, 1 << 20);
  const std::vector<std::string> layouts = {"batch-first", "sequence-first"};
  model.sequenceFirst = root.word("layout", layouts[0], layouts, layouts.size()) == layouts[1];
}

/// Parts that the kind has not.
void Reader::checkParts(ObjectReader &root) {
  for (const auto &[key, part] : {std::pair{"encoder", "encoder"},
                                  {"decoder", "decoder"},
                                  {"source", "encoder"},
                                  {"target", "decoder"}})
    if (root.has(key) && !has(part))
      errors.expected(key, "no such key in a description of kind " + model.kind, "it");
}

void Reader::weights(ObjectReader &root) {
  const std::string what = "a safetensors file or {\"seed\": N}";
  if (!root.require("weights", what))
    return;
  const Json &value = *root.find("weights");
  if (value.is_string() && !value.get<std::string>().empty()) {
    model.weightsFile = (fs::path(model.file).parent_path() / value.get<std::string>()).string();
    return;
  }
  if (!value.is_object())
    return errors.expected("weights", what, shown(value));
  ObjectReader in = root.object("weights");
  in.known({"seed"});
  if (in.require("seed", "a seed"))
    model.seed = static_cast<uint64_t>(in.integer("seed", 0, 0, INT64_MAX));
}

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

/// What is wrong with the bytes of a text file, with the line; empty if nothing is.
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

/// The first line that repeats an earlier one, which keeps the name to itself, and the first that
/// has no name.
static std::vector<std::string> oddLines(llvm::StringRef text) {
  llvm::StringMap<int64_t> lines;
  std::string again, blank;
  for (int64_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef name = line.rtrim('\r');
    std::string place = "line " + std::to_string(number) + ": ";
    if (name.trim().empty() && blank.empty())
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

/// Lines of a text file beside the description; the text becomes a member of the artifact.
int64_t Reader::fileLines(const std::string &file, const std::string &member,
                          const std::string &path) {
  const std::string &place =
      model.files.emplace_back((fs::path(model.file).parent_path() / file).string());
  auto text = readFile(place, int64_t(1) << 28);
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

/// Text has no more rows than have positions.
void Reader::limitSource() {
  const PositionDescription &position = model.encoder->position;
  if (position.kind != PositionKind::Learned)
    return;
  model.source->most = position.length;
  if (model.source->length.value_or(0) > position.length)
    errors.expected("source.length",
                    "at most the rows of learned positions, " + std::to_string(position.length),
                    std::to_string(*model.source->length));
}

/// Generation does not go on where the learned positions end.
void Reader::limitByPositions(ObjectReader &root) {
  const PositionDescription &position = model.decoder->position;
  if (position.kind != PositionKind::Learned || model.target->limit <= position.length)
    return;
  ObjectReader in = root.object("target");
  if (in.has("limit"))
    errors.expected(in.path("limit"),
                    "at most as many tokens as have learned positions, " +
                        std::to_string(position.length),
                    std::to_string(model.target->limit));
  model.target->limit = position.length;
}

/// What a file of a folder may be called: no more is asked of the system.
static bool isFileName(const std::string &name) {
  constexpr size_t longest = 1024;
  return !name.empty() && name.size() <= longest && name.find('\0') == std::string::npos;
}

void Reader::vocabulary(ObjectReader &in, SideDescription &side, const std::string &name) {
  const std::string what = "a file name, a size or null", path = in.path("vocabulary");
  const Json *value = in.find("vocabulary");
  if (!value)
    return errors.expected(path, what, "no such key");
  if (value->is_null()) {
    side.vectors = true;
  } else if (value->is_string() && isFileName(value->get_ref<const std::string &>())) {
    side.file = value->get<std::string>();
    side.size = fileLines(side.file, name + ".txt", path);
  } else if (integerOf(*value)) {
    side.size = in.integer("vocabulary", 1, 1, maxId);
  } else {
    errors.expected(path, what, shown(*value));
  }
}

/// [C, h, w], cut into patches.
void Reader::image(ObjectReader &in, SideDescription &side) {
  ImageDescription image;
  const Json &shape = *in.find("image");
  constexpr int64_t most = 1 << 16;
  auto isSize = [](const Json &value) {
    std::optional<int64_t> size = integerOf(value);
    return size && *size >= 1 && *size <= most;
  };
  if (!shape.is_array() || shape.size() != 3 || !std::all_of(shape.begin(), shape.end(), isSize))
    return errors.expected(in.path("image"),
                           "[channels, height, width], each of 1 to " + std::to_string(most),
                           shown(shape));
  image.channels = *integerOf(shape[0]);
  image.height = *integerOf(shape[1]);
  image.width = *integerOf(shape[2]);
  if (!in.require("patch", "the size of a patch"))
    return;
  image.patch = in.integer("patch", 1, 1, most);
  if (image.height % image.patch != 0 || image.width % image.patch != 0)
    return errors.expected(in.path("patch"),
                           "a divisor of the height " + std::to_string(image.height) +
                               " and the width " + std::to_string(image.width),
                           std::to_string(image.patch));
  image.classToken = in.boolean("class-token", false);
  if (model.sequenceFirst)
    errors.expected("layout", "batch-first beside an image", "sequence-first");
  side.vectors = true;
  side.image = image;
}

SideDescription Reader::side(ObjectReader &root, const std::string &name) {
  SideDescription side;
  if (!root.require(name, "an object with a vocabulary"))
    return side;
  ObjectReader in = root.object(name);
  const std::vector<std::string> ofText = {"vocabulary", "padding", "unknown", "start",    "end",
                                           "add",        "split",   "length",  "too-long", "limit"},
                                 ofImage = {"image", "patch", "class-token"};
  std::vector<std::string> all(ofText);
  all.insert(all.end(), ofImage.begin(), ofImage.end());
  in.known(all);
  bool isImage = in.has("image");
  for (const std::string &key : isImage ? ofText : ofImage)
    if (in.has(key))
      errors.expected(in.path(key), isImage ? "no such key beside an image" : "an image beside it",
                      isImage ? "it" : "none");
  if (isImage && name == "target")
    errors.expected(in.path("image"), "no such key of the target", "it");
  if (isImage) {
    image(in, side);
    return side;
  }
  vocabulary(in, side, name);
  int64_t last = side.vectors ? maxId : std::max<int64_t>(side.size - 1, 0);
  auto id = [&](const char *key, int64_t standard) {
    return in.optionalInteger(key, standard <= last ? std::optional(standard) : std::nullopt, 0,
                              last);
  };
  side.padding = in.integer("padding", 0, 0, last);
  side.unknown = id("unknown", 1);
  side.start = id("start", 2);
  side.end = id("end", 3);
  side.add = in.boolean("add", false);
  side.split = in.word("split", "space", {"space", "character"}, 2);
  side.tooLong = in.word("too-long", "error", {"error", "cut"}, 2);
  side.length = in.optionalInteger("length", std::nullopt, 1, 1 << 30);
  side.limit = in.integer("limit", 256, 1, 1 << 20);
  // Text comes in on one side and goes out on the other: the other one's keys would be ignored.
  const std::tuple<const char *, bool, bool> keys[] = {
      {"limit", in.has("limit"), name == "target"},
      {"add", side.add, name == "source"},
      {"length", side.length.has_value(), name == "source"},
      {"too-long", side.tooLong != "error", name == "source"}};
  for (auto [key, given, belongs] : keys)
    if (given && !belongs)
      errors.expected(in.path(key), "no such key of the " + name, "it");
  return side;
}

//===----------------------------------------------------------------------===//
// Classifier
//===----------------------------------------------------------------------===//

/// Their number: `labels`, `size`, or the vocabulary.
void Reader::classes(ObjectReader &in, ClassifierDescription &c) {
  const SideDescription &side = model.target ? *model.target : *model.source;
  c.size = side.size;
  bool labelled = in.has("labels") && !in.isNull("labels");
  if (labelled && !(c.labels = in.text("labels", "")).empty() && !isFileName(c.labels))
    errors.expected(in.path("labels"), "a file name", quotedText(c.labels));
  else if (labelled && !c.labels.empty())
    c.size = fileLines(c.labels, "labels.txt", in.path("labels"));
  auto given = in.optionalInteger("size", std::nullopt, 1, maxId);
  if (given && labelled && *given != c.size)
    errors.expected(in.path("size"), "the number of labels, " + std::to_string(c.size),
                    std::to_string(*given));
  if (given)
    c.size = *given;
  if (c.size == 0)
    errors.expected(in.path("size"), "a number of classes where vectors come in", "no such key");
  if (c.tied && (side.vectors || c.size != side.size))
    errors.expected(in.path("tied"), "false, or one class a token of the embedding",
                    "true and " + std::to_string(c.size) + " classes");
}

/// A loss compares classes with the tokens of a text that the decoder reads, a token behind.
void Reader::checkLoss(ObjectReader &in, const ClassifierDescription &c) {
  std::string found;
  if (!model.decoder)
    found = "a model without decoder";
  else if (model.target->vectors)
    found = "vectors as the target";
  else if (!model.target->start)
    found = "target.start null";
  else if (c.size != model.target->size)
    found = std::to_string(c.size) + " classes for " + std::to_string(model.target->size) +
            " tokens of the target";
  else if (!model.decoder->documents.empty())
    found = "documents_packed, beside which it is not built yet";
  if (!found.empty())
    errors.expected(in.path("loss"),
                    "false, or a decoder of tokens with a start and one class a token", found);
}

void Reader::classifier(ObjectReader &root) {
  if (!root.has("classifier") || root.isNull("classifier"))
    return;
  ObjectReader in = root.object("classifier");
  in.known({"bias", "softmax", "tied", "loss", "size", "labels"});
  ClassifierDescription c;
  c.bias = in.boolean("bias", false);
  c.tied = in.boolean("tied", false);
  c.softmax = in.boolean("softmax", false);
  c.loss = in.boolean("loss", false);
  classes(in, c);
  if (c.loss)
    checkLoss(in, c);
  model.classifier = c;
}

//===----------------------------------------------------------------------===//
// In order
//===----------------------------------------------------------------------===//

Expected<Description> Reader::run() {
  model.file = errors.file;
  model.files.push_back(errors.file);
  ObjectReader root({{&json, ""}}, errors);
  checkKeys(root);
  if (errors.failed()) // the kind says what else is needed
    return errors.take();
  checkParts(root);
  weights(root);
  if (has("encoder"))
    model.source = side(root, "source");
  if (has("decoder"))
    model.target = side(root, "target");
  if (has("encoder") && !errors.failed())
    model.encoder = StackReader(json, "encoder", model, masks, errors).read();
  if (has("encoder") && !errors.failed())
    limitSource();
  if (has("decoder") && !errors.failed())
    model.decoder = StackReader(json, "decoder", model, masks, errors).read();
  if (!errors.failed() && model.decoder)
    limitByPositions(root);
  if (!errors.failed())
    classifier(root);
  if (errors.failed())
    return errors.take();
  if (Status status = masks.allUsed("the key path of a mask of this model"); !status)
    return status.takeError();
  return std::move(model);
}

Expected<Description> heddle::readDescription(const std::string &path,
                                              const std::vector<std::string> &options) {
  auto masks = MaskOptions::parse(options);
  if (!masks)
    return masks.takeError();
  auto text = readFile(path, int64_t(1) << 26);
  if (!text)
    return text.takeError();
  auto json = parseJson(*text, path);
  if (!json)
    return json.takeError();
  if (!json->is_object())
    return inputError(path + ": expected an object, found " + shown(*json));
  return Reader(path, *json, *masks).run();
}
