//===- TextDecoder.cpp - Text generation --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding uses the stateful functions of a description. `decode_start` takes
// the encoder's memory, of all rows or of the rows that begin. `decode_prompt`
// takes the next tokens of each row, `decode_step` one token per row, and
// `decode_reorder` the parents of rows. Results of a row depend neither on its
// batch nor on how its prompt is split, and neither does a translation.
#include "heddle/Generation/TextDecoder.h"

#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <utility>

using namespace heddle;

namespace {

/// Addition to an error about a missing start id. The description need not say null: the default id
/// 2 does not exist in a vocabulary of 1 or 2 tokens.
std::string outsideOf(const Vocabulary &vocabulary) {
  constexpr int64_t standard = 2;
  if (vocabulary.size() > standard)
    return "";
  return "; the default, 2, lies outside the " + std::to_string(vocabulary.size()) +
         (vocabulary.size() == 1 ? " token of " : " tokens of ") + vocabulary.name();
}

} // namespace

/// Returns an error for an encoder-decoder without a start id.
static Status checkStart(const TextModel &model) {
  if (model.source && !model.target->start)
    return inputError("target.start: expected the id that a translation begins with, found none" +
                      (model.target->vocabulary ? outsideOf(*model.target->vocabulary) : ""));
  return {};
}

/// Checks that the model has all functions of decoding, and that they require no other inputs.
static Status checkFunctions(const Session &session, bool encodes) {
  for (const char *function :
       {"encode", "decode_start", "decode_prompt", "decode_step", "decode_reorder"})
    if ((encodes || function != std::string_view("encode")) &&
        !session.program().findFunction(function))
      return inputError(
          std::string("expected a model that decodes step by step, found no function ") + function);
  if (encodes)
    HEDDLE_TRY(checkInputs(session, "encode", {"source", "source.lengths"}));
  HEDDLE_TRY(checkInputs(session, "decode_start", {"memory", "source.lengths", "rows"}));
  HEDDLE_TRY(checkInputs(session, "decode_prompt", {"target", "target.lengths"}));
  return checkInputs(session, "decode_step", {"target"});
}

Expected<TextDecoder> TextDecoder::create(Session &session, const TextModel &model) {
  const bool encodes = model.kind == "encoder-decoder";
  if ((!encodes && model.kind != "decoder") || !model.target || encodes != !!model.source)
    return inputError("expected a model of kind encoder-decoder or decoder, found " + model.kind);
  if (model.head == "ForSequenceClassification")
    return inputError("expected a model that writes text, found one with classes");
  HEDDLE_TRY(checkStart(model));
  HEDDLE_TRY(checkFunctions(session, encodes));
  TextDecoder decoder(session, model);
  decoder.scores = HEDDLE_TRY(scoresName(session, "decode_step"));
  if (!encodes)
    return decoder;
  decoder.encoder = HEDDLE_TRY(SourceRuns::create(session, model));
  decoder.startTakesLengths = HEDDLE_TRY(takesInput(session, "decode_start", "source.lengths"));
  return decoder;
}

/// Encodes the sources of `sequences` and gives their memory to the rows without a parent.
Status TextDecoder::encode(std::span<const int32_t> parents, std::span<const size_t> sequences) {
  std::vector<EncodedText> joining(sequences.size());
  std::vector<const EncodedText *> texts;
  for (size_t i = 0; i < sequences.size(); ++i) {
    joining[i].ids = (*sources)[sequences[i]];
    texts.push_back(&joining[i]);
  }
  const Tensor &rowsOfTexts = *HEDDLE_TRY(encoder->memory(texts)),
               lengths = encoder->lengths(texts);
  NamedInputs startInputs = {{"memory", rowsOfTexts}};
  if (startTakesLengths)
    startInputs.emplace_back("source.lengths", lengths);
  if (sequences.size() == parents.size()) // no row stays
    return session->run("decode_start", startInputs, nothing);
  HEDDLE_TRY(reorder(parents));
  std::vector<int32_t> begin;
  for (size_t row = 0; row < parents.size(); ++row)
    if (parents[row] < 0)
      begin.push_back(static_cast<int32_t>(row));
  const Tensor rows = Tensor::i32({std::ssize(begin)}, begin);
  startInputs.emplace_back("rows", rows);
  return session->run("decode_start", startInputs, nothing);
}

