//===- KernelCacheTest.cpp - Code of kernels kept on disk -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache may only save time: the output has equal bytes with and without it,
// whatever its folder contains. Targets do not share entries.

#include "KernelCache.h"
#include "TemporaryFolder.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/CacheFolder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace heddle;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

const std::string cachedModel = HEDDLE_SOURCE_DIR "/examples/embed/model.json";

std::string bytesOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct KernelCacheFolder : testing::Test {
  test::TemporaryFolder temporary;
  fs::path home = temporary.path();
  fs::path output = home / "model.heddle";
  void SetUp() override {
    setenv("XDG_CACHE_HOME", home.c_str(), 1);
    setenv("HEDDLE_CACHE_LIMIT", "64", 1);
  }
  void TearDown() override { setenv("HEDDLE_CACHE_LIMIT", "0", 1); }

  CompileReport compile(const std::vector<std::string> &cpus = {"x86-64-v3"},
                        const std::vector<std::string> &targets = {"cpu", "vulkan"}) {
    CompileOptions options;
    options.targets = targets;
    options.cpus = cpus;
    auto report = compileModel(cachedModel, output, options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : CompileReport();
  }
  /// The output of a compilation without a cache.
  std::string withoutCache(const std::vector<std::string> &cpus = {"x86-64-v3"}) {
    setenv("HEDDLE_CACHE_LIMIT", "0", 1);
    EXPECT_EQ(compile(cpus).cachedPieces, 0);
    setenv("HEDDLE_CACHE_LIMIT", "64", 1);
    return bytesOf(output);
  }
  std::vector<fs::path> entries() {
    std::vector<fs::path> found;
    if (fs::exists(cacheDirectory()))
      for (const auto &entry : fs::directory_iterator(cacheDirectory()))
        if (entry.path().filename().string().starts_with("kernel-"))
          found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }
};

KernelCache opened() {
  auto cache = KernelCache::open();
  EXPECT_TRUE(cache) << cache.error().message;
  return *cache;
}

} // namespace

TEST_F(KernelCacheFolder, GivesTheSameBytes) {
  std::string expected = withoutCache();
  EXPECT_THAT(entries(), testing::IsEmpty());
  CompileReport cold = compile();
  EXPECT_EQ(cold.cachedPieces, 0);
  EXPECT_EQ(bytesOf(output), expected);
  EXPECT_EQ(entries().size(), static_cast<size_t>(cold.pieces));
  EXPECT_EQ(compile().cachedPieces, cold.pieces);
  EXPECT_EQ(bytesOf(output), expected);
}

TEST_F(KernelCacheFolder, EachInstructionSetHasItsOwn) {
  const std::vector<std::vector<std::string>> sets = {
      {"x86-64-v2"}, {"x86-64-v3"}, {"x86-64-v4"}, {"native"}};
  for (const auto &cpus : sets)
    compile(cpus, {"cpu"});
  for (const auto &cpus : sets) {
    std::string expected = withoutCache(cpus);
    EXPECT_GT(compile(cpus).cachedPieces, 0);
    EXPECT_EQ(bytesOf(output), expected) << cpus.front();
  }
}

TEST_F(KernelCacheFolder, DamagedFilesAreWrittenAnew) {
  std::string expected = withoutCache();
  int pieces = compile().pieces;
  std::vector<fs::path> files = entries();
  std::vector<std::string> contents;
  for (const fs::path &file : files)
    contents.push_back(bytesOf(file));
  auto changed = [&](size_t i) {
    std::string bytes = contents[i];
    switch (i % 6) {
    case 0: // a bit of the code
      bytes.back() ^= 1;
      break;
    case 1: // truncated
      bytes.resize(bytes.size() - 1);
      break;
    case 2:
      bytes.clear();
      break;
    case 3: // another format
      bytes = "kernel";
      break;
    case 4: // valid, but of another kernel
      bytes = contents[(i + 1) % contents.size()];
      break;
    case 5: // zeros, as a power cut may leave them
      bytes.assign(bytes.size(), '\0');
      break;
    }
    return bytes;
  };
  for (size_t i = 0; i < files.size(); ++i)
    write(files[i], changed(i));
  EXPECT_EQ(compile().cachedPieces, 0);
  EXPECT_EQ(bytesOf(output), expected);
  for (size_t i = 0; i < files.size(); ++i)
    EXPECT_EQ(bytesOf(files[i]), contents[i]);
  EXPECT_EQ(compile().cachedPieces, pieces);
}

