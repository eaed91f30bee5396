//===- Summary.h - Summary of a model ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Program.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace heddle {

/// Eight lines about a model: its path, kind, size, stored weights, lengths, tokenizer, chat
/// template and labels. A line says `none` if the model lacks the item.
std::string summaryText(const std::string &model, const Program &program);
/// The same facts as a JSON object, without the keys of missing items.
nlohmann::ordered_json summaryJson(const std::string &model, const Program &program);

} // namespace heddle
