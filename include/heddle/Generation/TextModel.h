//===- TextModel.h - Text settings of a model ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vocabularies, special ids and lengths of a description, and the conversion between
// text and ids. An artifact carries the settings as JSON in Program::model and the
// vocabularies as members.
#pragma once

#include "heddle/Audio/LogMel.h"
#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/Speech.h"
#include "heddle/Generation/Vocabulary.h"
#include "heddle/Images/Image.h"
#include "heddle/Templates/ChatTemplate.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <functional>
#include <span>
#include <utility>

namespace heddle {
class Artifact;
class Session;

/// Ids of one text.
struct EncodedText {
  std::vector<int32_t> ids;
  int64_t cut = 0;     ///< tokens that did not fit
  bool empty = false;  ///< no id but padding: not even the tokenizer adds one
  int64_t leftOut = 0; ///< ids at its beginning that are no part of its vector
  /// What a tokenizer says of each id, `ids` apart; nothing from a vocabulary. Spans are those in the
  /// text with its prompt in front.
  TokenEncoding tokens;
};

/// Where the text of a conversation may hold special tokens.
enum class SpecialTokens : uint8_t {
  Template, ///< in what the chat template wrote; a text that was given is no more than text
  All,      ///< everywhere, as in Transformers and llama.cpp
};

/// What stands beside a text in its row.
struct TextContext {
  std::string_view before; ///< a prompt: one text with it, or the message of the system
  int64_t leftOut = 0;     ///< ids of the prompt and in front of it, which are not pooled
  std::optional<std::string_view> pair;
  bool pairFirst = false; ///< the pair comes before the text
  bool ids = false;       ///< the text is a line of ids, and nothing stands beside it
  /// The text is a conversation, whose template wrote the special tokens, with these parts that were
  /// given, and may hold such tokens too.
  bool whole = false;
  std::span<const TokenSpan> given = {};
  SpecialTokens special = SpecialTokens::Template;
  bool uncut = false; ///< the text may be longer than the model's rows
};

/// Numbers between blanks, each the id of a token.
Expected<std::vector<int32_t>> parseIds(std::string_view line, const Tokenizer &tokenizer,
                                        const std::string &place);

/// How a model's authors mean it to write: what generation takes where nothing else is asked for. See
/// DecodingOptions.
struct GenerationDefaults {
  bool sample = false;
  std::optional<double> temperature, topP, minP, repetitionPenalty, lengthPenalty;
  std::optional<int64_t> topK, limit, beams;
  std::optional<int64_t> limitInAll; ///< most tokens of a prompt and its answer
  BeamRule beamRule = BeamRule::Own;
  std::optional<int32_t> first, last;
  std::optional<int32_t> begin; ///< the prompt of a text without tokens
  std::vector<int32_t> suppressed, suppressedFirst;
  std::vector<std::vector<int32_t>> badWords;
  int64_t least = 0, leastInAll = 0, noRepeat = 0;
  bool renormalizes = false;
  std::vector<RefusedSetting> refused;
};

/// What a model is told to do by words in front of a text, and how it writes then.
struct TextTask {
  std::string name, prefix;
  GenerationDefaults generation;
};

/// Languages by name, and their tokens; empty: the model is told none.
struct Languages {
  enum class Wanted : uint8_t {
    First, ///< the language that is wanted is the first token that is written
    Start, ///< or the one that writing begins with
    Front, ///< or stands in front of the text that is read
  };
  Wanted wanted = Wanted::First;
  bool namesSource = false; ///< what the tokenizer puts around a text has its language in it
  std::vector<std::pair<std::string, int32_t>> tokens;
};

/// Vocabulary and text rules of one side of a model, see docs/model-description.md.
struct TextSide {
  std::string name;                     ///< "source", "target"
  std::optional<Vocabulary> vocabulary; ///< null beside a tokenizer
  std::optional<Tokenizer> tokenizer;   ///< which also says what is added before and after a text
  std::optional<ChatTemplate> chat;     ///< how messages become one text
  std::optional<ImageProcessor> images; ///< the source is files of images instead
  std::optional<LogMel> sound;          ///< or frames of sound
  Split split = Split::Space;
  int32_t padding = 0;
  std::optional<int32_t> unknown = 1, start = 2;
  std::vector<int32_t> ends = {3}; ///< each ends a text
  bool add = false;                ///< `start` before and the first end after a source text
  std::optional<int64_t> length;   ///< text is padded on the right to this many ids
  std::optional<int64_t> most;     ///< most ids: as many as learned positions, or for a prompt, as
                                   ///< fit into the caches beside the start token
  bool cut = false;                ///< longer text is cut instead of refused
  bool pairMessages = false; ///< a pair of texts is two messages of `chat`, query and document
  int64_t limit = 256;       ///< tokens that generation may add
  GenerationDefaults generation;
  /// Of the source: stands in place of each of `languages` that the tokenizer puts around a text.
  std::optional<int32_t> language;
  std::vector<int32_t> languages;

