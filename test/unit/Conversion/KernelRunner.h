//===- KernelRunner.h - Compiles a body and runs it -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the text of a kernel.func to a shared object, loads it into this
// process, and calls it once for each grid point.
#pragma once

#include "heddle/Support/Error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::kernel {
class FuncOp;
struct Size;
} // namespace heddle::kernel

namespace heddle::test {

/// Text of test/data/bodies/`name`, in which each `from` is replaced by its `to`.
std::string readBody(const std::string &name,
                     const std::vector<std::pair<std::string, std::string>> &replacements = {});

class CompiledKernel {
public:
  /// Compiles the only kernel of `text`.
  static Expected<CompiledKernel> create(const std::string &text, const std::string &isa);
  /// Whether code for this instruction set runs here, on the processor or in an emulator.
  static bool runsHere(const std::string &isa);
  /// Runs all grid points with the denormal mode of the caller.
  void run(const std::vector<std::span<std::byte>> &arguments,
           const std::vector<int64_t> &scalars) const;
  const std::vector<char> &object() const { return bytes; }

private:
  /// Index of the kernel's scalar, or -1; tile size; and the number of tiles if the index is -1.
  /// See Support/Program.h.
  struct Axis {
    int scalar = -1;
    int64_t tile = 1, count = 1;
  };
  static Axis axisOf(kernel::FuncOp func, kernel::Size size, int64_t tile);
  void setGrid(kernel::FuncOp func);

  void runEmulated(const std::vector<std::span<std::byte>> &arguments,
                   const std::vector<int64_t> &scalars, const int64_t (&extent)[3]) const;

  using Function = void (*)(void *const *, const int64_t *, int64_t, int64_t, int64_t);
  std::string name;
  std::vector<char> bytes;
  std::array<Axis, 3> grid;
  std::shared_ptr<void> library;
  Function function = nullptr; ///< null: code of another architecture
};

/// Memory of floats, aligned to a cache line and filled with `value`. `slack` more elements follow.
class Floats {
public:
  explicit Floats(int64_t count, float value = 0, int64_t slack = 1 << 16);
  float &operator[](int64_t i) { return data()[i]; }
  float *data() { return lines.data()->values; }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines)); }
  int64_t size() const { return count; }

private:
  struct alignas(64) Line {
    float values[16];
  };
  int64_t count;
  std::vector<Line> lines;
};

/// Fills `values` with small numbers from a deterministic sequence.
void fill(Floats &values, uint32_t seed);

} // namespace heddle::test
