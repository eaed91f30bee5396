//===- FolderTest.cpp - Hugging Face folders against Transformers ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every folder of test/data/folders on both devices, or only on the CPU. Results of Transformers
// are next to its weights (make.py). A new architecture is a new folder and needs no change here.

#include "Models.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Generation/TextDecoder.h"
#include "heddle/Support/Formats.h"

using namespace heddle;
using namespace heddle::test;
namespace fs = std::filesystem;

namespace {

fs::path folders() { return fs::path(HEDDLE_SOURCE_DIR) / "test" / "data" / "folders"; }

/// Names of folders, and of parts of a folder: "clip/vision".
std::vector<std::string> folderNames() {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folders())) {
    if (!fs::exists(entry.path() / "config.json"))
      continue;
    names.push_back(entry.path().filename().string());
    for (const fs::directory_entry &part : fs::directory_iterator(entry.path() / "golden"))
      if (fs::exists(part.path() / "encode"))
        names.push_back((entry.path().filename() / part.path().filename()).string());
  }
  std::ranges::sort(names);
  return names;
}

/// Zeroes the rows after each text's length, as in the goldens: they are not results.
void zeroPadding(Tensor &rows, const std::string &result, const Tensors &inputs) {
  const bool ofTarget = inputs.contains("target") && result != "memory";
  auto lengths = inputs.find(ofTarget ? "target.lengths" : "source.lengths");
  if (lengths == inputs.end() || rows.rank() != 3)
    return;
  std::span<float> values = rows.values<float>();
  const int64_t steps = rows.dim(1), width = rows.dim(2);
  for (int64_t b = 0; b < rows.dim(0); ++b)
    for (int64_t t = lengths->second.values<int32_t>()[b]; t < steps; ++t)
      std::ranges::fill(values.subspan((b * steps + t) * width, width), 0.0f);
}

/// The texts of `inputs`, concatenated to a single row.
Tensors packed(const Tensors &inputs) {
  const Tensor &ids = inputs.at("source");
  std::span<const int32_t> lengths = inputs.at("source.lengths").values<int32_t>();
  std::vector<int32_t> starts = {0};
  for (int32_t length : lengths)
    starts.push_back(starts.back() + length);
  Tensors row;
  row["source.starts"] = Tensor::i32({static_cast<int64_t>(starts.size())}, starts);
  for (const char *name : {"source", "source.types"}) {
    if (!inputs.contains(name))
      continue;
    std::vector<int32_t> values;
    std::span<const int32_t> all = inputs.at(name).values<int32_t>();
    for (size_t b = 0; b < lengths.size(); ++b)
      for (int32_t t = 0; t < lengths[b]; ++t)
        values.push_back(all[b * static_cast<size_t>(ids.dim(1)) + static_cast<size_t>(t)]);
    row[name] = Tensor::i32({1, starts.back()}, values);
  }
  return row;
}

/// The rows that are results, text by text.
std::vector<float> resultsOf(const Tensor &rows, std::span<const int32_t> lengths, bool isPacked) {
  std::vector<float> results;
  std::span<const float> values = rows.values<float>();
  if (rows.rank() != 3 || isPacked)
    return {values.begin(), values.end()};
  const auto steps = static_cast<size_t>(rows.dim(1)), width = static_cast<size_t>(rows.dim(2));
  for (size_t b = 0; b < lengths.size(); ++b) {
    auto text = values.subspan(b * steps * width, static_cast<size_t>(lengths[b]) * width);
    results.insert(results.end(), text.begin(), text.end());
  }
  return results;
}

