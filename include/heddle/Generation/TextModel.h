//===- TextModel.h - Text settings of a model ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text settings of a model: the vocabularies, special ids and lengths of its
// description, and the conversion between text and ids. An artifact carries the
// settings as JSON in Program::model and the vocabularies as members.
#pragma once

#include "heddle/Audio/LogMel.h"
#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/Speech.h"
#include "heddle/Generation/Vocabulary.h"
#include "heddle/Images/Image.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace heddle {
class Artifact;
class ChatTemplate;
class Session;

/// Ids of one text.
struct EncodedText {
  std::vector<int32_t> ids;
  int64_t cut = 0;     ///< tokens that did not fit
  bool empty = false;  ///< no id except padding: not even the tokenizer adds one
  int64_t leftOut = 0; ///< ids at the beginning that are not part of the vector
  /// Data of the tokenizer about each id, without `ids`; empty with a vocabulary. Spans are offsets
  /// in the text with its prompt in front.
  TokenEncoding tokens;
};

/// Parts of a conversation's text that may contain special tokens.
enum class SpecialTokens : uint8_t {
  Template, ///< text that the chat template wrote; given text is plain text
  All,      ///< everywhere, as in Transformers and llama.cpp
};

/// The other contents of a text's row.
struct TextContext {
  std::string_view before; ///< a prompt: part of the text, or the system message
  int64_t leftOut = 0;     ///< ids of the prompt and before it, which are not pooled
  std::optional<std::string_view> pair;
  bool pairFirst = false; ///< the pair precedes the text
  bool ids = false;       ///< the text is a line of ids and has no context
  /// The text is a conversation. The template wrote its special tokens; the parts in `given` came
  /// from messages and may contain special tokens too.
  bool whole = false;
  std::span<const TokenSpan> given = {};
  SpecialTokens special = SpecialTokens::Template;
  bool uncut = false; ///< the text may be longer than the model's rows
};

/// Parses token ids, separated by blanks. Errors begin with `place`.
Expected<std::vector<int32_t>> parseIds(std::string_view line, const Tokenizer &tokenizer,
                                        const std::string &place);

/// Generation settings of a model's authors, which apply unless others are asked for. See
/// DecodingOptions.
struct GenerationDefaults {
  bool sample = false;
  std::optional<double> temperature, topP, minP, repetitionPenalty, lengthPenalty;
  std::optional<int64_t> topK, limit, beams;
  std::optional<int64_t> limitInAll; ///< maximum tokens of a prompt and its answer
  BeamRule beamRule = BeamRule::Own;
  std::optional<int32_t> first, last;
  std::optional<int32_t> begin; ///< the prompt of a text without tokens
  std::vector<int32_t> suppressed, suppressedFirst;
  std::vector<std::vector<int32_t>> badWords;
  int64_t least = 0, leastInAll = 0, noRepeat = 0;
  bool renormalizes = false;
  std::vector<RefusedSetting> refused;
};

/// A task of a model: the words in front of a text, and the generation settings.
struct TextTask {
  std::string name, prefix;
  GenerationDefaults generation;
};

/// Languages of a translation model by name, and their tokens; empty: it is told none.
struct Languages {
  enum class Wanted : uint8_t {
    First, ///< the target language is the first token of the output
    Start, ///< the target language is the start token
    Front, ///< the target language precedes the source text
  };
  Wanted wanted = Wanted::First;
  bool namesSource = false; ///< the tokenizer puts the source language around a text
  std::vector<std::pair<std::string, int32_t>> tokens;
};

/// Vocabulary and text rules of one side of a model; see docs/model-description.md.
struct TextSide {
  std::string name;                         ///< "source", "target"
  std::optional<Vocabulary> vocabulary;     ///< none with a tokenizer
  std::optional<Tokenizer> tokenizer;       ///< also adds the tokens around a text
  std::shared_ptr<const ChatTemplate> chat; ///< converts messages to one text; or null
  std::optional<ImageProcessor> images;     ///< the source is image files
  std::optional<LogMel> sound;              ///< the source is frames of sound
  Split split = Split::Space;
  int32_t padding = 0;
  std::optional<int32_t> unknown = 1, start = 2;
  std::vector<int32_t> ends = {3}; ///< each ends a text
  bool add = false;                ///< puts `start` before a source text and the first end after it
  std::optional<int64_t> length;   ///< text is padded on the right to this many ids
  std::optional<int64_t> most;     ///< maximum ids: learned positions or, for a prompt, the caches
                                   ///< without the start token
  bool cut = false;                ///< truncates longer text instead of refusing it
  bool pairMessages = false; ///< a pair of texts is two messages of `chat`, query and document
  int64_t limit = 256;       ///< maximum tokens that generation adds
  GenerationDefaults generation;
  /// Source side only. Replaces every token of `languages` that the tokenizer puts around a text.
  std::optional<int32_t> language;
  std::vector<int32_t> languages;

