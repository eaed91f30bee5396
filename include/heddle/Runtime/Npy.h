//===- Npy.h - Tensors in NumPy files --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `.npy` format, versions 1 to 3: little endian, C order, one of f32, f16,
// i32, i64 and bool. Everything else is an error that says what was found.
#pragma once

#include "heddle/Runtime/Tensor.h"

namespace heddle {

/// Reads a file; messages begin with its path.
Expected<Tensor> readNpy(const std::string &path);
/// The same from memory; `name` stands for the path in messages.
Expected<Tensor> parseNpy(std::span<const std::byte> bytes, const std::string &name);

/// Writes beside `path` and renames, so that no reader sees half a file.
Status writeNpy(const std::string &path, const Tensor &tensor);
/// The header (magic included) that stands before the bytes of `tensor`, a multiple of 64 bytes
/// long.
std::string npyHeader(const Tensor &tensor);

} // namespace heddle