/// Prompts in chunks of three tokens give the bits of `all`, the logits at all positions.
void expectSameOfPrompts(Session &session, const Tensors &inputs, const Tensor &all) {
  constexpr int64_t chunk = 3;
  const Tensor &ids = inputs.at("target");
  auto lengths = inputs.at("target.lengths").values<int32_t>();
  ASSERT_TRUE(call(session, "decode_start", inputs));
  for (int64_t first = 0; first < ids.dim(1); first += chunk) {
    const int64_t end = std::min(first + chunk, ids.dim(1));
    std::vector<int32_t> counts;
    for (int32_t length : lengths)
      counts.push_back(static_cast<int32_t>(std::clamp<int64_t>(length - first, 0, end - first)));
    HEDDLE_ASSERT(found, call(session, "decode_prompt",
                              {{"target", slice(ids, 1, first, end)},
                               {"target.lengths", Tensor::i32({ids.dim(0)}, counts)}}));
    for (int64_t b = 0; b < ids.dim(0); ++b) {
      if (counts[b] == 0)
        continue;
      Tensor row = slice(slice(all, 0, b, b + 1), 1, first + counts[b] - 1, first + counts[b]);
      Tensor last = slice(found.at("logits"), 0, b, b + 1);
      EXPECT_TRUE(std::ranges::equal(std::as_const(last).values<float>(),
                                     std::as_const(row).values<float>()))
          << "text " << b << ", position " << first + counts[b] - 1;
    }
  }
}

/// The first position in `answer` at which the two largest logits after `prompt` are so close that
/// sums in another order may choose the other token.
size_t firstNear(Session &session, const TokenIds &prompt, const TokenIds &answer) {
  constexpr float near = 1e-3f;
  TokenIds ids = prompt;
  ids.insert(ids.end(), answer.begin(), answer.end());
  const auto count = static_cast<int32_t>(ids.size());
  auto found = call(session, "decode",
                    {{"target", Tensor::i32({1, count}, ids)},
                     {"target.lengths", Tensor::i32({1}, std::vector{count})}});
  EXPECT_TRUE(found) << found.error().message;
  if (!found)
    return 0;
  const Tensor &logits = found->at("logits");
  const auto width = static_cast<size_t>(logits.dim(2));
  for (size_t i = 0; i < answer.size(); ++i) {
    auto row = logits.values<float>().subspan((prompt.size() - 1 + i) * width, width);
    std::vector<float> largest(2);
    std::ranges::partial_sort_copy(row, largest, std::greater());
    if (largest[0] - largest[1] < near)
      return i;
  }
  return answer.size();
}

/// The model with numbers as tokens, since the folders have no tokenizer.
Expected<TextModel> modelOf(Session &session, int64_t vocabulary) {
  std::string tokens;
  for (int64_t id = 0; id < vocabulary; ++id)
    tokens += std::to_string(id) + "\n";
  Expected<TextModel> model = textModelOf(session);
  auto names = Vocabulary::parse(tokens, "tokens");
  for (std::optional<TextSide> *side : {&model->source, &model->target})
    if (model && *side)
      (*side)->vocabulary = *names;
  return model;
}

/// The likeliest tokens after a prompt equal Transformers'.
void expectSameText(Session &session, const fs::path &golden, int64_t vocabulary) {
  HEDDLE_ASSERT(greedy, readTensors(golden / "greedy"));
  auto ids = [&](const char *name) {
    auto values = std::as_const(greedy).at(name).values<int32_t>();
    return TokenIds(values.begin(), values.end());
  };
  const TokenIds prompt = ids("prompt"), answer = ids("answer");
  HEDDLE_ASSERT(model, modelOf(session, vocabulary));
  HEDDLE_ASSERT(decoder, TextDecoder::create(session, model));
  DecodingOptions options = decoder.defaults();
  options.ends.clear();
  options.limit = static_cast<int64_t>(answer.size());
  HEDDLE_ASSERT(found, decoder.decode({prompt}, options));
  ASSERT_EQ(found.at(0).size(), answer.size());
  const size_t clear = firstNear(session, prompt, answer);
  EXPECT_GE(clear, answer.size() / 2) << "the golden says too little";
  for (size_t i = 0; i < clear; ++i)
    ASSERT_EQ(found[0][i], answer[i]) << "token " << i;
}

/// Splits rows of ids that are padded with -1.
std::vector<TokenIds> textsOf(const Tensor &rows) {
  std::vector<TokenIds> texts;
  std::span<const int32_t> ids = rows.values<int32_t>();
  for (int64_t b = 0; b < rows.dim(0); ++b) {
    TokenIds &text = texts.emplace_back();
    for (int32_t id :
         ids.subspan(static_cast<size_t>(b * rows.dim(1)), static_cast<size_t>(rows.dim(1))))
      if (id >= 0)
        text.push_back(id);
  }
  return texts;
}

