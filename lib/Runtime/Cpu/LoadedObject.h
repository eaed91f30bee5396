//===- LoadedObject.h - Loads a shared object from memory -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels' ELF shared object, which is a member of the artifact. No file is written to disk.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <span>

namespace heddle {

/// Owns a loaded object; its functions live as long as it does.
class LoadedObject {
public:
  LoadedObject() = default; ///< without functions
  /// Loads an object; error messages begin with `name`.
  static Expected<LoadedObject> load(std::span<const std::byte> object, const std::string &name);
  LoadedObject(LoadedObject &&other) noexcept;
  LoadedObject &operator=(LoadedObject &&) = delete;
  ~LoadedObject();

  /// Address of a function; null if the object has no function with this name.
  void *find(const std::string &function) const;

private:
  LoadedObject(int descriptor, void *handle) : descriptor(descriptor), handle(handle) {}
  /// Stays open: dlopen identifies objects by path, here /proc/self/fd/N, and a closed number would
  /// be reused.
  int descriptor = -1;
  void *handle = nullptr;
};

} // namespace heddle
