//===- GgufEncodersTest.cpp - Encoders and T5 in GGUF files ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares folders of test/data/folders with GGUF files of the same models. The files have the names and
// keys of the package `gguf` and of llama.cpp's converter. Module and weights must be equal bit for
// bit. FolderTest.cpp compares the results of the folders with Transformers.

#include "GgufFile.h"
#include "ImportFixture.h"

#include "heddle/Pack/Checkpoint.h"

#include "llvm/ADT/StringRef.h"

#include <filesystem>
#include <fstream>
#include <regex>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

struct Encoder {
  std::string folder, arch;
  Json keys; ///< metadata with the prefix `arch.`
  /// Patterns of names and their replacements, in order; a name that none matches is left out.
  std::vector<std::pair<const char *, const char *>> names;
  Json config = Json::object(); ///< overrides config.json if GGUF has no key
  Json tokens = Json::object(); ///< metadata with the prefix `tokenizer.ggml.`
  bool normsPlusOne = false;
  std::string title = {};
};
void PrintTo(const Encoder &encoder, std::ostream *out) { *out << encoder.folder; }

/// Names of layers and norms that several encoders share.
const std::vector<std::pair<const char *, const char *>> llamaNames = {
    {"^embed_tokens", "token_embd"},
    {"^norm", "output_norm"},
    {"^layers", "blk"},
    {"self_attn\\.([qk])_norm", "attn_$1_norm"},
    {"self_attn\\.([qkv])_proj", "attn_$1"},
    {"self_attn\\.o_proj", "attn_output"},
    {"input_layernorm", "attn_norm"},
    {"mlp\\.(gate|up|down)_proj", "ffn_$1"}};
const std::vector<std::pair<const char *, const char *>> modernNames = {
    {"^model\\.", ""},
    {"^embeddings\\.tok_embeddings", "token_embd"},
    {"^embeddings\\.norm", "token_embd_norm"},
    {"^final_norm", "output_norm"},
    {"^head\\.dense", "cls"},
    {"^head\\.norm", "cls.norm"},
    {"^classifier", "cls.output"},
    {"^layers", "blk"},
    {"attn\\.Wqkv", "attn_qkv"},
    {"attn\\.Wo", "attn_output"},
    {"mlp\\.Wi", "ffn_up"},
    {"mlp\\.Wo", "ffn_down"},
    {"mlp_norm", "ffn_norm"}};
/// Names of a reranker that is a language model.
const std::vector<std::pair<const char *, const char *>> qwenNames = [] {
  std::vector<std::pair<const char *, const char *>> names = llamaNames;
  names.insert(names.begin(), {{"^model\\.", ""}, {"^score", "cls.output"}});
  names.emplace_back("post_attention_layernorm", "ffn_norm");
  return names;
}();
const std::vector<std::pair<const char *, const char *>> bertNames = {
    {"^bert\\.", ""},
    {"^embeddings\\.word_embeddings", "token_embd"},
    {"^embeddings\\.position_embeddings", "position_embd"},
    {"^embeddings\\.token_type_embeddings", "token_types"},
    {"^embeddings\\.LayerNorm", "token_embd_norm"},
    {"^pooler\\.dense", "cls"},
    {"^classifier", "cls.output"},
    {"^encoder\\.layer", "blk"},
    {"attention\\.self\\.query", "attn_q"},
    {"attention\\.self\\.key", "attn_k"},
    {"attention\\.self\\.value", "attn_v"},
    {"attention\\.output\\.dense", "attn_output"},
    {"attention\\.output\\.LayerNorm", "attn_output_norm"},
    {"intermediate\\.dense", "ffn_up"},
    {"output\\.dense", "ffn_down"},
    {"output\\.LayerNorm", "layer_output_norm"}};
const std::vector<std::pair<const char *, const char *>> t5Names = {
    {"^shared", "token_embd"},
    {"^lm_head", "output"},
    {"^encoder\\.block", "enc.blk"},
    {"^decoder\\.block", "dec.blk"},
    {"^encoder\\.final_layer_norm", "enc.output_norm"},
    {"^decoder\\.final_layer_norm", "dec.output_norm"},
    {"layer\\.0\\.SelfAttention\\.relative_attention_bias", "attn_rel_b"},
    {"layer\\.0\\.SelfAttention\\.([qkvo])", "attn_$1"},
    {"layer\\.1\\.EncDecAttention\\.([qkvo])", "cross_attn_$1"},
    {"layer\\.0\\.layer_norm", "attn_norm"},
    {"^(dec.*)layer\\.1\\.layer_norm", "$1cross_attn_norm"},
    {"layer\\.[12]\\.layer_norm", "ffn_norm"},
    {"layer\\.[12]\\.DenseReluDense\\.wi_0", "ffn_gate"},
    {"layer\\.[12]\\.DenseReluDense\\.wi(_1)?", "ffn_up"},
    {"layer\\.[12]\\.DenseReluDense\\.wo", "ffn_down"}};

