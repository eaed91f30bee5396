//===- JoinTest.cpp - Texts that join a batch of a decoder ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `decode_start` with `rows` gives some rows the memory of other texts. A text's scores have the
// bits of `decode` over this text alone, independent of its row, of the row's earlier texts and of
// the other rows.
#include "Models.h"
#include "heddle/ExecutionEngine/Jit.h"

#include <algorithm>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr const char *crossMask = "decoder.cross-mask=causal(99)"; // hides nothing

struct Case {
  const char *model, *device, *dtype;
  bool masked = true;      ///< masks over the memory hide the padding after a source
  const char *caches = ""; ///< type of the caches; empty: determined by the format
};

class JoinTest : public testing::TestWithParam<Case> {
protected:
  /// State of a row.
  struct Row {
    int64_t text;
    int64_t read = 0;
  };

  void SetUp() override {
    const Case &c = GetParam();
    JitOptions options{.device = c.device};
    options.dtype = c.dtype;
    options.cacheDtype = c.caches;
    if (!c.masked)
      options.mask = {crossMask};
    auto opened =
        jit(HEDDLE_SOURCE_DIR "/test/data/models/" + std::string(c.model) + ".json", options);
    if (!opened && isMissingDevice(opened.error()))
      GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    session = std::move(*opened);
    transposed = c.model == std::string("prompt-transposed");
    scores = transposed ? "probabilities" : "logits";
    HEDDLE_ASSERT(other, session->clone());
    reference = std::move(other);
  }

  template <typename Value>
  static Tensor make(int64_t rows, int64_t columns, bool transposed, Value valueOf) {
    std::vector<int32_t> values;
    for (int64_t n = 0; n < rows * columns; ++n)
      values.push_back(transposed ? valueOf(n % rows, n / rows)
                                  : valueOf(n / columns, n % columns));
    return Tensor::i32(transposed ? std::vector{columns, rows} : std::vector{rows, columns},
                       values);
  }
  static Tensor vector(const std::vector<int64_t> &values) {
    return Tensor::i32({std::ssize(values)}, std::vector<int32_t>(values.begin(), values.end()));
  }

  static int32_t token(int64_t text, int64_t position) {
    return static_cast<int32_t>(1 + (text * 5 + position * 3) % 12);
  }

  /// The memory of texts that are encoded together.
  Tensors memoryOf(const std::vector<int64_t> &texts) {
    int64_t most = 0;
    for (int64_t text : texts)
      most = std::max(most, lengths[text]);
    std::vector<int64_t> own;
    for (int64_t text : texts)
      own.push_back(lengths[text]);
    Tensors inputs{{"source", make(std::ssize(texts), most, transposed,
                                   [&](int64_t row, int64_t s) {
                                     return s < lengths[texts[row]] ? 1 + (texts[row] * 7 + s) % 10
                                                                    : 0;
                                   })},
                   {"source.lengths", vector(own)}};
    auto encoded = call(*reference, "encode", inputs);
    EXPECT_TRUE(encoded) << encoded.error().message;
    if (encoded)
      inputs["memory"] = encoded->at("memory");
    return inputs;
  }

  void start(const std::vector<int64_t> &texts) {
    HEDDLE_ASSERT(done, call(*session, "decode_start", memoryOf(texts)));
    EXPECT_TRUE(done.empty());
    rows.clear();
    for (int64_t text : texts)
      rows.push_back({text});
  }
  Expected<Tensors> tryReplace(const std::vector<int64_t> &texts, const std::vector<int64_t> &at) {
    Tensors inputs = memoryOf(texts);
    inputs["rows"] = vector(at);
    return call(*session, "decode_start", inputs);
  }
  void replace(const std::vector<int64_t> &texts, const std::vector<int64_t> &at) {
    HEDDLE_ASSERT(done, tryReplace(texts, at));
    EXPECT_TRUE(done.empty());
    for (size_t i = 0; i < at.size(); ++i)
      rows[at[i]] = Row{texts[i]};
  }
  void expectRefusal(const std::vector<int64_t> &texts, const std::vector<int64_t> &at,
                     const char *message) {
    auto found = tryReplace(texts, at);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
  }
  void reorder(const std::vector<int64_t> &parents) {
    HEDDLE_ASSERT(done, call(*session, "decode_reorder", {{"parents", vector(parents)}}));
    EXPECT_TRUE(done.empty());
    std::vector<Row> next;
    for (int64_t parent : parents)
      next.push_back(parent < 0 ? Row{-1} : rows[parent]);
    rows = next;
  }

