//===- CacheTypeTest.cpp - Types of cached keys and values ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over cached keys and values of a narrow type gives the same bits as attention over the
// f32 values that they represent (docs/semantics.md). PromptTest compares caches with whole texts.
#include "LinearModel.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Support/Float.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t kHeads = 2, kGroup = 2;

/// Replaces a row by the values that its stored form represents.
void roundRow(std::span<float> row, const std::string &type) {
  if (type == "int8") {
    float largest = 0;
    bool usual = true;
    for (float x : row) {
      usual = usual && std::fabs(x) < 0x1p127f;
      largest = std::max(largest, std::fabs(x));
    }
    const bool none = largest < 0x1p-118f;
    const float scale = !usual ? NAN : none ? 0 : largest / 127;
    for (float &x : row)
      x = scale * (usual && !none ? std::nearbyint(x * (127 / largest)) : 0);
    return;
  }
  for (float &x : row)
    x = type == "bf16"  ? floatFromBFloat(bfloatFromFloat(x))
        : type == "f16" ? floatFromHalf(halfFromFloat(x))
                        : x;
}

/// Causal attention with grouped heads and the given numbers of rows and features.
struct Attention {
  int64_t rows, features, valueFeatures;
  Matrix query, key, value;

  Attention(int64_t rows, int64_t features, int64_t valueFeatures)
      : rows(rows), features(features), valueFeatures(valueFeatures),
        query(numbers(kHeads * kGroup * rows, features, 1)),
        key(numbers(kHeads * rows, features, 2)), value(numbers(kHeads * rows, valueFeatures, 3)) {
    for (Matrix *kept : {&key, &value}) {
      kept->fill(1, {127.0f, 2.5f, 3.5f, -2.5f, -3.5f, 0.5f, -0.5f}); // ties round to even
      kept->fill(2, {0.0f, -0.0f});
      kept->fill(3, {0x1p-130f, -0x1p-120f}); // almost zero
      kept->fill(4, {1e4f, 1.0f, -1e-3f});
    }
    // Masked for all rows except the last ones of the first head, which become NaN.
    value.fill(rows - 2, {1.0f, INFINITY, 2.0f});
    key.fill(rows - 1, {1.0f, NAN, 2.0f});
  }

  std::string text() const {
    auto type = [](int64_t heads, int64_t columns) {
      return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(columns) + "xf32>";
    };
    auto argument = [&](const std::string &name, int64_t heads, int64_t columns) {
      return "%" + name + ": " + type(heads, columns) + " {transformer.name = \"" + name +
             "\", transformer.dims = [\"B\", " + std::to_string(heads) + ", \"T\", " +
             std::to_string(columns) + "]}";
    };
    const std::string q = type(kHeads * kGroup, features), k = type(kHeads, features),
                      v = type(kHeads, valueFeatures), o = type(kHeads * kGroup, valueFeatures);
    return "func.func @run(" + argument("q", kHeads * kGroup, features) + ", " +
           argument("k", kHeads, features) + ", " + argument("v", kHeads, valueFeatures) +
           ") -> (" + o + " {transformer.name = \"o\"}) {\n  %m = transformer.mask.causal\n" +
           "  %o = transformer.attention %q, %k, %v mask(%m) {kept, scale = 0.11 : f32} : (" + q +
           ", " + k + ", " + v + ") -> " + o + "\n  return %o : " + o + "\n}\n";
  }

  Expected<Session> open(const std::string &dtype, const std::string &cache,
                         const std::string &target) const {
    TemporaryFolder folder;
    CompileOptions options;
    options.dtype = dtype;
    options.cacheDtype = cache;
    const bool onCpu = target != "vulkan";
    options.targets = {onCpu ? "cpu" : "vulkan"};
    if (onCpu)
      options.cpus = {target};
    Expected<Artifact> artifact = compileToMemory(folder.write("attention.mlir", text()), options);
    if (!artifact)
      return artifact.takeError();
    return Session::fromArtifact(std::move(*artifact), {.device = onCpu ? "cpu" : "vulkan"});
  }

