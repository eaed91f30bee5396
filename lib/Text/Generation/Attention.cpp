//===- Attention.cpp - Attention weights of a translation ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs `encode` and `decode` for one text once its translation is known,
// without the caches of a decoding.
#include "heddle/Generation/Attention.h"

#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"

using namespace heddle;

namespace {

bool isWeights(const std::string &name) {
  return name.ends_with(".weights") || name.ends_with(".cross-weights");
}

Expected<bool> givesWeights(const Session &session, const char *function) {
  auto outputs = HEDDLE_TRY(session.outputs(function));
  return std::ranges::any_of(outputs, [](const PortInfo &port) { return isWeights(port.name); });
}

/// Map of a tensor [1, heads, queries, keys], or [1, queries, keys] for an average of heads.
Expected<AttentionMap> mapOf(const std::string &name, const NamedTensors &results) {
  const std::span<const float> values = HEDDLE_TRY(results.values<float>(name));
  const Tensor &tensor = results[name];
  const bool averaged = tensor.rank() == 3;
  return AttentionMap{name,
                      averaged ? 0 : tensor.dim(1),
                      tensor.dim(tensor.rank() - 2),
                      tensor.dim(tensor.rank() - 1),
                      {values.begin(), values.end()}};
}

/// Appends the maps of a function's results, layer by layer.
Status addMaps(const Session &session, const char *function, const NamedTensors &results,
               std::vector<AttentionMap> &self, std::vector<AttentionMap> &cross) {
  auto outputs = HEDDLE_TRY(session.outputs(function));
  for (const PortInfo &port : outputs)
    if (isWeights(port.name))
      (port.name.ends_with(".cross-weights") ? cross : self)
          .push_back(HEDDLE_TRY(mapOf(port.name, results)));
  return {};
}

std::vector<std::string> tokensOf(const TextSide &side, const TokenIds &ids) {
  std::vector<std::string> tokens;
  for (int32_t id : ids)
    tokens.push_back(side.vocabulary->token(id));
  return tokens;
}

} // namespace

Expected<AttentionReader> AttentionReader::create(Session &session, const TextModel &model) {
  bool encoder = HEDDLE_TRY(givesWeights(session, "encode")),
       decoder = HEDDLE_TRY(givesWeights(session, "decode"));
  if (!encoder && !decoder)
    return usageError("--attention: expected a model with attention weights among its results, "
                      "found none in " +
                      session.artifact().name() +
                      "; compile its description with \"return-weights\": \"heads\"");
  HEDDLE_TRY(
      checkInputs(session, "decode", {"target", "memory", "source.lengths", "target.lengths"}));
  return AttentionReader(session, model);
}

Status AttentionReader::runDecoder(const SourceTensors &source, const TokenIds &fed,
                                   AttentionRecord &record) {
  const int64_t count = static_cast<int64_t>(fed.size());
  const Tensor target = Tensor::i32(
      model->sequenceFirst ? std::vector<int64_t>{count, 1} : std::vector<int64_t>{1, count}, fed);
  const int32_t length[] = {static_cast<int32_t>(count)};
  const Tensor lengths = Tensor::i32({1}, length);
  NamedInputs inputs = {{"target", target}, {"memory", *HEDDLE_TRY(encoded.get("memory"))}};
  if (HEDDLE_TRY(takesInput(*session, "decode", "source.lengths")))
    inputs.emplace_back("source.lengths", source.lengths);
  if (HEDDLE_TRY(takesInput(*session, "decode", "target.lengths")))
    inputs.emplace_back("target.lengths", lengths);
  HEDDLE_TRY(session->run("decode", inputs, decoded));
  return addMaps(*session, "decode", decoded, record.decoder, record.cross);
}

Status AttentionReader::runEncoder(const SourceTensors &source, AttentionRecord &record) {
  NamedInputs inputs = {{"source", source.ids}};
  if (HEDDLE_TRY(takesInput(*session, "encode", "source.lengths")))
    inputs.emplace_back("source.lengths", source.lengths);
  HEDDLE_TRY(session->run("encode", inputs, encoded));
  return addMaps(*session, "encode", encoded, record.encoder, record.cross);
}

Expected<AttentionRecord> AttentionReader::read(const TokenIds &source, const TokenIds &answer,
                                                int64_t limit) {
  // Each step reads the token before; the last one writes the end, unless the limit comes first.
  TokenIds fed = {*model->target->start}, written = answer;
  fed.insert(fed.end(), answer.begin(), answer.end());
  if (!model->target->ends.empty() && static_cast<int64_t>(answer.size()) < limit)
    written.push_back(model->target->ends.front());
  fed.resize(written.size());
  AttentionRecord record;
  record.source = tokensOf(*model->source, source);
  record.fed = tokensOf(*model->target, fed);
  record.written = tokensOf(*model->target, written);
  record.text = model->source->decode(source);
  record.translation = model->target->decode(answer);
  const SourceTensors tensors({source}, *model);
  HEDDLE_TRY(runEncoder(tensors, record));
  HEDDLE_TRY(runDecoder(tensors, fed, record));
  return record;
}
