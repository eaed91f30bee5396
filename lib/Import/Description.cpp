//===- Description.cpp - Facts of a model description ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts that text commands need; they are stored in the artifact.

#include "Description.h"

#include "llvm/ADT/STLExtras.h"

using namespace heddle;

SideDescription::SideDescription(const Keys &in) : in(in) {
  split = in.is("split", "character") ? Split::Character : Split::Space;
  padding = in.get<int32_t>("padding");
  unknown = in.maybe<int32_t>("unknown");
  start = in.maybe<int32_t>("start");
  const std::vector<int64_t> tokens = in.numbers("end");
  ends.assign(tokens.begin(), tokens.end());
  add = in.get<bool>("add");
  length = in.maybe<int64_t>("length");
  cut = in.is("too-long", "cut");
  limit = in.get<int64_t>("limit");
}

static SideFacts sideFacts(const SideDescription &side, const std::string &name) {
  SideFacts facts = side;
  if (!side.vectors && side.file.empty())
    facts.vocabularySize = side.size;
  else if (!side.vectors)
    facts.vocabularyFile = name + ".txt";
  return facts;
}

bool heddle::countsSource(const std::optional<MaskExpression> &mask) {
  return mask && mask->uses(MaskExpression::Kind::Lengths, "source");
}

bool Description::sourceMayBePadded() const {
  return encoder &&
         llvm::all_of(encoder->layers,
                      [](const LayerDescription &layer) { return countsSource(layer.mask); }) &&
         (!decoder || crossHidesPadding());
}

bool Description::crossHidesPadding() const {
  return llvm::all_of(decoder->layers, [](const LayerDescription &layer) {
    return countsSource(layer.crossMask) && layer.crossMask->conjunction &&
           !layer.cross.hiddenScore; // hidden keys still get a share of attention
  });
}

/// Returns whether a mask or score rule treats a text alone and inside a packed row alike. Inputs
/// per row or pair do not; lengths do, because packed texts have no padding.
static bool countsWithinTexts(const MaskExpression &e) {
  using Kind = MaskExpression::Kind;
  return llvm::all_of(e.calls, [&](const MaskCall &call) {
    if (!call.offsetInput.empty())
      return false;
    switch (call.kind) {
    case Kind::Causal:
    case Kind::Window:
    case Kind::Alibi:
    case Kind::Relative:
    case Kind::LayerRelative:
      return true;
    case Kind::Where:
      return call.inputs.empty();
    case Kind::Lengths:
      return call.inputs[0] == "source" && e.conjunction;
    default:
      return false;
    }
  });
}

bool Description::sourceMayBePacked() const {
  if (!encoder || sequenceFirst || !source || source->vectors || source->frames || source->length ||
      (source->file.empty() && source->tokenizerFile.empty()))
    return false;
  if (decoder && !crossHidesPadding()) // cross attention would read padding next to each text
    return false;
  return llvm::all_of(encoder->layers, [](const LayerDescription &layer) {
    const AttentionDescription &a = layer.self;
    return (!layer.mask || countsWithinTexts(*layer.mask)) &&
           (!a.bias || countsWithinTexts(*a.bias)) && !a.hiddenScore;
  });
}

ModelFacts heddle::factsOf(const Description &d) {
  ModelFacts facts{.text = d.facts, .source = {}, .target = {}};
  TextFacts &text = facts.text;
  text.kind = d.kind;
  text.padded = d.sourceMayBePadded();
  text.packed = d.sourceMayBePacked();
  text.poolsParts = text.packed && d.encoder->poolsParts;
  text.sequenceFirst = d.sequenceFirst;
  text.unitLength = d.encoder && !d.encoder->output.empty() && !d.encoder->output.back().dense;
  if (d.source)
    facts.source = sideFacts(*d.source, "source");
  if (d.target)
    facts.target = sideFacts(*d.target, "target");
  if (d.detector) {
    text.kind = "detector";
    text.classes = d.detector->classes - 1; // the last is no object
    text.labelsFile = d.detector->labels;
    facts.target.reset(); // learned rows, not texts
  }
  if (!d.classifier)
    return facts;
  text.classes = d.classifier->size;
  if (!d.classifier->labels.empty())
    text.labelsFile = d.texts.contains("labels.json") ? "labels.json" : "labels.txt";
  return facts;
}

std::string Description::whyNoLoss() const {
  if (!classifier)
    return "no classifier";
  if (classifier->sigmoid)
    return "classifier.sigmoid";
  if (!decoder && encoder->pool.empty() && classifier->pool.empty())
    return "an encoder without a pooling";
  if (!decoder)
    return "";
  if (target->vectors)
    return "vectors as the target";
  if (!target->start)
    return "target.start null";
  if (classifier->size != target->size)
    return std::to_string(classifier->size) + " classes for " + std::to_string(target->size) +
           " tokens of the target";
  return decoder->documents.empty() ? "" : "documents_packed, with which it is not supported yet";
}
