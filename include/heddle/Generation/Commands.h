//===- Commands.h - The text commands --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands shared by `heddle` and `heddle-run`. The tools parse the command line and
// print errors; everything else is decided here. An empty text is a text. Where not even
// the tokenizer adds a token to it, it is an error, but for vectors, which are then zeros,
// and for a decoder that knows the token that a text begins with. Of a model with a
// vocabulary it has an empty line then.
#pragma once

#include "heddle/Generation/Transcriber.h"
#include "heddle/Runtime/Session.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>

namespace heddle {

struct TextCommand {
  std::vector<std::string> texts; ///< empty: the lines of `input`
  /// A file; empty or "-": standard input. A line of FILE.jsonl is a JSON text, or an object with the
  /// key `text`; with `pairs` it is a list of two texts.
  std::string input;
  int64_t batch = 1;     ///< texts of a batch; results do not depend on it
  bool truncate = false; ///< cut texts that are too long for the model
  bool pairs = false;    ///< a line of input is two texts, with a tab between them
  bool lines = false;    ///< lines of FILE.jsonl are texts as they stand
  bool json = false;     ///< an object of JSON for each result, a line each
  /// What a text does that cannot be read: "stop" ends the command. "skip" has an empty line in its
  /// place, of JSON `{"error": …}`, in a .npy a row of NaN; the command goes on and ends with an
  /// error that counts such texts.
  std::string onError = "stop";
};

/// What the commands on encoders have in common.
struct EncoderCommand {
  TextCommand text{.batch = INT32_MAX};
  /// Tokens of a run, for texts of different lengths; results do not depend on it. One longer text
  /// is a run of its own.
  int64_t batchTokens = 1024;
  bool progress = false; ///< write the rate and the time left to `notes`, a terminal
};

/// `embed`.
struct EmbedCommand {
  EncoderCommand run;
  std::string output;                ///< FILE.npy; empty: lines of text
  std::string format = "text";       ///< of lines: "text" or "jsonl"
  std::optional<std::string> prompt; ///< name of one of the model's; empty: none
  std::optional<int64_t> dimensions; ///< the first of the vector's
  std::optional<bool> normalize;     ///< to the length 1; none: as the model does
};

/// `similarity`, of two texts, or of those of each line.
struct SimilarityCommand {
  EncoderCommand run;
  std::optional<std::string> prompt;
};

/// `classify`.
struct ClassifyCommand {
  EncoderCommand run;
  bool all = false;                ///< every label, the likeliest first
  std::optional<std::string> pair; ///< the second text of each
  /// In place of the model's own classes, of a model that says what follows from a text: each label
  /// stands for {} in the hypothesis.
  std::vector<std::string> labels;
  std::optional<std::string> hypothesis; ///< none: "This example is {}."
  bool manyLabels = false;               ///< labels do not exclude each other
};

/// `rerank`.
struct RerankCommand {
  EncoderCommand run;
  std::string query;
  std::optional<std::string> prompt; ///< the name of one: see EmbedCommand
  std::optional<int64_t> top;        ///< that many, the best first; none: all as they come
};

/// `fill-mask`.
struct FillMaskCommand {
  EncoderCommand run;
  int64_t top = 5;  ///< tokens for each mask
  bool ids = false; ///< texts are lines of ids
};

/// `answer`: a question about each text.
struct AnswerCommand {
  EncoderCommand run;
  std::string question;
};

/// What the commands that write text have in common.
struct WritingOptions {
  std::optional<int64_t> limit; ///< tokens of an answer; default: the model's `target.limit`
  std::optional<int64_t>
      beam; ///< none: as the model's settings say, where no flag needs a beam of 1
  /// None: yes beside an option that says how (temperature, topK, topP, minP), else as the model's
  /// settings say, and with a beam not.
  std::optional<bool> sample;
  /// Options of beam search and of sampling (see DecodingOptions); an error without that search.
  std::optional<double> lengthPenalty, temperature, topP, minP;
  std::optional<int64_t> topK;
  std::optional<uint64_t> seed;
  std::optional<double> repetitionPenalty;
  std::vector<std::string> stops; ///< texts that end an answer and are no part of it
  bool ignoreEnd = false;         ///< tokens that end a text do not
  bool rate = false;              ///< write the tokens a second to `notes`, a terminal
};

/// `translate` and `generate`.
struct TranslateCommand {
  TextCommand text;
  WritingOptions writing;
  bool stream = false;   ///< write text as soon as its tokens are chosen
  std::string attention; ///< file (.html or .svg) for pictures of attention weights
  /// Of `translate`: the languages of what is read and written, of a model that knows several; none:
  /// its own. And what it is to do, of those that its folder names; none: what the text says.
  std::optional<std::string> from, to, task;
  /// Of `generate`, in place of texts: a file with a prompt a line; in FILE.jsonl a line is JSON, a
  /// text, a list of messages or an object with messages, and so is a line of output, a text.
  std::string prompts;
  std::optional<std::string> chatTemplate; ///< of messages: see ChatCommand
  std::optional<std::string> special;      ///< of messages: see ChatCommand
};

/// `chat`.
struct ChatCommand {
  WritingOptions writing;                  ///< without a beam
  std::optional<std::string> system;       ///< what the first message says
  std::optional<std::string> chatTemplate; ///< name of one of the model's; none: see ChatTemplate
  std::optional<std::string> special;      ///< "template" (default) or "all": see SpecialTokens
  std::string model;                       ///< how the user named it, for the first line
  /// Of a user who types: reads a line after `mark`; false: there is none. The chat then says its
  /// settings at the start and takes the commands of `/help`. Empty: each line of `in` is a turn.
  std::function<bool(const std::string &mark, std::string &line)> ask;
};

/// `transcribe`.
struct TranscribeCommand {
  std::vector<std::string> audio; ///< files
  TranscribeOptions options;
  std::optional<std::string> format; ///< "text", "srt" or "json"; none: as `output` says, or text
  std::string output;    ///< FILE.txt, .srt or .json of one audio; empty: standard output
  bool progress = false; ///< write the seconds that are done to `notes`, a terminal
};

/// `perplexity`.
struct PerplexityCommand {
  std::string file; ///< the text
  std::optional<int64_t>
      window; ///< tokens read at once; none: 512, or the context if it is shorter
  std::optional<int64_t> stride; ///< tokens between windows; none: half a window
};

/// `tokenize`.
struct TokenizeCommand {
  std::string model;               ///< a folder, or a tokenizer's file
  TextCommand texts;               ///< without `batch` and `truncate`
  std::optional<std::string> pair; ///< the second text of each
  bool noSpecial = false;          ///< without the tokens that the template adds
  bool decode = false;             ///< ids to text
  bool chat = false;               ///< a text is what a user says: ids of the model's chat template
  bool messages = false; ///< with `chat`: a line is messages, or all that the template reads
  std::optional<std::string> system;       ///< with `chat`: what the first message says
  std::optional<std::string> chatTemplate; ///< with `chat`: see ChatCommand
  std::optional<std::string> special;      ///< with `chat`: see ChatCommand
};

/// Usage error for a batch below 1, or an unknown `onError`.
Status checkTexts(const TextCommand &command);
/// Usage error for options that would have no effect or contradict each other. Tools call it before
/// they open a model; `translateCommand` calls it again.
Status checkTranslate(const TranslateCommand &command);

/// Translates every text in order, a line each. A note about cut texts goes to `notes`.
Status translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

/// Continues every text with a decoder-only model, in order, a line each: at most as many tokens as
/// the model's `target.limit` leaves room for. `attention` must be empty.
Status generateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);

