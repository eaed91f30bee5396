//===- Error.h - A value or an error ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every function of the runtime side that can fail returns Expected<T> (or
// Status where there is no value). No exception crosses a library boundary. An
// error is one line, `place: expected …, found …`, and the kind that decides a
// tool's exit status.
//
// Asking for what is not there (the value of an error, the error of a value) is a
// defect of the caller. It ends the program with a line that says so, in every
// build: no exception, no undefined behaviour.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// That of memory which ran out for what was asked.
Error outOfMemory();

/// Text with control characters written out: it stays on its line and moves no cursor.
std::string printable(std::string_view text);
/// What a user wrote, for a message: in quotes, printable, and cut where it is long.
std::string quotedText(std::string_view text);

/// Ends the program: "heddle: expected `what`, found `found`" on standard error, then abort().
[[noreturn]] void misused(std::string_view what, std::string_view found);

/// A value or an error. Test it before looking inside: a value that is not there ends the program.
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
    if (const Error *error = std::get_if<1>(&storage))
      return *error;
    misused("an error", "a value");
  }
  /// Moves the error out, to hand it on as another Expected.
  Error takeError() { return std::move(const_cast<Error &>(error())); }

private:
  T &get() {
    if (T *value = std::get_if<0>(&storage))
      return *value;
    misused("a value", std::get_if<1>(&storage)->message);
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

/// Calls `work`, which gives a Status or an Expected. Nothing of ours throws; memory that runs out
/// does, and ends here as an error: no exception leaves the library.
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
