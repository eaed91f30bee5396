//===- ProgramJson.h - Programs as JSON values -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conversion behind toJson and programFromJson, for the manifest, which
// holds a program as one of its fields.
#pragma once

#include "heddle/Support/Program.h"

#include <nlohmann/json.hpp>

namespace heddle {

nlohmann::ordered_json programToValue(const Program &program);
/// Strict: every field is there, none is unknown; the result is validated. Errors begin with
/// `place`.
Expected<Program> programFromValue(const nlohmann::ordered_json &value, const std::string &place);

} // namespace heddle
