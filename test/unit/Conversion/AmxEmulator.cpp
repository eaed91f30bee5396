//===- AmxEmulator.cpp - AMX on other processors --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions have the form VEX.0F38:
//
//   C4  RXBmmmmm  WvvvvLpp  opcode  ModRM  [SIB  displacement]
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TILERELEASE,
// TILEZERO, TILELOADD, TILESTORED, TDPBUSD, TDPBSUD, TDPBF16PS.

#include "AmxEmulator.h"

#if defined(__x86_64__)

#include "heddle/Support/Float.h"

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <ucontext.h>

namespace {

constexpr int registerCount = 8, rowCount = 16, rowBytes = 64, wordBytes = 4,
              wordsOfRow = rowBytes / wordBytes;

/// State of the unit in a thread. A register is zero outside its configured shape.
struct Unit {
  struct Shape {
    int rows, bytes;
  } shapes[registerCount];
  uint8_t registers[registerCount][rowCount][rowBytes];

  void configure(const uint8_t *memory) {
    constexpr int bytesAt = 16, rowsAt = 48;
    std::memset(registers, 0, sizeof registers);
    for (int i = 0; i < registerCount; ++i) {
      uint16_t bytes = 0;
      std::memcpy(&bytes, memory + bytesAt + 2 * i, 2);
      shapes[i] = {memory[rowsAt + i], bytes};
      if (shapes[i].rows > rowCount || shapes[i].bytes > rowBytes)
        std::abort();
    }
  }
  void load(int to, const uint8_t *start, int64_t pitch) {
    std::memset(registers[to], 0, sizeof registers[to]);
    for (int row = 0; row < shapes[to].rows; ++row)
      std::memcpy(registers[to][row], start + row * pitch, shapes[to].bytes);
  }
  void store(int from, uint8_t *start, int64_t pitch) {
    for (int row = 0; row < shapes[from].rows; ++row)
      std::memcpy(start + row * pitch, registers[from][row], shapes[from].bytes);
  }
  void clear(int which) { std::memset(registers[which], 0, sizeof registers[which]); }

  /// Calls `add` with each row and column of the sums, and the words of each side.
  template <typename Add>
  void multiply(int sums, int left, int right, Add add) {
    if (shapes[left].rows != shapes[sums].rows || shapes[right].bytes != shapes[sums].bytes ||
        shapes[left].bytes / wordBytes != shapes[right].rows)
      std::abort(); // the processor would raise an exception
    for (int row = 0; row < shapes[sums].rows; ++row)
      for (int column = 0; column < shapes[sums].bytes / wordBytes; ++column)
        add(&registers[sums][row][column * wordBytes], registers[left][row],
            &registers[right][0][column * wordBytes], shapes[right].rows);
  }
};

thread_local Unit unit;

/// Adds products of bytes, modulo 2^32. `Left` and `Right` are the types of the bytes.
template <typename Left, typename Right>
void addBytes(uint8_t *sum, const uint8_t *left, const uint8_t *right, int words) {
  int32_t total = 0;
  std::memcpy(&total, sum, sizeof total);
  for (int k = 0; k < words; ++k)
    for (int byte = 0; byte < wordBytes; ++byte)
      total += static_cast<Left>(left[k * wordBytes + byte]) *
               static_cast<Right>(right[k * rowBytes + byte]);
  std::memcpy(sum, &total, sizeof total);
}

float bfloatAt(const uint8_t *place) {
  uint16_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return heddle::floatFromBFloat(bits);
}

/// Adds a chain of even and a chain of odd products, each from zero.
void addPairs(uint8_t *sum, const uint8_t *left, const uint8_t *right, int words) {
  float chains[2] = {0, 0}, total = 0;
  for (int k = 0; k < words; ++k)
    for (int odd = 0; odd < 2; ++odd)
      chains[odd] = std::fma(bfloatAt(left + k * wordBytes + 2 * odd),
                             bfloatAt(right + k * rowBytes + 2 * odd), chains[odd]);
  std::memcpy(&total, sum, sizeof total);
  total += chains[0] + chains[1];
  std::memcpy(sum, &total, sizeof total);
}

/// A decoded instruction. Registers are numbers of the processor or of the unit.
struct Instruction {
  explicit Instruction(const uint8_t *code) {
    isKnown = code[0] == 0xC4 && (code[1] & 31) == 2 && !(code[2] >> 7) && !(code[2] >> 2 & 1);
    if (!isKnown)
      return;
    prefix = code[2] & 3;
    third = ~code[2] >> 3 & 15;
    opcode = code[3];
    isOfRegisters = code[4] >> 6 == 3;
    first = code[4] >> 3 & 7;
    second = code[4] & 7;
    size = 5;
    if (isOfRegisters)
      return;
    const bool hasIndexByte = second == 4;
    base = second | (~code[1] >> 5 & 1) << 3;
    if (hasIndexByte) {
      scale = code[5] >> 6;
      index = (code[5] >> 3 & 7) | (~code[1] >> 6 & 1) << 3;
      base = (code[5] & 7) | (~code[1] >> 5 & 1) << 3;
      ++size;
    }
    const int mode = code[4] >> 6;
    if (mode == 0 && (base & 7) == 5)
      isKnown = false; // relative to the instruction, or without a base
    if (mode == 1)
      displacement = static_cast<int8_t>(code[size]);
    else if (mode == 2)
      std::memcpy(&displacement, code + size, sizeof displacement);
    size += mode == 1 ? 1 : mode == 2 ? 4 : 0;
  }

