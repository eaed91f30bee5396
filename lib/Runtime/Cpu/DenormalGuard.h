//===- DenormalGuard.h - Flush-to-zero mode around kernels ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes kernels treat denormals as zero, so that no input slows them down. The caller's mode is
// restored afterwards.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heddle {

/// Enables flush-to-zero in the current thread for its scope.
class DenormalGuard {
public:
  DenormalGuard() : saved(read()) { write(saved | flushBits); }
  ~DenormalGuard() { write(saved); }
  DenormalGuard(const DenormalGuard &) = delete;
  DenormalGuard &operator=(const DenormalGuard &) = delete;

private:
#if defined(__x86_64__)
  static constexpr uint64_t flushBits = 0x8040; // FTZ and DAZ
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t flushBits = uint64_t{1} << 24; // FZ
  static uint64_t read() {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#else
  static constexpr uint64_t flushBits = 0;
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif
  uint64_t saved;
};

} // namespace heddle
