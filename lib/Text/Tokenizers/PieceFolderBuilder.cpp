//===- PieceFolderBuilder.cpp - Parts of a SentencePiece folder -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PieceFolderBuilder.h"

#include "ClassComponents.h"
#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

Status PieceFolderBuilder::open(const char *file) {
  name = path(file);
  model = HEDDLE_TRY(readPieceModel(HEDDLE_TRY(readText(name)), name));
  return {};
}

bool PieceFolderBuilder::isSpecial(const std::string &token) const {
  const std::vector<FolderToken> named = facts.specialTokens();
  return std::ranges::find(named, token, &FolderToken::content) != named.end();
}

std::string PieceFolderBuilder::unknownToken() const {
  const auto own =
      std::ranges::find(usual, std::string_view("unk_token"), &DefaultTokens::value_type::first);
  const bool isPiece = own != usual.end() && std::ranges::any_of(model.pieces, [&](auto &piece) {
                         return piece.text == own->second.content;
                       });
  return special("unk_token", isPiece ? own->second.content.c_str() : "<unk>");
}

void PieceFolderBuilder::number(const std::string &token, int64_t id) {
  if (known.emplace(token, id).second)
    vocab.get_ref<Json::object_t &>().push_back({token, id});
}

void PieceFolderBuilder::numberPiece(const std::string &token, int64_t id, double score) {
  number(token, id);
  ownPieces.push_back({token, score});
}

void PieceFolderBuilder::numberLanguage(const std::string &token, int64_t id) {
  const int64_t before = count();
  number(token, id);
  languages += count() - before;
}

void PieceFolderBuilder::numberPieces(int64_t first, int64_t offset) {
  firstPiece = first;
  for (int64_t i = first; i < size(); ++i)
    number(model.pieces[static_cast<size_t>(i)].text, i + offset);
}

