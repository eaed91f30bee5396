//===- ProgramJson.h - Manifests as JSON -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of manifests. Program.h declares toJson and programFromJson for a program alone.
#pragma once

#include "heddle/Support/Artifact.h"

namespace heddle {

/// JSON text of a manifest; equal manifests give equal bytes.
std::string toJson(const Manifest &manifest);
/// Reads the result of toJson. Another version, a missing or unknown field and an invalid program
/// are errors, which begin with `place`.
Expected<Manifest> manifestFromJson(std::string_view text, const std::string &place);

} // namespace heddle