/// Takes prompts. A prompt lowers the limit of its sequence, since the caches hold `target.limit`
/// tokens in all. The last token does not count, since no step reads it.
Status TextDecoder::takePrompts(std::vector<TokenIds> taken, DecodingOptions &options) {
  const int64_t room = model->target->limit;
  options.limits.clear();
  for (const TokenIds &prompt : taken) {
    if (prompt.empty())
      return inputError("expected a prompt of at least one token, found none");
    if (std::ssize(prompt) > room)
      return inputError("prompt: expected at most " + std::to_string(room) +
                        " tokens, which the model's caches hold, found " +
                        std::to_string(prompt.size()));
    options.limits.push_back(room - std::ssize(prompt) + 1);
    if (options.limitInAll == 0)
      continue;
    if (std::ssize(prompt) >= options.limitInAll)
      return inputError("prompt: expected fewer than " + std::to_string(options.limitInAll) +
                        " tokens, the model's limit of a prompt and its answer, found " +
                        std::to_string(prompt.size()));
    options.limits.back() =
        std::min(options.limits.back(), options.limitInAll - std::ssize(prompt));
  }
  prompts = std::move(taken);
  return {};
}

/// Prompts of sources, after the start token.
std::vector<TokenIds> TextDecoder::afterStart(const std::vector<TokenIds> &sources) const {
  std::vector<TokenIds> made;
  for (const TokenIds &source : sources) {
    TokenIds &prompt = made.emplace_back();
    if (model->target->start)
      prompt.push_back(*model->target->start);
    prompt.insert(prompt.end(), source.begin(), source.end());
    if (prompt.empty() && model->target->generation.begin) // as Transformers begins without a text
      prompt.push_back(*model->target->generation.begin);
  }
  return made;
}

/// Decodes after the prompts that were taken.
Expected<std::vector<TokenIds>> TextDecoder::decodePrompts(DecodingOptions options) {
  options.before = prompts;
  onPrompt = options.onPrompt;
  return decodeSequences(*this, prompts.size(), options);
}

/// Reads the prompts of `sequences` into the rows without a parent. The memory of a call grows with
/// its tokens, so long prompts are split.
Expected<std::span<const float>> TextDecoder::readPrompts(std::span<const int32_t> parents,
                                                          std::span<const size_t> sequences) {
  constexpr size_t mostTokens = 512, mostColumns = 256, fewestColumns = 16;
  const size_t chunk = std::clamp(mostTokens / parents.size(), fewestColumns, mostColumns);
  size_t longest = 0;
  for (size_t sequence : sequences)
    longest = std::max(longest, prompts[sequence].size());
  firstScores.clear();
  for (size_t first = read; first < longest; first += chunk) {
    if (onPrompt)
      HEDDLE_TRY(onPrompt(first));
    const size_t columns = std::min(chunk, longest - first);
    std::vector<TokenIds> parts(parents.size());
    std::vector<int32_t> counts(parents.size());
    for (size_t r = 0, i = 0; r < parents.size(); ++r) {
      if (parents[r] >= 0)
        continue;
      const TokenIds &prompt = prompts[sequences[i++]];
      for (size_t t = first; t < std::min(first + columns, prompt.size()); ++t)
        parts[r].push_back(prompt[t]);
      counts[r] = static_cast<int32_t>(parts[r].size());
    }
    for (TokenIds &part : parts)
      part.resize(columns);
    const std::vector<int64_t> rows = {std::ssize(counts)};
    HEDDLE_TRY(session->run("decode_prompt",
                            {{"target", padRows(parts, 0, model->sequenceFirst)},
                             {"target.lengths", Tensor::i32(rows, counts)}},
                            results));
    auto scores = HEDDLE_TRY(scoresOf(parents.size()));
    const size_t classes = scores.size() / parents.size();
    firstScores.resize(sequences.size() * classes);
    for (size_t r = 0, i = 0; r < parents.size(); ++r) // the last chunk of a row is written last
      if (parents[r] < 0) {
        if (counts[r] > 0)
          std::ranges::copy(scores.subspan(r * classes, classes),
                            firstScores.begin() + i * classes);
        ++i;
      }
  }
  return std::span<const float>(firstScores);
}

