//===- PromptTest.cpp - Sessions with rows of different lengths -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens in prompts and in steps give the bits of `decode` over the whole text, independent of how
// a prompt is split, of the other rows and of the row's number.
#include "Models.h"
#include "heddle/ExecutionEngine/Jit.h"

#include <algorithm>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

class PromptTest
    : public testing::TestWithParam<std::tuple<std::string, std::string, std::string>> {
protected:
  void SetUp() override {
    const auto &[model, device, types] = GetParam();
    const size_t end = types.find('_'); // "bf16_int8": the type of products, then the caches' type
    JitOptions options{.device = device};
    options.dtype = types.substr(0, end);
    if (end != std::string::npos)
      options.cacheDtype = types.substr(end + 1);
    auto opened = jit(HEDDLE_SOURCE_DIR "/test/data/models/" + model + ".json", options);
    if (!opened && isMissingDevice(opened.error()))
      GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    session = std::move(*opened);
    transposed = model == "prompt-transposed";
    scores = transposed ? "probabilities" : "logits";
    const int64_t sequences = std::ssize(lengths), most = *std::ranges::max_element(lengths);
    auto ids = make({sequences, most}, [](int64_t n) { return 1 + n * 7 % 29; });
    inputs = {{"source", port(ids)}, {"target", port(ids)}, {"target.lengths", vector(lengths)}};
    if (session->program().findFunction("encode")) {
      HEDDLE_ASSERT(encoded, call(*session, "encode", inputs));
      inputs.merge(encoded);
    }
    HEDDLE_ASSERT(found, call(*session, "decode", inputs));
    all = found.at(scores);
  }

  template <typename Value>
  static Tensor make(std::vector<int64_t> shape, Value valueOf) {
    std::vector<int32_t> values;
    for (int64_t n = 0; n < shape[0] * (shape.size() > 1 ? shape[1] : 1); ++n)
      values.push_back(static_cast<int32_t>(valueOf(n)));
    return Tensor::i32(shape, values);
  }
  static Tensor vector(const std::vector<int64_t> &values) {
    return make({std::ssize(values)}, [&](int64_t n) { return values[n]; });
  }
  /// Ids [B, T] in the layout of the model.
  Tensor port(const Tensor &ids) const {
    if (!transposed)
      return ids;
    auto values = ids.values<int32_t>();
    return make({ids.dim(1), ids.dim(0)},
                [&](int64_t n) { return values[n % ids.dim(0) * ids.dim(1) + n / ids.dim(0)]; });
  }

  /// The token at `position` of a text.
  int32_t token(int64_t text, int64_t position) const {
    auto values = inputs.at("target").values<int32_t>();
    return transposed ? values[position * std::ssize(lengths) + text]
                      : values[text * inputs.at("target").dim(1) + position];
  }

  void start() {
    HEDDLE_ASSERT(started, call(*session, "decode_start", inputs));
    EXPECT_TRUE(started.empty());
  }

  /// Feeds `counts[row]` tokens of text `texts[row]`, starting at `firsts[row]`, in a call with
  /// `columns` columns, and checks the scores of the last one. Unused ids are outside the
  /// vocabulary.
  void feed(const std::vector<int64_t> &texts, const std::vector<int64_t> &firsts,
            const std::vector<int64_t> &counts, int64_t columns) {
    const int64_t rows = std::ssize(texts);
    auto ids = make({rows, columns}, [&](int64_t n) {
      int64_t row = n / columns, t = n % columns;
      return t < counts[row] ? token(texts[row], firsts[row] + t) : 1'000'000 - n % 2 * 2'000'000;
    });
    Tensors next{{"target", port(ids)}, {"target.lengths", vector(counts)}};
    HEDDLE_ASSERT(found, call(*session, "decode_prompt", next));
    const Tensor &result = found.at(scores);
    ASSERT_EQ(result.rank(), 2u);
    for (int64_t row = 0; row < rows; ++row) {
      const Tensor given = slice(result, 0, row, row + 1);
      std::span<const float> values = given.values<float>();
      if (counts[row] == 0)
        EXPECT_EQ(std::ranges::count(values, 0.0f), std::ssize(values)) << "row " << row;
      else
        expectScores(values, texts[row], firsts[row] + counts[row] - 1);
    }
  }

  /// Feeds the token at `positions[row]` of text `texts[row]` to each row.
  void step(const std::vector<int64_t> &texts, const std::vector<int64_t> &positions) {
    auto ids =
        make({std::ssize(texts), 1}, [&](int64_t n) { return token(texts[n], positions[n]); });
    HEDDLE_ASSERT(found, call(*session, "decode_step", {{"target", port(ids)}}));
    for (size_t row = 0; row < texts.size(); ++row)
      expectScores(slice(found.at(scores), transposed, row, row + 1).values<float>(), texts[row],
                   positions[row]);
  }

  void expectScores(std::span<const float> found, int64_t text, int64_t position) {
    const Tensor row =
        std::get<0>(GetParam()) == "prompt-hidden"
            ? endOf(text, position)
            : slice(slice(all, transposed, text, text + 1), !transposed, position, position + 1);
    auto values = row.values<float>();
    ASSERT_EQ(found.size(), values.size());
    EXPECT_EQ(std::memcmp(found.data(), values.data(), values.size_bytes()), 0)
        << "text " << text << ", position " << position;
  }

  /// Scores of the last token of a text that ends at `position`: in some models hidden pairs affect
  /// the result, so that later tokens change earlier scores.
  Tensor endOf(int64_t text, int64_t position) {
    auto ids = make({1, position + 1}, [&](int64_t t) { return token(text, t); });
    auto found = call(*session, "decode", {{"target", ids}});
    EXPECT_TRUE(found) << found.error().message;
    return found ? slice(found->at(scores), 1, position, position + 1) : Tensor();
  }

  /// Number of tokens of each sequence; none fills the caches of the models.
  std::vector<int64_t> lengths = {12, 1, 7, 20};
  std::optional<Session> session;
  bool transposed = false;
  std::string scores;
  Tensors inputs;
  Tensor all;
};

