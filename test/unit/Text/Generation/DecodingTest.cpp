//===- DecodingTest.cpp - Search over scores ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the searches on a small language. Its scores are a function of the
// sequence and of all previous tokens, so every outcome can be computed by
// exhaustive enumeration.
#include "heddle/Generation/Decoding.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

using namespace heddle;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr int32_t vocabulary = 5, endToken = 3;
constexpr float never = -std::numeric_limits<float>::infinity();

/// The scores of the token after `said` in sequence `sequence`.
std::vector<float> scoresAfter(uint64_t sequence, const TokenIds &said) {
  std::vector<uint32_t> words(said.begin(), said.end());
  words.push_back(static_cast<uint32_t>(sequence) + 1000);
  std::seed_seq seed(words.begin(), words.end());
  std::mt19937 engine(seed);
  std::vector<float> scores(vocabulary);
  for (float &score : scores)
    score = static_cast<float>(engine() % 1000) / 250;
  return scores;
}

std::vector<double> logProbabilities(const std::vector<float> &scores) {
  double sum = 0;
  for (float score : scores)
    sum += std::exp(score);
  std::vector<double> logs;
  for (float score : scores)
    logs.push_back(score - std::log(sum));
  return logs;
}

/// A model that remembers the tokens of each row, as caches do.
class Language : public StepModel {
public:
  explicit Language(std::vector<uint64_t> sequences, bool probabilities = false)
      : sequences(std::move(sequences)), probabilities(probabilities) {}

  Expected<std::span<const float>> admit(std::span<const int32_t> parents,
                                         std::span<const size_t> joining) override {
    auto sequence = joining.begin();
    std::vector<Row> next;
    scores.clear();
    for (int32_t parent : parents) {
      next.push_back(parent < 0 ? Row{sequences.at(*sequence++), {}} : rows.at(parent));
      if (parent < 0)
        addScores(next.back());
    }
    EXPECT_EQ(sequence, joining.end());
    rows = std::move(next);
    mostRows = std::max(mostRows, rows.size());
    return std::span<const float>(scores);
  }

  Expected<std::span<const float>> step(std::span<const int32_t> tokens) override {
    EXPECT_EQ(tokens.size(), rows.size());
    scores.clear();
    for (size_t r = 0; r < rows.size(); ++r) {
      rows[r].said.push_back(tokens[r]);
      addScores(rows[r]);
    }
    ++steps;
    return std::span<const float>(scores);
  }

  Status reorder(std::span<const int32_t> parents) override {
    std::vector<Row> next;
    for (int32_t parent : parents)
      next.push_back(rows.at(static_cast<size_t>(parent)));
    rows = std::move(next);
    return {};
  }

  bool givesProbabilities() const override { return probabilities; }

  int steps = 0;
  size_t mostRows = 0;

private:
  struct Row {
    uint64_t sequence;
    TokenIds said;
  };

  void addScores(const Row &row) {
    std::vector<float> next = scoresAfter(row.sequence, row.said);
    if (probabilities)
      for (size_t i = 0; auto log : logProbabilities(next))
        next[i++] = static_cast<float>(std::exp(log));
    scores.insert(scores.end(), next.begin(), next.end());
  }

  std::vector<uint64_t> sequences;
  std::vector<Row> rows;
  std::vector<float> scores;
  bool probabilities;
};

/// A model that always returns the same scores.
class Constant : public StepModel {
public:
  explicit Constant(std::vector<float> scores) : row(std::move(scores)) {}
  Expected<std::span<const float>> admit(std::span<const int32_t>,
                                         std::span<const size_t> sequences) override {
    return rows(sequences.size());
  }
  Expected<std::span<const float>> step(std::span<const int32_t> tokens) override {
    return rows(tokens.size());
  }
  Status reorder(std::span<const int32_t>) override { return {}; }
  bool givesProbabilities() const override { return false; }

private:
  std::span<const float> rows(size_t count) {
    scores.clear();
    for (size_t r = 0; r < count; ++r)
      scores.insert(scores.end(), row.begin(), row.end());
    return scores;
  }