  static Tensor tensor(const Matrix &matrix, int64_t heads) {
    return Tensor::f32({1, heads, matrix.rows / heads, matrix.columns}, matrix.values);
  }
  Tensors inputs(const std::string &type) const {
    Matrix k = key, v = value;
    for (Matrix *kept : {&k, &v})
      for (int64_t row = 0; row < kept->rows; ++row)
        roundRow({&kept->at(row, 0), static_cast<size_t>(kept->columns)}, type);
    return {
        {"q", tensor(query, kHeads * kGroup)}, {"k", tensor(k, kHeads)}, {"v", tensor(v, kHeads)}};
  }
};

class CacheTypeTest : public testing::TestWithParam<std::string> {};

TEST_P(CacheTypeTest, StandsForItsNumbers) {
  // More keys than a chunk, and one more word of codes than whole iterations.
  const Attention attention(GetParam() == "vulkan" ? 70 : 533, 36, 24);
  for (const char *dtype : {"f32", "bf16"}) {
    auto plain = attention.open(dtype, "f32", GetParam());
    if (!plain && LinearModel::isMissing(plain.error()))
      GTEST_SKIP() << plain.error().message;
    ASSERT_TRUE(plain) << plain.error().message;
    for (const char *type : {"bf16", "f16", "int8"}) {
      SCOPED_TRACE(std::string(dtype) + ", caches of " + type);
      HEDDLE_ASSERT(session, attention.open(dtype, type, GetParam()));
      HEDDLE_ASSERT(expected, call(*plain, "run", attention.inputs(type)));
      HEDDLE_ASSERT(found, call(session, "run", attention.inputs("")));
      auto want = expected.at("o").values<float>(), have = found.at("o").values<float>();
      ASSERT_EQ(want.size(), have.size());
      // Another device may round the factor of a row, and therefore a tie, differently.
      const float allowed = GetParam() == "vulkan" && type == std::string("int8") ? 5e-3f : 0;
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(want[i] == have[i] || (std::isnan(want[i]) && std::isnan(have[i])) ||
                    std::fabs(want[i] - have[i]) <= allowed * std::max(1.0f, std::fabs(want[i])))
            << "number " << i << ": expected " << want[i] << ", found " << have[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CacheTypeTest,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4-bf16", "vulkan"),
                         targetName);

//===- Models ------------------------------------------------------------===//

struct Model {
  std::optional<Session> session;
  Tensor logits;
  int64_t stateBytes = 0; ///< of one sequence
};

Model decoded(const std::string &dtype, const std::string &cache) {
  Model model;
  JitOptions options;
  options.dtype = dtype;
  options.cacheDtype = cache;
  auto opened = jit(HEDDLE_SOURCE_DIR "/test/data/models/rotary-decoder.json", options);
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened)
    return model;
  std::vector<int32_t> ids(20);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>(1 + i * 7 % 29);
  auto found = call(*opened, "decode", {{"target", Tensor::i32({1, 20}, ids)}});
  EXPECT_TRUE(found) << found.error().message;
  if (found)
    model.logits = found->at("logits");
  const Function *step = opened->program().findFunction("decode_step");
  for (const StateUse &use : step->states)
    model.stateBytes += 4 * *step->buffers[use.buffer].elements.evaluate({{"B", 1}});
  model.session = std::move(*opened);
  return model;
}

/// Cache types are close to f32 and use only the memory of their elements: two layers, keys and
/// values, two heads of 64, room for 32 rows. Bounds are two to four times the observed
/// differences.
TEST(CacheTypes, AreNearF32AndTakeTheirMemory) {
  constexpr int64_t rows = int64_t{2} * 2 * 2 * 32;
  const Model exact = decoded("f32", "");
  EXPECT_EQ(exact.stateBytes, rows * 64 * 4);
  for (auto [cache, bound, bytes] : {std::tuple("bf16", 1e-2, 64 * 2), {"int8", 2e-2, 64 + 4}}) {
    const Model model = decoded("f32", cache);
    const double error = difference(model.logits, exact.logits);
    EXPECT_LE(error, bound) << cache;
    EXPECT_GT(error, 0) << cache;
    EXPECT_EQ(model.stateBytes, rows * bytes) << cache;
  }
}

/// Rounding on entry to products equals rounding before.
TEST(CacheTypes, OfF32BesideBf16HaveItsBits) {
  EXPECT_TRUE(sameBits(decoded("bf16", "f32").logits, decoded("bf16", "").logits));
}

} // namespace
