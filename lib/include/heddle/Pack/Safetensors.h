//===- Safetensors.h - Checkpoints in safetensors files --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes safetensors files: eight bytes of header length, a JSON header and the bytes of
// tensors. A file that is read is mapped, and every field of its header is checked.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/OutputFile.h"

#include <map>

namespace heddle {

/// Maps the file and checks its header: offsets in range, no overlap, no gap, and sizes that match
/// the shapes.
Expected<std::unique_ptr<WeightSource>> openSafetensors(const std::string &path);

/// The texts of the header's `__metadata__`; empty if there are none.
Expected<std::map<std::string, std::string>> readMetadata(const std::string &path);

/// Writes a file of f32 tensors piece by piece. It replaces an existing file when it is complete.
class SafetensorsWriter {
public:
  /// Writes the header. `tensors` are names and shapes in the order of the data. The metadata says
  /// `"format": "pt"` in addition, without which Transformers refuses a file.
  static Expected<SafetensorsWriter> create(const std::string &path,
                                            std::span<const TensorInfo> tensors,
                                            const std::map<std::string, std::string> &metadata);
  /// Appends the next elements, which may belong to several tensors.
  Status write(std::span<const float> values);
  /// Calls fsync and gives the file its name. All elements must be written.
  Status commit();

private:
  SafetensorsWriter(AtomicFile file, std::string path, int64_t left)
      : file(std::move(file)), path(std::move(path)), left(left) {}

  AtomicFile file;
  std::string path;
  int64_t left; ///< elements that are not written
};

} // namespace heddle
