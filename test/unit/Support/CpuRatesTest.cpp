//===- CpuRatesTest.cpp - Measured rates and their cache file -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that the probe detects the processor's features, and that a damaged
// file is treated as missing.
#include "heddle/Support/CpuRates.h"
#include "TemporaryFolder.h"

#include "heddle/Support/CacheFolder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

TEST(CpuRates, AnInstructionHasARate) {
  CpuRates rates = measureCpuRates();
  EXPECT_EQ(rates.multiplyAdd > 0, !rateInstruction(Arithmetic::F32).empty());
  EXPECT_EQ(rates.bf16Dot2 > 0, !rateInstruction(Arithmetic::BF16).empty());
  EXPECT_EQ(rates.int8Dot4 > 0, !rateInstruction(Arithmetic::Int8).empty());
  EXPECT_EQ(rates.f16Accumulate > 0, !rateInstruction(Arithmetic::F16).empty());
#if defined(__x86_64__)
  EXPECT_EQ(rates.bf16Dot2 > 0, bool(__builtin_cpu_supports("avx512bf16")));
#endif
  EXPECT_LT(rates.multiplyAdd, 10000);
}

TEST(CpuRates, TextThereAndBack) {
  CpuRates rates{240.5, 120.25, 960, 481}, read;
  ASSERT_TRUE(parseRates(toText(rates), read));
  EXPECT_NEAR(read.bf16Dot2, 120.25, 0.1);
  EXPECT_NEAR(read.f16Accumulate, 481, 0.1);
  EXPECT_FALSE(read.dot2Pays());
  for (const char *damaged :
       {"", "multiply-add 1\n", "multiply-add x\nbf16-dot2 1\nint8-dot4 1\nf16-accumulate 1\n",
        "multiply-add -1\nbf16-dot2 1\nint8-dot4 1\nf16-accumulate 1\n",
        "multiply-add nan\nbf16-dot2 1\nint8-dot4 1\nf16-accumulate 1\n",
        "multiply-add 1\nint8-dot4 1\nbf16-dot2 1\nf16-accumulate 1\n",
        "multiply-add 1\nbf16-dot2 1\nint8-dot4 1\n",
        "multiply-add 1\nbf16-dot2 1\nint8-dot4 1\nf16-accumulate 1\nmore\n"})
    EXPECT_FALSE(parseRates(damaged, read)) << damaged;
}

/// The first call of a process measures and writes a file. A location that is not writable is no
/// error.
TEST(CpuRates, AreKeptInTheCacheFolder) {
  namespace fs = std::filesystem;
  test::TemporaryFolder home;
  fs::path folder = home.path() / "new";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  EXPECT_EQ(cacheDirectory(), (folder / "heddle").string());
  const CpuRates &rates = cpuRates();
  int files = 0;
  for (const auto &entry : fs::directory_iterator(folder / "heddle")) {
    std::ifstream file(entry.path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), toText(rates));
    ++files;
  }
  EXPECT_EQ(files, 1);
  EXPECT_EQ(&cpuRates(), &rates);
}

} // namespace
