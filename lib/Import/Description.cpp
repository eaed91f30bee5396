//===- Description.cpp - Facts of a model description ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a description that travels with the artifact: what text commands
// need to know.

#include "Description.h"

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
  facts["split"] = side.split;
  facts["padding"] = side.padding;
  facts["unknown"] = orNull(side.unknown);
  facts["start"] = orNull(side.start);
  facts["end"] = orNull(side.end);
  facts["add"] = side.add;
  facts["length"] = orNull(side.length);
  facts["most"] = orNull(side.most);
  facts["too-long"] = side.tooLong;
  facts["limit"] = side.limit;
  return facts;
}

bool Description::sourceMayBePadded() const {
  return encoder && std::all_of(encoder->layers.begin(), encoder->layers.end(),
                                [](const LayerDescription &layer) {
                                  return layer.mask &&
                                         layer.mask->uses(MaskExpression::Kind::Lengths, "source");
                                });
}

std::string heddle::factsOf(const Description &d) {
  Json facts;
  facts["kind"] = d.kind;
  facts["size"] = d.size;
  facts["padded"] = d.sourceMayBePadded();
  facts["layout"] = d.sequenceFirst ? "sequence-first" : "batch-first";
  if (d.source)
    facts["source"] = sideFacts(*d.source, "source");
  if (d.target)
    facts["target"] = sideFacts(*d.target, "target");
  if (d.classifier) {
    facts["classifier"]["size"] = d.classifier->size;
    if (!d.classifier->labels.empty())
      facts["classifier"]["labels"] = "labels.txt";
  }
  return facts.dump();
}
