//===- LoadedObject.h - A shared object from memory -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads an ELF shared object that lies in memory, without a file.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <span>

namespace heddle {

/// Owns a loaded object; its functions live as long as it does.
class LoadedObject {
public:
  LoadedObject() = default; ///< without functions
  static Expected<LoadedObject> load(std::span<const std::byte> object, const std::string &name);
  LoadedObject(LoadedObject &&other) noexcept;
  LoadedObject &operator=(LoadedObject &&) = delete;
  ~LoadedObject();

  /// Address of a function, null if there is none of that name.
  void *find(const std::string &function) const;

private:
  LoadedObject(int descriptor, void *handle) : descriptor(descriptor), handle(handle) {}
  /// Stays open: the loader tells objects apart by path, and the path is that of the descriptor.
  int descriptor = -1;
  void *handle = nullptr;
};

} // namespace heddle
