//===- Commands.h - The text commands --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text commands shared by `heddle` and `heddle-run`. The tools parse the
// command line and print errors; the commands decide everything else. An empty
// text is a text. It is an error if even the tokenizer adds no token to it. The
// exceptions are vectors, which are then zeros, and decoders that know the
// token that a text begins with. A model with a vocabulary writes an empty line.
#pragma once

#include "heddle/Generation/Transcriber.h"
#include "heddle/Runtime/Session.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>

namespace heddle {

/// Texts of a command, and their treatment.
struct TextCommand {
  std::vector<std::string> texts; ///< empty: the lines of `input`
  /// A file; empty or "-": standard input. A line of FILE.jsonl is a JSON text, or an object with
  /// the key `text`; with `pairs` it is a list of two texts.
  std::string input;
  int64_t batch = 1;     ///< texts in a batch; results do not depend on it
  bool truncate = false; ///< truncate texts that are too long for the model
  bool pairs = false;    ///< a line of input has two texts, separated by a tab
  bool lines = false;    ///< lines of FILE.jsonl are not parsed
  bool json = false;     ///< write a JSON object per result, one per line
  /// Treatment of texts that cannot be read. "stop" ends the command. "skip" writes an empty line
  /// in place of the text; JSON has `{"error": …}` and a .npy file a row of NaN. The command then
  /// goes on and ends with an error that counts the skipped texts.
  std::string onError = "stop";
};

/// Options of all commands on encoders.
struct EncoderCommand {
  TextCommand text{.batch = INT32_MAX};
  /// Tokens in a run of texts of different lengths; results do not depend on it. A longer text has
  /// a run of its own.
  int64_t batchTokens = 1024;
  bool progress = false; ///< write the rate and the remaining time to `notes`, a terminal
  bool images = false;   ///< texts are paths of image files, for a model of texts and images
};

/// Options of `embed`.
struct EmbedCommand {
  EncoderCommand run;
  std::string output;          ///< FILE.npy; empty: lines of text
  std::string format = "text"; ///< of lines: "text" or "jsonl"
  std::string vectors; ///< "dense", "sparse" or "tokens"; empty: the kind that the model gives
  std::optional<std::string> prompt; ///< a name; empty: no prompt; none: the model's default
  std::optional<int64_t> dimensions; ///< leading dimensions to keep; none: the model's
  std::optional<bool> normalize;     ///< scale to length 1; none: as the model does
};

/// Options of `similarity`, for two texts or for the two of each line.
struct SimilarityCommand {
  EncoderCommand run;
  std::optional<std::string> prompt;
};

/// Options of `classify`.
struct ClassifyCommand {
  EncoderCommand run;
  bool all = false;                ///< write every label, the likeliest first
  std::optional<std::string> pair; ///< second text of each pair
  /// Labels in place of the model's own classes, for models of natural language inference. Each
  /// label replaces {} in the hypothesis.
  std::vector<std::string> labels;
  std::optional<std::string> hypothesis; ///< none: "This example is {}."
  bool manyLabels = false;               ///< labels are not mutually exclusive
};

/// Options of `rerank`.
struct RerankCommand {
  EncoderCommand run;
  std::string query;
  std::optional<std::string> prompt; ///< name of a prompt, see EmbedCommand
  std::optional<int64_t> top;        ///< texts to write, the best first; none: all, in their order
  std::string by;                    ///< "dense", "late" or "cross"; empty: what the model is for
};

/// Options of `fill-mask`.
struct FillMaskCommand {
  EncoderCommand run;
  int64_t top = 5;  ///< tokens to write for each mask
  bool ids = false; ///< texts are lines of token ids
};

/// Options of `answer`, which asks one question about each text.
struct AnswerCommand {
  EncoderCommand run;
  std::string question;
};

/// Options of `detect`.
struct DetectCommand {
  TextCommand images;     ///< paths of image files; `batch` and `truncate` are not used
  double threshold = 0.5; ///< objects with a larger score are written
  std::string draw;       ///< FILE.png with a copy of the image and its boxes; empty: none
};

/// Options of all commands that generate text.
struct WritingOptions {
  std::optional<int64_t> limit; ///< maximum tokens of an answer; none: the model's own limit
  std::optional<int64_t> beam;  ///< none: the model's, or 1 if a flag needs it
  /// None: yes if temperature, topK, topP or minP is given; no with a beam; otherwise the model's
  /// setting.
  std::optional<bool> sample;
  /// Options of beam search and of sampling, see DecodingOptions. Without their search they are
  /// errors.
  std::optional<double> lengthPenalty, temperature, topP, minP;
  std::optional<int64_t> topK;
  std::optional<uint64_t> seed;
  std::optional<double> repetitionPenalty;
  std::vector<std::string> stops; ///< texts that end an answer and are not part of it
  bool ignoreEnd = false;         ///< end tokens do not end a text
  bool rate = false;              ///< write the tokens per second to `notes`, a terminal
};

/// Options of `translate` and `generate`.
struct TranslateCommand {
  TextCommand text;
  WritingOptions writing;
  bool stream = false;   ///< write text as soon as its tokens are chosen
  std::string attention; ///< file (.html or .svg) for drawings of attention weights
  /// For `translate`: languages of input and output, for models that know several; none: the
  /// model's own. `task` is one of the tasks that the folder names; none: the text says it.
  std::optional<std::string> from, to, task;
  /// For `generate`, in place of texts: a file with one prompt per line. A line of FILE.jsonl is
  /// JSON: a text, a list of messages, or an object with messages. Its lines of output are JSON
  /// texts.
  std::string prompts;
  std::optional<std::string> chatTemplate; ///< for messages, see ChatCommand
  std::optional<std::string> special;      ///< for messages, see ChatCommand
};

/// Options of `chat`.
struct ChatCommand {
  WritingOptions writing;                  ///< without a beam
  std::optional<std::string> system;       ///< content of the first message
  std::optional<std::string> chatTemplate; ///< name of a template; none: see ChatTemplate
  std::optional<std::string> special;      ///< "template" (default) or "all": see SpecialTokens
  std::string model;                       ///< the user's name for it, shown in the first line
  /// Reads a line of a user at a terminal, after the prompt `mark`; false at the end of input. The
  /// chat then writes its settings at the start and takes the commands of `/help`. Empty: each line
  /// of `in` is a turn.
  std::function<bool(const std::string &mark, std::string &line)> ask;
};

/// Options of `transcribe`.
struct TranscribeCommand {
  std::vector<std::string> audio; ///< audio files
  TranscribeOptions options;
  std::optional<std::string> format; ///< "text", "srt" or "json"; none: by `output`, or text
  std::string output;    ///< FILE.txt, .srt or .json for one audio file; empty: standard output
  bool progress = false; ///< write the seconds done to `notes`, a terminal
};

/// Options of `perplexity`.
struct PerplexityCommand {
  std::string file;              ///< file of the text
  std::optional<int64_t> window; ///< tokens of a window; none: 512, or the context if it is shorter
  std::optional<int64_t> stride; ///< tokens from one window to the next; none: half a window
};

/// Options of `tokenize`.
struct TokenizeCommand {
  std::string model;               ///< a folder, or a tokenizer file
  TextCommand texts;               ///< `batch` and `truncate` are not used
  std::optional<std::string> pair; ///< second text of each pair
  bool noSpecial = false;          ///< leave out the template's special tokens
  bool decode = false;             ///< convert ids to text
  bool chat = false;               ///< a text is a user's message for the chat template
  bool messages = false; ///< with `chat`: a line is messages, or all variables of the template
  std::optional<std::string> system;       ///< with `chat`: content of the first message
  std::optional<std::string> chatTemplate; ///< with `chat`: see ChatCommand
  std::optional<std::string> special;      ///< with `chat`: see ChatCommand
};

/// Returns a usage error for a batch below 1, an unknown `onError`, or texts in addition to
/// `input`.
Status checkTexts(const TextCommand &command);
/// Returns a usage error for options that have no effect or contradict each other. Tools call it
/// before they open a model; `translateCommand` calls it again.
Status checkTranslate(const TranslateCommand &command);

/// Translates every text, in order, one per line. Notes about truncated texts go to `notes`.
Status translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

/// Continues every text with a decoder-only model, in order, one per line. An answer has at most
/// the tokens for which the model's `target.limit` leaves room. `attention` must be empty.
Status generateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);

