//===- SourcesTest.cpp - Tests of weight sources -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests safetensors files, valid and hostile, and the numbers generated from a
// seed.

#include "TemporaryFolder.h"
#include "heddle/Pack/NanWatch.h"
#include "heddle/Pack/Safetensors.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Pack/TensorNames.h"

#include <cstring>
#include <gmock/gmock.h>
#include <random>

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string fileOf(const std::string &header, const std::string &data) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}

Expected<std::unique_ptr<WeightSource>> openBytes(const std::string &bytes) {
  test::TemporaryFolder folder;
  return openSafetensors(folder.write("w.safetensors", bytes)); // the file stays mapped
}

std::vector<float> all(const WeightSource &source, const char *name) {
  int tensor = source.find(name);
  std::vector<float> values(source.tensors()[tensor].elements());
  source.read(tensor, 0, values);
  return values;
}

std::string problem(const std::string &header, const std::string &data) {
  auto source = openBytes(fileOf(header, data));
  if (source)
    return "no error";
  const std::string &message = source.error().message;
  return message.substr(message.find(".safetensors: ") + 14);
}

TEST(Safetensors, WidensAllFloatTypes) {
  // Tensors are out of order, with metadata, and the length leaves the data unaligned.
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("half":{"dtype":"F16","shape":[2],"data_offsets":[8,12]},)"
                       R"("full":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                       R"("ids":{"dtype":"I64","shape":[0],"data_offsets":[12,12]},)"
                       R"("brain":{"dtype":"BF16","shape":[],"data_offsets":[12,14]}})";
  std::string data("\0\0\x80\x3f\0\0\0\xc0\0\x3c\1\0\x40\x40", 14);
  for (const char *space : {"", " ", "  ", "   "}) {
    auto source = openBytes(fileOf(header + space, data));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->tensors().size(), 4u);
    EXPECT_THAT(all(**source, "full"), ElementsAre(1.0f, -2.0f));
    EXPECT_THAT(all(**source, "half"), ElementsAre(1.0f, 0x1p-24f));
    EXPECT_THAT(all(**source, "brain"), ElementsAre(3.0f));
    float second = 0;
    (*source)->read((*source)->find("full"), 1, {&second, 1});
    EXPECT_EQ(second, -2.0f);
    auto inPlace = (*source)->inPlace((*source)->find("full"));
    EXPECT_EQ(inPlace.size(), (8 + header.size() + strlen(space)) % 4 == 0 ? 2u : 0u);
  }
}

TEST(Safetensors, TensorsWithNanAreNamed) {
  std::string header = R"({"good":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("whole":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                       R"("half":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})";
  header.resize((header.size() + 3) / 4 * 4, ' '); // so that f32 data are aligned
  auto source = openBytes(fileOf(header, std::string("\0\0\x80\x3f\0\0\xc0\xff\0\0\xc0\x7f", 12)));
  ASSERT_TRUE(source) << source.error().message;
  NanWatch watch(**source);
  EXPECT_THAT(watch.found(), ElementsAre());
  EXPECT_EQ(watch.inPlace(watch.find("whole")).size(), 1u);
  EXPECT_THAT(watch.found(), ElementsAre("whole"));
  for (const char *name : {"good", "whole", "half"})
    all(watch, name);
  EXPECT_THAT(watch.found(), ElementsAre("whole", "half"));
}

TEST(Safetensors, HostileHeadersAreErrors) {
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string four(4, '\0'), eight(8, '\0');
  EXPECT_EQ(problem("{" + a + "}", four), "no error");
  EXPECT_EQ(problem("{" + a + "," + a + "}", four),
            "header: expected each key once, found 'a' twice");
  EXPECT_EQ(problem("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", eight),
            "b: expected data from byte 4 on (tensors neither overlap nor leave gaps), found 2");
  EXPECT_EQ(problem("{" + a + "}", eight), "expected 4 bytes of data, found 8");
  EXPECT_EQ(problem("{" + a + "}", ""), "a: expected offsets within 0 bytes of data, found [0,4]");
  EXPECT_EQ(problem(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four),
            "a: expected 8 bytes for [2], found 4");
  EXPECT_THAT(
      problem(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
              four),
      HasSubstr("a: expected a shape that fits in the file"));
  EXPECT_THAT(problem(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four),
              HasSubstr("a: expected a shape that fits in the file"));
  EXPECT_THAT(problem(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four),
              HasSubstr("a: expected offsets within"));
  EXPECT_THAT(problem(R"({"a":{"dtype":31,"shape":[1],"data_offsets":[0,4]}})", four),
              HasSubstr("a: expected a type, found '31'"));
  EXPECT_THAT(problem(R"({"a":{"dtype":"F32","shape":[1]}})", four), HasSubstr("other fields"));
  EXPECT_THAT(problem(R"({"a":3})", four), HasSubstr("other fields"));
  EXPECT_THAT(problem("{\"\xff\":1}", four), HasSubstr("header:1:3: expected valid JSON"));
  EXPECT_THAT(problem("[1]", four), HasSubstr("begins with '{'"));
}

