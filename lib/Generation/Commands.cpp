//===- Commands.cpp - The text commands ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of the options, and the output for each batch of texts.
#include "heddle/Generation/Commands.h"

#include "TextBatches.h"

#include "heddle/Generation/Attention.h"
#include "heddle/Generation/TextDecoder.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <ostream>

using namespace heddle;

namespace {

//===- translate, generate -----------------------------------------------===//

/// Attention weights of all texts for the file of `--attention`.
class Pictures {
public:
  Pictures(AttentionReader reader, std::string file)
      : reader(std::move(reader)), file(std::move(file)) {}

  Status add(const TokenIds &source, const TokenIds &translation, int64_t limit) {
    auto record = HEDDLE_TRY(reader.read(source, translation, limit));
    for (const auto *maps : {&record.encoder, &record.decoder, &record.cross})
      for (const AttentionMap &map : *maps)
        cells += map.weights.size();
    if (cells > mostCells)
      return usageError("--attention: expected at most " + std::to_string(mostCells) +
                        " weights in one file, found more; give fewer or shorter texts");
    records.push_back(std::move(record));
    return {};
  }
  Status write() const {
    return writeOutput(file,
                       file.ends_with(".svg") ? attentionSvg(records) : attentionHtml(records));
  }

private:
  static constexpr size_t mostCells = 500'000; ///< browsers still draw so many

  AttentionReader reader;
  std::string file;
  std::vector<AttentionRecord> records;
  size_t cells = 0;
};

/// Decodes the texts of a batch and writes the answers.
class Translator {
public:
  Translator(TextDecoder &decoder, const TextModel &model, bool stream, DecodingOptions chosen,
             Pictures *pictures, std::ostream &out)
      : decoder(decoder), target(*model.target), stream(stream), options(std::move(chosen)),
        pictures(pictures), out(out), continues(!model.source) {
    if (stream)
      options.onToken = [this](size_t, int32_t token) { return show(token); };
  }

  Status answer(const std::vector<NumberedText> &texts) {
    // A text without tokens is not decoded; it gives an empty line.
    options.numbers.clear();
    for (const NumberedText &text : texts)
      if (!text.ids.empty())
        options.numbers.push_back(text.number);
    line.clear();
    shown.clear();
    prompt = {};
    if (stream && continues)
      prompt = texts.front().ids;
    auto translations = HEDDLE_TRY(decoder.decode(sourcesOf(texts), options));
    auto translation = translations.begin();
    for (const NumberedText &text : texts) {
      if (!text.ids.empty() && !stream)
        out << target.continuation(continues ? text.ids : TokenIds(), *translation++);
      if (stream)
        out << rest(target.continuation(prompt, line)); // which may end within a character
      out << '\n';
    }
    out.flush();
    return pictures ? draw(texts, translations) : written(out);
  }

private:
  Status draw(const std::vector<NumberedText> &texts, const std::vector<TokenIds> &translations) {
    auto translation = translations.begin();
    for (const TokenIds &source : sourcesOf(texts))
      HEDDLE_TRY(pictures->add(source, *translation++, options.limit));
    return written(out);
  }

  /// Writes the text that a token adds to the current line. A character that is not complete waits
  /// for the tokens that complete it.
  Status show(int32_t token) {
    constexpr std::string_view incomplete = "\ufffd";
    line.push_back(token);
    std::string text = target.continuation(prompt, line);
    while (text.ends_with(incomplete))
      text.resize(text.size() - incomplete.size());
    const std::string added = rest(text);
    shown += added;
    out << added << std::flush;
    return written(out);
  }

  /// What of the current line is not shown yet.
  std::string rest(const std::string &text) const {
    return text.starts_with(shown) ? text.substr(shown.size()) : std::string();
  }

  TextDecoder &decoder;
  const TextSide &target;
  bool stream;
  DecodingOptions options;
  Pictures *pictures; ///< null without --attention
  std::ostream &out;
  bool continues; ///< texts are prompts
  // With --stream, of the current line: its prompt, its tokens, and what is written of it.
  std::span<const int32_t> prompt;
  TokenIds line;
  std::string shown;
};

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
  options.limit = HEDDLE_TRY(chooseLimit(command, target));
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

Status heddle::checkTexts(const TextCommand &command) {
  if (command.batch < 1)
    return usageError("--batch: expected at least 1, found " + std::to_string(command.batch));
  if (!command.input.empty() && !command.texts.empty())
    return usageError("--input: expected no texts beside it, found " +
                      quotedText(command.texts.front()));
  return {};
}

/// Checks the file of --attention before the translation, because it is written last.
static Status checkPicture(const std::string &file) {
  if (file.empty())
    return {};
  if (!file.ends_with(".html") && !file.ends_with(".svg"))
    return usageError("--attention: expected FILE.html or FILE.svg, found " + quotedText(file));
  return checkOutput(file);
}

Status heddle::checkTranslate(const TranslateCommand &command) {
  HEDDLE_TRY(checkPicture(command.attention));
  HEDDLE_TRY(checkTexts(command.text));
  if (command.stream && command.text.batch > 1)
    return usageError("--stream: expected --batch=1, found " + std::to_string(command.text.batch));
  if (command.stream && command.beam > 1)
    return usageError("--stream: expected --beam=1, found " + std::to_string(command.beam));
  if (command.lengthPenalty && command.beam == 1)
    return usageError("--length-penalty: expected --beam=2 or more beside it, found a beam of 1");
  for (auto [given, flag] : {std::pair(command.temperature.has_value(), "--temperature"),
                             {command.topK.has_value(), "--top-k"},
                             {command.topP.has_value(), "--top-p"},
                             {command.seed.has_value(), "--seed"}})
    if (given && !command.sample)
      return usageError(std::string(flag) + ": expected --sample beside it, found none");
  return {};
}

/// `translate` and `generate`; refuses models of another kind.
static Status decodeCommand(const char *kind, Session &session, const TranslateCommand &command,
                            std::istream &in, std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkTranslate(command));
  auto model = HEDDLE_TRY(textModelOf(session, command.text));
  if (model.kind != kind)
    return ofModel(session, inputError(std::string("expected a model of kind ") + kind +
                                       ", found " + model.kind));
  auto decoder = TextDecoder::create(session, model);
  if (!decoder)
    return ofModel(session, decoder.takeError());
  auto decoding = HEDDLE_TRY(decodingOf(command, *decoder, *model.target));
  std::optional<Pictures> pictures;
  if (!command.attention.empty()) {
    auto reader = HEDDLE_TRY(AttentionReader::create(session, model));
    pictures.emplace(std::move(reader), command.attention);
  }
  Translator translator(*decoder, model, command.stream, std::move(decoding),
                        pictures ? &*pictures : nullptr, out);
  Status answered =
      answerTexts(command.text, model, in, notes,
                  [&](const std::vector<NumberedText> &texts) { return translator.answer(texts); });
  return answered && pictures ? pictures->write() : answered;
}

Status heddle::translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                                std::ostream &out, std::ostream &notes) {
  return decodeCommand("encoder-decoder", session, command, in, out, notes);
}

Status heddle::generateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                               std::ostream &out, std::ostream &notes) {
  return decodeCommand("decoder", session, command, in, out, notes);
}