  /// Feeds `counts[row]` tokens to each row, and checks the scores of the last one.
  void feed(const std::vector<int64_t> &counts) {
    const int64_t columns = *std::ranges::max_element(counts);
    Tensors next{{"target", make(std::ssize(rows), columns, transposed,
                                 [&](int64_t row, int64_t t) {
                                   return token(rows[row].text, rows[row].read + t);
                                 })},
                 {"target.lengths", vector(counts)}};
    HEDDLE_ASSERT(found, call(*session, "decode_prompt", next));
    for (size_t row = 0; row < rows.size(); ++row)
      if (counts[row] > 0) {
        rows[row].read += counts[row];
        expectScores(slice(found.at(scores), 0, row, row + 1), rows[row], row);
      }
  }
  void step() {
    Tensors next{{"target", make(std::ssize(rows), 1, transposed, [&](int64_t row, int64_t) {
                    return token(rows[row].text, rows[row].read);
                  })}};
    HEDDLE_ASSERT(found, call(*session, "decode_step", next));
    for (size_t row = 0; row < rows.size(); ++row) {
      ++rows[row].read;
      expectScores(slice(found.at(scores), transposed, row, row + 1), rows[row], row);
    }
  }

  /// The scores of a row equal the scores of its last token in `decode` over its text alone.
  void expectScores(const Tensor &found, const Row &row, size_t place) {
    Tensors alone = memoryOf({row.text});
    alone["target"] =
        make(1, row.read, transposed, [&](int64_t, int64_t t) { return token(row.text, t); });
    HEDDLE_ASSERT(all, call(*reference, "decode", alone));
    const Tensor last = slice(all.at(scores), !transposed, row.read - 1, row.read);
    const auto values = found.values<float>(), expected = last.values<float>();
    ASSERT_EQ(values.size(), expected.size());
    EXPECT_EQ(std::memcmp(values.data(), expected.data(), values.size_bytes()), 0)
        << "row " << place << ": text " << row.text << ", " << row.read << " tokens";
  }

  void expectRefusals();

  /// Number of tokens of each source.
  std::vector<int64_t> lengths = {5, 2, 37, 16, 1, 17};
  std::optional<Session> session, reference;
  bool transposed = false;
  std::string scores;
  std::vector<Row> rows;
};

/// Rejected calls change nothing.
void JoinTest::expectRefusals() {
  if (!GetParam().masked) {
    lengths = {9, 9, 9, 8, 9, 10};
    start({0, 1});
    expectRefusal({5}, {1}, "memory: dimension 1 (S): expected 9 as in the caches, found 10");
    expectRefusal({3}, {1}, "memory: dimension 1 (S): expected 9 as in the caches, found 8");
    return feed({1, 1});
  }
  expectRefusal({0}, {0},
                "decode_start: expected a call of decode_start without rows before it, found none");
  start({0, 1});
  feed({2, 1});
  expectRefusal({2}, {2}, "rows: expected values in [0, 2), found 2 at [0]");
  expectRefusal({2, 3}, {0, -1}, "rows: expected values in [0, 2), found -1 at [1]");
  expectRefusal({2, 3}, {1, 1}, "rows: expected each row once, found 1 again at [1]");
  expectRefusal({2, 3}, {1}, "rows: dimension 0 (B): expected 2 as in memory, found 1");
  step();
  start({3}); // all rows start anew
  feed({2});
}

TEST_P(JoinTest, RowsAreThoseOfTextsAlone) {
  expectRefusals();
  if (!GetParam().masked)
    lengths.assign(lengths.size(), 9); // in these models nothing hides padding
  start({0, 1});
  feed({3, 1});
  step();
  replace({2}, {0}); // longer than all earlier ones
  feed({2, 1});
  reorder({1, -1, 0, -1});
  replace({3, 4}, {3, 1}); // shorter ones of two lengths, in another order
  feed({0, 1, 1, 2});
  step();
  reorder({2, 1, 3, 2});
  replace({5}, {3});
  feed({1, 1, 1, 2});
  step();
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = std::string(info.param.model) + "_" + info.param.device + "_" +
                     info.param.dtype + (info.param.masked ? "" : "_unmasked") +
                     (*info.param.caches ? "_over_" : "") + info.param.caches;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, JoinTest,
    testing::Values(Case{"tiny", "cpu", "f32"}, Case{"prompt-transposed", "cpu", "int8"},
                    Case{"tiny", "cpu", "f32", false}, Case{"tiny", "cpu", "f32", true, "int8"},
                    Case{"tiny", "vulkan", "f32"}, Case{"prompt-transposed", "vulkan", "bf16"}),
    nameOf);

} // namespace
