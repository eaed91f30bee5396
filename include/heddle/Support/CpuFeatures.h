//===- CpuFeatures.h - What this processor can do --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features count only where the operating system has enabled them too.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Features of this processor that its operating system has enabled, by the names that
/// artifacts use ("avx2", "avx512f", …), sorted.
std::vector<std::string> cpuFeatures();
/// Those of `required` that are missing here.
std::vector<std::string> missingCpuFeatures(std::span<const std::string> required);
/// "x86-64-v4" for the highest level whose features are all there, else the architecture.
std::string cpuLevel();

} // namespace heddle
