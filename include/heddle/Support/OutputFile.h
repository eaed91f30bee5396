//===- OutputFile.h - Files appear whole or not at all ---------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A text or page that a tool writes is written beside its place and renamed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Whether `writeOutput` could write there: asked before long work, not after it.
Status checkOutput(const std::string &path);
/// An error where `path` is one of `inputs`, under whatever name: writing would destroy it.
Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs);
/// Writes `bytes` to `path`, or to standard output where the path is empty or "-".
Status writeOutput(const std::string &path, std::string_view bytes);

} // namespace heddle
