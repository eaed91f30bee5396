//===- KernelCache.h - Code of kernels kept on disk ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code is found by the content of everything that decides it: the kernel's text,
// the target, and the build of what compiles. Two processes that miss at once
// write the same bytes. What cannot be read is compiled again and written anew;
// what cannot be written is not kept. Neither is an error.
#pragma once

#include "heddle/Support/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <optional>

namespace heddle {

class KernelCache {
public:
  using Key = std::array<uint8_t, 32>;

  /// Off, so that nothing is found or kept, where HEDDLE_CACHE_LIMIT is 0, no folder is known, or
  /// the compiler cannot tell which build it is.
  static Expected<KernelCache> open();

  bool isOn() const { return limitBytes > 0; }

  /// Of all that decides a kernel's code but the compiler, which is added here.
  Key keyOf(llvm::ArrayRef<llvm::StringRef> parts) const;
  std::optional<std::string> find(const Key &key) const;
  void keep(const Key &key, llvm::StringRef code) const;
  /// Deletes what was not used for longest until the rest is within the limit.
  void limit() const;

private:
  std::string folder, compiler;
  uint64_t limitBytes = 0;
};

} // namespace heddle
