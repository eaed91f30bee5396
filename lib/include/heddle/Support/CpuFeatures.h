//===- CpuFeatures.h - CPU feature detection -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features of the processor. A feature counts only if the operating system has also enabled it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Features of this processor by LLVM's names ("avx2", "avx512bf16", …), sorted.
const std::vector<std::string> &cpuFeatures();
/// Features of `required`, by LLVM's or Linux's names, that this processor lacks or that Linux does
/// not let this process use.
std::vector<std::string> missingCpuFeatures(std::span<const std::string> required);
/// Highest x86-64 level whose features are all available, "x86-64-v4"; the architecture on other
/// processors.
std::string cpuLevel();

} // namespace heddle
