//===- GgufOssTest.cpp - gpt-oss in GGUF files ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the folders of gpt-oss with GGUF files of the same models, whose converter separates the
// rows of gates and inputs. FolderTest.cpp compares the folders with Transformers.

#include "GgufFile.h"
#include "ImportFixture.h"

#include "heddle/Pack/Checkpoint.h"
#include "heddle/Pack/Mxfp4.h"
#include "heddle/Support/Try.h"

#include <filesystem>
#include <fstream>

using namespace heddle;
using namespace heddle::test;

namespace {

struct Matrix {
  std::vector<uint64_t> shape;
  std::vector<float> values;
};

/// The matrices of a tensor [experts, in, out] as [experts, out, in].
Matrix transposed(const Matrix &from) {
  Matrix made{{from.shape[0], from.shape[2], from.shape[1]}, {}};
  for (uint64_t e = 0; e < made.shape[0]; ++e)
    for (uint64_t row = 0; row < made.shape[1]; ++row)
      for (uint64_t column = 0; column < made.shape[2]; ++column)
        made.values.push_back(from.values[(e * made.shape[2] + column) * made.shape[1] + row]);
  return made;
}

/// Every second row, from `first` on, of the experts' matrices or biases.
Matrix everySecond(const Matrix &from, uint64_t first) {
  Matrix made{from.shape, {}};
  made.shape[1] /= 2;
  const uint64_t columns = from.shape.size() > 2 ? from.shape[2] : 1;
  for (uint64_t row = first; row < from.values.size() / columns; row += 2)
    made.values.insert(made.values.end(),
                       from.values.begin() + static_cast<ptrdiff_t>(row * columns),
                       from.values.begin() + static_cast<ptrdiff_t>((row + 1) * columns));
  return made;
}

class GgufOssTest : public ImportTest, public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override {
    original = std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data/folders" /
               (std::string(GetParam()) + "-decoder");
    config = Json::parse(std::ifstream(original / "config.json"));
  }

  GgufFile metadata() const {
    GgufFile file;
    file.add("general.architecture", "gpt-oss");
    auto size = [&](const char *key, const char *from) {
      file.add(std::string("gpt-oss.") + key, config[from].get<uint32_t>());
    };
    auto number = [&](const char *key, const Json &value) {
      file.add(std::string("gpt-oss.") + key, value.get<float>());
    };
    size("embedding_length", "hidden_size");
    size("block_count", "num_hidden_layers");
    size("context_length", "max_position_embeddings");
    size("attention.head_count", "num_attention_heads");
    size("attention.head_count_kv", "num_key_value_heads");
    size("attention.key_length", "head_dim");
    size("attention.value_length", "head_dim");
    size("attention.sliding_window", "sliding_window");
    size("expert_count", "num_local_experts");
    size("expert_used_count", "num_experts_per_tok");
    size("feed_forward_length", "intermediate_size");
    size("expert_feed_forward_length", "intermediate_size");
    number("attention.layer_norm_rms_epsilon", config["rms_norm_eps"]);
    const Json &rope = config["rope_parameters"];
    number("rope.freq_base", rope["rope_theta"]);
    file.add("gpt-oss.rope.scaling.type", "yarn");
    number("rope.scaling.factor", rope["factor"]);
    file.add("gpt-oss.rope.scaling.original_context_length",
             rope["original_max_position_embeddings"].get<uint32_t>());
    file.add("tokenizer.ggml.eos_token_id", config["eos_token_id"].get<uint32_t>());
    file.add("tokenizer.ggml.padding_token_id", config["pad_token_id"].get<uint32_t>());
    return file;
  }

  static std::string nameOf(const std::string &name) {
    static const std::map<std::string, std::string> names = {
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.norm.weight", "output_norm.weight"},
        {"lm_head.weight", "output.weight"},
        {"input_layernorm.weight", "attn_norm.weight"},
        {"post_attention_layernorm.weight", "post_attention_norm.weight"},
        {"self_attn.sinks", "attn_sinks.weight"},
        {"mlp.router.weight", "ffn_gate_inp.weight"},
        {"mlp.router.bias", "ffn_gate_inp.bias"}};
    static const std::map<std::string, std::string> projections = {{"q_proj", "attn_q"},
                                                                   {"k_proj", "attn_k"},
                                                                   {"v_proj", "attn_v"},
                                                                   {"o_proj", "attn_output"}};
    if (auto found = names.find(name); found != names.end())
      return found->second;
    const size_t layer = std::string("model.layers.").size(), end = name.find('.', layer);
    const std::string block = "blk." + name.substr(layer, end - layer) + ".",
                      rest = name.substr(end + 1);
    if (auto found = names.find(rest); found != names.end())
      return block + found->second;
    const size_t stem = rest.find('.') + 1, leaf = rest.rfind('.');
    return block + projections.at(rest.substr(stem, leaf - stem)) + rest.substr(leaf);
  }

  /// Adds the tensors of experts under the names of the file.
  static void addExperts(GgufFile &file, const std::string &name, const Matrix &matrix) {
    const size_t layer = std::string("model.layers.").size();
    const std::string block = "blk." + name.substr(layer, name.find('.', layer) - layer) + ".ffn_";
    const std::string leaf = name.ends_with("_bias") ? "_exps.bias" : "_exps.weight";
    auto add = [&](const char *part, const Matrix &made) {
      file.tensor(block + part + leaf, made.shape, made.values);
    };
    if (name.find("down_proj") != std::string::npos)
      return add("down", matrix);
    add("gate", everySecond(matrix, 0));
    add("up", everySecond(matrix, 1));
  }

  std::string ggufPath() {
    GgufFile file = metadata();
    std::vector<std::string> files;
    auto opened = openCheckpoint(original.string(), files);
    auto checkpoint = withMxfp4(std::move(*opened));
    for (size_t n = 0; n < (*checkpoint)->tensors().size(); ++n) {
      const TensorInfo &info = (*checkpoint)->tensors()[n];
      Matrix matrix{{info.shape.begin(), info.shape.end()},
                    std::vector<float>(static_cast<size_t>(info.elements()))};
      (*checkpoint)->read(static_cast<int>(n), 0, matrix.values);
      if (info.name.find(".experts.") == std::string::npos)
        file.tensor(nameOf(info.name), matrix.shape, matrix.values);
      else
        addExperts(file, info.name,
                   info.shape.size() == 3 && info.type != "mxfp4" ? transposed(matrix) : matrix);
    }
    return write("m.gguf", file.bytes());
  }

  std::filesystem::path original;
  Json config;
};

TEST_P(GgufOssTest, IsTheModelOfItsFolder) {
  // Files do not hold the limit of gates, which is 7.
  config["swiglu_limit"] = 7.0;
  write("config.json", config.dump());
  std::filesystem::copy_file(original / "model.safetensors",
                             std::filesystem::path(folder) / "model.safetensors");
  auto model = import(folder), twin = import(ggufPath());
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE(twin) << twin.error().message;
  expectSameModel(*twin, *model);
}

INSTANTIATE_TEST_SUITE_P(All, GgufOssTest, testing::Values("gpt_oss", "gpt_oss-packed"),
                         [](const auto &info) {
                           std::string title = info.param;
                           std::ranges::replace(title, '-', '_');
                           return title;
                         });

} // namespace