Status PieceFolderBuilder::numberAs(const char *file) {
  const std::string place = path(file);
  const Json json = HEDDLE_TRY(parseJson(HEDDLE_TRY(readText(place)), place));
  HEDDLE_TRY(JsonField(json, place).checkObject());
  for (const auto &[token, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      return inputError(place + ": " + token + ": expected an id from 0 to 2147483647, found " +
                        foundText(id));
    number(token, id.get<int64_t>());
  }
  return {};
}

std::optional<int64_t> PieceFolderBuilder::find(const std::string &token) const {
  auto at = known.find(token);
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

void PieceFolderBuilder::cutOut(const std::string &token, const Json &flags) {
  Json entry = {{"content", token}, {"special", true}, {"normalized", false}};
  entry.update(flags);
  added[token] = std::move(entry);
}

void PieceFolderBuilder::cutOutNamed(const char *key, const char *usual) {
  const std::string token = special(key, usual);
  if (!isNull(key) && find(token))
    cutOut(token);
}

void PieceFolderBuilder::cutOutLanguages() {
  for (const auto &[token, id] : known)
    if (token.starts_with(">>") && token.ends_with("<<"))
      cutOut(token, {{"at_start", true}, {"special", false}});
}

Expected<std::string> PieceFolderBuilder::sourceLanguage(const std::string &otherwise,
                                                         const std::string &before,
                                                         const std::string &after) const {
  std::string language = otherwise;
  if (auto chosen = settings().find("src_lang"))
    language = HEDDLE_TRY(chosen->text());
  const std::string token = before + language + after;
  if (!known.contains(token))
    return inputError(facts.path() + ": src_lang: expected a language of the tokenizer, found " +
                      quotedText(language));
  return token;
}

void PieceFolderBuilder::addOwnTokens() {
  for (const FolderToken &token : facts.addedTokens()) {
    number(token.content, *token.id);
    if (int64_t &numbered = known[token.content]; numbered != *token.id)
      vocab[token.content] = numbered = *token.id;
    const bool isOfClass = added.contains(token.content);
    Json own = token.toJson();
    if (splitter == PieceSplitter::Python)
      own["special"] = isOfClass || isSpecial(token.content);
    else
      own["special"] = token.isSpecial || (isListed() && isOfClass);
    own["normalized"] = token.isNormalized && splitter == PieceSplitter::Components;
    cutOut(token.content, own);
  }
}

void PieceFolderBuilder::addNamedTokens() {
  const std::string unknown = unknownToken();
  int64_t next = count() - languages;
  for (const FolderToken &token : facts.specialTokens(usual)) {
    if (token.content == unknown ||
        (splitter == PieceSplitter::Components && facts.isListedInMap(token.content)))
      continue;
    if (!known.contains(token.content))
      number(token.content, next++);
    if (added.contains(token.content))
      continue;
    Json entry = token.toJson();
    if (splitter == PieceSplitter::Python)
      entry["normalized"] = false;
    cutOut(token.content, entry);
  }
}

/// Gives the pieces of a Unigram model the scores of the class. The class keeps the unknown piece,
/// drops pieces at the beginning of the file and adds pieces of its own.
void PieceFolderBuilder::spellOwnPieces(Json &unigram) const {
  Json &scores = unigram["vocab"];
  const std::string unknown = unknownToken();
  for (size_t id = 0; id < model.pieces.size(); ++id)
    scores[id][1] = static_cast<int64_t>(id) < firstPiece ? Json() : Json(model.pieces[id].score);
  for (const auto &[text, score] : ownPieces) {
    if (text == unknown) // joined to the unknown characters next to it
      unigram["unk_id"] = scores.size();
    scores.push_back({text, score});
  }
}

/// The classes read all pieces but user-defined ones as text, so a character without a piece is
/// unknown even if the file has pieces of bytes.
Expected<Json> PieceFolderBuilder::inComponents(const std::string &family) {
  for (ScoredPiece &piece : model.pieces) {
    if (piece.kind == PieceKind::Byte || piece.kind == PieceKind::Control ||
        piece.kind == PieceKind::Unused)
      piece.kind = PieceKind::Normal;
    if (piece.kind == PieceKind::UserDefined && !added.contains(piece.text))
      cutOut(piece.text, {{"special", false}});
  }
  Json json = HEDDLE_TRY(pieceModelJson(model, name));
  if (model.isUnigram)
    spellOwnPieces(json["model"]);
  for (Json &step : json["normalizer"]["normalizers"])
    step.erase("longest_match"); // as in a tokenizer.json
  const ClassComponents made = HEDDLE_TRY(componentsOf(family, facts, json));
  for (const auto &[key, steps] : {std::pair("normalizer", &made.normalizer),
                                   {"pre_tokenizer", &made.preTokenizer},
                                   {"decoder", &made.decoder}})
    if (*steps)
      json[key] = **steps;
  return json;
}

Expected<Json> PieceFolderBuilder::take(const std::string &family) {
  const bool isClass = !family.empty() && model.isUnigram == (family != "NllbTokenizer");
  Json json = HEDDLE_TRY(isClass ? inComponents(family) : sentencePieceJson(model, name));
  const std::string unknown = unknownToken();
  if (!known.contains(unknown))
    return inputError(name + ": expected a vocabulary with the token " + quotedText(unknown) +
                      ", found none");
  json["post_processor"] = HEDDLE_TRY(postProcessor());
  json["model"] = {{"type", "Numbered"},
                   {"unk_token", unknown},
                   {"vocab", std::move(vocab)},
                   {"model", std::move(json["model"])}};
  json["added_tokens"] = Json::array();
  for (auto &[token, entry] : added)
    json["added_tokens"].push_back(std::move(entry));
  if (!isClass)
    json["decoder"] = decoder();
  if (!first.is_null()) {
    Json steps = first;
    steps.push_back(std::move(json["normalizer"]));
    steps.push_back({{"type", "Prepend"}, {"prepend", blankMark}, {"at_start", true}});
    json["normalizer"] = sequenceJson("normalizers", std::move(steps));
  }
  return json;
}

std::vector<std::string> PieceFolderBuilder::warnings() const {
  std::vector<std::string> lines = notes;
  for (const auto &[token, file] : facts.tokenFiles())
    if (!known.contains(token))
      lines.push_back(file + ": expected special tokens with numbers, found " + quotedText(token) +
                      " without one, which stays text");
  return lines;
}

Json PieceFolderBuilder::decoder() const {
  Json steps = Json::array();
  if (std::ranges::any_of(model.pieces,
                          [](const ScoredPiece &p) { return p.kind == PieceKind::Byte; }))
    steps.push_back({{"type", "ByteFallback"}});
  steps.push_back(replaceJson("String", blankMark, " "));
  steps.push_back({{"type", "Fuse"}});
  steps.push_back({{"type", "StripBlanks"}});
  return sequenceJson("decoders", std::move(steps));
}

Expected<Json> PieceFolderBuilder::piecesOf(const std::string &text, TemplateBuilder &built) const {
  Json list = Json::array();
  int type = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string token = text.substr(at, end - at);
    at = end + 1;
    const bool isText = token == "$A" || token == "$B";
    if (token == "$B")
      type = secondType;
    if (isText) {
      TemplateBuilder::addText(list, token.substr(1), type);
      continue;
    }
    const auto id = find(token);
    if (!id)
      return inputError(name + ": expected the token " + quotedText(token) +
                        ", which the class puts around a text, found none");
    built.addToken(list, token, *id, type);
  }
  return list;
}

Expected<Json> PieceFolderBuilder::postProcessor() const {
  TemplateBuilder built;
  Json one = HEDDLE_TRY(piecesOf(single, built)), two = HEDDLE_TRY(piecesOf(pair, built));
  return built.take(std::move(one), std::move(two));
}

} // namespace heddle::tokenizers