/// With the folder's own settings for beams, the texts equal Transformers', all in one batch.
void expectSameBeams(Session &session, const fs::path &golden, int64_t vocabulary) {
  HEDDLE_ASSERT(beams, readTensors(golden / "beams"));
  HEDDLE_ASSERT(model, modelOf(session, vocabulary));
  HEDDLE_ASSERT(decoder, TextDecoder::create(session, model));
  const DecodingOptions options = decoder.defaults();
  EXPECT_GT(options.beams, 1);
  HEDDLE_ASSERT(found, decoder.decode(textsOf(beams.at("sources")), options));
  std::vector<TokenIds> expected = textsOf(beams.at("answers"));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    while (!expected[i].empty() && std::ranges::count(options.ends, expected[i].back()))
      expected[i].pop_back(); // here, an answer does not include its end
    EXPECT_EQ(found[i], expected[i]) << "text " << i;
  }
}

/// Folder, device and data type.
using Case = std::tuple<std::string, std::pair<std::string, std::string>>;
class FolderTest : public testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string &name : folderNames())
    for (const auto &[device, dtype] :
         {std::pair("cpu", "f32"), std::pair("vulkan", "f32"), std::pair("cpu", "bf16")})
      if (device == std::string("cpu") || !fs::exists(folders() / name / "golden" / "cpu"))
        all.emplace_back(name, std::pair(device, dtype));
  return all;
}

TEST_P(FolderTest, AgreesWithTransformers) {
  const auto &[name, way] = GetParam();
  const auto &[device, dtype] = way;
  fs::path folder = folders() / fs::path(name).begin()->string();
  std::string part = fs::path(name).has_parent_path() ? fs::path(name).filename().string() : "";
  fs::path golden = folder / "golden" / part;
  HEDDLE_ASSERT(inputs, readTensors(golden / "inputs"));
  const bool decodes = inputs.contains("target");
  const std::string function = decodes ? "decode" : "encode";
  HEDDLE_ASSERT(expected, readTensors(golden / function));
  ASSERT_FALSE(expected.empty());
  JitOptions options{.device = device};
  options.dtype = dtype;
  options.part = part;
  auto session = jit(folder.string(), options);
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  const bool translates = decodes && inputs.contains("source");
  if (translates) {
    HEDDLE_ASSERT(encoded, call(*session, "encode", inputs));
    inputs["memory"] = encoded.at("memory");
  }
  HEDDLE_ASSERT(found, call(*session, function, inputs));
  if (translates)
    found["memory"] = inputs["memory"];
  if (decodes)
    expectSameOfPrompts(*session, inputs, found.at("logits"));
  if (fs::exists(golden / "greedy") && way == std::pair<std::string, std::string>("cpu", "f32"))
    expectSameText(*session, golden, found.at("logits").dim(2));
  if (fs::exists(golden / "beams") && dtype == "f32")
    expectSameBeams(*session, golden, found.at("logits").dim(2));
  // A vector of few numbers accumulates the rounding of the table, the layers, a projection and a
  // tanh.
  const double most = findFormat(dtype)->error * (fs::exists(folder / "2_Dense") ? 1.25 : 1);
  for (const auto &[result, tensor] : expected) {
    ASSERT_TRUE(found.count(result)) << result;
    zeroPadding(found.at(result), result, inputs);
    EXPECT_LE(difference(found.at(result), tensor), most) << result;
  }
  if (!session->program().findFunction(packedFunction))
    return;
  HEDDLE_ASSERT(together, call(*session, packedFunction, packed(inputs)));
  auto lengths = std::as_const(inputs).at("source.lengths").values<int32_t>();
  for (const auto &[result, tensor] : expected)
    EXPECT_EQ(resultsOf(together.at(result), lengths, true),
              resultsOf(found.at(result), lengths, false))
        << result << " packed";
}

std::string nameOf(const testing::TestParamInfo<FolderTest::ParamType> &info) {
  const auto &[name, way] = info.param;
  std::string text = name + "_" + way.first + "_" + way.second;
  if (size_t part = text.find('/'); part != std::string::npos)
    text.replace(part, 1, "_part_");
  std::ranges::replace_if(text, [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, FolderTest, testing::ValuesIn(cases()), nameOf);

} // namespace