Expected<std::span<const float>> TextDecoder::admit(std::span<const int32_t> parents,
                                                    std::span<const size_t> sequences) {
  if (model->source && model->source->sound)
    HEDDLE_TRY(beginAudio());
  else if (model->source)
    HEDDLE_TRY(encode(parents, sequences));
  else if (read == 0)
    HEDDLE_TRY(hasBatch ? reorder(parents) : session->run("decode_start", {}, nothing));
  hasBatch = true;
  return readPrompts(parents, sequences);
}

/// The scores of the last call, [rows, vocabulary].
Expected<std::span<const float>> TextDecoder::scoresOf(size_t rows) const {
  // [B, V], [B, 1, V] and [1, B, V] have the same memory layout.
  const std::span<const float> values = HEDDLE_TRY(results.values<float>(scores));
  const size_t classes = values.size() / rows;
  const std::optional<Vocabulary> &vocabulary = model->target->vocabulary;
  if (vocabulary && static_cast<int64_t>(classes) != vocabulary->size())
    return inputError(vocabulary->name() + ": expected " + std::to_string(classes) +
                      " tokens, one a class, found " + std::to_string(vocabulary->size()));
  return values;
}

Expected<std::span<const float>> TextDecoder::step(std::span<const int32_t> tokens) {
  const int64_t rows = static_cast<int64_t>(tokens.size());
  const std::vector<int64_t> shape =
      model->sequenceFirst ? std::vector<int64_t>{1, rows} : std::vector<int64_t>{rows, 1};
  HEDDLE_TRY(session->run("decode_step", {{"target", Tensor::i32(shape, tokens)}}, results));
  if (keepsCaches)
    held.push_back(tokens[0]);
  return scoresOf(tokens.size());
}

Status TextDecoder::reorder(std::span<const int32_t> parents) {
  const Tensor rows = Tensor::i32({static_cast<int64_t>(parents.size())}, parents);
  if (audioRows > 0)
    audioRows = parents.size();
  return session->run("decode_reorder", {{"parents", rows}}, nothing);
}

DecodingOptions TextDecoder::defaults() const {
  DecodingOptions options;
  SearchSettings &settings = options;
  settings = model->target->generation;
  options.limit = std::min(options.limit, model->target->limit);
  options.ends = model->target->ends;
  return options;
}

Expected<std::vector<TokenIds>> TextDecoder::decode(const std::vector<TokenIds> &texts,
                                                    const DecodingOptions &chosen) {
  DecodingOptions options = chosen;
  hasBatch = false;
  held.clear();
  keepsCaches = false;
  read = 0;
  if (texts.empty())
    return std::vector<TokenIds>();
  if (model->source && model->source->sound)
    return inputError("expected a model of texts, found one of sound");
  if (model->source && std::ranges::any_of(texts, &TokenIds::empty))
    return inputError("expected texts with at least one token each, found none");
  sources = &texts;
  if (model->source)
    prompts.assign(texts.size(), TokenIds{*model->target->start});
  else
    HEDDLE_TRY(takePrompts(afterStart(texts), options));
  return decodePrompts(std::move(options));
}

