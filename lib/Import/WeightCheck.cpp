//===- WeightCheck.cpp - Checking a checkpoint against a model ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads only the file's header, at import, so that a wrong file is reported before compilation.

#include "WeightCheck.h"

#include "heddle/Pack/Safetensors.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle;

/// Escapes a name for a terminal.
static std::string escaped(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(name, stream);
  return text;
}

/// "FILE: expected only …, found a, b, c and 4 more"; empty if all tensors are read.
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
