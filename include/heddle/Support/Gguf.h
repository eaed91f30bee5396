//===- Gguf.h - GGUF files: metadata and tensors ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GGUF file (version 2 or 3) is a whole model: metadata of named values, which hold
// the configuration and the tokenizer, and tensors in blocks of many types. The file
// is mapped; every count, length, type and offset is checked before it is used.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Types of metadata, with the numbers of the format.
enum class GgufType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, List, U64, I64, F64 };

/// A value of the metadata. Texts and elements of lists stay in the file.
struct GgufValue {
  GgufType type = GgufType::U8;
  GgufType elements = GgufType::U8; ///< of a list; no list holds lists
  uint64_t count = 1;               ///< of a list
  std::string_view bytes;           ///< without the length of a text or the type of a list

  /// The value if it is of that kind; integers are numbers too.
  std::optional<std::string_view> text() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;
  std::optional<bool> flag() const;
  std::optional<std::vector<std::string_view>> texts() const;
  std::optional<std::vector<double>> numbers() const;
  std::optional<std::vector<bool>> flags() const;
  /// The value for a message.
  std::string shown() const;
};

/// How a type of tensors is stored: in blocks of elements of a row.
struct GgufBlocks {
  uint32_t number; ///< in the file
  std::string_view name;
  int64_t elements, bytes;
};

struct GgufTensor {
  std::string name;
  std::string type;                 ///< "f32", "q4_k", …; "type 99" for a number that nobody knows
  const GgufBlocks *blocks;         ///< null for an unknown type
  std::vector<int64_t> shape;       ///< slowest first: rows, then columns
  std::span<const std::byte> bytes; ///< whole blocks; empty for an unknown type
};

class Gguf {
public:
  /// Maps a file and checks all of it but the numbers in the tensors.
  static Expected<Gguf> open(const std::string &path);

  const std::string &name() const { return path; }
  const std::map<std::string_view, GgufValue> &metadata() const { return values; }
  const std::vector<GgufTensor> &tensors() const { return infos; }

  /// Null where there is no such key.
  const GgufValue *find(std::string_view key) const;
  /// Values that must be there, and of that kind.
  Expected<std::string_view> text(std::string_view key) const;
  Expected<std::vector<std::string_view>> texts(std::string_view key) const;
  Expected<std::vector<double>> numbers(std::string_view key) const;
  /// Values that may be missing.
  Expected<std::optional<int64_t>> integer(std::string_view key) const;
  Expected<bool> flag(std::string_view key, bool otherwise) const;
  /// "FILE: KEY: expected WANTED, found" and the value.
  Error mistaken(std::string_view key, std::string_view wanted) const;

private:
  friend class GgufReader;
  MappedBytes file;
  std::string path;
  std::map<std::string_view, GgufValue> values;
  std::vector<GgufTensor> infos;
};

/// Whether `path` names a GGUF file: one that begins as such files do, whatever its name, or one of
/// that name, so that a broken file is told as such.
bool isGguf(const std::string &path);

/// What a MODEL means: of a folder that holds a GGUF file and none of config.json, model.json and
/// modules.json, that file; else the path as it is. Several such files are an error that lists them.
Expected<std::string> modelPath(const std::string &model);

} // namespace heddle