  /// Whether text can be given and not only ids.
  bool takesText() const { return vocabulary || tokenizer; }
  /// Most ids of a text; none: no limit.
  std::optional<int64_t> longest() const { return length ? length : most; }
  /// Splits text into tokens, looks them up, adds start and end, pads or cuts. Errors begin with
  /// `place`.
  Expected<EncodedText> encode(std::string_view text, std::string_view place,
                               const TextContext &context = {}) const;
  /// Text of tokens, joined by a space for Split::Space; special tokens are left out. Ids must be
  /// in a vocabulary's range; those that a tokenizer has not are left out.
  std::string decode(std::span<const int32_t> ids) const;
  /// Whether an id is padding, unknown, start or an end.
  bool isSpecial(int32_t id) const;
};

/// How the numbers of a text's classes are read.
enum class Problem : uint8_t {
  OneClass,    ///< softmax over all
  ManyClasses, ///< each a sigmoid of its own
  Numbers,     ///< as they are
};

/// How two vectors are compared: similarity_fn_name of Sentence-Transformers.
enum class Similarity : uint8_t {
  Cosine,
  Dot,
  Euclidean, ///< the distance, negated
  Manhattan, ///< the sum of the differences' sizes, negated
};

struct TextModel {
  std::string kind;           ///< "encoder", "decoder", "encoder-decoder"
  bool sequenceFirst = false; ///< [T, B] instead of [B, T]
  /// The encoder masks padding, so a batch may hold sources of different lengths.
  bool padded = false;
  bool packed = false;     ///< there is a function over texts one after another, see packedFunction
  bool unitLength = false; ///< vectors have the length 1
  std::optional<TextSide> source, target;
  std::optional<Vocabulary> labels; ///< names of a classifier's classes
  Problem problem = Problem::OneClass;
  bool sigmoidScores = true;        ///< what reranking makes of the one number of a pair
  std::string head;                 ///< of a folder: "ForMaskedLM"; empty: none
  std::optional<int32_t> maskToken; ///< stands for a word that is asked for
  /// Texts that `embed` puts before its own, by name.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt;         ///< a name; empty: none
  std::optional<int64_t> dimensions; ///< the first values of a vector, which the folder keeps
  Similarity similarity = Similarity::Cosine;
  bool promptIsPooled = true; ///< false: rows of a prompt are not part of the vector
  bool poolsParts = false;    ///< packedFunction takes the parts of texts that are pooled
  Languages languages;
  std::vector<TextTask> tasks;
  std::optional<SpeechTokens> speech; ///< of a model that writes what it hears

  /// The text of a prompt: of the name `wanted`, or of the model's own where none is named; empty
  /// for an empty name. Usage error for a name that the model has not.
  Expected<std::string_view> prompt(const std::optional<std::string> &wanted) const;
  /// A text's row behind that prompt, which must outlive it.
  Expected<TextContext> behindPrompt(const std::optional<std::string> &wanted) const;

  /// The side of input texts: source, or target for a decoder-only model.
  TextSide &input() { return source ? *source : *target; }
  const TextSide &input() const { return source ? *source : *target; }
};

/// Reads a text member of the artifact.
using MemberReader = std::function<Expected<std::string>(const std::string &name)>;

/// Reads Program::model and its vocabularies. A side without text has no vocabulary.
Expected<TextModel> readTextModel(std::string_view json, const MemberReader &readMember);
/// That of a session's artifact. Errors begin with its file.
Expected<TextModel> textModelOf(const Session &session);
/// The same of a compiled file that is not opened for a device.
Expected<TextModel> textModelOf(const Artifact &artifact);

} // namespace heddle
