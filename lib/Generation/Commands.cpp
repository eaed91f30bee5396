//===- Commands.cpp - Text commands for both drivers --------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Texts come from arguments or line by line, go through the decoder in batches
// and leave in their order. Batches end early where the encoder cannot tell
// padding from text: then only texts of equal length go together.
//
//===----------------------------------------------------------------------===//
#include "heddle/Generation/Commands.h"
#include "heddle/Generation/Greedy.h"
#include "heddle/Support/Artifact.h"

#include <istream>
#include <ostream>

using namespace heddle;

namespace {

/// Hands out texts and what to call them in an error.
class Texts {
public:
  Texts(const std::vector<std::string> &arguments, std::istream &in)
      : arguments(arguments), in(in) {}

  bool next(std::string &text) {
    if (arguments.empty() ? !std::getline(in, text) : count == arguments.size())
      return false;
    if (!arguments.empty())
      text = arguments[count];
    ++count;
    return true;
  }
  std::string place() const {
    if (arguments.size() == 1)
      return "text";
    return (arguments.empty() ? "line " : "text ") + std::to_string(count);
  }
  size_t taken() const { return count; }

private:
  const std::vector<std::string> &arguments;
  std::istream &in;
  size_t count = 0;
};

/// Collects texts into batches and writes their translations.
class Translator {
public:
  Translator(GreedyDecoder &decoder, const TextModel &model, int64_t batch, int64_t limit,
             std::ostream &out)
      : decoder(decoder), model(model), batch(static_cast<size_t>(batch)), limit(limit), out(out) {}

  Status add(std::string_view text, const std::string &place) {
    auto encoded = model.source->encode(text, place);
    if (!encoded) {
      // What came before is still answered.
      Status written = flush();
      return written ? Status(encoded.takeError()) : written;
    }
    cutTexts += encoded->cut > 0;
    const bool fits =
        decoder.takesLengths() || waiting.empty() || waiting.back().size() == encoded->ids.size();
    if (!fits)
      if (Status written = flush(); !written)
        return written;
    waiting.push_back(std::move(encoded->ids));
    return waiting.size() == batch ? flush() : Status();
  }

  Status flush() {
    // A text without tokens has no translation: it gives an empty line.
    std::vector<std::vector<int32_t>> sources;
    for (const auto &ids : waiting)
      if (!ids.empty())
        sources.push_back(ids);
    auto translations = decoder.decode(sources, limit);
    if (!translations)
      return translations.takeError();
    auto translation = translations->begin();
    for (const auto &ids : waiting)
      out << (ids.empty() ? std::string() : model.target->decode(*translation++)) << '\n';
    out.flush();
    waiting.clear();
    return out ? Status() : inputError("standard output: cannot be written");
  }

  int64_t cut() const { return cutTexts; }

private:
  GreedyDecoder &decoder;
  const TextModel &model;
  size_t batch;
  int64_t limit, cutTexts = 0;
  std::ostream &out;
  std::vector<std::vector<int32_t>> waiting;
};

Expected<TextModel> textModelOf(const Session &session) {
  const Artifact &artifact = session.artifact();
  return readTextModel(
      session.program().model, [&](const std::string &name) -> Expected<std::string> {
        if (auto text = artifact.text(name))
          return std::string(*text);
        return inputError(artifact.name() + ": expected the text member " + name + ", found none");
      });
}

Expected<int64_t> chooseLimit(const TranslateCommand &command, const TextSide &target) {
  if (command.batch < 1)
    return usageError("--batch: expected at least 1, found " + std::to_string(command.batch));
  const int64_t limit = command.limit.value_or(target.limit);
  if (limit < 1 || limit > target.limit)
    return usageError("--limit: expected 1 to " + std::to_string(target.limit) +
                      ", the model's target.limit, found " + std::to_string(limit));
  return limit;
}

} // namespace

Error heddle::notBuiltYet(std::string_view what) {
  return usageError(std::string(what) + ": not built yet");
}

Status heddle::translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                                std::ostream &out, std::ostream &notes) {
  auto model = textModelOf(session);
  if (!model)
    return model.takeError();
  auto decoder = GreedyDecoder::create(session, *model);
  if (!decoder)
    return decoder.takeError();
  auto limit = chooseLimit(command, *model->target);
  if (!limit)
    return limit.takeError();
  model->source->cut |= command.truncate;

  Translator translator(*decoder, *model, command.batch, *limit, out);
  Texts texts(command.texts, in);
  for (std::string text; texts.next(text);)
    if (Status added = translator.add(text, texts.place()); !added)
      return added;
  if (Status written = translator.flush(); !written)
    return written;
  if (translator.cut() > 0)
    notes << "note: " << translator.cut() << " of " << texts.taken() << " texts cut to "
          << *model->source->length << " tokens\n";
  return {};
}
