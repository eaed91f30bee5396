//===- Description.cpp - Facts of a model description ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts that text commands need; they are stored in the artifact.

#include "Description.h"

#include "llvm/ADT/STLExtras.h"

using namespace heddle;

template <typename T>
static Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}

static Json sideFacts(const SideDescription &side, const std::string &name) {
  Json facts;
  facts["vocabulary"] = side.vectors        ? Json(nullptr)
                        : side.file.empty() ? Json(side.size)
                                            : Json(name + ".txt");
  if (!side.tokenizer.empty())
    facts["tokenizer"] = side.tokenizer;
  if (!side.chatTemplate.empty())
    facts["chat-template"] = side.chatTemplate;
  if (!side.preprocessor.empty())
    facts["preprocessor"] = side.preprocessor;
  if (!side.logMel.empty())
    facts["log-mel"] = side.logMel;
  facts["split"] = side.split;
  facts["padding"] = side.padding;
  facts["unknown"] = orNull(side.unknown);
  facts["start"] = orNull(side.start);
  facts["end"] = side.ends;
  facts["add"] = side.add;
  facts["length"] = orNull(side.length);
  facts["most"] = orNull(side.most);
  facts["too-long"] = side.tooLong;
  facts["limit"] = side.limit;
  for (const char *key : {"sample",         "temperature", "top-k",
                          "top-p",          "min-p",       "repetition-penalty",
                          "limit",          "beams",       "beam-rule",
                          "length-penalty", "begin",       "first",
                          "last",           "suppressed",  "suppressed-first",
                          "bad-words",      "least",       "least-in-all",
                          "limit-in-all",   "no-repeat",   "renormalize",
                          "refused"})
    if (side.generation.has(key))
      facts["generation"][key] = *side.generation.find(key);
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
      (source->file.empty() && source->tokenizer.empty()))
    return false;
  if (decoder && !crossHidesPadding()) // cross attention would read padding next to each text
    return false;
  return llvm::all_of(encoder->layers, [](const LayerDescription &layer) {
    const AttentionDescription &a = layer.self;
    return (!layer.mask || countsWithinTexts(*layer.mask)) &&
           (!a.bias || countsWithinTexts(*a.bias)) && !a.hiddenScore;
  });
}

std::string heddle::factsOf(const Description &d) {
  Json facts;
  facts["kind"] = d.kind;
  facts["size"] = d.size;
  facts["padded"] = d.sourceMayBePadded();
  facts["packed"] = d.sourceMayBePacked();
  if (d.sourceMayBePacked() && d.encoder->poolsParts)
    facts["pool-parts"] = true;
  facts["layout"] = d.sequenceFirst ? "sequence-first" : "batch-first";
  if (d.source)
    facts["source"] = sideFacts(*d.source, "source");
  if (d.target)
    facts["target"] = sideFacts(*d.target, "target");
  if (d.classifier) {
    facts["classifier"]["size"] = d.classifier->size;
    if (!d.classifier->labels.empty())
      facts["classifier"]["labels"] =
          d.texts.contains("labels.json") ? "labels.json" : "labels.txt";
  }
  if (d.encoder && !d.encoder->output.empty() && !d.encoder->output.back().dense)
    facts["unit-length"] = true;
  facts.update(d.task);
  return facts.dump();
}