  bool isKnown = false, isOfRegisters = false;
  int prefix = 0, opcode = 0, size = 0;
  int first = 0, second = 0, third = 0; ///< ModRM.reg, ModRM.rm, and VEX.vvvv
  int base = 0, index = 4, scale = 0;   ///< of memory; index 4: none
  int32_t displacement = 0;
};

/// Value of a register of the processor, by its number in instructions.
int64_t valueOf(const ucontext_t &context, int number) {
  constexpr int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[names[number]];
}

enum Prefix { None, P66, F3, F2 };

/// Executes an instruction; false if it is none of the unit.
bool execute(const Instruction &code, const ucontext_t &context) {
  if (!code.isKnown)
    return false;
  auto is = [&](int opcode, Prefix prefix) {
    return code.opcode == opcode && code.prefix == prefix;
  };
  if (code.isOfRegisters) {
    if (is(0x49, None))
      std::memset(&unit, 0, sizeof unit);
    else if (is(0x49, F2))
      unit.clear(code.first);
    else if (is(0x5E, P66))
      unit.multiply(code.first, code.second, code.third, addBytes<uint8_t, int8_t>);
    else if (is(0x5E, F3))
      unit.multiply(code.first, code.second, code.third, addBytes<int8_t, uint8_t>);
    else if (is(0x5C, F3))
      unit.multiply(code.first, code.second, code.third, addPairs);
    else
      return false;
    return true;
  }
  auto *start = reinterpret_cast<uint8_t *>(valueOf(context, code.base) + code.displacement);
  const int64_t pitch = code.index == 4 ? 0 : valueOf(context, code.index) << code.scale;
  if (is(0x49, None))
    unit.configure(start);
  else if (is(0x4B, F2))
    unit.load(code.first, start, pitch);
  else if (is(0x4B, F3))
    unit.store(code.first, start, pitch);
  else
    return false;
  return true;
}

void handle(int, siginfo_t *, void *data) {
  auto &context = *static_cast<ucontext_t *>(data);
  greg_t &at = context.uc_mcontext.gregs[REG_RIP];
  const Instruction code(reinterpret_cast<const uint8_t *>(at));
  // The unit flushes denormals whatever the mode of the thread; the kernel restores the mode.
  _mm_setcsr(_mm_getcsr() | 0x8040);
  if (!execute(code, context)) {
    std::signal(SIGILL, SIG_DFL);
    return; // the instruction ends the process
  }
  at += code.size;
}

} // namespace

bool heddle::test::emulateAmx() {
  static const bool isInstalled = [] {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGILL, &action, nullptr) == 0;
  }();
  return isInstalled;
}

#else
bool heddle::test::emulateAmx() { return false; }
#endif
