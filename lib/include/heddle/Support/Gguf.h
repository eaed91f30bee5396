//===- Gguf.h - GGUF files: metadata and tensors ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of GGUF files (version 2 or 3). A file is a whole model: metadata with named values, which
// hold the configuration and the tokenizer, and tensors in blocks of many types. The file is
// mapped; every count, length, type and offset is checked before it is used.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Types of metadata, with the format's numbers.
enum class GgufType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, List, U64, I64, F64 };

/// A value of the metadata. Texts and list elements are views into the file.
struct GgufValue {
  GgufType type = GgufType::U8;
  GgufType elements = GgufType::U8; ///< of a list; lists are not nested
  uint64_t count = 1;               ///< of a list
  std::string_view bytes;           ///< without the length of a text or the type of a list

  /// The value if it has this type; integers are numbers too.
  std::optional<std::string_view> text() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;
  std::optional<bool> flag() const;
  std::optional<std::vector<std::string_view>> texts() const;
  std::optional<std::vector<double>> numbers() const;
  std::optional<std::vector<bool>> flags() const;
  /// The value as text for messages.
  std::string shown() const;
};

/// How a tensor type is stored: in blocks of consecutive elements of a row.
struct GgufBlocks {
  uint32_t number; ///< in the file
  std::string_view name;
  int64_t elements, bytes;
};

struct GgufTensor {
  std::string name;
  std::string type;                 ///< "f32", "q4_k", …; "type 99" for an unknown number
  const GgufBlocks *blocks;         ///< null for an unknown type
  std::vector<int64_t> shape;       ///< slowest first: rows, then columns
  std::span<const std::byte> bytes; ///< whole blocks; empty for an unknown type
};

class Gguf {
public:
  /// Maps a file and checks everything except the numbers in the tensors. If the file is a part of
  /// a model, opens all parts; `name()` is the first.
  static Expected<Gguf> open(const std::string &path);

  const std::string &name() const { return path; }
  const std::map<std::string_view, GgufValue> &metadata() const { return values; }
  const std::vector<GgufTensor> &tensors() const { return infos; }

  /// The value of a key, or null.
  const GgufValue *find(std::string_view key) const;
  /// Required values. Input error if the value is missing or has another type.
  Expected<std::string_view> text(std::string_view key) const;
  Expected<std::vector<std::string_view>> texts(std::string_view key) const;
  Expected<std::vector<double>> numbers(std::string_view key) const;
  /// Optional values. Input error if the value has another type.
  Expected<std::optional<int64_t>> integer(std::string_view key) const;
  Expected<bool> flag(std::string_view key, bool otherwise) const;
  /// Error "FILE: KEY: expected WANTED, found" followed by the value.
  Error mistaken(std::string_view key, std::string_view wanted) const;

private:
  friend class GgufReader;
  std::vector<MappedBytes> files; ///< one, or all parts
  std::string path;
  std::map<std::string_view, GgufValue> values;
  std::vector<GgufTensor> infos;
};

/// Whether `path` is a GGUF file: either its content begins like one, or its name has the
/// extension, so that a damaged file is reported as such.
bool isGguf(const std::string &path);

/// Paths of all parts of a model, by the name of one of them (NAME-00002-of-00003.gguf). Any other
/// name is the only file of a model.
std::vector<std::string> ggufParts(const std::string &path);

/// Resolves a MODEL argument. For a folder with a GGUF file but without config.json, model.json and
/// modules.json, returns this file, or the first part of a model; otherwise the path itself. Several
/// models are an error that lists their files.
Expected<std::string> modelPath(const std::string &model);

} // namespace heddle
