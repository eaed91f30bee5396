//===- TextModel.h - Text settings of a model ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text settings of a model: the vocabularies, special ids and lengths of its
// description, and the conversion between text and ids. An artifact carries the
// settings as JSON in Program::model and the vocabularies as members.
#pragma once

#include "heddle/Audio/LogMel.h"
#include "heddle/Generation/Vocabulary.h"
#include "heddle/Images/Image.h"
#include "heddle/Support/TextFacts.h"
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
  int64_t cut = 0;      ///< tokens that did not fit
  bool empty = false;   ///< no id except padding: not even the tokenizer adds one
  int64_t leftOut = 0;  ///< ids at the beginning that are not part of the vector
  int64_t unseen = 0;   ///< ids at the end that attention of no row reads
  bool isQuery = false; ///< of a model for late interaction
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
  bool isQuery = false;   ///< the text is a query of a model for late interaction
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

/// Vocabulary and text rules of one side of a model; see docs/model-description.md.
struct TextSide : SideFacts {
  std::string name;                         ///< "source", "target"
  std::optional<Vocabulary> vocabulary;     ///< none with a tokenizer
  std::optional<Tokenizer> tokenizer;       ///< also adds the tokens around a text
  std::shared_ptr<const ChatTemplate> chat; ///< converts messages to one text; or null
  std::optional<ImageProcessor> images;     ///< the source is image files
  std::optional<LogMel> sound;              ///< the source is frames of sound
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

/// Text settings of a model, which readTextModel reads.
struct TextModel : TextFacts {
  std::optional<TextSide> source, target;
  std::optional<TextSide> image;    ///< images in the space of the source's texts
  std::optional<Vocabulary> labels; ///< names of a classifier's classes

  /// The text of the prompt `wanted`, or of the model's default if no name is given; empty for an
  /// empty name. Returns a usage error if the model lacks the prompt.
  Expected<std::string_view> prompt(const std::optional<std::string> &wanted) const;
  /// The context of a text after this prompt. The model must outlive it.
  Expected<TextContext> contextAfterPrompt(const std::optional<std::string> &wanted) const;

  /// The side of input images; null if the model takes none.
  const TextSide *images() const {
    return image ? &*image : source && source->images ? &*source : nullptr;
  }
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