/// Length of the common prefix of the caches and the prompt. The last token of the prompt does not
/// count, since its scores are needed.
size_t TextDecoder::commonWithHeld() const {
  const TokenIds &prompt = prompts[0];
  const auto known = std::min(held.size(), prompt.size() - 1);
  return static_cast<size_t>(
      std::mismatch(held.begin(), held.begin() + static_cast<ptrdiff_t>(known), prompt.begin())
          .first -
      held.begin());
}

/// Keeps the part of the caches with which the prompt begins.
Status TextDecoder::keepHeld() {
  read = commonWithHeld();
  if (read == 0 || read == held.size())
    return {};
  const int64_t rows[] = {static_cast<int64_t>(read)};
  const std::vector<int64_t> kept = HEDDLE_TRY(session->keepRows(rows));
  read = static_cast<size_t>(kept[0]);
  return {};
}

Expected<TokenIds> TextDecoder::generate(const TokenIds &prompt, const DecodingOptions &chosen) {
  if (model->source)
    return inputError("expected a decoder-only model, found an encoder-decoder");
  DecodingOptions options = chosen;
  HEDDLE_TRY(takePrompts(afterStart({prompt}), options));
  hasBatch = false;
  HEDDLE_TRY(keepHeld());
  held.clear(); // unknown after an error
  keepsCaches = true;
  auto decoded = decodePrompts(std::move(options));
  if (!decoded)
    held.clear();
  else
    held.insert(held.begin(), prompts[0].begin(), prompts[0].end());
  read = 0;
  if (!decoded)
    return decoded.takeError();
  return std::move(decoded->front());
}

Status TextDecoder::encodeAudio(const Tensor &frames) {
  if (!model->source || !model->source->sound)
    return inputError("expected a model of sound, found one of texts");
  audioRows = 0;
  return session->run("encode", {{"source", frames}}, memory);
}

/// Makes one row of the caches after the sound. Keeps the part of it with which the prompt begins.
Status TextDecoder::beginAudio() {
  read = 0;
  const size_t rows = std::exchange(audioRows, 0); // unknown after an error
  if (rows == 0)
    HEDDLE_TRY(
        session->run("decode_start", {{"memory", *HEDDLE_TRY(memory.get("memory"))}}, nothing));
  else {
    constexpr int32_t first = 0;
    if (rows > 1)
      HEDDLE_TRY(reorder(std::span(&first, 1)));
    const auto common = static_cast<int64_t>(commonWithHeld());
    read = static_cast<size_t>(HEDDLE_TRY(session->keepRows(std::span(&common, 1)))[0]);
  }
  audioRows = 1;
  held = prompts[0];
  return {};
}

/// Takes a prompt for the sound.
Status TextDecoder::takeAudioPrompt(const TokenIds &prompt, DecodingOptions &options) {
  if (!memory.find("memory"))
    return inputError("expected frames of sound before a prompt, found none");
  return takePrompts({prompt}, options);
}

Expected<TokenIds> TextDecoder::generateFromAudio(const TokenIds &prompt,
                                                  const DecodingOptions &chosen) {
  DecodingOptions options = chosen;
  HEDDLE_TRY(takeAudioPrompt(prompt, options));
  hasBatch = false;
  auto said = decodePrompts(std::move(options));
  if (said)
    return std::move(said->front());
  audioRows = 0; // the contents of the caches are unknown
  return said.takeError();
}

Expected<std::span<const float>> TextDecoder::nextTokenScores(const TokenIds &prompt) {
  DecodingOptions options;
  HEDDLE_TRY(takeAudioPrompt(prompt, options));
  onPrompt = {};
  constexpr int32_t none = -1;
  constexpr size_t first = 0;
  auto scored = admit(std::span(&none, 1), std::span(&first, 1));
  if (!scored)
    audioRows = 0;
  return scored;
}