/// Usage error for options that contradict each other.
Status checkChat(const ChatCommand &command);
/// Answers each line of the user, or of `in`, as a turn of one conversation. Notes about settings and
/// about what is forgotten go to `notes`.
Status chatCommand(Session &session, const ChatCommand &command, std::istream &in,
                   std::ostream &out, std::ostream &notes);

/// Usage error for options that contradict each other.
Status checkTranscribe(const TranscribeCommand &command);
/// Writes what is said in each file of audio, in order: a line of text, or with `timestamps` a line
/// for each segment, subtitles, or an object of JSON.
Status transcribeCommand(Session &session, const TranscribeCommand &command, std::ostream &out,
                         std::ostream &notes);

/// Usage error for numbers out of range.
Status checkPerplexity(const PerplexityCommand &command);
/// Writes the perplexity of a text: exp of the mean of -log p over all its tokens but the first, each
/// behind the tokens of its window.
Status perplexityCommand(Session &session, const PerplexityCommand &command, std::ostream &out);

/// Writes a line for each text: its ids, or with `decode` the text of its ids. `notes` gets a line
/// for what the model's files say and is not followed.
Status tokenizeCommand(const TokenizeCommand &command, std::istream &in, std::ostream &out,
                       std::ostream &notes);

/// Usage error for options that contradict each other. Tools call it before they open a model.
Status checkEncoder(const EncoderCommand &command);
Status checkEmbed(const EmbedCommand &command);
Status checkSimilarity(const SimilarityCommand &command);
Status checkClassify(const ClassifyCommand &command);

/// Writes the vector of each text: a line of numbers, a line of JSON, or a row of a file.
Status embedCommand(Session &session, const EmbedCommand &command, std::istream &in,
                    std::ostream &out, std::ostream &notes);
/// Writes the cosine of the vectors of two texts, a line for each pair.
Status similarityCommand(Session &session, const SimilarityCommand &command, std::istream &in,
                         std::ostream &out, std::ostream &notes);
/// Writes a line for each text: the likeliest class and its probability, "label\t0.987654". Where
/// the model has classes for tokens: a line for each word, "word\tlabel\t0.987654", and an empty
/// one between texts.
Status classifyCommand(Session &session, const ClassifyCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);
/// Writes a line for each text, "score\ttext": how well it fits the query.
Status rerankCommand(Session &session, const RerankCommand &command, std::istream &in,
                     std::ostream &out, std::ostream &notes);
/// Writes the likeliest tokens for each mask of each text, "token\t0.987654", and an empty line
/// between masks.
Status fillMaskCommand(Session &session, const FillMaskCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);
/// Writes a line for each text, "score\tanswer": the part of it that answers the question.
Status answerCommand(Session &session, const AnswerCommand &command, std::istream &in,
                     std::ostream &out, std::ostream &notes);

} // namespace heddle
