//===- Descriptor.h - Owned file descriptors -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

#include <unistd.h>

namespace heddle {

/// A file descriptor that is closed at the end; -1: none.
class Descriptor {
public:
  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (value >= 0)
      ::close(std::exchange(value, -1));
  }
  int get() const { return value; }

private:
  int value;
};

} // namespace heddle