  std::vector<float> row, scores;
};

DecodingOptions options(int64_t limit = 5) {
  DecodingOptions options;
  options.ends = {endToken};
  options.limit = limit;
  return options;
}

std::vector<TokenIds> decode(StepModel &model, size_t sequences, const DecodingOptions &options) {
  auto decoded = decodeSequences(model, sequences, options);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? *decoded : std::vector<TokenIds>();
}

TokenIds decodeOne(uint64_t sequence, DecodingOptions chosen) {
  Language model({sequence});
  chosen.numbers = {sequence};
  return decode(model, 1, chosen).at(0);
}

/// Finds the best sequence by exhaustive enumeration.
void tryAll(uint64_t sequence, const TokenIds &said, double logProbability,
            const DecodingOptions &options, std::pair<double, TokenIds> &best) {
  auto offer = [&](size_t length, double log) {
    const auto n = static_cast<double>(length);
    double worth = log / std::pow(options.beamRule == BeamRule::Own ? (5.0 + n) / 6.0 : n,
                                  options.lengthPenalty);
    if (worth > best.first)
      best = {worth, said};
  };
  if (static_cast<int64_t>(said.size()) == options.limit)
    return offer(said.size(), logProbability);
  std::vector<float> scores = scoresAfter(sequence, said);
  for (int32_t token : options.suppressed)
    if (options.renormalize)
      scores[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
  std::vector<double> logs = logProbabilities(scores);
  for (int32_t token = 0; token < vocabulary; ++token) {
    if (std::ranges::count(options.suppressed, token))
      continue;
    double log = logProbability + logs[static_cast<size_t>(token)];
    if (token == endToken) {
      offer(said.size() + 1, log);
      continue;
    }
    TokenIds longer = said;
    longer.push_back(token);
    tryAll(sequence, longer, log, options, best);
  }
}

TEST(Decoding, GreedyTakesTheLikeliestUntilTheEnd) {
  for (uint64_t sequence = 0; sequence < 50; ++sequence) {
    TokenIds expected;
    while (expected.size() < 5) {
      std::vector<float> scores = scoresAfter(sequence, expected);
      auto token = static_cast<int32_t>(
          std::distance(scores.begin(), std::max_element(scores.begin(), scores.end())));
      if (token == endToken)
        break;
      expected.push_back(token);
    }
    EXPECT_EQ(decodeOne(sequence, options()), expected) << sequence;
  }
}

TEST(Decoding, ABeamThatHoldsEverythingFindsTheBestOfAll) {
  for (double penalty : {0.0, 0.6, 2.0, -1.0})
    for (uint64_t sequence = 0; sequence < 30; ++sequence) {
      DecodingOptions wide = options(4);
      wide.beams = 300; // at most 4^4 open hypotheses
      wide.lengthPenalty = penalty;
      for (BeamRule rule : {BeamRule::Own, BeamRule::Sure}) {
        wide.beamRule = rule;
        std::pair<double, TokenIds> best = {-1e300, {}};
        tryAll(sequence, {}, 0, wide, best);
        EXPECT_EQ(decodeOne(sequence, wide), best.second) << sequence << " penalty " << penalty;
      }
    }
}

/// Whether any n consecutive tokens occur twice.
bool repeats(const TokenIds &tokens, size_t n) {
  std::set<TokenIds> seen;
  for (size_t i = 0; i + n <= tokens.size(); ++i)
    if (!seen.insert(TokenIds(tokens.begin() + i, tokens.begin() + i + n)).second)
      return true;
  return false;
}

TEST(Decoding, RulesHoldInEverySearch) {
  for (auto change : {+[](DecodingOptions &) {}, +[](DecodingOptions &o) { o.sample = true; },
                      +[](DecodingOptions &o) { o.beams = 3; },
                      +[](DecodingOptions &o) { o.beams = 2, o.beamRule = BeamRule::Likely; }})
    for (uint64_t sequence = 0; sequence < 40; ++sequence) {
      auto found = [&](auto rule) {
        DecodingOptions chosen = options(12);
        change(chosen);
        rule(chosen);
        return decodeOne(sequence, chosen);
      };
      EXPECT_THAT(found([](auto &o) { o.suppressed = {1, 4, 99}; }),
                  Not(AnyOf(Contains(1), Contains(4))));
      TokenIds later = found([](auto &o) { o.suppressedFirst = {0, 1, 2, endToken}; });
      ASSERT_FALSE(later.empty());
      EXPECT_EQ(later[0], 4);
      TokenIds behindFirst = found([](auto &o) {
        o.first = 2;
        o.suppressedFirst = {0, 1, 2, endToken};
      });
      ASSERT_GE(behindFirst.size(), 2u);
      EXPECT_EQ(behindFirst[0], 2);
      EXPECT_EQ(behindFirst[1], 4) << "what is said first does not count";
      EXPECT_EQ(found([](auto &o) { o.first = 2, o.least = 3; }).at(0), 2);
      EXPECT_GE(found([](auto &o) { o.least = 7; }).size(), 7u);
      EXPECT_LE(found([](auto &o) { o.least = 12, o.last = endToken; }).size(), 11u);
      EXPECT_EQ(found([](auto &o) { o.least = 12, o.last = 1; }).at(11), 1);
      EXPECT_FALSE(repeats(found([](auto &o) { o.noRepeat = 3, o.least = 12; }), 3));
      EXPECT_EQ(found([](auto &o) { o.badWords = {{1, 4}}, o.before = {{0, 1}}, o.limit = 1; }),
                found([](auto &o) { o.suppressedFirst = {4}, o.before = {{0, 1}}, o.limit = 1; }));
      EXPECT_EQ(found([](auto &o) { o.badWords = {{0, 4}, {9, 0, 1, 4}}, o.before = {{0, 1}}; }),
                found([](auto &o) { o.before = {{0, 1}}, o.badWords = {{0, 4}}; }));
      EXPECT_GE(found([](auto &o) { o.leastInAll = 9, o.before = {{0, 1}}; }).size(), 7u);
      EXPECT_EQ(found([](auto &o) { o.first = 2, o.before = {{0}}, o.least = 1; }).at(0), 2);
      EXPECT_EQ(found([](auto &o) { o.first = 2, o.before = {{0, 1}}; }),
                found([](auto &o) { o.before = {{0, 1}}; }))
          << "a prompt of two tokens";
      TokenIds behind = found([](auto &o) { o.noRepeat = 2, o.before = {{0, 1, 0, 2, 0, 4, 0}}; });
      EXPECT_TRUE(behind.empty() || behind[0] == 0) << "pairs with 1, 2 and 4 were there";
    }
}

/// Caches of a long prompt are full before caches of a short one. An ended row then takes no more
/// steps.
TEST(Decoding, RowsWithoutRoomLeaveTheBatch) {
  DecodingOptions greedy = options(12);
  greedy.ends.clear();
  greedy.limits = {3, 12, 12, 12};
  class Caches : public Language {
  public:
    using Language::Language;
    Expected<std::span<const float>> step(std::span<const int32_t> tokens) override {
      if (tokens.size() == 4)
        EXPECT_LE(++together, 2) << "the first row holds two tokens of its three";
      return Language::step(tokens);
    }
    int together = 0;
  } caches({1, 2, 3, 4});
  const std::vector<TokenIds> decoded = decode(caches, 4, greedy);
  for (size_t i = 0; i < decoded.size(); ++i)
    EXPECT_EQ(std::ssize(decoded[i]), greedy.limits[i]);
}

TEST(Decoding, RulesThatLeaveNothingAreLifted) {
  DecodingOptions chosen = options(5);
  chosen.suppressed = {0, 1, 2, endToken, 4};
  for (int64_t beam : {1, 3}) {
    chosen.beams = beam;
    DecodingOptions plain = chosen;
    plain.suppressed.clear();
    EXPECT_EQ(decodeOne(4, chosen), decodeOne(4, plain));
  }
}

TEST(Decoding, TokensThatAreTakenAwayMakeOthersLikelierInABeamWhereAsked) {
  size_t different = 0;
  for (uint64_t sequence = 0; sequence < 30; ++sequence) {
    DecodingOptions wide = options(4);
    wide.beams = 300;
    wide.suppressed = {1};
    const TokenIds lost = decodeOne(sequence, wide);
    for (bool renormalizes : {false, true}) {
      wide.renormalize = renormalizes;
      std::pair<double, TokenIds> best = {-1e300, {}};
      tryAll(sequence, {}, 0, wide, best);
      EXPECT_EQ(decodeOne(sequence, wide), best.second) << sequence;
    }
    different += decodeOne(sequence, wide) != lost;
  }
  EXPECT_GT(different, 0u);
}

TEST(Decoding, ResultsDoNotDependOnTheBatch) {
  std::vector<uint64_t> sequences(12);
  for (size_t s = 0; s < sequences.size(); ++s)
    sequences[s] = s * 7;
  DecodingOptions greedy = options(8), beam = greedy, sample = greedy;
  beam.beams = 3;
  sample.sample = true;
  for (DecodingOptions chosen : {greedy, beam, sample}) {
    chosen.numbers = sequences;
    Language model(sequences);
    std::vector<TokenIds> together = decode(model, sequences.size(), chosen);
    for (size_t s = 0; s < sequences.size(); ++s)
      EXPECT_EQ(together[s], decodeOne(sequences[s], chosen)) << "sequence " << s;
  }
}

TEST(Decoding, RowsThatEndedAreTakenByOthers) {
  std::vector<uint64_t> sequences(23);
  for (size_t s = 0; s < sequences.size(); ++s)
    sequences[s] = s * 5;
  DecodingOptions greedy = options(9), sample = greedy, beam = greedy, likely = greedy;
  sample.sample = true;
  beam.beams = likely.beams = 3;
  likely.beamRule = BeamRule::Likely;
  for (DecodingOptions chosen : {greedy, sample, beam, likely})
    for (size_t rows : {1, 3, 8}) {
      chosen.rows = rows;
      chosen.numbers = sequences;
      for (size_t s = 0; s < sequences.size(); ++s)
        chosen.limits.push_back(1 + static_cast<int64_t>(s) % 11);
      Language model(sequences);
      std::vector<TokenIds> found = decode(model, sequences.size(), chosen);
      EXPECT_GE(model.mostRows,
                rows); // at admission; a beam has hypotheses beside those that begin
      EXPECT_LE(model.mostRows, rows * static_cast<size_t>(chosen.beams));
      for (size_t s = 0; s < sequences.size(); ++s) {
        DecodingOptions alone = chosen;
        alone.limits = {chosen.limits[s]};
        EXPECT_EQ(found[s], decodeOne(sequences[s], alone)) << "sequence " << s;
      }
      chosen.limits.clear();
    }
}

TEST(Decoding, EveryEndEnds) {
  for (uint64_t sequence = 0; sequence < 40; ++sequence) {
    DecodingOptions chosen = options(20), more = chosen;
    more.ends = {endToken, 1};
    TokenIds all = decodeOne(sequence, chosen), cut = decodeOne(sequence, more);
    EXPECT_EQ(cut, TokenIds(all.begin(), std::ranges::find(all, 1)));
  }
}

TEST(Decoding, ProbabilitiesGiveWhatTheirLogitsGive) {
  DecodingOptions beam = options();
  beam.beams = 4;
  for (uint64_t sequence = 0; sequence < 20; ++sequence) {
    Language model({sequence}, /*probabilities=*/true);
    EXPECT_EQ(decode(model, 1, beam).at(0), decodeOne(sequence, beam));
  }
}

TEST(Decoding, AShortCertainSequenceEndsTheSearchEarly) {
  Constant model({-20, -20, -20, 0, -20});
  DecodingOptions beam = options(200);
  beam.beams = 4;
  EXPECT_THAT(decode(model, 1, beam).at(0), ElementsAre());
  Language counted({1});
  beam.limit = 200;
  decode(counted, 1, beam);
  EXPECT_LT(counted.steps, 100);
}

TEST(Decoding, SamplesFollowTheProbabilities) {
  // The four tokens have probabilities 1/2, 1/4, 1/8 and 1/8; the end has none.
  const float two = std::log(2.0f);
  Constant model({3 * two, 2 * two, two, never, two});
  DecodingOptions chosen = options(1);
  chosen.sample = true;
  std::map<int32_t, int> counts;
  for (chosen.seed = 0; chosen.seed < 4000; ++chosen.seed)
    ++counts[decode(model, 1, chosen).at(0).at(0)];
  EXPECT_NEAR(counts[0], 2000, 130); // four standard deviations
  EXPECT_NEAR(counts[1], 1000, 110);
  EXPECT_NEAR(counts[2], 500, 84);
  EXPECT_NEAR(counts[4], 500, 84);
  EXPECT_EQ(counts[3], 0);
}

/// The tokens that occur for any of many seeds.
std::vector<int32_t> drawn(DecodingOptions chosen) {
  const float two = std::log(2.0f);
  Constant model({3 * two, 2 * two, two, never, two});
  chosen.sample = true;
  std::map<int32_t, int> counts;
  for (chosen.seed = 0; chosen.seed < 300; ++chosen.seed)
    ++counts[decode(model, 1, chosen).at(0).at(0)];
  std::vector<int32_t> tokens;
  for (auto [token, count] : counts)
    tokens.push_back(token);
  return tokens;
}

TEST(Decoding, FewerTokensAreDrawnFrom) {
  DecodingOptions chosen = options(1);
  EXPECT_THAT(drawn(chosen), ElementsAre(0, 1, 2, 4));
  chosen.topK = 3; // among equal tokens, the lower one
  EXPECT_THAT(drawn(chosen), ElementsAre(0, 1, 2));
  chosen.topP = 0.6; // token 0 has 4/7 of the remaining probability
  EXPECT_THAT(drawn(chosen), ElementsAre(0, 1));
  chosen.topP = 0.5;
  EXPECT_THAT(drawn(chosen), ElementsAre(0));
  chosen = options(1);
  chosen.topK = 99;
  chosen.temperature = 1e-6;
  EXPECT_THAT(drawn(chosen), ElementsAre(0));
  chosen = options(1);
  chosen.minP = 0.3; // relative to 1/2
  EXPECT_THAT(drawn(chosen), ElementsAre(0, 1));
  chosen.minP = 1;
  EXPECT_THAT(drawn(chosen), ElementsAre(0));
}

/// Tokens by the distance of -log p to the entropy: of probabilities 0.5, 0.3, 0.1, 0.1 the entropy
/// is 1.168, and the distances are 0.475, 0.036, 1.134 and 1.134.
TEST(Decoding, TypicalTokensAreDrawn) {
  auto drawn = [](double mass, int64_t topK = 0) {
    Constant model({std::log(0.5F), std::log(0.3F), std::log(0.1F), never, std::log(0.1F)});
    DecodingOptions chosen = options(1);
    chosen.sample = true;
    chosen.typicalP = mass;
    chosen.topK = topK;
    std::set<int32_t> tokens;
    for (const TokenIds &text : decode(model, 300, chosen))
      tokens.insert(text.begin(), text.end());
    return std::vector<int32_t>(tokens.begin(), tokens.end());
  };
  EXPECT_THAT(drawn(0.29), ElementsAre(1));
  EXPECT_THAT(drawn(0.31), ElementsAre(0, 1));
  EXPECT_THAT(drawn(0.79), ElementsAre(0, 1));
  EXPECT_THAT(drawn(0.85), ElementsAre(0, 1, 2, 4)); // 2 and 4 are equally near
  EXPECT_THAT(drawn(1), ElementsAre(0, 1, 2, 4));
  // Of 0.625 and 0.375 the entropy is 0.662; the distances are 0.192 and 0.319.
  EXPECT_THAT(drawn(0.29, 2), ElementsAre(0));
}

/// Logits of three tokens are 4, 3, -1, and the others are lower. After a token was generated, its
/// logit is halved, or doubled if negative.
TEST(Decoding, TokensThatWereSaidCountLess) {
  Constant model({4, 3, -1, never, -100});
  DecodingOptions chosen = options(5);
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 0, 0, 0, 0));
  chosen.repetitionPenalty = 2;
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 1, 0, 0, 0));
  chosen.repetitionPenalty = 1e9;
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 1, 0, 0, 0));
  chosen.before = {{1}};
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 0, 0, 0, 0));
  chosen.before = {{1, 0, 1}};
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 0, 0, 0, 0));
}

