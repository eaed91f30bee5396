//===- FileTensors.h - Tensors in a mapped file -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"

namespace heddle {

/// Tensors whose elements are ranges of a mapped file. Formats of files derive from it: they fill the
/// lists when they read the file's header.
class FileTensors : public WeightSource {
public:
  FileTensors(MappedBytes file, std::string path) : file(std::move(file)), path(std::move(path)) {}

  const std::string &name() const override { return path; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::span<const float> inPlace(int tensor) const override;
  std::span<const std::byte> bytes(int tensor) const override {
    return contents.subspan(extents[tensor].begin, extents[tensor].end - extents[tensor].begin);
  }

protected:
  /// Range of a tensor's bytes, relative to the start of the data.
  struct Extent {
    uint64_t begin = 0, end = 0;
  };
  /// Names of tensors are arbitrary text, but a message is one line.
  Error fail(const std::string &message) const {
    return inputError(path + ": " + printable(message));
  }
  const std::byte *data(int tensor) const { return contents.data() + extents[tensor].begin; }

  MappedBytes file;
  std::string path;
  std::span<const std::byte> contents; ///< data after the header
  std::vector<TensorInfo> infos;
  std::vector<Extent> extents; ///< one per tensor
};

} // namespace heddle
