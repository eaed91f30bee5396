//===- TextBatches.h - Batches of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts come from arguments or line by line and are answered in batches, in order. If
// the model does not mask padding, a batch holds only texts of equal length.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"

#include <fstream>

namespace heddle {

/// Texts of a command, from arguments or line by line, and their places for errors.
class Texts {
public:
  Texts(const std::vector<std::string> &arguments, std::istream &in)
      : arguments(arguments), in(&in) {}
  /// The texts that a command names; `in` is standard input. Must not be moved.
  Texts(const TextCommand &command, std::istream &in);

  /// False at the end. A text that cannot be read is one too: `check` says why.
  bool next(std::string &text);
  /// Whether the last text could be read.
  Status check() const;
  /// Whether the next text is at hand: nobody has to be waited for, as for the rest of a half line.
  bool isNextAtHand();
  /// How much of the texts is read, 0 to 1; none: nobody knows.
  std::optional<double> share();
  std::string place() const;
  uint64_t number() const { return count - 1; }
  /// Asked at the end: whether every line could be read.
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
  std::optional<std::string> second; ///< of the line whose first text was the last one
  Status problem;                    ///< of the last line
  Status failure;                    ///< a line without an end
  std::string ahead;                 ///< read, of which `taken` bytes were lines
  size_t taken = 0, searched = 0;
  std::string name;   ///< of the file of --input; or empty
  std::ifstream file; ///< open if there is one
  uint64_t bytes = 0; ///< in it
  int openError = 0;  ///< errno of opening it
  uint64_t count = 0, lines = 0;
};

/// Texts that are left out because they cannot be read (--on-error=skip), noted as they are met.
class SkippedTexts {
public:
  SkippedTexts(const TextCommand &command, std::ostream &notes)
      : on(command.onError == "skip"), notes(notes) {}
  /// Notes an error about a text; false: texts are not skipped.
  bool take(const Error &error);
  /// Error with their number, if there are any.
  Status finish() const;

private:
  bool on;
  std::ostream &notes;
  uint64_t count = 0;
};

/// What stands in the place of an answer to a text that is left out.
std::string skippedLine(bool json, const std::string &message);

/// Checks all texts of a command whose input is a file on disk, before the first of them runs.
Status
checkFile(const TextCommand &command, std::istream &in,
          const std::function<Status(const std::string &text, const std::string &place)> &check);

/// Ids of a text, and its number among all texts.
struct NumberedText {
  TokenIds ids;
  uint64_t number;
  bool isLeftOut = false;   ///< it has no word of a vocabulary, and nothing stands around it
  std::string problem = {}; ///< why it cannot be read, and is left out
};

/// Ids of all texts that are not left out, in order.
std::vector<TokenIds> sourcesOf(const std::vector<NumberedText> &texts);

/// Callback that writes the answers to a batch, a line each.
using AnswerTexts = std::function<Status(const std::vector<NumberedText> &texts)>;

/// Callback that turns a text of the command into ids. Errors begin with `place`.
using EncodeText =
    std::function<Expected<EncodedText>(const std::string &text, const std::string &place)>;

/// Calls `answer` for all texts of a command, batch by batch. A decoder gets many batches at
/// once where they are at hand, for it lets texts take the places of ended ones. A note
/// about cut texts goes to `notes`.
Status answerTexts(const TextCommand &command, const TextModel &model, std::istream &in,
                   std::ostream &notes, const EncodeText &encode, const AnswerTexts &answer);

/// The note about texts that were cut, if there are any.
void noteCut(const TextModel &model, int64_t cut, int64_t taken, std::ostream &notes);

/// A text as JSON, on one line; bytes that are no UTF-8 are replaced.
std::string jsonText(const std::string &text);

/// A number as JSON, which has none for what is not finite: null.
std::string jsonNumber(double number);

/// Whether all that was written to standard output got there.
Status written(const std::ostream &out);

/// The error of a job and of keeping what it gave, if either failed; both, if both did.
Status both(Status job, Status kept);

/// `error` behind the name of the session's file.
Error ofModel(const Session &session, Error error);

/// Text settings and vocabularies of a session's model; --truncate of `command` lets it cut texts.
Expected<TextModel> textModelOf(const Session &session, const TextCommand &command);

} // namespace heddle