TEST_P(PromptTest, GivesTheBitsOfDecode) {
  const std::vector<int64_t> texts = {0, 1, 2, 3};
  for (int64_t chunk : {1, 7, 20}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    start();
    for (int64_t first = 0; first < 19; first += chunk) {
      std::vector<int64_t> counts;
      for (int64_t length : lengths) // all except the last token, which a step feeds
        counts.push_back(std::clamp<int64_t>(length - 1 - first, 0, chunk));
      std::vector<int64_t> firsts;
      for (int64_t length : lengths)
        firsts.push_back(std::min(first, length - 1));
      feed(texts, firsts, counts, chunk);
    }
    step(texts, {11, 0, 6, 19});
  }
}

/// Rows that leave make room for other texts, in a separate call or together with tokens of others.
TEST_P(PromptTest, RowsJoinAndLeave) {
  if (session->program().findFunction("encode"))
    return; // a text that joins would need its own memory
  auto reorder = [&](const std::vector<int64_t> &parents) {
    HEDDLE_ASSERT(done, call(*session, "decode_reorder", {{"parents", vector(parents)}}));
    EXPECT_TRUE(done.empty());
  };
  start();
  feed({0, 2}, {0, 0}, {9, 4}, 9);
  reorder({1, -1, 0});
  feed({2, 3, 0}, {4, 0, 9}, {0, 15, 1}, 16);
  step({2, 3, 0}, {4, 15, 10});
  reorder({2, 1});
  step({0, 3}, {11, 16});
  reorder({-1, 1});
  step({1, 3}, {0, 17});
}

/// Neither rejected ids nor rejected counts change a row.
TEST_P(PromptTest, RefusedCallsChangeNothing) {
  start();
  std::vector<int64_t> texts = {0, 1, 2, 3}, counts = {5, 1, 5, 5};
  feed(texts, {0, 0, 0, 0}, counts, 5);
  auto refused = [&](const std::vector<int64_t> &counts, int64_t columns, const char *message) {
    auto ids = port(make({4, columns}, [](int64_t) { return 1; }));
    auto found =
        call(*session, "decode_prompt", {{"target", ids}, {"target.lengths", vector(counts)}});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
  };
  refused({1, 1, 1, 30}, 30, "expected at most");
  refused({1, 1, -1, 1}, 2, "target.lengths: expected values in [0, ");
  refused({1, 3, 1, 1}, 2, "target.lengths: expected values in [0, ");
  feed(texts, {5, 0, 5, 5}, {3, 0, 2, 1}, 4);
}

/// A model whose masks are windows, except in one layer: the caches of the other layers are rings
/// of 512 rows.
class RingTest : public PromptTest {
protected:
  void SetUp() override {
    lengths = {1100, 3, 700};
    PromptTest::SetUp();
  }

  /// Feeds texts up to `lengths[text]`, starting at `first`, in calls of `chunk` columns.
  void feedAll(const std::vector<int64_t> &texts, int64_t first, int64_t chunk) {
    const int64_t most = *std::ranges::max_element(lengths);
    for (; first < most; first += chunk) {
      std::vector<int64_t> firsts, counts;
      for (int64_t text : texts) {
        counts.push_back(std::clamp<int64_t>(lengths[text] - first, 0, chunk));
        firsts.push_back(std::min(first, lengths[text]));
      }
      feed(texts, firsts, counts, chunk);
    }
  }
};