/// Checks the reported log probabilities of a sequence of Language without token 1.
void expectToldOf(size_t sequence, TokenIds whole, const std::vector<double> &told) {
  TokenIds said;
  if (std::ssize(whole) < options().limit)
    whole.push_back(endToken);
  ASSERT_EQ(told.size(), whole.size());
  for (double log : told) {
    std::vector<float> scores = scoresAfter(sequence, said);
    scores[1] = never;
    said.push_back(whole[said.size()]);
    EXPECT_NEAR(log, logProbabilities(scores)[static_cast<size_t>(said.back())], 1e-5);
  }
}

TEST(Decoding, PenaltiesNeedLogits) {
  DecodingOptions chosen = options(1);
  chosen.repetitionPenalty = 2;
  Language probabilities({0}, /*probabilities=*/true);
  auto decoded = decodeSequences(probabilities, 1, chosen);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message, HasSubstr("expected a model that gives logits"));
}

TEST(Decoding, ABeamPenalizesLogProbabilities) {
  // If the penalty applied to logits, 4 would become 2, which is below 3. Log probabilities are
  // -0.31, -1.31 and much lower ones, and the first becomes -0.63.
  Constant model({4, 3, -9, never, -9});
  DecodingOptions chosen = options(3);
  chosen.beams = 2;
  chosen.repetitionPenalty = 2;
  const double first = 4 - std::log(std::exp(4) + std::exp(3) + 2 * std::exp(-9)),
               other = first - 1;
  ASSERT_GT(2 * first, other);
  std::vector<double> told;
  chosen.onProbability = [&](size_t, double log) { told.push_back(log); };
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 0, 0));
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NEAR(told[0], first, 1e-6);
  const double again = 2 * first - std::log(std::exp(2 * first) + std::exp(other) + 1e-6);
  EXPECT_NEAR(told[1], again, 1e-4);
  chosen.repetitionPenalty = 9; // -2.8
  EXPECT_THAT(decode(model, 1, chosen).at(0), Not(ElementsAre(0, 0, 0)));
}

