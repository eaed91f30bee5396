//===- EncoderTexts.cpp - The texts of a command on an encoder ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorting matters if rows are padded, or if only texts of one length share a
// run. A packed run does the same work in any order.
#include "EncoderTexts.h"

#include "TextVectors.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <ostream>

using namespace heddle;

std::vector<size_t> heddle::bestOf(const std::vector<double> &scores, size_t most) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  most = std::min(most, order.size());
  const LargestFirst isBefore;
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end(),
                    [&](size_t a, size_t b) {
                      return isBefore(scores[a], scores[b]) ||
                             (!isBefore(scores[b], scores[a]) && a < b);
                    });
  order.resize(most);
  return order;
}

namespace {

/// Maximum runs and texts that are read ahead.
constexpr int64_t runsAhead = 16, textsAhead = 8192;

/// Shows the progress of a long command on standard error. `share` is a share of the work, since
/// short texts run first.
class TextProgress {
public:
  TextProgress(bool on, std::ostream &notes, const Session &session)
      : on(on), notes(notes), session(session), prepared(session.preparationSeconds()) {}
  void show(int64_t done, std::optional<double> share) {
    const double seconds = secondsSince(start) - (session.preparationSeconds() - prepared);
    if (!on || seconds < 1 || secondsSince(last) < 0.2)
      return;
    last = Clock::now();
    notes << formatted("\r\033[K%lld texts, %.1f a second", static_cast<long long>(done),
                       static_cast<double>(done) / seconds);
    if (share && *share > 0)
      notes << formatted(", %.0f s left", seconds * std::max(0.0, 1 / *share - 1));
    notes << std::flush;
    shown = true;
  }
  /// Shows the progress of texts that are only checked.
  void showChecked(int64_t checked) {
    if (!on || secondsSince(start) < 1 || secondsSince(last) < 0.2)
      return;
    last = Clock::now();
    notes << formatted("\r\033[K%lld texts checked", static_cast<long long>(checked)) << std::flush;
    shown = true;
  }
  /// Begins the work anew.
  void restart() {
    clear();
    start = last = Clock::now();
    prepared = session.preparationSeconds();
  }
  void clear() {
    if (std::exchange(shown, false))
      notes << "\r\033[K" << std::flush;
  }
  ~TextProgress() { clear(); }

private:
  using Clock = std::chrono::steady_clock;
  static double secondsSince(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }
  bool on, shown = false;
  std::ostream &notes;
  const Session &session;
  double prepared; ///< driver time of the session at the start; later driver time is not counted
  Clock::time_point start = Clock::now(), last = start;
};

/// A text that waits for its run, and its answer.
struct Waiting {
  std::string text;
  EncodedText tokens;
  uint64_t number;
  Expected<std::string> answer = std::string();
  bool isRead = true; ///< else the text is skipped, and `answer` is its line
};

/// Texts that a command skips, and the lines written in their place.
class Skips {
public:
  Skips(const EncoderCommand &command, std::ostream &notes, const AnswerSkipped &answer)
      : json(command.text.json), texts(command.text, notes), answer(answer) {}
  /// The line in place of a text; none: its error ends the command.
  std::optional<std::string> take(uint64_t number, const Error &error) {
    if (!texts.take(error))
      return std::nullopt;
    return answer ? answer(number, error.message) : skippedLine(json, error.message);
  }
  Status finish() const { return texts.finish(); }

private:
  bool json;
  SkippedTexts texts;
  const AnswerSkipped &answer;
};

/// Texts read ahead, and their answers.
class Window {
public:
  Window(OpenedEncoder &opened, const EncoderCommand &command, std::ostream &out, size_t rowsOfText,
         const AnswerText &answer, Skips &skips)
      : encoder(*opened.encoder), mostTexts(command.text.batch),
        budget(encoder.tokensOfARun(command.batchTokens)), rowsOfText(rowsOfText), out(out),
        answer(answer), skips(skips) {}
  void add(std::string text, EncodedText tokens, uint64_t number) {
    waiting += static_cast<int64_t>(tokens.ids.size());
    taken += static_cast<int64_t>(tokens.ids.size());
    texts.push_back({std::move(text), std::move(tokens), number});
  }
  /// Adds a text that is skipped, with the line in its place.
  void addSkipped(std::string line, uint64_t number) {
    texts.push_back({"", {}, number, std::move(line), /*isRead=*/false});
  }
  bool isFull() const {
    const auto count = static_cast<int64_t>(texts.size());
    return waiting / runsAhead >= budget || count >= textsAhead || count / runsAhead >= mostTexts;
  }
  /// Runs all texts and writes the answers.
  Status flush(TextProgress &progress, Texts &source) {
    std::vector<Waiting *> order;
    for (Waiting &text : texts)
      if (!text.isRead)
        ++done;
      else if (encoder.isLeftOut(text.tokens))
        text.answer = answer({text.text, text.tokens, text.number, {}}), ++done;
      else
        order.push_back(&text);
    std::ranges::stable_sort(order, {}, [](const Waiting *t) { return t->tokens.ids.size(); });
    HEDDLE_TRY(runAll(order, progress, source));
    progress.clear();
    Status failed;
    for (size_t i = 0; failed && i < texts.size(); ++i)
      failed = write(texts[i]);
    out.flush();
    HEDDLE_TRY(failed);
    texts.clear();
    waiting = 0;
    return written(out);
  }

private:
  Status write(Waiting &text) {
    if (!text.answer) {
      auto line = skips.take(text.number / rowsOfText, text.answer.error());
      if (!line)
        return text.answer.takeError();
      text.answer = std::move(*line);
    }
    out << *text.answer;
    return {};
  }
  Status runAll(const std::vector<Waiting *> &order, TextProgress &progress, Texts &source) {
    std::vector<const EncodedText *> sorted;
    for (const Waiting *text : order)
      sorted.push_back(&text->tokens);
    for (auto [from, to] : encoder.cut(sorted, budget, mostTexts)) {
      auto rows = HEDDLE_TRY(
          encoder.encode(std::span<const EncodedText *const>(sorted).subspan(from, to - from)));
      for (size_t i = from; i < to; ++i)
        order[i]->answer =
            answer({order[i]->text, order[i]->tokens, order[i]->number, rows[i - from]});
      done += static_cast<int64_t>(to - from);
      for (size_t i = from; i < to; ++i)
        worked += static_cast<int64_t>(order[i]->tokens.ids.size());
      std::optional<double> share = source.share(); // of the texts read, not all of which are done
      if (share)
        *share *= static_cast<double>(worked) / static_cast<double>(std::max<int64_t>(taken, 1));
      progress.show(done / static_cast<int64_t>(rowsOfText), share);
    }
    return {};
  }

