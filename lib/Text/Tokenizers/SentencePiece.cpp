//===- SentencePiece.cpp - Models of SentencePiece --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the fields of ModelProto that matter, and computes the merges of a BPE
// model. The file has no merges: they are all splits of a piece into two
// others, ordered by score.
#include "SentencePiece.h"

#include "TokenizerJson.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace heddle::tokenizers {

namespace {

/// A field of a protobuf message: a number, or bytes.
struct WireField {
  uint64_t number = 0, value = 0;
  std::string_view bytes;
};

/// Reads the fields of a message in order.
class WireReader {
public:
  explicit WireReader(std::string_view message) : rest(message) {}

  bool next(WireField &field) {
    if (rest.empty() || broken)
      return false;
    const uint64_t tag = varint();
    field = {tag >> 3, 0, {}};
    switch (tag & 7) {
    case 0:
      field.value = varint();
      break;
    case 1:
      field.value = fixed(8);
      break;
    case 2:
      field.bytes = take(varint());
      break;
    case 5:
      field.value = fixed(4);
      break;
    default:
      broken = true;
    }
    return !broken;
  }
  bool isBroken() const { return broken; }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty())
        return 0;
      value |= uint64_t(static_cast<unsigned char>(byte[0]) & 0x7f) << shift;
      if (static_cast<unsigned char>(byte[0]) < 0x80)
        return value;
    }
    broken = true;
    return 0;
  }
  uint64_t fixed(size_t size) {
    uint64_t value = 0;
    const std::string_view bytes = take(size);
    for (size_t i = 0; i < bytes.size(); ++i)
      value |= uint64_t(static_cast<unsigned char>(bytes[i])) << 8 * i;
    return value;
  }
  std::string_view take(uint64_t size) {
    if (size > rest.size()) {
      broken = true;
      return {};
    }
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }

  std::string_view rest;
  bool broken = false;
};

ScoredPiece readPiece(WireReader &message) {
  ScoredPiece piece;
  for (WireField field; message.next(field);)
    if (field.number == 1)
      piece.text = field.bytes;
    else if (field.number == 2)
      piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    else if (field.number == 3)
      piece.kind = static_cast<PieceKind>(field.value);
  return piece;
}

} // namespace

Expected<PieceModel> readPieceModel(std::string_view bytes, const std::string &fileName) {
  constexpr uint64_t unigram = 1, bpe = 2;
  PieceModel model;
  uint64_t kind = unigram;
  bool isBroken = false, blanksBehind = false;
  std::array<bool, 4> found{}; // by number
  WireReader message(bytes);
  for (WireField field; message.next(field);) {
    WireReader inner(field.bytes);
    if (field.number < found.size())
      found[field.number] = true;
    if (field.number == 1)
      model.pieces.push_back(readPiece(inner));
    for (WireField part; field.number == 2 && inner.next(part);)
      if (part.number == 3)
        kind = part.value;
      else if (part.number == 24)
        blanksBehind = part.value != 0;
    for (WireField part; field.number == 3 && inner.next(part);)
      if (part.number == 2)
        model.charsMap = part.bytes;
      else if (part.number == 3)
        model.prefixes = part.value != 0;
      else if (part.number == 4)
        model.removesBlanks = part.value != 0;
    isBroken |= inner.isBroken();
  }
  if (isBroken || message.isBroken() || model.pieces.empty())
    return inputError(fileName + ": expected a SentencePiece model, found other bytes");
  for (auto [number, name] : {std::pair{2, "trainer_spec"}, {3, "normalizer_spec"}})
    if (!found[number]) // a file that is truncated after a piece would read as a smaller model
      return inputError(fileName + ": expected pieces and " + name + ", found a file without it");
  if (kind != unigram && kind != bpe)
    return inputError(fileName + ": expected a SentencePiece model of type unigram or bpe, found " +
                      std::to_string(kind));
  if (blanksBehind)
    return inputError(fileName + ": treat_whitespace_as_suffix: expected blanks in front of words, "
                                 "found them after, which is not supported");
  model.isUnigram = kind == unigram;
  for (const ScoredPiece &piece : model.pieces) {
    HEDDLE_TRY(checkUtf8(piece.text, fileName));
    if (!std::isfinite(piece.score))
      return inputError(fileName + ": expected finite scores, found " +
                        std::to_string(piece.score));
  }
  return model;
}

