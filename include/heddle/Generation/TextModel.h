//===- TextModel.h - What a model says about its text ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts of a description that concern text: vocabularies, special ids,
// lengths. An artifact carries them as JSON beside its programs (Program::model)
// and the vocabularies as members; here they become the two directions of a
// side, text to ids and ids to text.
#pragma once

#include "heddle/Generation/Vocabulary.h"

#include <functional>
#include <span>

namespace heddle {

/// Ids of one text, and how many of its tokens did not fit.
struct EncodedText {
  std::vector<int32_t> ids;
  int64_t cut = 0;
  bool empty = false; ///< no token of it is in the text
};

/// One side of a model: its vocabulary and the rules of docs/model-description.md for text.
struct TextSide {
  std::string name; ///< "source", "target"
  std::optional<Vocabulary> vocabulary;
  Split split = Split::Space;
  int32_t padding = 0;
  std::optional<int32_t> unknown = 1, start = 2, end = 3;
  bool add = false;              ///< `start` before and `end` after a source text
  std::optional<int64_t> length; ///< text is padded on the right to this many ids
  std::optional<int64_t> most;   ///< ids that there is room for: those that have learned positions,
                                 ///< those of a prompt that leave room for one more
  bool cut = false;              ///< longer text is cut, not an error
  int64_t limit = 256;           ///< tokens that generation may add

  /// Ids that a text may have, if not any number.
  std::optional<int64_t> longest() const { return length ? length : most; }
  /// Splits, looks up, adds, pads or cuts.
  Expected<EncodedText> encode(std::string_view text, std::string_view place) const;
  /// Tokens joined by one space or by nothing, special ones left out. Ids must be in range.
  std::string decode(std::span<const int32_t> ids) const;
  bool isSpecial(int32_t id) const;
};

struct TextModel {
  std::string kind;           ///< "encoder", "decoder", "encoder-decoder"
  bool sequenceFirst = false; ///< [T, B] instead of [B, T]
  /// Whether sources of different lengths may stand in one batch: the encoder masks padding.
  bool padded = false;
  std::optional<TextSide> source, target;
  std::optional<Vocabulary> labels; ///< names of a classifier's classes

  /// The side that text comes in on; of a decoder alone its only one.
  TextSide &input() { return source ? *source : *target; }
  const TextSide &input() const { return source ? *source : *target; }
};

/// The bytes of a text member of the artifact.
using MemberReader = std::function<Expected<std::string>(const std::string &name)>;

/// Reads Program::model and the vocabularies it names. A side without text has no vocabulary.
Expected<TextModel> readTextModel(std::string_view json, const MemberReader &readMember);

} // namespace heddle
