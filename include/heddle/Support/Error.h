//===- Error.h - A value or an error ---------------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function of the runtime side that can fail returns Expected<T> (or
// Status where there is no value). No exception crosses a library boundary. An
// error is one line, `place: expected …, found …`, and the kind that decides a
// tool's exit status.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace heddle {

/// Who is at fault; the value is the exit status of the tools.
enum class ErrorKind {
  Input = 1,  ///< a file, a shape, a value that the user gave
  Usage = 2,  ///< a command that cannot be carried out as written
  Device = 3, ///< the device failed, results differ, or a defect of ours
};

/// One line of text without a trailing newline, and its kind.
struct Error {
  ErrorKind kind = ErrorKind::Input;
  std::string message;
};

inline Error inputError(std::string message) { return {ErrorKind::Input, std::move(message)}; }
inline Error usageError(std::string message) { return {ErrorKind::Usage, std::move(message)}; }
inline Error deviceError(std::string message) { return {ErrorKind::Device, std::move(message)}; }

/// A value or an error. Test it before looking inside.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : storage(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return get(); }
  const T &operator*() const { return const_cast<Expected *>(this)->get(); }
  T *operator->() { return &get(); }
  const T *operator->() const { return &const_cast<Expected *>(this)->get(); }

  /// The error; only where there is no value.
  const Error &error() const {
    assert(storage.index() == 1 && "no error here");
    return std::get<1>(storage);
  }
  /// Moves the error out, to hand it on as another Expected.
  Error takeError() { return std::move(std::get<1>(storage)); }

private:
  T &get() {
    assert(storage.index() == 0 && "an error, not a value");
    return std::get<0>(storage);
  }
  std::variant<T, Error> storage;
};

/// Success, or an error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failed(true), stored(std::move(error)) {}
  explicit operator bool() const { return !failed; }
  const Error &error() const { return stored; }
  Error takeError() { return std::move(stored); }

private:
  bool failed = false;
  Error stored;
};

} // namespace heddle
