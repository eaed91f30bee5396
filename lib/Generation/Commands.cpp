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
#include "heddle/Generation/TextDecoder.h"
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
  Translator(TextDecoder &decoder, const TextModel &model, const TranslateCommand &command,
             DecodingOptions chosen, std::ostream &out)
      : decoder(decoder), model(model), batch(static_cast<size_t>(command.batch)),
        stream(command.stream), options(std::move(chosen)), out(out) {
    if (stream)
      options.onToken = [this](size_t, int32_t token) { return show(token); };
  }

  Status add(std::string_view text, const std::string &place) {
    auto encoded = model.source->encode(text, place);
    if (!encoded) {
      // What came before is still answered.
      Status answered = flush();
      return answered ? Status(encoded.takeError()) : answered;
    }
    cutTexts += encoded->cut > 0;
    const bool fits = decoder.takesLengths() || waiting.empty() ||
                      waiting.back().ids.size() == encoded->ids.size();
    if (!fits)
      if (Status answered = flush(); !answered)
        return answered;
    waiting.push_back({std::move(encoded->ids), count++});
    return waiting.size() == batch ? flush() : Status();
  }

  Status flush() {
    // A text without tokens has no translation: it gives an empty line.
    std::vector<TokenIds> sources;
    options.numbers.clear();
    for (const Waiting &text : waiting)
      if (!text.ids.empty()) {
        sources.push_back(text.ids);
        options.numbers.push_back(text.number);
      }
    line.clear();
    auto translations = decoder.decode(sources, options);
    if (!translations)
      return translations.takeError();
    auto translation = translations->begin();
    for (const Waiting &text : waiting) {
      if (!text.ids.empty() && !stream)
        out << model.target->decode(*translation++);
      out << '\n';
    }
    out.flush();
    waiting.clear();
    return written();
  }

  int64_t cut() const { return cutTexts; }

private:
  struct Waiting {
    TokenIds ids;
    uint64_t number; ///< of the text among all, so that its random numbers are its own
  };

  /// What a token adds to the line that is being written.
  Status show(int32_t token) {
    const std::string before = model.target->decode(line);
    line.push_back(token);
    out << model.target->decode(line).substr(before.size()) << std::flush;
    return written();
  }

  Status written() const {
    return out ? Status() : inputError("standard output: cannot be written");
  }

  TextDecoder &decoder;
  const TextModel &model;
  size_t batch;
  bool stream;
  DecodingOptions options;
  int64_t cutTexts = 0;
  uint64_t count = 0;
  std::ostream &out;
  std::vector<Waiting> waiting;
  TokenIds line; ///< streaming: the tokens written so far
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
  const int64_t limit = command.limit.value_or(target.limit);
  if (limit < 1 || limit > target.limit)
    return usageError("--limit: expected 1 to " + std::to_string(target.limit) +
                      ", the model's target.limit, found " + std::to_string(limit));
  return limit;
}

Expected<DecodingOptions> decodingOf(const TranslateCommand &command, const TextDecoder &decoder,
                                     const TextSide &target) {
  DecodingOptions options = decoder.defaults();
  auto limit = chooseLimit(command, target);
  if (!limit)
    return limit.takeError();
  options.limit = *limit;
  options.beam = command.beam;
  options.sample = command.sample;
  options.lengthPenalty = command.lengthPenalty.value_or(options.lengthPenalty);
  options.temperature = command.temperature.value_or(options.temperature);
  options.topK = command.topK.value_or(options.topK);
  options.topP = command.topP.value_or(options.topP);
  options.seed = command.seed.value_or(options.seed);
  if (Status checked = checkDecoding(options); !checked)
    return usageError("--" + checked.error().message);
  return options;
}

} // namespace

Error heddle::notBuiltYet(std::string_view what) {
  return usageError(std::string(what) + ": not built yet");
}

Status heddle::checkTranslate(const TranslateCommand &command) {
  if (command.attention)
    return notBuiltYet("--attention");
  if (command.batch < 1)
    return usageError("--batch: expected at least 1, found " + std::to_string(command.batch));
  if (command.stream && command.batch > 1)
    return usageError("--stream: expected --batch=1, found " + std::to_string(command.batch));
  if (command.stream && command.beam > 1)
    return usageError("--stream: expected --beam=1, found " + std::to_string(command.beam));
  if (command.lengthPenalty && command.beam == 1)
    return usageError("--length-penalty: expected --beam=2 or more beside it, found none");
  for (auto [given, flag] : {std::pair(command.temperature.has_value(), "--temperature"),
                             {command.topK.has_value(), "--top-k"},
                             {command.topP.has_value(), "--top-p"},
                             {command.seed.has_value(), "--seed"}})
    if (given && !command.sample)
      return usageError(std::string(flag) + ": expected --sample beside it, found none");
  return {};
}

Status heddle::translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                                std::ostream &out, std::ostream &notes) {
  if (Status checked = checkTranslate(command); !checked)
    return checked;
  auto model = textModelOf(session);
  if (!model)
    return model.takeError();
  auto decoder = TextDecoder::create(session, *model);
  if (!decoder)
    return decoder.takeError();
  auto decoding = decodingOf(command, *decoder, *model->target);
  if (!decoding)
    return decoding.takeError();
  model->source->cut |= command.truncate;

  Translator translator(*decoder, *model, command, std::move(*decoding), out);
  Texts texts(command.texts, in);
  for (std::string text; texts.next(text);)
    if (Status added = translator.add(text, texts.place()); !added)
      return added;
  if (Status answered = translator.flush(); !answered)
    return answered;
  if (translator.cut() > 0)
    notes << "note: " << translator.cut() << " of " << texts.taken() << " texts cut to "
          << *model->source->length << " tokens\n";
  return {};
}
