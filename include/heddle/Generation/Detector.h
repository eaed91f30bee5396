//===- Detector.h - Objects in images ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a session of a detector (DETR, YOLOS) on images. An image is a run of its own, so that it
// has its own size and no padding.
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

#include <array>

namespace heddle {

/// An object in an image.
struct Detection {
  size_t label = 0;               ///< number of the class
  double score = 0;               ///< probability of the class
  std::array<double, 4> box = {}; ///< left, top, right, bottom, in pixels of the original
};

/// Finds objects in images. One thread may use a detector and its session at a time.
class Detector {
public:
  /// Returns an error if the model finds no objects. The session and the model must outlive the
  /// detector.
  static Expected<Detector> create(Session &session, const TextModel &model);

  /// Objects whose score is above `threshold`, the likeliest first. As in Transformers, the score is
  /// the largest probability of a class, among all classes and "no object", and boxes are not cut
  /// at the edges of the image.
  Expected<std::vector<Detection>> detect(const Image &image, double threshold);

  /// Name of a class: the model's, else its number.
  std::string label(size_t number) const;

private:
  Detector(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Session *session;
  const TextModel *model;
  NamedTensors results;
};

} // namespace heddle
