//===- Targets.cpp - Fuzz targets of readers ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Targets.h"

#include "GgufTokenizer.h"
#include "SentencePiece.h"

#include "heddle/Audio/AudioFile.h"
#include "heddle/Audio/LogMel.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Generation/Vocabulary.h"
#include "heddle/Images/Image.h"
#include "heddle/Pack/GgufWeights.h"
#include "heddle/Pack/PytorchFile.h"
#include "heddle/Pack/Safetensors.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;

/// Aborts on an error that is not one line, so that the fuzzer and ctest notice.
template <typename T>
static bool succeeded(const T &result) {
  if (!result &&
      (result.error().message.empty() || result.error().message.find('\n') != std::string::npos))
    std::abort();
  return static_cast<bool>(result);
}

void fuzz::readProgram(std::string_view bytes) {
  auto program = programFromJson(bytes);
  if (!succeeded(program))
    return;
  // A program that was read must survive a round trip.
  auto again = programFromJson(toJson(*program));
  if (!again || toJson(*again) != toJson(*program))
    std::abort();
}

void fuzz::readArtifact(std::string_view bytes) {
  auto memory = MappedBytes::allocate(static_cast<int64_t>(bytes.size()));
  if (!succeeded(memory))
    return;
  if (!bytes.empty())
    std::memcpy(memory->writable().data(), bytes.data(), bytes.size());
  auto artifact = Artifact::fromBytes(std::move(*memory), "input.heddle");
  if (succeeded(artifact))
    succeeded(artifact->check());
}

namespace {
/// An in-memory file.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes) : file(memfd_create("heddle-fuzz", MFD_CLOEXEC)) {
    if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::exit(3);
  }
  ~MemoryFile() { close(file); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

private:
  int file;
};
} // namespace

void fuzz::readPicture(std::string_view bytes) {
  if (bytes.starts_with("{")) {
    auto processor = ImageProcessor::fromJson(bytes, "input.json");
    if (succeeded(processor) && processor->pixels() <= 1 << 20)
      succeeded(processor->apply({3, 2, std::vector<uint8_t>(18, 200)}));
    return;
  }
  MemoryFile file(bytes);
  auto image = readImage(file.path());
  if (!succeeded(image))
    return;
  if (image->pixels.size() != static_cast<size_t>(3 * image->width * image->height))
    std::abort();
  resized(*image, 5, 7, ImageFilter::Lanczos);
}

void fuzz::readSound(std::string_view bytes) {
  if (bytes.starts_with("{")) {
    auto mel = LogMel::fromJson(bytes, "input.json");
    if (!succeeded(mel) || mel->windowFrames() * mel->bands() > 1 << 20)
      return;
    const MelFrames frames = mel->apply(std::vector<float>(100, 0.5f));
    if (frames.frames != mel->windowFrames())
      std::abort();
    mel->window(frames, 1);
    return;
  }
  MemoryFile file(bytes);
  auto samples = readAudio(file.path(), 16000);
  if (succeeded(samples) && samples->empty())
    std::abort();
}

/// Reads the first elements of each tensor.
static void readFirst(const Expected<std::unique_ptr<WeightSource>> &source) {
  if (succeeded(source))
    for (int t = 0; t < static_cast<int>((*source)->tensors().size()); ++t) {
      const TensorInfo &tensor = (*source)->tensors()[static_cast<size_t>(t)];
      std::vector<float> first(static_cast<size_t>(std::min<int64_t>(tensor.elements(), 64)));
      if (tensor.type == "f32" || tensor.type == "f16" || tensor.type == "bf16")
        (*source)->read(t, 0, first);
    }
}

void fuzz::readSafetensors(std::string_view bytes) {
  MemoryFile file(bytes);
  readFirst(openSafetensors(file.path()));
}

void fuzz::readPytorch(std::string_view bytes) {
  MemoryFile file(bytes);
  readFirst(openPytorchFile(file.path()));
}

void fuzz::readNpy(std::string_view bytes) {
  succeeded(parseNpy(std::as_bytes(std::span(bytes)), "input.npy"));
}

