//===- DetectorReader.cpp - Reading images and detectors ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A detector reads images of any size and gives a class and a box for each of a fixed number of
// rows. These rows are extra rows of its encoder (YOLOS) or the queries of its decoder (DETR).

#include "DetectorReader.h"

using namespace heddle;

static StemDescription stemOf(const Keys &in, ErrorSink &errors) {
  StemDescription stem{in};
  for (const char *key : {"blocks", "widths"})
    in.require(key, errors);
  if (stem.blocks.size() != stem.widths.size())
    errors.expected(in.path("widths"),
                    "as many widths as there are stages, " + std::to_string(stem.blocks.size()),
                    std::to_string(stem.widths.size()));
  for (int64_t width : stem.widths)
    if (stem.bottleneck && width % stem.reduction != 0)
      errors.expected(in.path("widths"), "multiples of " + std::to_string(stem.reduction),
                      std::to_string(width));
  return stem;
}

void heddle::readImages(SideDescription &side, ErrorSink &errors) {
  const Keys in = side.in.object("images");
  side.vectors = true;
  ImagesDescription &images = side.images.emplace(ImagesDescription{in});
  if (in.gives("stem"))
    images.stem = stemOf(in.object("stem"), errors);
  if (images.stem.has_value() == in.has("patch"))
    errors.expected(in.path("patch"), "either a patch or a stem", images.stem ? "both" : "neither");
  if (images.stem && images.firstRows > 0)
    errors.expected(in.path("first-rows"), "no such key with a stem", "it");
}

namespace {
/// Checks that the parts of a description are those of a detector.
class DetectorCheck {
public:
  DetectorCheck(const Description &model, ErrorSink &errors) : model(model), errors(errors) {}
  void run() const;

private:
  void rows() const;
  void positions() const;
  void stack(const StackDescription &stack, const std::string &name) const;
  void attention(const AttentionDescription &a) const;

  const Description &model;
  ErrorSink &errors;
};
} // namespace

void DetectorCheck::rows() const {
  const DetectorDescription &d = *model.detector;
  if (model.decoder && d.in.has("rows"))
    errors.expected(d.in.path("rows"), "no such key with a decoder", "it");
  const int64_t first = model.source->images->firstRows;
  if (!model.decoder && (d.rows.size() != 2 || d.rows[1] < 1 || d.rows[0] > first - d.rows[1]))
    errors.expected(d.in.path("rows"),
                    "[first, count] within the " + std::to_string(first) +
                        " rows of source.images.first-rows",
                    d.in.has("rows") ? shown(*d.in.find("rows")) : "no such key");
}

void DetectorCheck::positions() const {
  const PositionDescription &position = model.encoder->position;
  const bool fits = position.kind.empty() || position.plane() || position.grid();
  if (position.grid())
    position.in.require("grid", errors);
  if (!fits)
    errors.expected(position.in.path("kind"), "plane or grid over images of any size",
                    position.kind);
  if (position.plane() && model.size % 4 != 0)
    errors.expected("size", "a multiple of 4 with positions of a plane",
                    std::to_string(model.size));
  if (position.plane() && model.source->images->firstRows > 0)
    errors.expected(position.in.path("kind"), "grid with source.images.first-rows", "plane");
  if (model.decoder && !model.decoder->position.kind.empty())
    errors.expected(model.decoder->in.path("position"), "null with target.queries",
                    model.decoder->position.kind);
}

/// Numbers of rows are expressions without a name, which results and rules of pairs would need.
void DetectorCheck::attention(const AttentionDescription &a) const {
  if (a.bias)
    errors.expected(a.own.path("score-bias"), "null over images of any size", "a rule");
  if (a.returnWeights != ReturnWeights::None)
    errors.expected(a.in.path("return-weights"), "none over images of any size",
                    a.in.get<std::string>("return-weights"));
  if (a.returnLogSumExp)
    errors.expected(a.in.path("return-log-sum-exp"), "false over images of any size", "true");
}

void DetectorCheck::stack(const StackDescription &stack, const std::string &name) const {
  for (const LayerDescription &layer : stack.layers) {
    attention(layer.self);
    if (model.decoder && &stack == &*model.decoder)
      attention(layer.cross);
  }
  for (const char *key : {"norm", "projection"})
    if (stack.embedding.gives(key))
      errors.expected(stack.embedding.path(key), "null over images of any size", "it");
  for (size_t i = 0; i < stack.layers.size(); ++i)
    if (const LayerDescription &layer = stack.layers[i]; layer.mask || layer.crossMask)
      errors.expected(name + "." + std::to_string(i) + ".mask", "no mask over images of any size",
                      "one");
  for (const char *key : {"pool", "output"})
    if (stack.in.gives(key))
      errors.expected(stack.in.path(key), "null in a detector", shown(*stack.in.find(key)));
}

void DetectorCheck::run() const {
  if (model.decoder && !model.target->queries)
    return errors.expected("target.queries", "a number of queries in a detector's decoder",
                           "no such key");
  if (model.classifier)
    errors.expected("classifier", "null in a detector, whose section has the classes", "it");
  if (model.sequenceFirst)
    errors.expected("layout", "batch-first with images", "sequence-first");
  rows();
  positions();
  stack(*model.encoder, "encoder");
  if (model.decoder)
    stack(*model.decoder, "decoder");
}

void heddle::readDetector(Description &model, ErrorSink &errors) {
  const bool hasImages = model.source && model.source->images;
  if (!model.in.gives("detector")) {
    if (hasImages)
      errors.expected("detector", "the classes and boxes that images of any size give",
                      "no such key");
    if (model.target && model.target->queries)
      errors.expected("target.queries", "a detector with it", "none");
    return;
  }
  if (!hasImages)
    return errors.expected("detector", "source.images with it", "none");
  model.detector = DetectorDescription{model.in.object("detector")};
  if (model.detector->in.require("classes", errors))
    DetectorCheck(model, errors).run();
}
