//===- TextDecoder.cpp - Text generation --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding uses the stateful functions of a description: decode_start takes the
// encoder's memory, decode_step one token a row, decode_reorder the parents of rows. A
// decoder-only model has no memory; it reads its prompt token by token. Results of a
// row do not depend on its batch, so neither does a translation.
#include "heddle/Generation/TextDecoder.h"

#include "TextInputs.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

namespace {

Expected<std::string> scoresName(const Session &session) {
  auto outputs = HEDDLE_TRY(session.outputs("decode_step"));
  for (const PortInfo &port : outputs)
    if (port.name == "logits" || port.name == "probabilities")
      return port.name;
  return inputError("expected a model with a classifier, found one that gives vectors");
}

/// Addition to an error about a missing start id: the description need not say null, since the
/// default id 2 does not exist in a vocabulary of 1 or 2 tokens.
std::string outsideOf(const Vocabulary &vocabulary) {
  constexpr int64_t standard = 2;
  if (vocabulary.size() > standard)
    return "";
  return "; the default, 2, lies outside the " + std::to_string(vocabulary.size()) +
         (vocabulary.size() == 1 ? " token of " : " tokens of ") + vocabulary.name();
}

} // namespace

/// Refuses sides without a vocabulary, and an encoder-decoder without a start id.
static Status checkSides(const TextModel &model) {
  for (const std::optional<TextSide> *side : {&model.source, &model.target})
    if (*side && !(*side)->vocabulary)
      return inputError((*side)->name + ".vocabulary: expected a file of tokens, found none");
  if (model.source && !model.target->start)
    return inputError("target.start: expected the id that a translation begins with, found none" +
                      outsideOf(*model.target->vocabulary));
  return {};
}

/// Checks that the model has all functions of decoding, with no other required inputs.
static Status checkFunctions(const Session &session, bool encodes) {
  for (const char *function : {"encode", "decode_start", "decode_step", "decode_reorder"})
    if ((encodes || function != std::string_view("encode")) &&
        !session.program().findFunction(function))
      return inputError(
          std::string("expected a model that decodes step by step, found no function ") + function);
  if (encodes)
    HEDDLE_TRY(checkInputs(session, "encode", {"source", "source.lengths"}));
  HEDDLE_TRY(checkInputs(session, "decode_start", {"memory", "source.lengths"}));
  return checkInputs(session, "decode_step", {"target"});
}

Expected<TextDecoder> TextDecoder::create(Session &session, const TextModel &model) {
  const bool encodes = model.kind == "encoder-decoder";
  if ((!encodes && model.kind != "decoder") || !model.target || encodes != !!model.source)
    return inputError("expected a model of kind encoder-decoder or decoder, found " + model.kind);
  HEDDLE_TRY(checkSides(model));
  HEDDLE_TRY(checkFunctions(session, encodes));
  TextDecoder decoder(session, model);
  decoder.scores = HEDDLE_TRY(scoresName(session));
  if (!encodes)
    return decoder;
  decoder.encodeTakesLengths = HEDDLE_TRY(takesInput(session, "encode", "source.lengths"));
  decoder.startTakesLengths = HEDDLE_TRY(takesInput(session, "decode_start", "source.lengths"));
  return decoder;
}

Status TextDecoder::encode(const std::vector<TokenIds> &sources) {
  const SourceTensors source(sources, *model);
  NamedInputs inputs = {{"source", source.ids}};
  if (encodeTakesLengths)
    inputs.emplace_back("source.lengths", source.lengths);
  HEDDLE_TRY(session->run("encode", inputs, memory));
  NamedInputs startInputs = {{"memory", memory["memory"]}};
  if (startTakesLengths)
    startInputs.emplace_back("source.lengths", source.lengths);
  return session->run("decode_start", startInputs, nothing);
}

/// Feeds all but the last token of each prompt, which becomes the first token of the search. The
/// caches hold `limit` tokens in all, so the prompt lowers the search's limit.
Status TextDecoder::readPrompts(const std::vector<TokenIds> &prompts, DecodingOptions &options) {
  std::vector<TokenIds> columns;
  if (model->target->start)
    columns.emplace_back(prompts.size(), *model->target->start);
  for (size_t i = 0; i < prompts[0].size(); ++i) {
    TokenIds &column = columns.emplace_back();
    for (const TokenIds &prompt : prompts) {
      if (prompt.size() != prompts[0].size())
        return usageError("prompts: expected " + std::to_string(prompts[0].size()) +
                          " tokens in each, found " + std::to_string(prompt.size()));
      column.push_back(prompt[i]);
    }
  }
  if (columns.empty())
    return inputError("expected a prompt of at least one token, found none");
  options.first = std::move(columns.back());
  columns.pop_back();
  options.limit =
      std::min(options.limit, model->target->limit - static_cast<int64_t>(columns.size()));
  HEDDLE_TRY(session->run("decode_start", {}, nothing));
  for (const TokenIds &column : columns)
    HEDDLE_TRY(step(column));
  return {};
}

Expected<std::span<const float>> TextDecoder::step(std::span<const int32_t> tokens) {
  const int64_t rows = static_cast<int64_t>(tokens.size());
  const std::vector<int64_t> shape =
      model->sequenceFirst ? std::vector<int64_t>{1, rows} : std::vector<int64_t>{rows, 1};
  HEDDLE_TRY(session->run("decode_step", {{"target", Tensor::i32(shape, tokens)}}, results));
  // [B, 1, V] and [1, B, V] have the same memory layout.
  const std::span<const float> values = std::as_const(results)[scores].values<float>();
  const size_t classes = values.size() / tokens.size();
  if (static_cast<int64_t>(classes) != model->target->vocabulary->size())
    return inputError(model->target->vocabulary->name() + ": expected " + std::to_string(classes) +
                      " tokens, one a class, found " +
                      std::to_string(model->target->vocabulary->size()));
  return values;
}

Status TextDecoder::reorder(std::span<const int32_t> parents) {
  const Tensor rows = Tensor::i32({static_cast<int64_t>(parents.size())}, parents);
  return session->run("decode_reorder", {{"parents", rows}}, nothing);
}

DecodingOptions TextDecoder::defaults() const {
  DecodingOptions options;
  options.start = model->target->start.value_or(options.start);
  options.end = model->target->end;
  options.limit = model->target->limit;
  return options;
}

Expected<std::vector<TokenIds>> TextDecoder::decode(const std::vector<TokenIds> &sources,
                                                    const DecodingOptions &chosen) {
  DecodingOptions options = chosen;
  if (!sources.empty())
    HEDDLE_TRY(model->source ? encode(sources) : readPrompts(sources, options));
  return decodeSequences(*this, sources.size(), options);
}
