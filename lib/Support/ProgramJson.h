//===- ProgramJson.h - Manifests as JSON -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program alone is read and written by toJson and programFromJson.
#pragma once

#include "heddle/Support/Artifact.h"

namespace heddle {

/// Stable: equal manifests give equal bytes.
std::string toJson(const Manifest &manifest);
/// Strict: the version is ours, every field is there, none is unknown, the program is valid. Errors
/// begin with `place`.
Expected<Manifest> manifestFromJson(std::string_view text, const std::string &place);

} // namespace heddle