Json sizes(int size, int layers, int heads, int hidden, int length) {
  return {{"embedding_length", size},
          {"block_count", layers},
          {"attention.head_count", heads},
          {"feed_forward_length", hidden},
          {"context_length", length}};
}
Json with(Json keys, const Json &more) {
  keys.update(more);
  return keys;
}

std::vector<Encoder> encoders() {
  const Json modern = {{"attention.layer_norm_epsilon", 1e-5},
                       {"attention.sliding_window", 6},
                       {"attention.sliding_window_pattern", 3},
                       {"attention.causal", false},
                       {"rope.freq_base", 160000.0},
                       {"rope.freq_base_swa", 10000.0},
                       {"rope.scaling.type", "none"}};
  const Json t5 = with(sizes(24, 2, 3, 36, 512), {{"attention.key_length", 10},
                                                  {"attention.value_length", 10},
                                                  {"attention.relative_buckets_count", 8},
                                                  {"attention.layer_norm_epsilon", 1e-6},
                                                  {"attention.layer_norm_rms_epsilon", 1e-6},
                                                  {"decoder_block_count", 1},
                                                  {"decoder_start_token_id", 0}});
  const Json distance = {{"relative_attention_max_distance", 128}};
  std::vector<std::pair<const char *, const char *>> encoderOfT5 = t5Names, gemma = llamaNames;
  encoderOfT5.insert(encoderOfT5.begin(), {{"^decoder.*", ""}, {"^lm_head.*", ""}});
  gemma.insert(gemma.end(), {{"post_attention_layernorm", "post_attention_norm"},
                             {"pre_feedforward_layernorm", "ffn_norm"},
                             {"post_feedforward_layernorm", "post_ffw_norm"}});
  const Json labels = {{"classifier.output_labels", {"a", "b", "c", "d", "e"}}};
  Json converted = with(modern, with(labels, {{"attention.layer_norm_rms_epsilon", 1e-5},
                                              {"classifier.pooling_type", 1},
                                              {"hidden_activation", "gelu"}}));
  converted.erase("attention.layer_norm_epsilon");
  std::vector<std::pair<const char *, const char *>> euro = llamaNames;
  euro.emplace_back("post_attention_layernorm", "ffn_norm");
  return {
      {.folder = "eurobert",
       .arch = "eurobert",
       .keys = with(sizes(24, 2, 4, 40, 64), {{"attention.head_count_kv", 2},
                                              {"attention.layer_norm_rms_epsilon", 1e-5},
                                              {"attention.causal", false},
                                              {"rope.freq_base", 250.0}}),
       .names = euro,
       .tokens = {{"padding_token_id", 3}}},
      {.folder = "modernbert",
       .arch = "modern-bert",
       .keys = with(sizes(36, 3, 3, 48, 20), modern),
       .names = modernNames},
      {.folder = "modernbert-classes",
       .arch = "modern-bert",
       .keys = with(with(sizes(36, 2, 3, 48, 20), modern), {{"pooling_type", 4}}),
       .names = modernNames},
      {.folder = "modernbert-classes",
       .arch = "modern-bert",
       .keys = with(sizes(36, 2, 3, 48, 20), converted),
       .names = modernNames,
       .title = "modernbert_classes_without_pooling_type"},
      {.folder = "qwen3-classes",
       .arch = "qwen3",
       .keys = with(sizes(36, 1, 4, 52, 20), {{"attention.head_count_kv", 2},
                                              {"attention.key_length", 16},
                                              {"attention.value_length", 16},
                                              {"attention.layer_norm_rms_epsilon", 1e-6},
                                              {"pooling_type", 4}}),
       .names = qwenNames,
       .config = {{"use_sliding_window", false},
                  {"sliding_window", nullptr},
                  {"layer_types", {"full_attention"}}}},
      {.folder = "bert-classes",
       .arch = "bert",
       .keys =
           with(sizes(36, 1, 3, 52, 20), with(labels, {{"attention.layer_norm_epsilon", 1e-12}})),
       .names = bertNames,
       .title = "bert_classes_without_pooling_type"},
      {.folder = "bert-classes",
       .arch = "bert",
       .keys = with(sizes(36, 1, 3, 52, 20),
                    {{"attention.layer_norm_epsilon", 1e-12}, {"pooling_type", 4}}),
       .names = bertNames},
      {.folder = "t5", .arch = "t5", .keys = t5, .names = t5Names, .config = distance},
      {.folder = "t5-gated", .arch = "t5", .keys = t5, .names = t5Names, .config = distance},
      {.folder = "umt5", .arch = "t5", .keys = t5, .names = t5Names, .config = distance},
      {.folder = "t5-gated",
       .arch = "t5encoder",
       .keys = t5,
       .names = encoderOfT5,
       .config = with(distance, {{"architectures", {"T5EncoderModel"}}}),
       .title = "t5_encoder"},
      {.folder = "gemma3-both-ways",
       .arch = "gemma-embedding",
       .keys = with(sizes(28, 3, 4, 40, 20), {{"attention.head_count_kv", 2},
                                              {"attention.key_length", 16},
                                              {"attention.value_length", 16},
                                              {"attention.layer_norm_rms_epsilon", 1e-6},
                                              {"attention.sliding_window", 4},
                                              {"rope.freq_base", 1000000.0},
                                              {"rope.freq_base_swa", 100.0},
                                              {"rope.scaling.type", "linear"},
                                              {"rope.scaling.factor", 4.0}}),
       .names = gemma,
       .config = {{"query_pre_attn_scalar", 16},
                  {"layer_types", {"sliding_attention", "sliding_attention", "sliding_attention"}}},
       .normsPlusOne = true},
  };
}

