//===- GgufFamiliesTest.cpp - Decoders in GGUF files ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares a folder of each family of test/data/folders with a GGUF file of the same
// model. The file has the names, keys and row orders of the package `gguf` and
// of llama.cpp's converter. Module and weights must be equal bit for bit.
// FolderTest.cpp compares logits of the folders with Transformers.

#include "GgufFile.h"
#include "ImportFixture.h"

#include "heddle/Pack/Checkpoint.h"

#include "llvm/ADT/StringRef.h"

#include <filesystem>
#include <fstream>
using namespace heddle;
using namespace heddle::test;

namespace {

/// How a converter reorders rows.
enum class Rows {
  Same,
  InPairs,  ///< queries and keys: the halves of each head are interleaved
  PerHead,  ///< attn_qkv: from query, key and value of each head to all queries, keys and values
  PerGroup, ///< as PerHead, for groups of heads that share a key and a value
  Columns   ///< matrices stored [in, out]
};

struct Family {
  std::string folder, arch;
  Json config = Json::object(); ///< overrides config.json if GGUF has no key or a more exact value
  Json keys = Json::object();   ///< metadata with the prefix `arch.`
  std::map<std::string, std::string> names = {}; ///< stems that differ from the usual ones
  Rows rows = Rows::Same;
  bool normsPlusOne = false;
  std::map<std::string, std::vector<float>> extra = {}; ///< tensors that are not in the folder
  std::string title = {};
};

/// A folder of GLM 4 with experts; `keys` has their number and their groups.
Family glm4Moe(const std::string &folder, Json keys) {
  keys.update({{"expert_used_count", 2},
               {"expert_feed_forward_length", 16},
               {"expert_shared_count", 1},
               {"expert_gating_func", 2},
               {"expert_weights_norm", true},
               {"expert_weights_scale", 1.5},
               {"leading_dense_block_count", 1},
               {"rope.dimension_count", 6},
               {"nextn_predict_layers", 0}});
  return {.folder = folder,
          .arch = "glm4moe",
          .keys = std::move(keys),
          .names = {{"post_attention_layernorm", "post_attention_norm"},
                    {"mlp.gate.correction", "exp_probs_b"}}};
}

void PrintTo(const Family &family, std::ostream *out) { *out << family.folder; }

/// Stems of names, without layer prefixes and suffixes.
const std::map<std::string, std::string> &usualNames() {
  static const std::map<std::string, std::string> names = {
      {"embed_tokens", "token_embd"},
      {"norm", "output_norm"},
      {"lm_head", "output"},
      {"input_layernorm", "attn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", "ffn_norm"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"mlp.gate", "ffn_gate_inp"},
      {"mlp.experts.gate_proj", "ffn_gate_exps"},
      {"mlp.experts.up_proj", "ffn_up_exps"},
      {"mlp.experts.down_proj", "ffn_down_exps"},
      {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
      {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
      {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
      {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
      {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
  };
  return names;
}

std::vector<Family> families() {
  const std::map<std::string, std::string> after = {
      {"post_attention_layernorm", "post_attention_norm"}};
  const std::map<std::string, std::string> blocks = {
      {"word_embeddings", "token_embd"},
      {"word_embeddings_layernorm", "token_embd_norm"},
      {"self_attention.query_key_value", "attn_qkv"},
      {"self_attention.dense", "attn_output"},
      {"ln_mlp", "attn_norm"},
      {"ln_attn", "attn_norm_2"},
      {"mlp.dense_h_to_4h", "ffn_up"},
      {"mlp.dense_4h_to_h", "ffn_down"},
      {"ln_f", "output_norm"},
      {"embed_in", "token_embd"},
      {"embed_out", "output"},
      {"attention.query_key_value", "attn_qkv"},
      {"attention.dense", "attn_output"},
      {"final_layer_norm", "output_norm"}};
  const Json linear = {{"rope.scaling.type", "linear"}, {"rope.scaling.factor", 2.0}};
  const Json yarn = {{"rope.scaling.type", "yarn"},
                     {"rope.scaling.factor", 3.0},
                     {"rope.scaling.original_context_length", 8}};
  const std::vector<float> factors = {1, 1.25, 2, 4}, shorter = {1, 1.125, 1.5, 2};
  const Json window = {{"attention.sliding_window", 4}};
  auto with = [](Json keys, const Json &more) {
    keys.update(more);
    return keys;
  };
  const Json gemma3 = {{"query_pre_attn_scalar", 12},
                       {"layer_types", {"sliding_attention", "sliding_attention"}}};
  return {
      {.folder = "llama", .arch = "llama", .keys = linear, .rows = Rows::InPairs},
      {.folder = "mistral",
       .arch = "llama",
       .config = {{"sliding_window", nullptr}},
       .rows = Rows::InPairs},
      {.folder = "qwen2",
       .arch = "qwen2",
       .config = {{"use_sliding_window", false},
                  {"layer_types", nullptr},
                  {"rope_scaling",
                   {{"type", "yarn"}, {"factor", 3.0}, {"original_max_position_embeddings", 8}}}},
       .keys = yarn},
      {.folder = "qwen3", .arch = "qwen3"},
      {.folder = "smollm3",
       .arch = "smollm3",
       .config = {{"use_sliding_window", false},
                  {"layer_types", nullptr},
                  {"no_rope_layers", nullptr}},
       .rows = Rows::InPairs},
      {.folder = "granite",
       .arch = "granite",
       .config = {{"rope_scaling",
                   {{"rope_type", "longrope"},
                    {"type", nullptr},
                    {"short_factor", factors},
                    {"long_factor", factors},
                    {"factor", nullptr},
                    {"low_freq_factor", nullptr},
                    {"high_freq_factor", nullptr},
                    {"original_max_position_embeddings", 24},
                    {"attention_factor", 1.0}}}},
       .keys = {{"attention.scale", 0.2},
                {"embedding_scale", 3.0},
                {"residual_scale", 0.6},
                {"logit_scale", 4.0}},
       .rows = Rows::InPairs,
       .extra = {{"rope_freqs", factors}}},
      {.folder = "gemma", .arch = "gemma", .normsPlusOne = true},
      {.folder = "gemma2",
       .arch = "gemma2",
       .config = {{"query_pre_attn_scalar", 12}},
       .keys = with(window, {{"attn_logit_softcapping", 3.0}, {"final_logit_softcapping", 2.0}}),
       .names = after,
       .normsPlusOne = true},
      {.folder = "gemma3-text",
       .arch = "gemma3",
       .config = gemma3,
       .keys = with(window, {{"rope.freq_base_swa", 100.0},
                             {"rope.scaling.type", "linear"},
                             {"rope.scaling.factor", 4.0}}),
       .names = after,
       .normsPlusOne = true},
      {.folder = "gemma3-text",
       .arch = "gemma3",
       .config = with(gemma3, {{"layer_types", {"full_attention", "full_attention"}}}),
       .keys = {{"rope.scaling.type", "linear"}, {"rope.scaling.factor", 4.0}},
       .names = after,
       .normsPlusOne = true,
       .title = "gemma3_without_windows"},
      {.folder = "phi",
       .arch = "phi2",
       .config = {{"qk_layernorm", false}},
       .keys = {{"rope.dimension_count", 4}},
       .names = {{"self_attn.dense", "attn_output"},
                 {"mlp.fc1", "ffn_up"},
                 {"mlp.fc2", "ffn_down"},
                 {"final_layernorm", "output_norm"}}},
      {.folder = "phi3",
       .arch = "phi3",
       .config = {{"rope_scaling",
                   {{"type", "longrope"},
                    {"short_factor", shorter},
                    {"long_factor", factors},
                    {"attention_factor", 1.25}}}},
       .keys = {{"attention.sliding_window", 7},
                {"rope.scaling.attn_factor", 1.25},
                {"rope.scaling.original_context_length", 8}},
       .names = {{"self_attn.qkv_proj", "attn_qkv"}, {"mlp.gate_up_proj", "ffn_up"}},
       .extra = {{"rope_factors_long", factors}, {"rope_factors_short", shorter}}},
      {.folder = "phi3",
       .arch = "phi3",
       .config = {{"sliding_window", nullptr}, {"rope_scaling", nullptr}},
       .keys = {{"attention.sliding_window", 0}},
       .names = {{"self_attn.qkv_proj", "attn_qkv"}, {"mlp.gate_up_proj", "ffn_up"}},
       .title = "phi3_without_windows"},
      {.folder = "olmo2", .arch = "olmo2", .names = after},
      {.folder = "exaone4",
       .arch = "exaone4",
       .keys = with(window, {{"attention.sliding_window_pattern", {true, false}}}),
       .names = after},
      {.folder = "exaone4",
       .arch = "exaone4",
       .config = {{"sliding_window", nullptr}, {"layer_types", nullptr}},
       .names = after,
       .title = "exaone4_without_windows"},
      {.folder = "glm4",
       .arch = "glm4",
       .keys = {{"rope.dimension_count", 6}},
       .names = {{"mlp.gate_up_proj", "ffn_up"},
                 {"post_self_attn_layernorm", "post_attention_norm"},
                 {"post_mlp_layernorm", "post_ffw_norm"}}},
      {.folder = "cohere", .arch = "command-r", .keys = with(yarn, {{"logit_scale", 0.0625}})},
      {.folder = "cohere",
       .arch = "command-r",
       .config = {{"use_qk_norm", false}, {"rope_scaling", nullptr}},
       .keys = {{"logit_scale", 0.0625}},
       .names = {{"self_attn.q_norm", ""}, {"self_attn.k_norm", ""}},
       .title = "cohere_without_norms"},
      {.folder = "stablelm",
       .arch = "stablelm",
       .keys = {{"rope.dimension_count", 4}, {"use_parallel_residual", false}},
       .names = {{"self_attn.q_layernorm", "attn_q_norm"},
                 {"self_attn.k_layernorm", "attn_k_norm"}}},
      {.folder = "starcoder2",
       .arch = "starcoder2",
       .keys = window,
       .names = {{"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}}},
      {.folder = "starcoder2",
       .arch = "starcoder2",
       .config = {{"sliding_window", nullptr}},
       .names = {{"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}},
       .title = "starcoder2_without_windows"},
      {.folder = "nemotron",
       .arch = "nemotron",
       .keys = {{"rope.dimension_count", 6}},
       .normsPlusOne = true},
      {.folder = "ernie4_5", .arch = "ernie4_5"},
      {.folder = "gpt2",
       .arch = "gpt2",
       .config = {{"scale_attn_by_inverse_layer_idx", false}},
       .names = {{"wte", "token_embd"},
                 {"wpe", "position_embd"},
                 {"attn.c_attn", "attn_qkv"},
                 {"attn.c_proj", "attn_output"},
                 {"ln_1", "attn_norm"},
                 {"ln_2", "ffn_norm"},
                 {"mlp.c_fc", "ffn_up"},
                 {"mlp.c_proj", "ffn_down"},
                 {"ln_f", "output_norm"}},
       .rows = Rows::Columns},
      {.folder = "gpt-neox",
       .arch = "gptneox",
       .keys = {{"rope.dimension_count", 4}, {"use_parallel_residual", true}},
       .names = blocks,
       .rows = Rows::PerHead},
      {.folder = "bloom", .arch = "bloom", .names = blocks, .rows = Rows::PerHead},
      {.folder = "mpt",
       .arch = "mpt",
       .keys = {{"attention.max_alibi_bias", 8.0}},
       .names = {{"wte", "token_embd"},
                 {"attn.Wqkv", "attn_qkv"},
                 {"attn.out_proj", "attn_output"},
                 {"norm_1", "attn_norm"},
                 {"norm_2", "ffn_norm"},
                 {"ffn.up_proj", "ffn_up"},
                 {"ffn.down_proj", "ffn_down"},
                 {"norm_f", "output_norm"}}},
      {.folder = "mixtral",
       .arch = "llama",
       .config = {{"sliding_window", nullptr}},
       .keys = {{"expert_count", 5}, {"expert_used_count", 2}},
       .names = {{"block_sparse_moe.gate", "ffn_gate_inp"},
                 {"block_sparse_moe.experts.w1", "ffn_gate_exps"},
                 {"block_sparse_moe.experts.w2", "ffn_down_exps"},
                 {"block_sparse_moe.experts.w3", "ffn_up_exps"}},
       .rows = Rows::InPairs},
      {.folder = "qwen2_moe",
       .arch = "qwen2moe",
       .keys = {{"expert_count", 5},
                {"expert_used_count", 2},
                {"expert_feed_forward_length", 16},
                {"expert_shared_feed_forward_length", 32}}},
      {.folder = "qwen3_moe",
       .arch = "qwen3moe",
       .keys = {{"expert_count", 5}, {"expert_used_count", 2}, {"expert_feed_forward_length", 16}}},
      {.folder = "olmoe", .arch = "olmoe", .keys = {{"expert_count", 5}, {"expert_used_count", 2}}},
      {.folder = "ernie4_5_moe",
       .arch = "ernie4_5-moe",
       .keys = {{"expert_count", 5},
                {"expert_used_count", 2},
                {"expert_feed_forward_length", 16},
                {"expert_shared_count", 2},
                {"expert_shared_feed_forward_length", 32},
                {"leading_dense_block_count", 1},
                {"interleave_moe_layer_step", 1}},
       .names = {{"mlp.moe_statics", "exp_probs_b"}}},
      glm4Moe("glm4_moe", {{"expert_count", 5}}),
      glm4Moe("glm4_moe-groups",
              {{"expert_count", 6}, {"expert_group_count", 3}, {"expert_group_used_count", 2}}),
      {.folder = "hunyuan_v1_moe",
       .arch = "hunyuan-moe",
       .keys = {{"expert_count", 5},
                {"expert_used_count", 2},
                {"expert_shared_feed_forward_length", 16}},
       .names = {{"mlp.gate.wg", "ffn_gate_inp"},
                 {"mlp.shared_mlp.gate_proj", "ffn_gate_shexp"},
                 {"mlp.shared_mlp.up_proj", "ffn_up_shexp"},
                 {"mlp.shared_mlp.down_proj", "ffn_down_shexp"},
                 {"self_attn.query_layernorm", "attn_q_norm"},
                 {"self_attn.key_layernorm", "attn_k_norm"}}},
      {.folder = "granitemoeshared",
       .arch = "granitemoe",
       .keys = {{"expert_count", 5},
                {"expert_used_count", 2},
                {"expert_shared_feed_forward_length", 32},
                {"attention.scale", 1.0},
                {"residual_scale", 0.6}},
       .names = {{"block_sparse_moe.router.layer", "ffn_gate_inp"},
                 {"block_sparse_moe.input_linear", "ffn_gate_up_exps"},
                 {"block_sparse_moe.output_linear", "ffn_down_exps"},
                 {"shared_mlp.input_linear", "ffn_gate_up_shexp"},
                 {"shared_mlp.output_linear", "ffn_down_shexp"}},
       .rows = Rows::InPairs},
      {.folder = "falcon",
       .arch = "falcon",
       .keys = {{"tensor_data_layout", "jploski"}},
       .names = blocks,
       .rows = Rows::PerGroup},
  };
}

struct Tensor {
  std::vector<uint64_t> shape;
  std::vector<float> values;

  uint64_t columns() const { return shape.size() > 1 ? shape[1] : 1; }
  /// Reorders the rows.
  void take(const std::vector<uint64_t> &rows) {
    std::vector<float> taken;
    for (uint64_t row : rows)
      taken.insert(taken.end(), values.begin() + static_cast<ptrdiff_t>(row * columns()),
                   values.begin() + static_cast<ptrdiff_t>((row + 1) * columns()));
    values = std::move(taken);
  }
};

class GgufFamiliesTest : public ImportTest, public testing::WithParamInterface<Family> {
protected:
  void SetUp() override {
    original = std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data/folders" /
               (family.folder + "-decoder");
    std::ifstream file(original / "config.json");
    config = Json::parse(file);
    config.merge_patch(family.config);
    for (const auto &[key, value] : family.config.items())
      if (value.is_null()) // and without its usual default
        config[key] = nullptr;
    head = number({"head_dim"}, number({"hidden_size", "n_embd", "d_model"}) / heads());
  }

  uint64_t number(std::initializer_list<const char *> names, uint64_t otherwise = 0) const {
    for (const char *name : names)
      if (config.contains(name) && config[name].is_number())
        return config[name].get<uint64_t>();
    return otherwise;
  }
  uint64_t heads() const { return number({"num_attention_heads", "n_head", "n_heads"}); }
  uint64_t keyHeads() const { return number({"num_key_value_heads", "num_kv_heads"}, heads()); }

  void addKey(GgufFile &file, const std::string &key, const Json &value) const {
    const std::string name = family.arch + "." + key;
    if (value.is_boolean())
      file.add(name, value.get<bool>());
    else if (value.is_number_integer())
      file.add(name, value.get<uint32_t>());
    else if (value.is_number())
      file.add(name, value.get<float>());
    else if (value.is_string())
      file.add(name, std::string_view(value.get_ref<const std::string &>()));
    else
      file.addNumbers(name, GgufType::Bool, value.get<std::vector<uint8_t>>());
  }
  GgufFile metadata() const {
    GgufFile file;
    file.add("general.architecture", std::string_view(family.arch));
    Json keys = {
        {"embedding_length", number({"hidden_size", "n_embd", "d_model"})},
        {"block_count", number({"num_hidden_layers", "n_layer", "n_layers"})},
        {"context_length", number({"max_position_embeddings", "n_positions", "max_seq_len"}, 2048)},
        {"attention.head_count", heads()},
        {"attention.head_count_kv", keyHeads()},
    };
    keys["feed_forward_length"] = number({"intermediate_size", "ffn_hidden_size"},
                                         4 * number({"hidden_size", "n_embd", "d_model"}));
    if (config.contains("head_dim"))
      keys["attention.key_length"] = keys["attention.value_length"] = head;
    for (const char *name :
         {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon"})
      if (config.contains(name))
        keys[name == std::string("rms_norm_eps") ? "attention.layer_norm_rms_epsilon"
                                                 : "attention.layer_norm_epsilon"] = config[name];
    if (config.contains("rope_theta"))
      keys["rope.freq_base"] = config["rope_theta"].get<double>();
    keys.update(family.keys);
    for (const auto &[key, value] : keys.items())
      addKey(file, key, value);
    if (const uint64_t end = number({"eos_token_id"}))
      file.add("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(end));
    if (const uint64_t padding = number({"pad_token_id"}))
      file.add("tokenizer.ggml.padding_token_id", static_cast<uint32_t>(padding));
    return file;
  }

  /// The GGUF name of a folder's tensor; empty if the file has no such tensor.
  std::string nameOf(llvm::StringRef name) const {
    for (const char *prefix : {"model.", "transformer.", "gpt_neox."})
      name.consume_front(prefix);
    std::string block;
    for (const char *prefix : {"layers.", "h.", "blocks."})
      if (name.consume_front(prefix)) {
        block = "blk." + name.split('.').first.str() + ".";
        name = name.split('.').second;
      }
    auto [stem, leaf] = name.rsplit('.');
    for (const auto &names : {family.names, usualNames()})
      if (auto found = names.find(stem.str()); found != names.end())
        return found->second.empty() ? "" : block + found->second + "." + leaf.str();
    return {};
  }

  void reorder(const std::string &name, Tensor &tensor) const {
    auto is = [&](const char *stem) {
      return name.find(std::string(stem) + ".") != std::string::npos;
    };
    std::vector<uint64_t> rows;
    const uint64_t count = tensor.shape[0];
    const uint64_t groups = family.rows == Rows::PerHead ? heads() : keyHeads();
    const uint64_t inGroup = heads() / groups;
    if (family.rows == Rows::InPairs && (is("attn_q") || is("attn_k")))
      for (uint64_t row = 0; row < count; ++row)
        rows.push_back(row - row % head + row % 2 * (head / 2) + row % head / 2);
    if ((family.rows == Rows::PerHead || family.rows == Rows::PerGroup) && is("attn_qkv"))
      for (uint64_t part = 0; part < 3; ++part)
        for (uint64_t group = 0; group < groups; ++group)
          for (uint64_t row = 0; row < (part == 0 ? inGroup : 1) * head; ++row)
            rows.push_back((group * (inGroup + 2) + (part == 0 ? 0 : inGroup + part - 1)) * head +
                           row);
    if (!rows.empty())
      tensor.take(rows);
    if (family.rows == Rows::Columns && tensor.shape.size() == 2 && name.starts_with("blk."))
      transpose(tensor);
    if (family.normsPlusOne && name.ends_with("norm.weight"))
      for (float &value : tensor.values)
        value += 1;
  }
  static void transpose(Tensor &tensor) {
    const std::vector<float> before = tensor.values;
    const uint64_t rows = tensor.shape[0], columns = tensor.shape[1];
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t column = 0; column < columns; ++column)
        tensor.values[column * rows + row] = before[row * columns + column];
    std::swap(tensor.shape[0], tensor.shape[1]);
  }

  /// The name of the tensor that stacks the norms of all heads or the matrices of all experts, and
  /// of a correction, whose last word is not usual.
  static std::string stackOf(llvm::StringRef name) {
    if (auto [stem, number] = name.rsplit(".norms."); !number.empty())
      return stem.str() + ".weight";
    if (auto [stem, rest] = name.split(".experts."); !rest.empty())
      return stem.str() + ".experts." + rest.split('.').second.str();
    if (name.consume_back("moe_statics.e_score_correction_bias"))
      return name.str() + "moe_statics.bias";
    if (name.consume_back("e_score_correction_bias"))
      return name.str() + "correction.bias";
    return name.str();
  }
  /// Splits matrices that hold the rows of gate and input of an expert.
  static void splitGates(const std::string &kind, std::map<std::string, Tensor> &made) {
    std::vector<std::string> joined;
    for (const auto &[name, tensor] : made)
      if (name.find("ffn_gate_up_" + kind) != std::string::npos)
        joined.push_back(name);
    for (const std::string &name : joined) {
      const Tensor both = made[name];
      Tensor half = both;
      uint64_t &rows = half.shape[half.shape.size() - 2];
      rows /= 2;
      const size_t size = rows * half.shape.back();
      for (const size_t part : {0, 1}) {
        half.values.clear();
        for (size_t first = part * size; first < both.values.size(); first += 2 * size)
          half.values.insert(half.values.end(), both.values.begin() + static_cast<ptrdiff_t>(first),
                             both.values.begin() + static_cast<ptrdiff_t>(first + size));
        std::string stem = name;
        made[stem.replace(stem.find("gate_up"), 7, part == 0 ? "gate" : "up")] = half;
      }
      made.erase(name);
    }
  }

  std::map<std::string, Tensor> tensors() const {
    std::map<std::string, Tensor> made;
    std::vector<std::string> files;
    auto checkpoint = openCheckpoint(original.string(), files);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    for (const TensorInfo &info : (*checkpoint)->tensors()) {
      Tensor read{{info.shape.begin(), info.shape.end()}, std::vector<float>(info.elements())};
      (*checkpoint)->read((*checkpoint)->find(info.name), 0, read.values);
      const std::string stacked = stackOf(info.name), name = nameOf(stacked);
      if (name.empty())
        continue;
      reorder(name, read);
      Tensor &tensor = made[name];
      if (tensor.values.empty()) {
        tensor = std::move(read);
        if (stacked != info.name && !stacked.ends_with(".bias"))
          tensor.shape.insert(tensor.shape.begin(), 1);
        continue;
      }
      tensor.values.insert(tensor.values.end(), read.values.begin(), read.values.end());
      ++tensor.shape[0];
    }
    for (const char *kind : {"exps", "shexp"})
      splitGates(kind, made);
    for (const auto &[name, values] : family.extra)
      made[name + ".weight"] = {{values.size()}, values};
    return made;
  }

  std::string ggufPath() {
    GgufFile file = metadata();
    for (const auto &[name, tensor] : tensors())
      file.tensor(name, tensor.shape, tensor.values);
    return write("m.gguf", file.bytes());
  }
  std::string folderPath() {
    write("config.json", config.dump());
    std::filesystem::copy_file(original / "model.safetensors",
                               std::filesystem::path(folder) / "model.safetensors");
    return folder;
  }

  const Family &family = GetParam();
  std::filesystem::path original;
  Json config;
  uint64_t head = 0; ///< features of a head
};

TEST_P(GgufFamiliesTest, IsTheModelOfItsFolder) {
  auto model = import(folderPath()), twin = import(ggufPath());
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE(twin) << twin.error().message;
  expectSameModel(*twin, *model);
}

std::string titleOf(const testing::TestParamInfo<Family> &info) {
  std::string title = info.param.title.empty() ? info.param.folder : info.param.title;
  std::ranges::replace(title, '-', '_');
  return title;
}

INSTANTIATE_TEST_SUITE_P(All, GgufFamiliesTest, testing::ValuesIn(families()), titleOf);

} // namespace
