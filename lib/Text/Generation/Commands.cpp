//===- Commands.cpp - The text commands ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the options of the text commands and writes the output of each batch
// of texts.
#include "heddle/Generation/Commands.h"

#include "Conversation.h"
#include "DecodingChoice.h"
#include "Languages.h"
#include "TextBatches.h"

#include "heddle/Generation/Attention.h"
#include "heddle/Generation/TextDecoder.h"
#include "heddle/Generation/TextStream.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <ostream>

using namespace heddle;

namespace {

//===- translate, generate -----------------------------------------------===//

/// Collects the attention weights of all texts for the file of `--attention`.
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
  static constexpr size_t mostCells = 500'000; ///< browsers can still draw this many

  AttentionReader reader;
  std::string file;
  std::vector<AttentionRecord> records;
  size_t cells = 0;
};

/// Whether the lines of the file of --prompts are JSON.
bool readsJson(const TranslateCommand &command) { return command.prompts.ends_with(".jsonl"); }

/// Decodes the texts of a batch and writes the answers.
class Translator {
public:
  Translator(TextDecoder &decoder, const TextModel &model, const TranslateCommand &command,
             DecodingOptions chosen, Pictures *pictures, std::ostream &out)
      : decoder(decoder), model(model), command(command), json(readsJson(command)),
        options(std::move(chosen)), pictures(pictures), out(out) {
    options.rows = static_cast<size_t>(command.text.batch);
    // The tokens of a beam are known only at its end.
    if (options.beams == 1)
      options.onToken = [this](size_t sequence, int32_t token) { return take(sequence, token); };
  }

  Status answer(const std::vector<NumberedText> &texts) {
    options.numbers.clear();
    answers.clear();
    for (const NumberedText &text : texts)
      if (!text.isLeftOut) {
        options.numbers.push_back(text.number);
        answers.push_back(
            {TextStream(*model.target, model.source ? TokenIds() : text.ids, command.writing.stops),
             ""});
      }
    const std::vector<TokenIds> sources = sourcesOf(texts);
    auto translations = HEDDLE_TRY(decoder.decode(sources, options));
    for (size_t i = 0; i < answers.size(); ++i)
      HEDDLE_TRY(finish(answers[i], translations[i]));
    size_t next = 0;
    for (const NumberedText &text : texts) {
      if (!text.problem.empty()) {
        out << skippedLine(json || command.text.json, text.problem);
        continue;
      }
      std::string answer = text.isLeftOut ? "" : std::move(answers[next++].text);
      if (command.text.json)
        answer = "{\"text\": " + jsonText(answer) + "}";
      else if (json)
        answer = jsonText(answer);
      out << answer << '\n';
    }
    out.flush();
    for (size_t i = 0; pictures && i < sources.size(); ++i)
      HEDDLE_TRY(pictures->add(sources[i], translations[i], options.limit));
    return written(out);
  }

  int64_t tokens() const { return count; }

private:
  struct Answer {
    TextStream stream;
    std::string text; ///< all of it or, with --stream, the part that is not written yet
  };

  Expected<bool> take(size_t sequence, int32_t token) {
    Answer &answer = answers[sequence];
    answer.text += answer.stream.add(token);
    ++count;
    if (command.stream)
      HEDDLE_TRY(show(answer));
    return !answer.stream.stopped();
  }

  Status show(Answer &answer) {
    out << answer.text << std::flush;
    answer.text.clear();
    return written(out);
  }

  Status finish(Answer &answer, const TokenIds &tokens) {
    for (size_t i = 0; options.beams > 1 && i < tokens.size(); ++i)
      HEDDLE_TRY(take(static_cast<size_t>(&answer - answers.data()), tokens[i]));
    answer.text += answer.stream.finish();
    return {};
  }

  TextDecoder &decoder;
  const TextModel &model;
  const TranslateCommand &command;
  bool json; ///< answers are JSON texts
  DecodingOptions options;
  Pictures *pictures; ///< null without --attention
  std::ostream &out;
  std::vector<Answer> answers; ///< of the batch
  int64_t count = 0;
};

} // namespace

Status heddle::checkTexts(const TextCommand &command) {
  if (command.batch < 1)
    return usageError("--batch: expected at least 1, found " + std::to_string(command.batch));
  if (command.onError != "stop" && command.onError != "skip")
    return usageError("--on-error: expected stop or skip, found " + quotedText(command.onError));
  if (!command.input.empty() && !command.texts.empty())
    return usageError("--input: expected no texts with it, found " +
                      quotedText(command.texts.front()));
  return {};
}

