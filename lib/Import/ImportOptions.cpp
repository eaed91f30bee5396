//===- ImportOptions.cpp - Flags and texts of choices ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Import/ImportOptions.h"

#include "heddle/Support/Formats.h"

#include <algorithm>

using namespace heddle;

std::string heddle::choiceFlag(const std::string &field) {
  std::string flag = "--" + field;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string heddle::choiceHelp(const std::string &field) {
  if (field == "dtype")
    return "type of products: " + formatNames() +
           "; file keeps the codes of a quantized GGUF file or of a folder of MXFP4 matrices "
           "(default: file for these, f32 for other models)";
  if (field == "cache_dtype")
    return "type of cached keys and values: " + keptTypeNames() + " (default: it follows --dtype)";
  if (field == "mask")
    return "replace a mask of the model: NAME=EXPR, such as decoder.mask=causal; repeatable";
  if (field == "part")
    return "part of a folder with several models: text or vision for CLIP (default: both)";
  if (field == "pool")
    return "pooling of a folder without modules.json, which gives one vector per text: cls, mean, "
           "max, last, weighted-mean, mean-sqrt or sum";
  if (field == "context")
    return "maximum number of tokens of a prompt and its answer (default: the model's, at most "
           "4096 for a folder)";
  if (field == "weights")
    return "safetensors file with the weights of a .mlir model";
  if (field == "adapter")
    return "folder of a LoRA adapter of peft that is merged into a Hugging Face folder";
  if (field == "training")
    return "add the functions of training: loss and gradients";
  if (field == "labels")
    return "classes for which a folder is trained, separated by commas (default: the folder's)";
  if (field == "keep")
    return "values that gradients read: all of them are kept; layers: the input of each layer is "
           "kept, and others are computed again; N: the first N layers keep all (default: the "
           "recipe's)";
  if (field == "recipe")
    return "JSON file with keys of the section training, for a folder (default: settings of "
           "Transformers' Trainer)";
  return "";
}

using GivenChoices = std::vector<std::pair<std::string, std::string>>;

static void addGiven(const std::string &flag, const std::string &value, GivenChoices &given) {
  given.emplace_back(flag, value);
}
static void addGiven(const std::string &flag, const std::vector<std::string> &values,
                     GivenChoices &given) {
  for (const std::string &value : values)
    given.emplace_back(flag, value);
}
static void addGiven(const std::string &flag, const std::optional<int64_t> &value,
                     GivenChoices &given) {
  given.emplace_back(flag, std::to_string(*value));
}
static void addGiven(const std::string &flag, bool value, GivenChoices &given) {
  given.emplace_back(flag, value ? "true" : "false");
}

GivenChoices heddle::givenChoices(const ModelChoices &choices) {
  GivenChoices given;
  visitFields(choices, [&](const std::string &field, const auto &value) {
    if (value != std::remove_cvref_t<decltype(value)>())
      addGiven(choiceFlag(field), value, given);
  });
  return given;
}