TEST(Decoding, ACallbackEndsASequence) {
  Constant model({4, 3, 0, never, 0});
  DecodingOptions chosen = options(5);
  chosen.onToken = [count = 0](size_t, int32_t) mutable { return ++count < 2; };
  EXPECT_THAT(decode(model, 1, chosen).at(0), ElementsAre(0, 0));
}

TEST(Decoding, ProbabilitiesOfChosenTokensAreTold) {
  DecodingOptions sampled = options(), beam = options();
  sampled.sample = true;
  sampled.temperature = 3; // does not affect the probability
  beam.beams = 3;
  for (DecodingOptions chosen : {sampled, beam})
    for (bool probabilities : {false, true}) {
      std::map<size_t, std::vector<double>> told;
      chosen.suppressed = {1};
      chosen.onProbability = [&](size_t sequence, double log) { told[sequence].push_back(log); };
      Language model({0, 1, 2}, probabilities);
      const std::vector<TokenIds> decoded = decode(model, 3, chosen);
      for (size_t sequence = 0; sequence < 3; ++sequence)
        expectToldOf(sequence, decoded[sequence], told[sequence]);
    }
}

TEST(Decoding, TokensAreShownAsTheyCome) {
  Language model({4, 5});
  DecodingOptions chosen = options();
  std::vector<TokenIds> shown(2);
  chosen.onToken = [&](size_t sequence, int32_t token) {
    shown[sequence].push_back(token);
    return true;
  };
  EXPECT_EQ(decode(model, 2, chosen), shown);
  chosen.onToken = [](size_t, int32_t) { return Expected<bool>(inputError("closed")); };
  Language again({4, 5});
  auto decoded = decodeSequences(again, 2, chosen);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "closed");
}