/// Checks that the file of --attention can be written. It is written last, after the translation.
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
  HEDDLE_TRY(checkWriting(command.writing));
  if (!command.prompts.empty() && (!command.text.texts.empty() || !command.text.input.empty()))
    return usageError("--prompts: expected no texts and no --input with it, found some");
  for (auto [given, flag] : {std::pair(command.chatTemplate.has_value(), "--chat-template"),
                             {command.special.has_value(), "--special"}})
    if (given && !readsJson(command))
      return usageError(std::string(flag) + ": expected --prompts=FILE.jsonl with it, found none");
  if (command.special)
    HEDDLE_TRY(specialTokensOf(*command.special));
  if (command.stream && (command.text.json || readsJson(command)))
    return usageError("--stream: expected no JSON lines, found " +
                      (command.text.json ? "--json" : "--prompts=" + command.prompts));
  if (command.stream && command.text.batch > 1)
    return usageError("--stream: expected --batch=1, found " + std::to_string(command.text.batch));
  if (const int64_t beam = command.writing.beam.value_or(1); command.stream && beam > 1)
    return usageError("--stream: expected --beam=1, found " + std::to_string(beam));
  return {};
}

/// Converts a line of --prompts to ids.
static Expected<EncodedText> encodePrompt(const TextModel &model, const std::string &line,
                                          const std::string &place, SpecialTokens special) {
  const nlohmann::ordered_json json = HEDDLE_TRY(parseJson(line, place, JsonText::Line));
  if (json.is_string())
    return model.target->encode(json.get<std::string>(), place);
  if (!model.target->chat)
    return inputError(place + ": expected a text, since the model has no chat template, found " +
                      json.type_name());
  const RenderedText text = HEDDLE_TRY(conversationText(*model.target->chat, json, place));
  return model.target->encode(text.text, place,
                              {.whole = true, .given = text.given, .special = special});
}

/// Returns an error if a side of the model takes only ids.
static Status checkTakesText(const TextModel &model) {
  for (const std::optional<TextSide> *side : {&model.source, &model.target})
    if (*side && !(*side)->takesText())
      return inputError((*side)->name + ".vocabulary: expected a file of tokens, found none");
  return {};
}

/// Runs `translate` and `generate`. Returns an error for a model of another kind.
static Status decodeCommand(const char *kind, Session &session, const TranslateCommand &command,
                            std::istream &in, std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkTranslate(command));
  auto model = HEDDLE_TRY(textModelOf(session, command.text));
  if (model.kind != kind)
    return ofModel(session, inputError(std::string("expected a model of kind ") + kind +
                                       ", found " + model.kind));
  if (model.source && model.source->sound)
    return ofModel(session, inputError("expected a model that reads texts, found a speech model: "
                                       "`transcribe` takes it"));
  if (Status takes = checkTakesText(model); !takes)
    return ofModel(session, takes.takeError());
  HEDDLE_TRY(chooseTemplate(model.input().chat, command.chatTemplate));
  const std::string before = HEDDLE_TRY(chooseLanguages(command, model));
  auto decoder = TextDecoder::create(session, model);
  if (!decoder)
    return ofModel(session, decoder.takeError());
  auto decoding = HEDDLE_TRY(decodingOf(command.writing, *decoder, *model.target, command.stream));
  std::optional<Pictures> pictures;
  if (!command.attention.empty()) {
    auto reader = HEDDLE_TRY(AttentionReader::create(session, model));
    pictures.emplace(std::move(reader), command.attention);
  }
  Translator translator(*decoder, model, command, std::move(decoding),
                        pictures ? &*pictures : nullptr, out);
  TextCommand texts = command.text;
  if (!command.prompts.empty()) {
    texts.input = command.prompts;
    texts.lines = true; // encodePrompt parses them
  }
  const SpecialTokens special = HEDDLE_TRY(specialTokensOf(command.special.value_or("template")));
  auto encode = [&](const std::string &text, const std::string &place) {
    return readsJson(command) ? encodePrompt(model, text, place, special)
                              : model.input().encode(text, place, {.before = before});
  };
  Rate rate;
  Status answered;
  {
    const Rate::Span span(rate, session);
    answered =
        answerTexts(texts, model, in, notes, encode, [&](const std::vector<NumberedText> &texts) {
          return translator.answer(texts);
        });
  }
  rate.add(translator.tokens());
  if (answered && command.writing.rate)
    rate.write(notes);
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
