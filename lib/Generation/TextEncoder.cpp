//===- TextEncoder.cpp - Text embedding and classification --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the function `encode`, whose result is [texts, columns].
#include "heddle/Generation/TextEncoder.h"

#include "TextInputs.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

Expected<TextEncoder> TextEncoder::create(Session &session, const TextModel &model) {
  if (model.kind != "encoder" || !model.source)
    return inputError("expected a model of kind encoder, found " + model.kind);
  if (!model.source->takesText())
    return inputError("source.vocabulary: expected a file of tokens or a tokenizer, found none");
  auto outputs = HEDDLE_TRY(session.outputs("encode"));
  TextEncoder encoder(session, model);
  for (const PortInfo &port : outputs)
    if (port.name == "output" || port.name == "logits" || port.name == "probabilities") {
      if (port.shape.size() != 2)
        return inputError("expected a model with encoder.pool, found one with a result for every "
                          "token");
      encoder.output = port.name;
    }
  if (encoder.output.empty())
    return inputError("encode: expected a result output, logits or probabilities, found none");
  HEDDLE_TRY(checkInputs(session, "encode", {"source", "source.lengths"}));
  encoder.takesLengths = HEDDLE_TRY(takesInput(session, "encode", "source.lengths"));
  return encoder;
}

Expected<std::span<const float>> TextEncoder::encode(const std::vector<TokenIds> &sources) {
  if (sources.empty())
    return std::span<const float>();
  const SourceTensors source(sources, *model);
  NamedInputs inputs = {{"source", source.ids}};
  if (takesLengths)
    inputs.emplace_back("source.lengths", source.lengths);
  HEDDLE_TRY(session->run("encode", inputs, results));
  return std::as_const(results)[output].values<float>();
}

std::vector<double> heddle::softmax(std::span<const float> logits) {
  std::vector<double> values(logits.begin(), logits.end());
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double &value : values) {
    value = value == largest ? 1 : std::exp(value - largest); // also for infinite logits
    sum += value;
  }
  for (double &value : values)
    value /= sum;
  return values;
}