namespace {

std::string encodeBase64(std::string_view bytes) {
  constexpr const char *letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i)
      text += at + i > bytes.size() ? '=' : letters[group >> (18 - 6 * i) & 63];
  }
  return text;
}

} // namespace

/// True if a text may contain the piece; no text spells other kinds.
static bool isSpelled(const ScoredPiece &piece) {
  return piece.kind == PieceKind::Normal || piece.kind == PieceKind::UserDefined;
}

Json mergesOf(const std::vector<ScoredPiece> &pieces) {
  struct Candidate {
    float score;
    int32_t first, second; ///< ids of the parts
    std::string left, right;
  };
  TextMap<int32_t> ids;
  for (const ScoredPiece &piece : pieces)
    ids.emplace(piece.text, static_cast<int32_t>(ids.size()));
  std::vector<Candidate> candidates;
  for (const ScoredPiece &piece : pieces) {
    const size_t own = candidates.size();
    // Trainers do not make longer pieces, which would cost the square of their length.
    constexpr size_t longest = 1000;
    const bool isCut = isSpelled(piece) && piece.text.size() <= longest;
    for (size_t cut = 1; isCut && cut < piece.text.size(); ++cut) {
      const std::string left = piece.text.substr(0, cut), right = piece.text.substr(cut);
      const auto first = ids.find(left), second = ids.find(right);
      if (beginsPoint(piece.text, cut) && first != ids.end() && second != ids.end())
        candidates.push_back({piece.score, first->second, second->second, left, right});
    }
    std::sort(candidates.begin() + static_cast<ptrdiff_t>(own), candidates.end(),
              [](const Candidate &a, const Candidate &b) {
                return std::pair(a.first, a.second) < std::pair(b.first, b.second);
              });
  }
  std::ranges::stable_sort(
      candidates, [](const Candidate &a, const Candidate &b) { return a.score > b.score; });
  Json merges = Json::array();
  for (size_t i = 0; i < candidates.size(); ++i) {
    merges.push_back({std::move(candidates[i].left), std::move(candidates[i].right)});
    if (i > 0 && candidates[i].score == candidates[i - 1].score) // leftmost first
      merges.back().push_back(true);
  }
  return merges;
}

namespace {

/// SentencePiece's own normalizer. If `exactly`, a mark that the text already has is an ordinary
/// character at the start and a blank at the end. SentencePiece treats marks this way, but a
/// tokenizer.json of Hugging Face does not.
Json normalizerOf(const PieceModel &model, bool exactly) {
  Json steps = Json::array();
  if (!model.charsMap.empty())
    steps.push_back({{"type", "Precompiled"},
                     {"precompiled_charsmap", encodeBase64(model.charsMap)},
                     {"longest_match", true}});
  auto replace = [&](const char *regex, const char *content) {
    steps.push_back(replaceJson("Regex", regex, content));
  };
  if (model.removesBlanks) {
    replace(exactly ? "\\A +|[ ▁]+\\z" : "\\A +| +\\z", "");
    replace(" {2,}", " ");
  }
  if (exactly && model.prefixes)
    steps.push_back({{"type", "Prepend"}, {"prepend", blankMark}});
  return sequenceJson("normalizers", std::move(steps));
}

} // namespace