/// Returns a usage error for options that contradict each other.
Status checkChat(const ChatCommand &command);
/// Answers each line of the user, or of `in`, as a turn of one conversation. Notes about settings
/// and about dropped messages go to `notes`.
Status chatCommand(Session &session, const ChatCommand &command, std::istream &in,
                   std::ostream &out, std::ostream &notes);

/// Returns a usage error for options that contradict each other.
Status checkTranscribe(const TranscribeCommand &command);
/// Transcribes each audio file, in order. The output is a line of text, a line for each segment
/// (with `timestamps`), subtitles, or a JSON object.
Status transcribeCommand(Session &session, const TranscribeCommand &command, std::ostream &out,
                         std::ostream &notes);

/// Returns a usage error for numbers out of range.
Status checkPerplexity(const PerplexityCommand &command);
/// Writes the perplexity of a text: exp of the mean of -log p over all its tokens but the first.
/// Each token is predicted from the tokens before it in its window.
Status perplexityCommand(Session &session, const PerplexityCommand &command, std::ostream &out);

/// Writes a line for each text: its ids or, with `decode`, the text of its ids. Settings in the
/// model's files that are not followed go to `notes`.
Status tokenizeCommand(const TokenizeCommand &command, std::istream &in, std::ostream &out,
                       std::ostream &notes);