  TextEncoder &encoder;
  const int64_t mostTexts, budget;
  const size_t rowsOfText;
  std::ostream &out;
  const AnswerText &answer;
  Skips &skips;
  std::vector<Waiting> texts;
  int64_t waiting = 0;           ///< tokens
  int64_t taken = 0, worked = 0; ///< tokens of all texts so far, and of the ones that have run
  int64_t done = 0;              ///< rows; a text has one for each context
};

} // namespace

Status heddle::openEncoder(Session &session, const EncoderCommand &command, OpenedEncoder &opened) {
  opened.model = HEDDLE_TRY(textModelOf(session, command.text));
  auto encoder = TextEncoder::create(session, opened.model);
  if (!encoder)
    return ofModel(session, encoder.takeError());
  opened.encoder = std::move(*encoder);
  return {};
}

Status heddle::checkClasses(const OpenedEncoder &opened, std::optional<bool> pooled,
                            const std::string &use) {
  const TextEncoder &encoder = *opened.encoder;
  if (!encoder.classifies())
    return ofModel(encoder.usedSession(),
                   inputError("expected a model " + use + ", found one that gives vectors"));
  if (pooled && *pooled != encoder.pooled())
    return ofModel(encoder.usedSession(),
                   inputError("expected a model " + use + ", found one with classes for " +
                              (encoder.pooled() ? "whole texts" : "tokens")));
  return {};
}

Status heddle::openClasses(Session &session, const EncoderCommand &command,
                           std::optional<bool> pooled, const std::string &use,
                           OpenedEncoder &opened) {
  HEDDLE_TRY(openEncoder(session, command, opened));
  return checkClasses(opened, pooled, use);
}

double heddle::sigmoid(float x) { return 1 / (1 + std::exp(-static_cast<double>(x))); }

std::string heddle::scoreText(double score) {
  return std::isnan(score) ? "nan" : formatted("%.6f", score);
}

std::string heddle::lastColumn(const std::string &text) {
  return text.find('\n') == text.npos ? text : printable(text);
}

std::string heddle::whoseLine(const TextCommand &command, const std::string &text) {
  return command.texts.size() == 1 ? "" : "\t" + lastColumn(text);
}

/// Maximum images of a run: an image has as many rows as a long text.
static constexpr int64_t imagesOfARun = 8;

/// An image file as input of the model. Errors begin with its path.
static Expected<ImagePlanes> planesOf(const std::string &path, const ImageProcessor &processor) {
  const Image image = HEDDLE_TRY(readImage(path));
  auto planes = processor.apply(image);
  if (!planes)
    return inputError(path + ": " + planes.error().message);
  return planes;
}

