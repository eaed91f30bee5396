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
/// per row or pair do not; lengths of the keys' side do, because packed texts have no padding.
static bool countsWithinTexts(const MaskExpression &e, std::string_view side = "source") {
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
      return call.inputs[0] == side && e.conjunction;
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

/// Returns what prevents packed texts with the results of padded ones in an attention, or nothing.
/// The keys are texts of `side`.
static std::string whyPaddedIn(const AttentionDescription &a,
                               const std::optional<MaskExpression> &mask, const std::string &side) {
  const bool hides =
      mask && ((side == "target" && mask->hidesLater()) ||
               (mask->conjunction && mask->uses(MaskExpression::Kind::Lengths, side)));
  if (!hides)
    return (mask ? "the mask " + mask->text : "no mask") + ", which lets texts see padding";
  if (!countsWithinTexts(*mask, side))
    return "the mask " + mask->text + ", which is not counted within texts";
  if (a.bias && !countsWithinTexts(*a.bias, side))
    return "the score rule " + a.bias->text + ", which is not counted within texts";
  return a.hiddenScore && *a.hiddenScore > lowestShare
             ? "hidden-score, which gives padding a share of attention"
             : "";
}

std::string Description::whyPadded() const {
  if (encoder && (source->vectors || source->frames || source->image || source->images))
    return "source: the input is no text";
  if (encoder && source->length)
    return "source: length " + std::to_string(*source->length);
  auto check = [](const std::string &place, const AttentionDescription &a,
                  const std::optional<MaskExpression> &mask, const char *side) {
    const std::string why = whyPaddedIn(a, mask, side);
    return why.empty() ? why : place + ": " + why;
  };
  for (const auto *stack : {&encoder, &decoder})
    for (size_t i = 0; *stack && i < (*stack)->layers.size(); ++i) {
      const LayerDescription &layer = (*stack)->layers[i];
      const bool isDecoder = stack == &decoder;
      const std::string place = (isDecoder ? "decoder." : "encoder.") + std::to_string(i);
      std::string why = check(place, layer.self, layer.mask, isDecoder ? "target" : "source");
      if (why.empty() && isDecoder && encoder)
        why = check(place + ".cross", layer.cross, layer.crossMask, "source");
      if (!why.empty())
        return why;
    }
  return "";
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
  // Where attention masks padding, the ids of a tokenizer need none.
  if (facts.source && facts.source->length && text.padded && !facts.source->tokenizerFile.empty())
    facts.source->most = std::exchange(facts.source->length, std::nullopt);
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
