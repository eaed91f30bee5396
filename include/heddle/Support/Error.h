//===- Error.h - Errors and Expected values --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors and results. Functions of the runtime that can fail return Expected<T>, or Status if they
// have no value. No exception crosses a library boundary. An error is one line, `place: expected …,
// found …`, and a kind, which determines a tool's exit status.
//
// Reading the value of a failed Expected, or the error of a successful one, is a bug in the caller.
// It aborts the process with a message in every build: no exception, no undefined behavior.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace heddle {

/// Kind of an error.
enum class ErrorKind {
  Input = 1,  ///< a file, shape or value that does not fit
  Usage = 2,  ///< a wrong command line
  Device = 3, ///< a failing device, differing results, or a bug in Heddle
  /// A resource that the system denies: an existing file that cannot be read, or memory. The same
  /// call may succeed later, so no lasting decision may be based on this error.
  System = 4,
};

/// Exit status of the tools: the value of the kind, and 1 for System.
constexpr int exitStatusOf(ErrorKind kind) {
  return static_cast<int>(kind == ErrorKind::System ? ErrorKind::Input : kind);
}

/// One line of text without a trailing newline, and its kind.
struct Error {
  ErrorKind kind = ErrorKind::Input;
  std::string message;
};

inline Error inputError(std::string message) { return {ErrorKind::Input, std::move(message)}; }
inline Error usageError(std::string message) { return {ErrorKind::Usage, std::move(message)}; }
inline Error deviceError(std::string message) { return {ErrorKind::Device, std::move(message)}; }

/// System error for exhausted memory.
Error outOfMemory();

/// Escapes control characters, bidirectional formatting characters and invalid UTF-8 as \xNN or
/// \uNNNN, so that a hostile name cannot break a line, move the terminal's cursor or reorder the
/// displayed text.
std::string printable(std::string_view text);
/// As `printable`, but keeps newlines and tabs.
std::string printableLines(std::string_view text);
/// At most `most` bytes of a text, followed by "..." if it is longer.
std::string shortened(std::string_view text, size_t most);
/// User text for a message: quoted, printable, and cut to 60 bytes.
std::string quotedText(std::string_view text);

/// Prints "heddle: expected `what`, found `found`" to standard error and aborts the process.
[[noreturn]] void misused(std::string_view what, std::string_view found);

/// A value or an error. Test it before reading: reading a missing value aborts the process.
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

  /// The error. Aborts the process if there is a value.
  const Error &error() const {
    if (const Error *error = std::get_if<1>(&storage))
      return *error;
    misused("an error", "a value");
  }
  /// Moves the error out, to return it in another Expected.
  Error takeError() { return std::move(const_cast<Error &>(error())); }

private:
  T &get() {
    if (T *value = std::get_if<0>(&storage))
      return *value;
    misused("a value", std::get_if<1>(&storage)->message);
  }
  std::variant<T, Error> storage;
};

/// Success or an error. On success, error() is empty.
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

/// Calls `work`, which returns a Status or an Expected, and turns std::bad_alloc into an error.
/// Heddle throws nothing else, so no exception leaves the library.
template <typename Work>
auto withinMemory(const Work &work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::length_error &) { // a container larger than the address space
    return outOfMemory();
  }
}

} // namespace heddle