/// Answers the image files that the texts name.
static Status encodeImages(OpenedEncoder &opened, const EncoderCommand &command, std::istream &in,
                           std::ostream &out, std::ostream &notes, const AnswerText &answer,
                           Skips &skips) {
  TextProgress progress(command.progress, notes, opened.encoder->usedSession());
  std::vector<std::string> paths;
  std::vector<ImagePlanes> images;
  const EncodedText none;
  uint64_t done = 0;
  auto flush = [&]() -> Status {
    if (images.empty())
      return {};
    auto rows = HEDDLE_TRY(opened.encoder->encodeImages(images, paths));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string text = HEDDLE_TRY(answer({paths[i], none, done++, rows[i]}));
      progress.clear();
      out << text;
    }
    out.flush();
    paths.clear();
    images.clear();
    return written(out);
  };
  Texts texts(command.text, in);
  for (std::string path; texts.next(path);) {
    Status readable = texts.check();
    auto planes = readable ? planesOf(path, *opened.model.images()->images)
                           : Expected<ImagePlanes>(readable.takeError());
    if (!planes) {
      HEDDLE_TRY(flush());
      progress.clear(); // a note may follow
      const auto line = skips.take(done, planes.error());
      if (!line)
        return planes.takeError();
      ++done;
      out << *line << std::flush;
      continue;
    }
    images.push_back(std::move(*planes));
    paths.push_back(path);
    if (static_cast<int64_t>(images.size()) == std::min(imagesOfARun, command.text.batch) ||
        !texts.isNextAtHand())
      HEDDLE_TRY(flush());
    progress.show(static_cast<int64_t>(done), texts.share());
  }
  HEDDLE_TRY(flush());
  HEDDLE_TRY(texts.finish());
  return skips.finish();
}

Status heddle::encodeTexts(OpenedEncoder &opened, const EncoderCommand &command,
                           const TextContext &context, std::istream &in, std::ostream &out,
                           std::ostream &notes, const AnswerText &answer,
                           const AnswerSkipped &skipped) {
  return encodeTexts(opened, command, std::span(&context, 1), in, out, notes, answer, skipped);
}

/// Encodes a text for which the model must have a result.
static Expected<EncodedText> tokensOf(const OpenedEncoder &opened, const std::string &text,
                                      const std::string &place, const TextContext &context) {
  EncodedText encoded = HEDDLE_TRY(opened.model.input().encode(text, place, context));
  HEDDLE_TRY(opened.encoder->checkTokens(encoded, place));
  if (context.isQuery)
    HEDDLE_TRY(makeQuery(opened, place, encoded));
  return encoded;
}

/// Encodes a text in each context, or returns the first error.
static Expected<std::vector<EncodedText>> tokensOf(const OpenedEncoder &opened,
                                                   const std::string &text,
                                                   const std::string &place,
                                                   std::span<const TextContext> contexts) {
  std::vector<EncodedText> all;
  for (const TextContext &context : contexts)
    all.push_back(HEDDLE_TRY(tokensOf(opened, text, place, context)));
  return all;
}

Status heddle::encodeTexts(OpenedEncoder &opened, const EncoderCommand &command,
                           std::span<const TextContext> contexts, std::istream &in,
                           std::ostream &out, std::ostream &notes, const AnswerText &answer,
                           const AnswerSkipped &skipped) {
  Skips skips(command, notes, skipped);
  if (command.images && (!opened.model.images() || !opened.model.images()->images))
    return ofModel(opened.encoder->usedSession(),
                   inputError("expected a model with steps for images, found none"));
  if (opened.encoder->takesImages() || command.images) {
    if (contexts[0].pair || !contexts[0].before.empty())
      return ofModel(opened.encoder->usedSession(),
                     inputError("expected a model of texts for a pair or a prompt, "
                                "found one of images"));
    return encodeImages(opened, command, in, out, notes, answer, skips);
  }
  TextProgress progress(command.progress, notes, opened.encoder->usedSession());
  int64_t count = 0;
  CheckedTexts<std::vector<EncodedText>> checked(
      [&](const std::string &text, const std::string &place) {
        return tokensOf(opened, text, place, contexts);
      });
  HEDDLE_TRY(checkFile(command.text, in, [&](const std::string &text, const std::string &place) {
    progress.showChecked(++count);
    return checked.check(text, place);
  }));
  progress.restart();
  Window window(opened, command, out, contexts.size(), answer, skips);
  int64_t cut = 0, taken = 0;
  Texts texts(command.text, in);
  for (std::string text; texts.next(text); ++taken) {
    auto encoded = checked.next(texts, text);
    const uint64_t first = texts.number() * contexts.size();
    if (encoded) {
      cut += std::ranges::any_of(*encoded, [](const EncodedText &one) { return one.cut > 0; });
      for (size_t i = 0; i < contexts.size(); ++i)
        window.add(text, std::move((*encoded)[i]), first + i);
    } else if (auto line = skips.take(texts.number(), encoded.error())) {
      window.addSkipped(std::move(*line), first);
    } else {
      HEDDLE_TRY(window.flush(progress, texts));
      return encoded.takeError();
    }
    if (window.isFull() || !texts.isNextAtHand())
      HEDDLE_TRY(window.flush(progress, texts));
  }
  HEDDLE_TRY(window.flush(progress, texts));
  HEDDLE_TRY(texts.finish());
  noteCut(opened.model, cut, taken, notes);
  return skips.finish();
}
