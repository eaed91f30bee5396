//===- Safetensors.h - Checkpoints in safetensors files --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A safetensors file: eight bytes of header length, a JSON header, tensor bytes.
// The file is mapped; its header is believed in nothing that is not checked.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Maps the file and checks its header: offsets in range, no overlap, no gap, sizes that agree with
/// shapes.
Expected<std::unique_ptr<WeightSource>> openSafetensors(const std::string &path);

} // namespace heddle
