//===- Error.h - Errors and Expected values --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the runtime that can fail return Expected<T>, or Status if there is
// no value. No exception crosses a library boundary. An error is one line,
// `place: expected …, found …`, and a kind, which decides a tool's exit status.
//
// Reading the value of a failed Expected, or the error of a good one, is a defect of
// the caller. It aborts the process with a message in every build: no exception, no
// undefined behaviour.
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
  Input = 1,  ///< a file, a shape or a value that does not fit
  Usage = 2,  ///< a command line that is wrong
  Device = 3, ///< a device that fails, results that differ, or a defect of Heddle
  /// What the system does not give: a file that is there and cannot be read, memory. Another time
  /// the same call may succeed, so nothing that is kept may follow from such an error.
  System = 4,
};

/// The exit status of the tools: the kind's value, and 1 for what the system does not give.
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

/// System error for memory that is exhausted.
Error outOfMemory();

/// Text whose control characters, marks of the direction of writing and bytes that are not UTF-8 are
/// \xNN or \uNNNN, so that a hostile name cannot break a line, move the terminal's cursor or change
/// the order of what is shown.
std::string printable(std::string_view text);
/// The same of text with lines: its newlines and tabs stay.
std::string printableLines(std::string_view text);
/// At most `most` bytes of a text, and "..." where there are more.
std::string shortened(std::string_view text, size_t most);
/// Text of a user for a message: in quotes, printable, and cut to 60 bytes.
std::string quotedText(std::string_view text);

/// Prints "heddle: expected `what`, found `found`" to standard error and aborts.
[[noreturn]] void misused(std::string_view what, std::string_view found);

/// A value or an error. Test it first: reading a missing value aborts the process.
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

  /// The error; only if there is no value.
  const Error &error() const {
    if (const Error *error = std::get_if<1>(&storage))
      return *error;
    misused("an error", "a value");
  }
  /// Moves the error out, to return it as another Expected.
  Error takeError() { return std::move(const_cast<Error &>(error())); }

private:
  T &get() {
    if (T *value = std::get_if<0>(&storage))
      return *value;
    misused("a value", std::get_if<1>(&storage)->message);
  }
  std::variant<T, Error> storage;
};

/// Success or an error. The error of a success is empty.
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
  } catch (const std::length_error &) { // a container larger than any memory
    return outOfMemory();
  }
}

} // namespace heddle