  /// True if the side takes text, not ids only.
  bool takesText() const { return vocabulary || tokenizer; }
  /// Maximum ids of a text; none: unlimited.
  std::optional<int64_t> longest() const { return length ? length : most; }
  /// Converts text to ids: splits it into tokens, looks them up, adds start and end, and pads or
  /// truncates. Errors begin with `place`.
  Expected<EncodedText> encode(std::string_view text, std::string_view place,
                               const TextContext &context = {}) const;
  /// Converts ids to text without special tokens; Split::Space joins the tokens by a space. Ids
  /// must be in the range of a vocabulary; ids that a tokenizer lacks are left out.
  std::string decode(std::span<const int32_t> ids) const;
  /// True if an id is padding, unknown, the start or an end.
  bool isSpecial(int32_t id) const;
};

/// Meaning of the numbers of a text's classes.
enum class Problem : uint8_t {
  OneClass,    ///< softmax over all classes
  ManyClasses, ///< a sigmoid for each class
  Numbers,     ///< the numbers themselves
};

/// Measure of the similarity of two vectors: similarity_fn_name of Sentence-Transformers.
enum class Similarity : uint8_t {
  Cosine,
  Dot,
  Euclidean, ///< negated distance
  Manhattan, ///< negated sum of absolute differences
};

/// Text settings of a model, which readTextModel reads.
struct TextModel {
  std::string kind;           ///< "encoder", "decoder", "encoder-decoder"
  bool sequenceFirst = false; ///< [T, B] instead of [B, T]
  /// True if the encoder masks padding, so that a batch may hold sources of different lengths.
  bool padded = false;
  bool packed = false;     ///< the model has packedFunction, which takes texts one after another
  bool unitLength = false; ///< vectors have length 1
  std::optional<TextSide> source, target;
  std::optional<Vocabulary> labels; ///< names of a classifier's classes
  Problem problem = Problem::OneClass;
  bool sigmoidScores = true;        ///< reranking applies a sigmoid to the number of a pair
  std::string head;                 ///< of a folder: "ForMaskedLM"; empty: none
  std::optional<int32_t> maskToken; ///< marks a word that is to be predicted
  /// Prompts that `embed` puts before a text, by name.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt;         ///< name of a prompt; empty: none
  std::optional<int64_t> dimensions; ///< leading values of a vector that the folder keeps
  Similarity similarity = Similarity::Cosine;
  bool promptIsPooled = true; ///< false: a prompt's rows are not part of the vector
  bool poolsParts = false;    ///< packedFunction takes the parts of texts that are pooled
  Languages languages;
  std::vector<TextTask> tasks;
  std::optional<SpeechTokens> speech; ///< set in a speech model

  /// The text of the prompt `wanted`, or of the model's default if no name is given; empty for an
  /// empty name. Returns a usage error if the model lacks the prompt.
  Expected<std::string_view> prompt(const std::optional<std::string> &wanted) const;
  /// The context of a text after this prompt. The model must outlive it.
  Expected<TextContext> contextAfterPrompt(const std::optional<std::string> &wanted) const;

  /// The side of input texts: source, or target for a decoder-only model.
  TextSide &input() { return source ? *source : *target; }
  const TextSide &input() const { return source ? *source : *target; }
};

/// Reads a text member of the artifact.
using MemberReader = std::function<Expected<std::string>(const std::string &name)>;

/// Reads Program::model and its vocabularies. A side without text has no vocabulary.
Expected<TextModel> readTextModel(std::string_view json, const MemberReader &readMember);
/// The text settings of a session's artifact. Errors begin with its file.
Expected<TextModel> textModelOf(const Session &session);
/// The text settings of a compiled file that is not open on a device.
Expected<TextModel> textModelOf(const Artifact &artifact);

} // namespace heddle