TEST_P(RingTest, GivesTheBitsOfDecode) {
  for (int64_t chunk : {256, 100}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    start();
    feedAll({0, 1, 2}, 0, chunk);
  }
}

TEST_P(RingTest, RowsGoOnWhereTheyWereMoved) {
  start();
  feed({0, 2}, {0, 0}, {250, 250}, 250);
  feed({0, 2}, {250, 250}, {250, 130}, 250);
  feed({0, 2}, {500, 380}, {90, 250}, 250);
  ASSERT_TRUE((call(*session, "decode_reorder", {{"parents", vector({1, -1, 0})}})));
  feed({2, 1, 0}, {630, 0, 590}, {20, 2, 250}, 250);
  step({2, 1, 0}, {650, 2, 840});
}

TEST_P(RingTest, CachesHoldAWindowAndTheRowsOfACall) {
  auto rowsOf = [&](const std::string &state) -> int64_t {
    for (const Function &function : session->program().functions)
      for (const StateUse &use : function.states)
        if (use.name == state && function.name == "decode_step") {
          const auto elements = function.buffers[use.buffer].elements.evaluate({{"B", 1}});
          return elements ? *elements / 16 : -1; // one head of 16
        }
    return -1;
  };
  EXPECT_EQ(rowsOf("decoder.0.self.key"), rowsOf("decoder.0.self.value"));
  EXPECT_EQ(rowsOf("decoder.0.self.value") * 1200, rowsOf("decoder.1.self.value") * 512);
  EXPECT_EQ(rowsOf("decoder.2.self.key") * 1200, rowsOf("decoder.1.self.key") * 512);
  start();
  auto ids = make({1, 500}, [](int64_t) { return 1; });
  auto found =
      call(*session, "decode_prompt", {{"target", ids}, {"target.lengths", vector({500})}});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("expected at most 422 tokens in one call, since caches keep "
                                       "those of a window alone, found 500"),
            std::string::npos)
      << found.error().message;
}

/// If too many tokens are forgotten, tokens that the next one would see are no longer available.
TEST_P(RingTest, RowsAreForgottenAsFarAsTheCachesKeepThem) {
  start();
  feedAll({0}, 0, 250);
  auto keep = [&](int64_t rows) {
    auto kept = session->keepRows(std::array{rows});
    EXPECT_TRUE(kept) << kept.error().message;
    return kept ? kept->front() : -1;
  };
  EXPECT_EQ(keep(700), 700);
  feed({0}, {700}, {60}, 60);
  EXPECT_EQ(keep(678), 678);
  feed({0}, {678}, {1}, 1);
  EXPECT_EQ(keep(677), 0);
  feed({0}, {0}, {100}, 100);
  EXPECT_EQ(keep(20), 20);
  feed({0}, {20}, {50}, 50);
}

using Case = PromptTest::ParamType;

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name =
      std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" + std::get<2>(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, PromptTest,
    testing::Values(Case{"rotary-decoder", "cpu", "f32"}, Case{"rotary-decoder", "cpu", "bf16"},
                    Case{"rotary-decoder", "cpu", "int8"}, Case{"rotary-odd", "cpu", "f32"},
                    Case{"rotary-odd", "cpu", "bf16"}, Case{"prompt-rules", "cpu", "f32"},
                    Case{"prompt-rules", "cpu", "bf16"}, Case{"prompt-transposed", "cpu", "f32"},
                    Case{"prompt-hidden", "cpu", "f32"}, Case{"rotary-decoder", "vulkan", "f32"},
                    Case{"rotary-decoder", "vulkan", "bf16"}, Case{"rotary-odd", "vulkan", "f32"},
                    Case{"prompt-rules", "vulkan", "f32"},
                    Case{"prompt-transposed", "vulkan", "int8"},
                    Case{"prompt-hidden", "vulkan", "f32"}),
    nameOf);

/// Combinations of cache types and product types. CacheTypeTest combines all of them.
INSTANTIATE_TEST_SUITE_P(Caches, PromptTest,
                         testing::Values(Case{"rotary-decoder", "cpu", "bf16_int8"},
                                         Case{"rotary-odd", "cpu", "f32_int8"},
                                         Case{"prompt-rules", "vulkan", "bf16_int8"}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Models, RingTest,
                         testing::Values(Case{"prompt-window", "cpu", "f32"},
                                         Case{"prompt-window", "cpu", "bf16"},
                                         Case{"prompt-window", "vulkan", "f32"},
                                         Case{"prompt-window", "cpu", "bf16_int8"}),
                         nameOf);

} // namespace
