//===- WeightCheck.cpp - A model's tensors against a checkpoint -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only the file's header is looked at. Done on import, so that a wrong file is
// told before anything is compiled.

#include "WeightCheck.h"

#include "heddle/Pack/Safetensors.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle;

/// On one line of a terminal, whatever a file holds.
static std::string escaped(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(name, stream);
  return text;
}

/// "FILE: expected only …, found a, b, c and 4 more"; nothing if all are read.
static std::string extraTensors(const WeightSource &source, const llvm::StringSet<> &read) {
  std::vector<std::string> extra;
  for (const TensorInfo &tensor : source.tensors())
    if (!read.contains(tensor.name))
      extra.push_back(tensor.name);
  if (extra.empty())
    return "";
  return source.name() + ": expected only tensors that the model reads, found " +
         firstText(extra, 3, escaped);
}

Status heddle::openWeights(const std::string &file, ImportedModel &model) {
  auto source = HEDDLE_TRY(openSafetensors(file));
  llvm::StringSet<> read;
  for (const TensorInfo &tensor : model.tensors) {
    read.insert(tensor.name);
    HEDDLE_TRY((source)->require(tensor.name, tensor.shape));
  }
  if (std::string warning = extraTensors(*source, read); !warning.empty())
    model.warnings.push_back(warning);
  model.weights = std::move(source);
  return {};
}
