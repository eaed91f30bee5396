//===- Rates.h - What the processor could reach ----------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The denominators of every share: multiply-adds on registers alone, on the
// widest vectors that the processor has, and reading a buffer from end to end.
// Measurements are short, so that one can stand in every round beside what it is
// compared with; a figure is the median over the rounds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <cstdint>
#include <string>

namespace heddle {

/// What is multiplied and added: f32; pairs of bf16 into f32 (vdpbf16ps); four bytes into i32
/// (vpdpbusd); f16.
enum class Arithmetic : uint8_t { F32, BF16, Int8, F16 };
const char *toString(Arithmetic arithmetic); ///< "f32", "bf16", "int8", "f16"

/// The instruction that `measureRate` counts: "vfmadd213ps, 16 lanes"; empty where the processor
/// has none.
std::string rateInstruction(Arithmetic arithmetic);

/// Operations a second (a multiply-add is two) of `threads` threads together, over a few
/// milliseconds; 0 where the processor lacks the instruction.
double measureRate(Arithmetic arithmetic, int threads);

/// A buffer that is read again and again, a part of it by each thread.
class ReadProbe {
public:
  /// `bytes` in all, written once; large buffers ask for huge pages.
  static Expected<ReadProbe> create(int64_t bytes, int threads);
  /// Bytes a second of all threads together, over a few milliseconds or one pass. The faster of
  /// plain loads and loads with a prefetch ahead: processors differ in what helps them.
  double measure() const;

private:
  ReadProbe(MappedBytes memory, int64_t bytes, int threads)
      : memory(std::move(memory)), bytes(bytes), threads(threads) {}
  double measure(bool prefetch) const;

  MappedBytes memory;
  int64_t bytes;
  int threads;
};

} // namespace heddle