/// Returns a usage error for options that contradict each other. Tools call it before they open a
/// model.
Status checkEncoder(const EncoderCommand &command);
Status checkEmbed(const EmbedCommand &command);
Status checkSimilarity(const SimilarityCommand &command);
Status checkClassify(const ClassifyCommand &command);
Status checkDetect(const DetectCommand &command);

/// Writes the vector of each text: a line of numbers, a line of JSON, or a row of a file.
Status embedCommand(Session &session, const EmbedCommand &command, std::istream &in,
                    std::ostream &out, std::ostream &notes);
/// Writes the similarity of the vectors of two texts, a line for each pair.
Status similarityCommand(Session &session, const SimilarityCommand &command, std::istream &in,
                         std::ostream &out, std::ostream &notes);
/// Writes a line for each text: the likeliest class and its probability, "label\t0.987654". For a
/// model with classes for tokens, writes a line for each word, "word\tlabel\t0.987654", and an
/// empty line between texts.
Status classifyCommand(Session &session, const ClassifyCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);
/// Writes a line for each object in each image: its label, its score, and the left, top, right and
/// bottom edge of its box in pixels of the image.
Status detectCommand(Session &session, const DetectCommand &command, std::istream &in,
                     std::ostream &out, std::ostream &notes);
/// Writes a line for each text, "score\ttext". The score says how well the text matches the query.
Status rerankCommand(Session &session, const RerankCommand &command, std::istream &in,
                     std::ostream &out, std::ostream &notes);
/// Writes the likeliest tokens for each mask of each text, "token\t0.987654", and an empty line
/// between masks.
Status fillMaskCommand(Session &session, const FillMaskCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);
/// Writes a line for each text, "score\tanswer". The answer is a part of the text.
Status answerCommand(Session &session, const AnswerCommand &command, std::istream &in,
                     std::ostream &out, std::ostream &notes);

} // namespace heddle