/// A folder cloned without Git LFS, and checkpoints with a wrong name.
TEST(Safetensors, OtherFilesAreNamed) {
  auto found = [](const std::string &bytes) {
    auto source = openBytes(bytes);
    const std::string text = source ? "no error" : source.error().message;
    return text.substr(text.find("found"));
  };
  EXPECT_EQ(found("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
            "found a pointer of Git LFS, which `git lfs pull` replaces by the file");
  EXPECT_EQ(found(std::string("PK\3\4\0\0\0\0", 8) + std::string(99, ' ')),
            "found a ZIP archive, as checkpoints of PyTorch are");
  EXPECT_EQ(found("\x80\2\x8a\nl\xfc\x9c\x46\xf9"),
            "found a pickle, as old checkpoints of PyTorch are");
  EXPECT_EQ(found("<!DOCTYPE html><html>"),
            "found an HTML page, perhaps of a download that failed");
  EXPECT_EQ(found("anything else"), "found a length of 7453010330696380001");
  // A header of 640 bytes begins like a pickle.
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  auto source = openBytes(fileOf(header + std::string(640 - header.size(), ' '), "\1\2\3\4"));
  EXPECT_TRUE(source) << source.error().message;
}

TEST(Safetensors, RefusesTypesItDoesNotKnowOnlyWhenTheyAreRead) {
  std::string header = R"({"new":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[0,2]},)"
                       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  auto source = openBytes(fileOf(header, std::string("\0\0\0\0\x80\x3f", 6)));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(all(**source, "a"), ElementsAre(1.0f));
  auto read = (*source)->require("new", std::vector<int64_t>{3});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message,
              HasSubstr("new: expected f32, f16, bf16 or f64, found 'F8_E8M0'"));
}

TEST(Safetensors, WrongLengthsAreErrors) {
  auto message = [](const std::string &bytes) { return openBytes(bytes).error().message; };
  EXPECT_THAT(message(""), HasSubstr("expected a safetensors file, found 0 bytes"));
  EXPECT_THAT(message("1234567"), HasSubstr("found 7 bytes"));
  EXPECT_THAT(message(std::string(8, '\xff') + "{}"),
              HasSubstr("found a length of 18446744073709551615"));
  EXPECT_THAT(message(fileOf("{}", "").substr(0, 9)),
              HasSubstr("at most 1 bytes, found a length of 2"));
  EXPECT_THAT(openSafetensors("no/w.safetensors").error().message, HasSubstr("No such file"));
}

TEST(Safetensors, NoDamageCrashes) {
  std::string good = fileOf(R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                            R"("b":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}})",
                            std::string(12, 'x'));
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = good;
    for (int n = 0; n <= i % 3; ++n)
      damaged[random() % damaged.size()] =
          static_cast<char>(i % 2 ? random() : "0189-[]{}\",:"[random() % 12]);
    auto source = openBytes(damaged);
    for (size_t t = 0; source && t < (*source)->tensors().size(); ++t)
      if ((*source)->tensors()[t].type == "f32")
        all(**source, (*source)->tensors()[t].name.c_str());
  }
}

//===- Seeded weights ----------------------------------------------------===//

/// DataParallel and torch.compile add parts to names, in any order.
TEST(TensorNames, AreThoseOfTheModel) {
  auto namesOf = [](std::initializer_list<const char *> names) {
    std::vector<TensorInfo> tensors;
    for (const char *name : names)
      tensors.push_back({name, {1}});
    return modelNames(tensors);
  };
  for (const char *prefix :
       {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "_orig_mod.module.a."}) {
    const std::string given = prefix, kept = given.ends_with("a.") ? "a." : "";
    EXPECT_THAT(namesOf({(given + "b.weight").c_str(), (given + "c.LayerNorm.gamma").c_str()}),
                ElementsAre(kept + "b.weight", kept + "c.LayerNorm.weight"))
        << prefix;
  }
  EXPECT_THAT(namesOf({"module.b", "c"}), ElementsAre("module.b", "c"));
}

TEST(SeededWeights, FollowTheFormula) {
  auto source = makeSeededWeights(7, {{"encoder.0.attention.query.weight", "", {3, 48}},
                                      {"encoder.0.attention.query.bias", "", {3}},
                                      {"encoder.norm.weight", "", {4}},
                                      {"encoder.norm.bias", "", {4}}});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(all(**source, "encoder.norm.weight"), testing::Each(1.0f));
  EXPECT_THAT(all(**source, "encoder.norm.bias"), testing::Each(0.0f));
  // Values from a ten-line script in another language.
  EXPECT_THAT(all(**source, "encoder.0.attention.query.bias"),
              ElementsAre(0x1.6aa9d0p-5f, -0x1.108db0p-4f, 0x1.4263a0p-4f));
  auto weight = all(**source, "encoder.0.attention.query.weight");
  EXPECT_EQ(weight[0], -0x1.ae1500p-7f);
  EXPECT_EQ(weight[143], 0x1.634bd0p-4f);
  float piece[2];
  (*source)->read(0, 142, piece);
  EXPECT_EQ(piece[1], weight[143]);
}

TEST(SeededWeights, NeedWhatTheFormulaNeeds) {
  EXPECT_EQ(makeSeededWeights(7, {{"a.bias", "", {3}}}).error().message,
            "seed 7: a.bias: expected a tensor a.weight with it, found none");
  EXPECT_THAT(makeSeededWeights(7, {{"a", "", {}}}).error().message, HasSubstr("a last dimension"));
}

} // namespace
