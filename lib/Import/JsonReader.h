//===- JsonReader.h - Checked reading of layered JSON ----------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An object of a model description may be overridden key by key: by the stack,
// by the layer. The reader looks a key up in the innermost layer that has it and
// names that place in its errors. The first error is kept; reading goes on with
// defaults, so that callers stay free of error plumbing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace heddle {

using Json = nlohmann::ordered_json;

/// An integer, written as 32 or as 32.0; nothing else, and nothing that i64 does not hold.
std::optional<int64_t> integerOf(const Json &value);

/// Keeps the first error of a file.
class ErrorSink {
public:
  explicit ErrorSink(std::string file) : file(std::move(file)) {}
  /// `FILE: PATH: expected …, found …`
  void expected(const std::string &path, const std::string &what, const std::string &found);
  void notBuilt(const std::string &path, const std::string &what);
  void add(const std::string &path, const std::string &message);
  /// An error that is not of the file: of an option.
  void fail(Error error);
  bool failed() const { return first.has_value(); }
  Error take() { return *first; }
  const std::string file;

private:
  std::optional<Error> first;
};

class ObjectReader {
public:
  struct Layer {
    const Json *object;
    std::string path; ///< of the object, "" for the whole file
  };
  /// `place` is the path in errors where no layer has the object.
  ObjectReader(std::vector<Layer> layers, ErrorSink &errors, std::string place = "");

  /// Unknown keys are errors that name the nearest known one.
  void known(const std::vector<std::string> &keys);

  bool has(const std::string &key) const { return find(key) != nullptr; }
  bool isNull(const std::string &key) const;
  std::string path(const std::string &key) const;
  const Json *find(const std::string &key) const;

  int64_t integer(const std::string &key, int64_t standard, int64_t low,
                  int64_t high = int64_t(1) << 30);
  std::optional<int64_t> optionalInteger(const std::string &key, std::optional<int64_t> standard,
                                         int64_t low, int64_t high = int64_t(1) << 30);
  double number(const std::string &key, double standard);
  bool boolean(const std::string &key, bool standard);
  std::string text(const std::string &key, const std::string &standard);
  /// One of `words`; those behind `built` are part of the language, but not built yet.
  std::string word(const std::string &key, const std::string &standard,
                   const std::vector<std::string> &words, size_t built);
  /// A key that has to be there.
  bool require(const std::string &key, const std::string &what);
  /// Says that only the values `allowed` of this key are built (others are part of the language).
  void onlyBuilt(const std::string &key, const std::vector<Json> &allowed);

  /// The objects under a key, in all layers; no layer if there are none. An inner null is an
  /// error; where null has a meaning, callers ask for it first.
  ObjectReader object(const std::string &key);
  /// The layers of both, those of `inner` looked up first.
  ObjectReader overriddenBy(const ObjectReader &inner) const;
  ErrorSink &errors;

private:
  const Layer *layerOf(const std::string &key) const;
  std::vector<Layer> layers; ///< outermost first
  std::string place;
};

/// How an error shows a value: short, on one line.
std::string shown(const Json &value);

} // namespace heddle
