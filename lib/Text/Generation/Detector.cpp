//===- Detector.cpp - Objects in images -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Detector.h"

#include "heddle/Generation/TextEncoder.h"

#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

Expected<Detector> Detector::create(Session &session, const TextModel &model) {
  if (model.kind != "detector")
    return inputError("expected a model that finds objects in images, found one of kind " +
                      model.kind);
  if (model.classes < 1 || model.classes > INT32_MAX)
    return inputError("expected a number of classes, found " + std::to_string(model.classes));
  if (!model.source || !model.source->images)
    return inputError("expected a model with steps for images, found none");
  if (model.labels && model.labels->size() != model.classes)
    return inputError(model.labels->name() + ": expected " + std::to_string(model.classes) +
                      " labels, one a class, found " + std::to_string(model.labels->size()));
  return Detector(session, model);
}

/// Edges in pixels of a box with its center, width and height in parts of the image.
static std::array<double, 4> edgesOf(std::span<const float> box, const Image &image) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  const double x = box[0], y = box[1], halfWidth = box[2] / 2.0, halfHeight = box[3] / 2.0;
  return {(x - halfWidth) * width, (y - halfHeight) * height, (x + halfWidth) * width,
          (y + halfHeight) * height};
}

Expected<std::vector<Detection>> Detector::detect(const Image &image, double threshold) {
  const ImagePlanes planes = HEDDLE_TRY(model->source->images->apply(image));
  const Tensor source = Tensor::f32({1, 3, planes.height, planes.width}, planes.values);
  HEDDLE_TRY(session->run("encode", NamedInputs{{"source", source}}, results));
  const std::span<const float> logits = HEDDLE_TRY(results.values<float>("logits")),
                               boxes = HEDDLE_TRY(results.values<float>("boxes"));
  std::vector<Detection> found;
  const auto classes = static_cast<size_t>(model->classes) + 1; // the last: no object
  for (size_t i = 0; (i + 1) * classes <= logits.size() && (i + 1) * 4 <= boxes.size(); ++i) {
    const std::vector<double> shares = softmax(logits.subspan(i * classes, classes));
    const auto best = std::max_element(shares.begin(), shares.end() - 1);
    if (*best > threshold)
      found.push_back({static_cast<size_t>(best - shares.begin()), *best,
                       edgesOf(boxes.subspan(i * 4, 4), image)});
  }
  std::ranges::stable_sort(found, std::greater(), &Detection::score);
  return found;
}

std::string Detector::label(size_t number) const {
  return model->labels ? model->labels->token(static_cast<int32_t>(number))
                       : std::to_string(number);
}