/// A JSON object is a text model, all of whose files are one small vocabulary. Other inputs are a
/// vocabulary, an empty line and a text to split.
void fuzz::readText(std::string_view bytes) {
  if (bytes.starts_with("{")) {
    auto model = readTextModel(bytes, [](const std::string &) {
      return Expected<std::string>("<p>\n<u>\n<s>\n</s>\na\n");
    });
    if (succeeded(model) && model->source && model->source->vocabulary)
      succeeded(model->source->encode("a b", "text"));
    return;
  }
  const size_t gap = bytes.find("\n\n");
  auto vocabulary = Vocabulary::parse(bytes.substr(0, gap), "vocabulary.txt");
  if (!succeeded(vocabulary) || gap == std::string_view::npos)
    return;
  for (Split split : {Split::Space, Split::Character})
    succeeded(splitText(bytes.substr(gap + 2), split, "text"));
}

void fuzz::readSize(std::string_view bytes) {
  auto size = SizeExpr::parse(bytes);
  if (!succeeded(size))
    return;
  succeeded(size->evaluate({{"B", 3}, {"T", 5}}));
  auto again = SizeExpr::parse(size->str());
  if (!again || again->str() != size->str())
    std::abort();
}

/// Checks that every list has one entry per token and that spans are within the text.
static void checkTokens(const TokenEncoding &tokens, std::string_view text) {
  bool sound = tokens.typeIds.size() == tokens.size() && tokens.special.size() == tokens.size() &&
               tokens.spans.size() == tokens.size() && tokens.words.size() == tokens.size() &&
               tokens.sequences.size() == tokens.size() && tokens.attention.size() == tokens.size();
  for (size_t i = 0; sound && i < tokens.size(); ++i)
    sound = tokens.ids[i] >= 0 && (tokens.sequences[i] < 0 || tokens.spans[i].begin <= text.size());
  if (!sound)
    std::abort();
}

void fuzz::readTokenizer(std::string_view bytes) {
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  std::string json(bytes.substr(0, end));
  std::string_view text = bytes.substr(std::min(end + 1, bytes.size()));
  if (!bytes.starts_with("{")) {
    auto pieces = tokenizers::sentencePieceJson(bytes, "input.model");
    if (!succeeded(pieces))
      return;
    json = pieces->dump();
    text = "";
  }
  auto tokenizer = Tokenizer::fromJson(json, "input.json");
  if (!succeeded(tokenizer))
    return;
  constexpr std::string_view other = "a\u0301 Bc  1 \U0001F468\u200D\uAC00\n";
  for (std::string_view own : {text, other}) {
    auto tokens = tokenizer->encode(own, {.truncation = tokenizer->truncation()});
    if (!succeeded(tokens))
      continue;
    checkTokens(*tokens, own);
    succeeded(tokenizer->decode(tokens->ids, false));
    if (auto pair = tokenizer->encode(other, own, {.specialTokens = false}); succeeded(pair))
      checkTokens(*pair, other.size() > own.size() ? other : own);
  }
}

void fuzz::readGguf(std::string_view bytes) {
  MemoryFile file(bytes);
  auto gguf = Gguf::open(file.path());
  if (!succeeded(gguf))
    return;
  for (const auto &[key, value] : gguf->metadata()) {
    value.texts();
    value.numbers();
    if (value.shown().empty() || value.shown().find('\n') != std::string::npos)
      std::abort();
  }
  auto json = tokenizers::ggufTokenizerJson(*gguf);
  if (succeeded(json)) {
    auto tokenizer = Tokenizer::fromJson(json->dump(), "input.gguf");
    constexpr std::string_view text = "a\u0301 Bc  1 \U0001F468\u200D\uAC00\n";
    if (succeeded(tokenizer))
      if (auto tokens = tokenizer->encode(text); succeeded(tokens))
        checkTokens(*tokens, text);
  }
  const std::unique_ptr<WeightSource> source = ggufWeights(std::move(*gguf));
  for (int t = 0; t < static_cast<int>(source->tensors().size()); ++t) {
    const int64_t count = source->tensors()[static_cast<size_t>(t)].elements();
    std::vector<float> some(static_cast<size_t>(std::min<int64_t>(count, 300)));
    if (succeeded(source->checkReadable(t)))
      source->read(t, count - static_cast<int64_t>(some.size()), some);
  }
}
