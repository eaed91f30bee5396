//===- TextBatches.h - Batches of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts are arguments or lines of input, and are answered in batches, in order.
// If the model does not mask padding, a batch holds only texts of equal length.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Support/Try.h"

#include <deque>
#include <fstream>

namespace heddle {

/// Reads the texts of a command, and names their places for errors.
class Texts {
public:
  Texts(const std::vector<std::string> &arguments, std::istream &in)
      : arguments(arguments), in(&in) {}
  /// Reads the texts that a command names; `in` is standard input. Must not be moved.
  Texts(const TextCommand &command, std::istream &in);

  /// Reads the next text; false at the end. Returns true for a text that cannot be read, too;
  /// `check` returns its error.
  bool next(std::string &text);
  /// The error of the last text; success if it could be read.
  Status check() const;
  /// True if the next text can be read without waiting, even for the rest of a line.
  bool isNextAtHand();
  /// Share of the texts that is read, 0 to 1; none if it is unknown.
  std::optional<double> share();
  std::string place() const;
  uint64_t number() const { return count - 1; }
  /// Returns an error, at the end, if a line could not be read.
  Status finish();

private:
  bool readOn();
  bool holdsLine(size_t &end);
  bool nextLine(std::string &text);
  Status takeLine(std::string &line);
  Status takeJson(std::string &line);
  Status takePair(std::string &line);
  bool isTooLong() const;

  const std::vector<std::string> &arguments;
  std::istream *in;
  bool pairs = false, json = false;  ///< each line is two texts, or JSON
  std::optional<std::string> second; ///< second text of the line whose first text was read last
  Status problem;                    ///< error of the last line
  Status failure;                    ///< error of a line that is too long
  std::string ahead;                 ///< input read so far; its first `taken` bytes were returned
  size_t taken = 0, searched = 0;
  std::string name;   ///< file of --input; empty: none
  std::ifstream file; ///< open if `name` is not empty
  uint64_t bytes = 0; ///< size of the file
  int openError = 0;  ///< errno of opening it
  uint64_t count = 0, lines = 0;
};

/// Skips texts that cannot be read (--on-error=skip), with notes about the first ones.
class SkippedTexts {
public:
  SkippedTexts(const TextCommand &command, std::ostream &notes)
      : on(command.onError == "skip"), notes(notes) {}
  /// Notes an error about a text; false if texts are not skipped.
  bool take(const Error &error);
  /// Returns an error with the number of skipped texts, if there are any.
  Status finish() const;

private:
  bool on;
  std::ostream &notes;
  uint64_t count = 0;
};

/// The line in place of an answer to a skipped text.
std::string skippedLine(bool json, const std::string &message);

/// Checks all texts of a command before the first of them runs, if its input is a file on disk.
Status
checkFile(const TextCommand &command, std::istream &in,
          const std::function<Status(const std::string &text, const std::string &place)> &check);

/// Encodings from the check of a file, which saves a second tokenization. Keeps the first ones, up
/// to a bound of memory.
template <typename Encoded>
class CheckedTexts {
public:
  using Encode =
      std::function<Expected<Encoded>(const std::string &text, const std::string &place)>;

  explicit CheckedTexts(Encode encode) : encode(std::move(encode)) {}

  /// Encodes a text of the check. Keeps the result if there is room.
  Status check(const std::string &text, const std::string &place) {
    Encoded encoded = HEDDLE_TRY(encode(text, place));
    const size_t tokens = tokensOf(encoded);
    left = left < tokens || kept.size() >= most ? 0 : left - tokens;
    if (left > 0)
      kept.emplace_back(std::hash<std::string>()(text), std::move(encoded));
    return {};
  }
  /// The encoding of the current text of `texts`: the kept one, unless the file has changed since.
  Expected<Encoded> next(const Texts &texts, const std::string &text) {
    HEDDLE_TRY(texts.check());
    if (!kept.empty()) {
      auto [hash, encoded] = std::move(kept.front());
      kept.pop_front();
      if (hash == std::hash<std::string>()(text))
        return std::move(encoded);
    }
    return encode(text, texts.place());
  }

private:
  static size_t tokensOf(const EncodedText &text) { return text.ids.size(); }
  static size_t tokensOf(const std::vector<EncodedText> &texts) {
    size_t tokens = 0;
    for (const EncodedText &text : texts)
      tokens += text.ids.size();
    return tokens;
  }

  static constexpr size_t most = size_t(4) << 20; ///< maximum number of texts, and of tokens
  Encode encode;
  std::deque<std::pair<size_t, Encoded>> kept;
  size_t left = most; ///< tokens for which there is room
};

/// Ids of a text, and its index among all texts.
struct NumberedText {
  TokenIds ids;
  uint64_t number;
  bool isLeftOut = false;   ///< it has no word of the vocabulary, and no token around it
  std::string problem = {}; ///< why it cannot be read and is left out; else empty
};

/// Ids of all texts that are not left out, in order.
std::vector<TokenIds> sourcesOf(const std::vector<NumberedText> &texts);

/// Writes the answers to a batch, one per line.
using AnswerTexts = std::function<Status(const std::vector<NumberedText> &texts)>;

/// Converts a text of the command to ids. Errors begin with `place`.
using EncodeText =
    std::function<Expected<EncodedText>(const std::string &text, const std::string &place)>;

/// Calls `answer` for all texts of a command, batch by batch. A decoder gets many batches at once
/// if they are at hand, since waiting texts take the places of ended ones. A note about truncated
/// texts goes to `notes`.
Status answerTexts(const TextCommand &command, const TextModel &model, std::istream &in,
                   std::ostream &notes, const EncodeText &encode, const AnswerTexts &answer);

/// Writes the note about truncated texts, if there are any.
void noteCut(const TextModel &model, int64_t cut, int64_t taken, std::ostream &notes);

/// A text as JSON on one line. Bytes that are not UTF-8 are replaced.
std::string jsonText(const std::string &text);

/// A number as JSON; null if it is not finite.
std::string jsonNumber(double number);

/// Returns an error if writing to standard output failed.
Status written(const std::ostream &out);

/// The error of a job, or of saving its results; both errors if both failed.
Status both(Status job, Status kept);

/// `error` with the name of the session's file in front.
Error ofModel(const Session &session, Error error);

/// Text settings and vocabularies of a session's model. --truncate of `command` lets it truncate
/// texts.
Expected<TextModel> textModelOf(const Session &session, const TextCommand &command);

} // namespace heddle
