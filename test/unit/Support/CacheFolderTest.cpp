//===- CacheFolderTest.cpp - Files kept for later processes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that the folder has a limited size, and that recently used files are
// kept.
#include "heddle/Support/CacheFolder.h"
#include "TemporaryFolder.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

struct CacheFolder : testing::Test {
  test::TemporaryFolder temporary;
  fs::path home = temporary.path() / "new";
  void SetUp() override { setenv("XDG_CACHE_HOME", home.c_str(), 1); }

  /// Stores ten bytes whose last use was `hours` ago.
  std::string keep(const std::string &name, int hours) {
    std::string path = cacheDirectory() + "/" + name;
    keepInCache(path, "0123456789");
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return path;
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(cacheDirectory()))
      found.push_back(entry.path().filename());
    return found;
  }
};

} // namespace

TEST_F(CacheFolder, TheOldestGoFirst) {
  keep("a-1", 4), keep("a-2", 3), keep("a-3", 2), keep("b-1", 9);
  limitCache("a-", 3, 100);
  EXPECT_EQ(names().size(), 4u);
  limitCache("a-", 2, 100);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a-2", "a-3", "b-1"));
  limitCache("a-", 2, 19);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a-3", "b-1"));
}

TEST_F(CacheFolder, WhatWasOfUseStays) {
  std::string first = keep("a-1", 4);
  keep("a-2", 3);
  touchInCache(first);
  limitCache("a-", 1, 100);
  EXPECT_THAT(names(), testing::ElementsAre("a-1"));
}

/// Cached files contain code, so any user with write access to the folder could run code as this
/// user.
TEST_F(CacheFolder, AFolderOfOthersIsNotUsed) {
  const fs::path folder = home / "heddle";
  const std::string path = keep("a-1", 1);
  EXPECT_EQ(cacheDirectory(), folder);
  fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(cacheDirectory(), "");
  EXPECT_EQ(whyNoCacheDirectory(), folder.string() +
                                       ": expected a cache folder that its owner alone may "
                                       "write to, found one that others may");
  fs::permissions(folder, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_EQ(cacheDirectory(), folder);
  if (::chown(folder.c_str(), 65534, 65534) != 0)
    GTEST_SKIP() << "only root can give a folder away";
  EXPECT_EQ(cacheDirectory(), "");
  EXPECT_EQ(whyNoCacheDirectory(),
            folder.string() + ": expected a cache folder of this user, found one of user 65534");
}

TEST_F(CacheFolder, APlaceThatCannotBeIsNoError) {
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  keepInCache(cacheDirectory() + "/a-1", "text");
  touchInCache(cacheDirectory() + "/a-1");
  limitCache("a-", 0, 0);
  EXPECT_FALSE(fs::exists(cacheDirectory()));
}

TEST_F(CacheFolder, OnlyItsOwnerMayReadWhatIsKept) {
  const mode_t before = umask(0);
  const std::string path = keep("a-1", 1);
  EXPECT_EQ(fs::status(home).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(cacheDirectory()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(cacheDirectory(), fs::perms::others_read, fs::perm_options::add);
  keep("a-2", 1);
  EXPECT_EQ(fs::status(cacheDirectory()).permissions(), fs::perms::owner_all);
  umask(before);
}

TEST_F(CacheFolder, AFolderInAPlaceOfAFileGoes) {
  keep("b-1", 1);
  fs::create_directories(fs::path(cacheDirectory()) / "a-1" / "inner");
  ASSERT_EQ(cachedFiles("a-").size(), 1u);
  EXPECT_EQ(cachedFiles("a-")[0].bytes, 0u);
  const std::string path = keep("a-1", 1);
  EXPECT_TRUE(fs::is_regular_file(path));
}
