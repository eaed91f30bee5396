//===- LoadedObject.h - Loads a shared object from memory -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ELF shared object is a member of the artifact; no file is written to disk.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <span>

namespace heddle {

/// Owns a loaded object; its functions live as long as it does.
class LoadedObject {
public:
  LoadedObject() = default; ///< without functions
  /// `name` begins messages.
  static Expected<LoadedObject> load(std::span<const std::byte> object, const std::string &name);
  LoadedObject(LoadedObject &&other) noexcept;
  LoadedObject &operator=(LoadedObject &&) = delete;
  ~LoadedObject();

  /// Address of a function, null if there is none of that name.
  void *find(const std::string &function) const;

private:
  LoadedObject(int descriptor, void *handle) : descriptor(descriptor), handle(handle) {}
  /// Stays open: dlopen tells objects apart by path, here /proc/self/fd/N, and a closed number
  /// would be used again.
  int descriptor = -1;
  void *handle = nullptr;
};

} // namespace heddle