TEST(Decoding, NaNIsNeverChosenAndNothingButNaNIsAnError) {
  const float nan = std::nanf("");
  DecodingOptions greedy = options(2), beam = greedy, sample = greedy;
  beam.beams = 2;
  sample.sample = true;
  for (const DecodingOptions &chosen : {greedy, beam, sample}) {
    Constant some({nan, 1, nan, never, nan});
    EXPECT_THAT(decode(some, 1, chosen).at(0), ElementsAre(1, 1));
    Constant none(std::vector<float>(vocabulary, nan));
    auto decoded = decodeSequences(none, 1, chosen);
    ASSERT_FALSE(decoded);
    EXPECT_THAT(decoded.error().message, HasSubstr("found only NaN"));
  }
}

std::string refusal(const std::function<void(DecodingOptions &)> &change) {
  DecodingOptions chosen = options();
  change(chosen);
  Status status = checkDecoding(chosen);
  return status ? "none" : status.error().message;
}

TEST(Decoding, WrongSettingsAreErrorsWhereTheyAreUsed) {
  auto with = [](const char *option, auto change) {
    return refusal([&](auto &o) {
      o.refused = {{option, "f: wrong"}};
      change(o);
    });
  };
  auto greedy = [](auto &) {};
  auto draws = [](auto &o) { o.sample = true; };
  auto beams = [](auto &o) { o.beams = 2; };
  for (const char *option : {"temperature", "top-k", "top-p", "min-p"}) {
    EXPECT_EQ(with(option, greedy), "none") << option;
    EXPECT_EQ(with(option, beams), "none") << option;
    EXPECT_EQ(with(option, draws), "f: wrong") << option;
  }
  for (const char *option : {"beam-rule", "length-penalty", "renormalize"}) {
    EXPECT_EQ(with(option, draws), "none") << option;
    EXPECT_EQ(with(option, beams), "f: wrong") << option;
  }
  EXPECT_EQ(with("repetition-penalty", greedy), "f: wrong");
}

TEST(Decoding, OptionsOutOfRangeAreNamed) {
  EXPECT_EQ(refusal([](auto &o) { o.beams = 0; }), "beam: expected 1 to 1024, found 0");
  EXPECT_EQ(refusal([](auto &o) { o.beams = 1025; }), "beam: expected 1 to 1024, found 1025");
  EXPECT_EQ(refusal([](auto &o) { o.lengthPenalty = std::nan(""); }),
            "length-penalty: expected a finite number, found nan");
  EXPECT_EQ(refusal([](auto &o) { o.temperature = 0; }),
            "temperature: expected a number above 0, found 0");
  EXPECT_EQ(refusal([](auto &o) { o.topK = -1; }), "top-k: expected at least 0, found -1");
  EXPECT_EQ(refusal([](auto &o) { o.topP = 1.5; }),
            "top-p: expected a number from 0 to 1, found 1.5");
  EXPECT_EQ(refusal([](auto &o) { o.sample = true, o.beams = 2; }),
            "sample: expected a beam of 1, found 2");
  EXPECT_EQ(refusal([](auto &o) { o.beams = 2, o.onToken = [](size_t, int32_t) { return true; }; }),
            "stream: expected a beam of 1, found 2");
}

} // namespace
