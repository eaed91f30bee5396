//===- Safetensors.h - Checkpoints in safetensors files --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads safetensors files: eight bytes of header length, a JSON header and the bytes of tensors.
// The file is mapped, and every field of its header is checked.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Maps the file and checks its header: offsets in range, no overlap, no gap, and sizes that match
/// the shapes.
Expected<std::unique_ptr<WeightSource>> openSafetensors(const std::string &path);

} // namespace heddle