void addValue(GgufFile &file, const std::string &key, const Json &value) {
  if (value.is_boolean())
    file.add(key, value.get<bool>());
  else if (value.is_number_integer())
    file.add(key, value.get<uint32_t>());
  else if (value.is_number())
    file.add(key, value.get<float>());
  else if (value.is_array())
    file.add(key, value.get<std::vector<std::string>>());
  else
    file.add(key, std::string_view(value.get_ref<const std::string &>()));
}

/// Adds the tensors of a folder, as a converter writes them.
void addTensors(GgufFile &file, const Encoder &encoder, const std::filesystem::path &folder) {
  std::vector<std::string> files;
  auto checkpoint = openCheckpoint(folder.string(), files);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  for (const TensorInfo &info : (*checkpoint)->tensors()) {
    std::vector<float> values(info.elements());
    (*checkpoint)->read((*checkpoint)->find(info.name), 0, values);
    std::string name = info.name;
    for (const auto &[pattern, replacement] : encoder.names)
      name = std::regex_replace(name, std::regex(pattern), replacement);
    if (encoder.normsPlusOne && name.ends_with("norm.weight"))
      for (float &value : values)
        value += 1;
    if (!name.empty())
      file.tensor(name, {info.shape.begin(), info.shape.end()}, values);
  }
}

class GgufEncodersTest : public ImportTest, public testing::WithParamInterface<Encoder> {
protected:
  void SetUp() override {
    original = std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data/folders" / encoder.folder;
    std::ifstream file(original / "config.json");
    config = Json::parse(file);
    config.merge_patch(encoder.config);
  }
  std::string ggufPath() {
    GgufFile file;
    file.add("general.architecture", std::string_view(encoder.arch));
    for (const auto &[key, value] : encoder.keys.items())
      addValue(file, encoder.arch + "." + key, value);
    for (const auto &[key, value] : encoder.tokens.items())
      addValue(file, "tokenizer.ggml." + key, value);
    addTensors(file, encoder, original);
    return write("m.gguf", file.bytes());
  }
  std::string folderPath() {
    write("config.json", config.dump());
    std::filesystem::copy_file(original / "model.safetensors",
                               std::filesystem::path(folder) / "model.safetensors");
    return folder;
  }

  const Encoder &encoder = GetParam();
  std::filesystem::path original;
  Json config;
};

TEST_P(GgufEncodersTest, IsTheModelOfItsFolder) {
  ImportOptions options;
  options.needsTexts = false;
  auto model = import(folderPath(), options), twin = import(ggufPath(), options);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE(twin) << twin.error().message;
  expectSameModel(*twin, *model);
}

/// The linear layers of EmbeddingGemma after the pooling are in the file.
TEST_F(ImportTest, DenseLayersOfAGgufFileFollowThePooling) {
  const std::filesystem::path original =
      std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data/folders/gemma3-both-ways";
  std::vector<Encoder> all = encoders();
  const Encoder &gemma = *std::ranges::find(all, std::string("gemma-embedding"), &Encoder::arch);
  GgufFile file;
  file.add("general.architecture", "gemma-embedding").add("gemma-embedding.pooling_type", 1u);
  for (const auto &[key, value] : gemma.keys.items())
    addValue(file, "gemma-embedding." + key, value);
  addTensors(file, gemma, original);
  file.tensor("dense_2.weight", {12, 28}, std::vector<float>(12 * 28, 0.5f))
      .tensor("dense_3.weight", {20, 12}, std::vector<float>(20 * 12, 0.25f));
  ImportOptions options;
  options.needsTexts = false;
  auto model = import(write("m.gguf", file.bytes()), options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->warnings, std::vector<std::string>());
  for (auto [name, shape, value] :
       {std::tuple("output.0.weight", std::vector<int64_t>{12, 28}, 0.5f),
        {"output.1.weight", std::vector<int64_t>{20, 12}, 0.25f}}) {
    const int tensor = model->weights->find(name);
    ASSERT_GE(tensor, 0) << name;
    EXPECT_EQ(model->weights->tensors()[static_cast<size_t>(tensor)].shape, shape);
    std::vector<float> numbers(static_cast<size_t>(shape[0] * shape[1]));
    model->weights->read(tensor, 0, numbers);
    EXPECT_EQ(numbers, std::vector<float>(numbers.size(), value));
  }
}

std::string titleOfEncoder(const testing::TestParamInfo<Encoder> &info) {
  std::string title = info.param.title.empty() ? info.param.folder : info.param.title;
  std::ranges::replace(title, '-', '_');
  return title;
}

INSTANTIATE_TEST_SUITE_P(All, GgufEncodersTest, testing::ValuesIn(encoders()), titleOfEncoder);

} // namespace