Expected<Json> pieceModelJson(const PieceModel &model, const std::string &fileName) {
  const bool unigram = model.isUnigram;
  Json vocab = unigram ? Json::array() : Json::object(), added = Json::array(), unknown, unknownId;
  bool bytePieces = false;
  TextMap<size_t> known;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const ScoredPiece &piece = model.pieces[id];
    if (unigram)
      vocab.push_back({piece.text, isSpelled(piece) ? Json(piece.score) : Json()});
    else if (known.emplace(piece.text, id).second)
      vocab.get_ref<Json::object_t &>().push_back({piece.text, id});
    else
      return inputError(fileName + ": expected each piece once, found " + quotedText(piece.text) +
                        " twice");
    if (piece.kind == PieceKind::Unknown) {
      unknown = piece.text;
      unknownId = id;
    }
    bytePieces |= piece.kind == PieceKind::Byte;
    if (piece.kind == PieceKind::Control || piece.kind == PieceKind::UserDefined)
      added.push_back({{"id", id},
                       {"content", piece.text},
                       {"special", piece.kind == PieceKind::Control},
                       {"normalized", false}});
  }
  Json body = {{"type", unigram ? "Unigram" : "BPE"}, {"byte_fallback", bytePieces}};
  if (unigram) {
    body["unk_id"] = unknownId;
  } else {
    body["unk_token"] = unknown;
    body["fuse_unk"] = true;
    body["merges"] = mergesOf(model.pieces);
  }
  body["vocab"] = std::move(vocab);
  const Json metaspace = {{"type", "Metaspace"},
                          {"replacement", blankMark},
                          {"prepend_scheme", model.prefixes ? "always" : "never"}};
  Json decoder = metaspace;
  if (bytePieces)
    decoder = sequenceJson("decoders", {{{"type", "ByteFallback"}}, metaspace});
  return Json{{"added_tokens", added},
              {"normalizer", normalizerOf(model, /*exactly=*/false)},
              {"pre_tokenizer", metaspace},
              {"decoder", decoder},
              {"model", std::move(body)}};
}

/// Sets the scores of user-defined pieces, so that the model always chooses them, and of unknown
/// characters, which do not depend on them. The score per byte of a user-defined piece is
/// the best piece's, but at least FLT_MIN, where SentencePiece's maximum begins. Trained scores are
/// all negative, so the length does not matter then.
static void spellUserDefined(const PieceModel &model, Json &json) {
  double lowest = std::numeric_limits<double>::infinity(),
         highest = std::numeric_limits<float>::min();
  for (const ScoredPiece &piece : model.pieces)
    if (piece.kind == PieceKind::Normal) {
      lowest = std::min<double>(lowest, piece.score);
      highest = std::max<double>(highest, piece.score);
    }
  if (!std::isfinite(lowest))
    return;
  constexpr double penalty = 10, bonus = 0.1;
  json["model"]["unk_score"] = lowest - penalty;
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].kind == PieceKind::UserDefined)
      json["model"]["vocab"][id][1] =
          static_cast<double>(model.pieces[id].text.size()) * highest - bonus;
}

/// Moves user-defined pieces from the added tokens to the model, which matches them in the whole
/// text.
static void keepUserDefined(const PieceModel &model, Json &json) {
  Json whole = Json::array();
  for (const ScoredPiece &piece : model.pieces)
    if (piece.kind == PieceKind::UserDefined)
      whole.push_back(piece.text);
  if (whole.empty())
    return;
  json["pre_tokenizer"]["split"] = false; // a piece may contain a blank
  std::erase_if(json["added_tokens"].get_ref<Json::array_t &>(),
                [](const Json &token) { return token["special"] == false; });
  if (model.isUnigram)
    spellUserDefined(model, json);
  else
    json["model"]["whole"] = std::move(whole);
}

Expected<Json> sentencePieceJson(const PieceModel &model, const std::string &fileName) {
  Json json = HEDDLE_TRY(pieceModelJson(model, fileName));
  json["normalizer"] = normalizerOf(model, /*exactly=*/true);
  json["pre_tokenizer"]["prepend_scheme"] = "never";
  keepUserDefined(model, json);
  return json;
}

Expected<Json> sentencePieceJson(std::string_view bytes, const std::string &fileName) {
  return sentencePieceJson(HEDDLE_TRY(readPieceModel(bytes, fileName)), fileName);
}

} // namespace heddle::tokenizers
