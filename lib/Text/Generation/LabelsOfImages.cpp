//===- LabelsOfImages.cpp - Zero-shot classification of images --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The logit of a label is the cosine of the vectors of the image and of the
// label's sentence, times the factor of the folder. Probabilities are the
// softmax over all labels, or, if the folder has a bias too, a sigmoid for each.
#include "LabelsOfTexts.h"

#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

Status heddle::classifyImagesByLabels(OpenedEncoder &opened, const ClassifyCommand &command,
                                      std::istream &in, std::ostream &out, std::ostream &notes) {
  TextEncoder &encoder = *opened.encoder;
  if (command.manyLabels)
    return usageError(
        "--many: expected a model of natural language inference with it, found one of "
        "images");
  if (!(opened.model.imageScale > 0))
    return ofModel(
        encoder.usedSession(),
        inputError("expected a model with a factor of cosines for --labels, found none"));
  std::vector<std::string> hypotheses;
  for (const std::string &label : command.labels)
    hypotheses.push_back(hypothesisOf(command, label, "This is a photo of {}."));
  auto vectors = encoder.encode(hypotheses);
  if (!vectors)
    return ofModel(encoder.usedSession(), vectors.takeError());
  EncoderCommand run = command.run;
  run.images = true;
  auto answer = [&](const EncodedAnswer &image) -> Expected<std::string> {
    std::vector<float> logits;
    for (const std::vector<float> &vector : *vectors)
      logits.push_back(static_cast<float>(cosine(image.values, vector) * opened.model.imageScale +
                                          opened.model.imageBias.value_or(0)));
    if (!opened.model.imageBias)
      return labelsAnswer(command, image.number, image.text, softmax(logits));
    std::vector<double> scores(logits.size());
    std::ranges::transform(logits, scores.begin(), sigmoid);
    return labelsAnswer(command, image.number, image.text, scores);
  };
  return encodeTexts(opened, run, TextContext(), in, out, notes, answer,
                     [&](uint64_t number, const std::string &message) {
                       return skippedAnswer(command, number, message);
                     });
}
