//===- KernelCache.h - On-disk cache of kernel code ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache of kernel code. The key of code is a hash of everything on which it depends: the kernel's
// text, the target, and the compiler's build. Two processes that miss at the same time write equal
// bytes. Files that cannot be read or written are no errors; the code is compiled again.
#pragma once

#include "heddle/Support/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <optional>

namespace heddle {

/// Variable that limits the cache of kernels, in MiB, and its default.
inline constexpr const char *kKernelLimitVariable = "HEDDLE_CACHE_LIMIT";
inline constexpr uint64_t kDefaultKernelMegabytes = 256;

/// Cache of kernel code in the user's cache folder; safe for several threads and processes.
class KernelCache {
public:
  using Key = std::array<uint8_t, 32>;

  /// Opens the cache. It is off, so that nothing is found or kept, if HEDDLE_CACHE_LIMIT (MiB) is
  /// 0, there is no cache folder, or the compiler has no build id. Usage error for an invalid
  /// limit.
  static Expected<KernelCache> open();

  bool isOn() const { return limitBytes > 0; }

  /// Key of the parts on which code depends; the compiler's build is added.
  Key keyOf(llvm::ArrayRef<llvm::StringRef> parts) const;
  /// Code of a key; none if it is missing or its file is damaged.
  std::optional<std::string> find(const Key &key) const;
  void keep(const Key &key, llvm::StringRef code) const;
  /// Deletes the least recently used files beyond the limit.
  void limit() const;

private:
  std::string folder, compiler;
  uint64_t limitBytes = 0;
};

} // namespace heddle
