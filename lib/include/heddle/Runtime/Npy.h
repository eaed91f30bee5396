//===- Npy.h - Reads and writes NumPy files --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes the `.npy` format, versions 1 to 3: little endian, C order, elements of f32,
// f16, i32, i64 or bool. Everything else is an input error that says what was found.
#pragma once

#include "heddle/Runtime/Tensor.h"

namespace heddle {

/// Reads a file; messages begin with its path.
Expected<Tensor> readNpy(const std::string &path);
/// Reads a .npy file that is in memory; messages begin with `name`.
Expected<Tensor> parseNpy(std::span<const std::byte> bytes, const std::string &name);

/// Writes a temporary file next to `path` and renames it, so that no reader sees a partial file.
Status writeNpy(const std::string &path, const Tensor &tensor);
/// Header of the file from the magic on, padded to a multiple of 64 bytes as NumPy does.
std::string npyHeader(const Tensor &tensor);

} // namespace heddle