TEST_F(KernelCacheFolder, WhatIsNoFileIsLeftAlone) {
  std::string expected = withoutCache();
  int pieces = compile().pieces;
  std::vector<fs::path> files = entries();
  fs::remove(files[0]);
  fs::create_directory(files[0]);
  fs::remove(files[1]);
  ASSERT_EQ(mkfifo(files[1].c_str(), 0600), 0); // opening it may block forever
  EXPECT_EQ(compile().cachedPieces, pieces - 2);
  EXPECT_EQ(bytesOf(output), expected);
}

TEST_F(KernelCacheFolder, AFolderThatCannotBeWrittenIsNoError) {
  std::string expected = withoutCache();
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  EXPECT_EQ(compile().cachedPieces, 0);
  EXPECT_EQ(compile().cachedPieces, 0);
  EXPECT_EQ(bytesOf(output), expected);
}

TEST_F(KernelCacheFolder, KeysAreOfWholeParts) {
  KernelCache cache = opened();
  ASSERT_TRUE(cache.isOn());
  EXPECT_EQ(cache.keyOf({"ab", "c"}), cache.keyOf({"ab", "c"}));
  EXPECT_NE(cache.keyOf({"ab", "c"}), cache.keyOf({"a", "bc"}));
  EXPECT_NE(cache.keyOf({"ab", "c"}), cache.keyOf({"ab", "d"}));
  EXPECT_FALSE(cache.find(cache.keyOf({"ab"})));
  cache.keep(cache.keyOf({"ab"}), "code");
  EXPECT_EQ(cache.find(cache.keyOf({"ab"})), "code");
}

TEST_F(KernelCacheFolder, TheLimitIsKeptAndUseCounts) {
  setenv("HEDDLE_CACHE_LIMIT", "1", 1);
  KernelCache cache = opened();
  const std::string code(300 << 10, 'x');
  for (const char *name : {"first", "second", "third"}) {
    cache.keep(cache.keyOf({name}), code);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(cache.find(cache.keyOf({"first"}))); // now the most recently used entry
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cache.keep(cache.keyOf({"fourth"}), code);
  cache.limit();
  EXPECT_TRUE(cache.find(cache.keyOf({"first"})));
  EXPECT_FALSE(cache.find(cache.keyOf({"second"})));
  EXPECT_TRUE(cache.find(cache.keyOf({"third"})));
  EXPECT_TRUE(cache.find(cache.keyOf({"fourth"})));
}

TEST_F(KernelCacheFolder, TheVariableIsRead) {
  setenv("HEDDLE_CACHE_LIMIT", "0", 1);
  EXPECT_FALSE(opened().isOn());
  setenv("HEDDLE_CACHE_LIMIT", "", 1);
  EXPECT_TRUE(opened().isOn());
  for (const char *wrong : {"many", "-1", "1 ", "1048577", "99999999999999999999"}) {
    setenv("HEDDLE_CACHE_LIMIT", wrong, 1);
    auto cache = KernelCache::open();
    ASSERT_FALSE(cache) << wrong;
    EXPECT_EQ(cache.error().kind, ErrorKind::Usage);
    EXPECT_THAT(cache.error().message,
                HasSubstr("HEDDLE_CACHE_LIMIT: expected 0 to 1048576 MiB, found"));
  }
}
