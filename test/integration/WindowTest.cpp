//===- WindowTest.cpp - Weights beyond the range of a device --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests windows of weights. A device that limits the bytes of a buffer which a kernel can address
// processes a large table or classifier in windows of rows. It gives the bits of a device that
// addresses the whole buffer.
#include "Models.h"
#include "ScopedVariable.h"
#include "TemporaryFolder.h"
#include "heddle/Compiler/Compiler.h"

using namespace heddle;
using namespace heddle::test;

namespace {

/// A model with a table of rows of 64 numbers. The table's kernel also adds positions and a norm;
/// the classifier, which may be the same matrix, has a bias. No number of rows is a multiple of a
/// tile.
std::string description(bool tied) {
  return R"({"heddle": 1, "kind": "encoder", "size": 64, "weights": {"seed": 5},
  "source": {"vocabulary": )" +
         std::string(tied ? "3001" : "3024") + R"(}, "position": {"kind": "learned", "length": 16},
  "embedding": {"norm": {"kind": "layer"}}, "attention": {"heads": 2}, "ffn": {"size": 64},
  "encoder": {"layers": 1}, "classifier": {"bias": true, "tied": )" +
         std::string(tied ? "true" : "false") + "}}";
}

struct Case {
  const char *dtype;
  bool tied;
};

class WindowTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    CompileOptions options;
    options.dtype = GetParam().dtype;
    options.targets = {"vulkan"};
    auto compiled = compileModel(folder.write("model.json", description(GetParam().tied)),
                                 folder / "model.heddle", options);
    ASSERT_TRUE(compiled) << compiled.error().message;
  }

  /// The classes of ids in all windows, on a device with these limits.
  Expected<Tensors> run(const char *limits, std::optional<int> level = {}) {
    ScopedVariable mask("HEDDLE_VULKAN_LIMITS", limits);
    auto session =
        Session::open(folder / "model.heddle", {.device = "vulkan", .vulkanLevel = level});
    if (!session)
      return session.takeError();
    return call(*session, "encode",
                {{"source", Tensor::i32({2, 3}, std::vector{0, 1671, 557, 3000, 2228, 1114})}});
  }

  TemporaryFolder folder;
};

TEST_P(WindowTest, GivesTheBitsOfOneWindow) {
  auto whole = run("range=134217728");
  if (!whole && isMissingDevice(whole.error()))
    GTEST_SKIP() << whole.error().message;
  ASSERT_TRUE(whole) << whole.error().message;
  for (const char *limits : {"range=100000", "range=130000,staging=1"}) {
    SCOPED_TRACE(limits);
    HEDDLE_ASSERT(found, run(limits));
    EXPECT_TRUE(sameBits(found, *whole));
    HEDDLE_ASSERT(few, run(limits, 0)); // level 0 requested: forms for few rows
    EXPECT_TRUE(sameBits(few, *whole));
  }
  auto found = run("range=4096"); // not even the memory of a kernel fits
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("vulkan: kernel "), std::string::npos);
  EXPECT_NE(found.error().message.find(" within 4096 bytes, found "), std::string::npos)
      << found.error().message;
}

INSTANTIATE_TEST_SUITE_P(Formats, WindowTest,
                         testing::Values(Case{"f32", false}, Case{"f32", true}, Case{"bf16", true},
                                         Case{"int8", false}, Case{"int8", true}),
                         [](const auto &info) {
                           return std::string(info.param.dtype) + (info.param.tied ? "_tied" : "");
                         });

} // namespace
