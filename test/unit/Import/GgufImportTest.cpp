//===- GgufImportTest.cpp - GGUF files as models --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares a small model as a folder and as a GGUF file: module and weights
// must be equal bit for bit. FolderTest.cpp tests the results of these models.

#include "Architecture.h"
#include "GgufFile.h"
#include "ImportFixture.h"

#include "heddle/Pack/GgufWeights.h"
#include "heddle/Support/Try.h"

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A tensor with the names of both formats. Each tensor has different values.
struct Twin {
  std::string folder, gguf;
  std::vector<uint64_t> shape;
  uint64_t headSize = 0; ///< size of heads whose halves are interleaved in the file
  std::vector<float> values() const {
    size_t count = 1;
    for (uint64_t extent : shape)
      count *= extent;
    std::vector<float> list(count);
    const size_t seed = std::hash<std::string>()(folder) % 1000;
    for (size_t i = 0; i < count; ++i)
      list[i] = static_cast<float>(seed) + static_cast<float>(i) / 256;
    return list;
  }
};

/// Interleaves the rows of the halves of each head.
static std::vector<float> inPairs(const std::vector<float> &rows, uint64_t columns, uint64_t size) {
  std::vector<float> result(rows.size());
  for (uint64_t row = 0; row < rows.size() / columns; ++row) {
    const uint64_t head = row / size, half = row % size / (size / 2), k = row % (size / 2);
    for (uint64_t c = 0; c < columns; ++c)
      result[(head * size + 2 * k + half) * columns + c] = rows[row * columns + c];
  }
  return result;
}

class GgufImportTest : public ImportTest {
protected:
  /// Adds tensors {weight, bias} with both names and `shape[0]` rows.
  void add(const std::string &hf, const std::string &gguf, std::vector<uint64_t> shape,
           bool bias = true) {
    tensors.push_back({hf + ".weight", gguf + ".weight", shape});
    if (bias)
      tensors.push_back({hf + ".bias", gguf + ".bias", {shape[0]}});
  }
  /// Adds the matrices of a decoder of two layers. The rows of queries and keys may be interleaved.
  void addDecoder(uint64_t pairs = 0) {
    add("model.embed_tokens", "token_embd", {20, 8}, false);
    for (std::string layer : {"0", "1"}) {
      const std::string hf = "model.layers." + layer + ".", blk = "blk." + layer + ".";
      tensors.push_back({hf + "self_attn.q_proj.weight", blk + "attn_q.weight", {8, 8}, pairs});
      tensors.push_back({hf + "self_attn.k_proj.weight", blk + "attn_k.weight", {4, 8}, pairs});
      add(hf + "self_attn.v_proj", blk + "attn_v", {4, 8}, false);
      add(hf + "self_attn.o_proj", blk + "attn_output", {8, 8}, false);
      add(hf + "input_layernorm", blk + "attn_norm", {8}, false);
      add(hf + "post_attention_layernorm", blk + "ffn_norm", {8}, false);
      add(hf + "mlp.gate_proj", blk + "ffn_gate", {16, 8}, false);
      add(hf + "mlp.up_proj", blk + "ffn_up", {16, 8}, false);
      add(hf + "mlp.down_proj", blk + "ffn_down", {8, 16}, false);
    }
    add("model.norm", "output_norm", {8}, false);
  }
  void addBert() {
    const std::string e = "embeddings.";
    add(e + "word_embeddings", "token_embd", {20, 8}, false);
    add(e + "position_embeddings", "position_embd", {10, 8}, false);
    add(e + "token_type_embeddings", "token_types", {2, 8}, false);
    add(e + "LayerNorm", "token_embd_norm", {8});
    for (std::string layer : {"0", "1"}) {
      const std::string hf = "encoder.layer." + layer + ".", blk = "blk." + layer + ".";
      add(hf + "attention.self.query", blk + "attn_q", {8, 8});
      add(hf + "attention.self.key", blk + "attn_k", {8, 8});
      add(hf + "attention.self.value", blk + "attn_v", {8, 8});
      add(hf + "attention.output.dense", blk + "attn_output", {8, 8});
      add(hf + "attention.output.LayerNorm", blk + "attn_output_norm", {8});
      add(hf + "intermediate.dense", blk + "ffn_up", {16, 8});
      add(hf + "output.dense", blk + "ffn_down", {8, 16});
      add(hf + "output.LayerNorm", blk + "layer_output_norm", {8});
    }
    config = Json::parse(
        R"({"model_type": "bert", "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2,
      "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 10, "type_vocab_size": 2,
      "layer_norm_eps": 1e-12, "pad_token_id": 0})");
    sizes("bert");
    file.add("bert.attention.layer_norm_epsilon", 1e-12f).add("bert.attention.causal", false);
  }
  void sizes(std::string arch) {
    file.add("general.architecture", std::string_view(arch));
    arch += ".";
    file.add(arch + "embedding_length", uint32_t(8)).add(arch + "block_count", uint32_t(2));
    file.add(arch + "attention.head_count", uint32_t(2));
    file.add(arch + "feed_forward_length", uint32_t(16)).add(arch + "context_length", uint32_t(10));
  }

  std::string folderPath() {
    Json header = Json::object();
    std::string data;
    for (const Twin &twin : tensors) {
      const std::vector<float> values = twin.values();
      const size_t begin = data.size();
      data.append(reinterpret_cast<const char *>(values.data()), 4 * values.size());
      header[twin.folder] = {
          {"dtype", "F32"}, {"shape", twin.shape}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    write("config.json", config.dump());
    write("model.safetensors", GgufFile::number<uint64_t>(text.size()) + text + data);
    return folder;
  }
  std::string ggufPath() {
    GgufFile whole = file;
    for (const Twin &twin : tensors)
      whole.tensor(twin.gguf, twin.shape,
                   twin.headSize ? inPairs(twin.values(), twin.shape[1], twin.headSize)
                                 : twin.values());
    return write("m.gguf", whole.bytes());
  }
  void expectTwins() {
    auto model = import(folderPath()), twin = import(ggufPath());
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_TRUE(twin) << twin.error().message;
    EXPECT_THAT(twin->files, testing::Contains(folder + "/m.gguf"));
    expectSameModel(*twin, *model);
  }
  std::string problem() {
    auto model = import(ggufPath());
    return model ? "no error" : withoutFolder(model.error().message);
  }

  Json config;
  GgufFile file;
  std::vector<Twin> tensors;
};

TEST_F(GgufImportTest, BertIsTheModelOfItsFolder) {
  addBert();
  expectTwins();
}

TEST_F(GgufImportTest, NomicBertIsTheModelOfItsFolder) {
  add("embeddings.word_embeddings", "token_embd", {20, 8}, false);
  add("embeddings.token_type_embeddings", "token_types", {2, 8}, false);
  add("emb_ln", "token_embd_norm", {8});
  for (std::string layer : {"0", "1"}) {
    const std::string hf = "encoder.layers." + layer + ".", blk = "blk." + layer + ".";
    add(hf + "attn.Wqkv", blk + "attn_qkv", {24, 8}, false);
    add(hf + "attn.out_proj", blk + "attn_output", {8, 8}, false);
    add(hf + "norm1", blk + "attn_output_norm", {8});
    add(hf + "mlp.fc11", blk + "ffn_up", {16, 8}, false);
    add(hf + "mlp.fc12", blk + "ffn_gate", {16, 8}, false);
    add(hf + "mlp.fc2", blk + "ffn_down", {8, 16}, false);
    add(hf + "norm2", blk + "layer_output_norm", {8});
  }
  config = Json::parse(
      R"({"model_type": "nomic_bert", "vocab_size": 20, "n_embd": 8, "n_layer": 2, "n_head": 2,
    "n_inner": 16, "layer_norm_epsilon": 1e-12, "rotary_emb_base": 500, "n_positions": 10})");
  sizes("nomic-bert");
  file.add("nomic-bert.attention.layer_norm_epsilon", 1e-12f)
      .add("nomic-bert.rope.freq_base", 500.0f);
  expectTwins();
  file.add("nomic-bert.rope.scaling.type", "yarn");
  EXPECT_EQ(problem(),
            "m.gguf: nomic-bert.rope.scaling.type: expected 'none', found 'yarn': scaled "
            "rotary positions are not supported for this architecture");
}

TEST_F(GgufImportTest, Qwen3IsTheModelOfItsFolder) {
  addDecoder();
  for (std::string layer : {"0", "1"})
    for (std::string side : {"q", "k"})
      add("model.layers." + layer + ".self_attn." + side + "_norm",
          "blk." + layer + ".attn_" + side + "_norm", {4}, false);
  config = Json::parse(
      R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 20,
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 16, "max_position_embeddings": 10,
    "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    "tie_word_embeddings": true})");
  sizes("qwen3");
  file.add("qwen3.attention.head_count_kv", 1u).add("qwen3.attention.key_length", 4u);
  file.add("qwen3.attention.value_length", 4u).add("qwen3.rope.freq_base", 1e6f);
  file.add("qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
  file.add("qwen3.rope.scaling.type", "linear").add("qwen3.rope.scaling.factor", 4.0f);
  expectTwins();
}

/// Its file interleaves the rows of queries and keys, and has a separate classifier.
TEST_F(GgufImportTest, LlamaIsTheModelOfItsFolder) {
  addDecoder(/*pairs=*/4);
  add("lm_head", "output", {20, 8}, false);
  config = Json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 20, "hidden_size": 8,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
    "intermediate_size": 16, "max_position_embeddings": 10, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "eos_token_id": 7})");
  sizes("llama");
  file.add("llama.attention.head_count_kv", 1u).add("llama.rope.dimension_count", 4u);
  file.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  file.add("tokenizer.ggml.eos_token_id", 7u);
  expectTwins();
}

TEST_F(GgufImportTest, PoolingIsThatOfTheFile) {
  addBert();
  GgufFile before = file;
  for (auto [kind, word] : {std::pair(1u, "mean"), {2u, "cls"}, {3u, "last"}}) {
    file = before;
    file.add("bert.pooling_type", kind);
    auto model = import(ggufPath());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_THAT(textOf(*model), HasSubstr(word));
  }
  file = before;
  file.add("bert.pooling_type", 5u);
  EXPECT_EQ(problem(), "m.gguf: bert.pooling_type: expected 0 (none), 1 (mean), 2 (cls), 3 (last) "
                       "or 4 (rank), found 5");
}

TEST_F(GgufImportTest, WrongFilesAreNamed) {
  addBert();
  tensors.erase(tensors.begin() + 5); // remove a matrix of the first layer
  EXPECT_THAT(problem(), HasSubstr("m.gguf: expected a tensor blk.0.attn_q.weight"));
  tensors.clear();
  EXPECT_EQ(problem(), "m.gguf: expected a tensor token_embd.weight, found none");
  file = GgufFile();
  EXPECT_EQ(problem(), "m.gguf: general.architecture: expected a text, found none");
  file.add("general.architecture", "mamba");
  EXPECT_THAT(problem(), HasSubstr("m.gguf: general.architecture: expected one of "));
  EXPECT_THAT(problem(), HasSubstr(", found 'mamba'"));
  file = GgufFile();
  file.add("general.architecture", "bert")
      .tensor("token_embd.weight", {20, 8}, std::vector<float>(160));
  EXPECT_EQ(problem(), "m.gguf: bert.embedding_length: expected a value, found none");
  file.add("bert.embedding_length", std::vector<std::string>{"8"});
  EXPECT_EQ(
      problem(),
      "m.gguf: bert.embedding_length: expected one value, or equal ones, found a list of 1 texts");
  write("m.gguf", "PK\3\4");
  auto other = import(folder + "/m.gguf");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("expected a GGUF file, found a ZIP archive"));
}

TEST_F(GgufImportTest, ExtraTensorsAreWarnings) {
  addBert();
  add("pooler.dense", "cls", {8, 8});
  auto model = import(ggufPath());
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->warnings.size(), 1u);
  EXPECT_THAT(model->warnings[0], HasSubstr("found 'cls.weight', 'cls.bias'"));
}

/// Converters of llama interleave the rows of queries and keys: row 2k + j of a head is row j * D/2
/// + k of the folder's head. Reading restores the order, also of biases, with one head size for
/// both.
TEST_F(GgufImportTest, PermutedRowsComeBack) {
  constexpr uint64_t size = 6, heads = 2;
  std::vector<float> rows;
  for (uint64_t i = 0; i < heads * size * 3; ++i)
    rows.push_back(static_cast<float>(i));
  GgufFile file;
  file.tensor("blk.1.attn_q.weight", {heads * size, 3}, inPairs(rows, 3, size));
  file.tensor("blk.1.attn_v.weight", {heads * size, 3}, rows);
  auto source = openGgufWeights(write("m.gguf", file.bytes()));
  ASSERT_TRUE(source) << source.error().message;
  Json document = Json::parse(R"({"heddle-architecture": 1, "config": {"head_dim": {}},
    "model": {"kind": "decoder"}, "tensors": {}, "gguf": {"extends": "permuted-decoder"}})");
  auto architecture =
      Architecture::fromJson(document, "test", folder + "/m.gguf", {{"head_dim", size}});
  ASSERT_TRUE(architecture) << architecture.error().message;
  for (const char *name : {"query", "value"}) {
    TensorInfo wanted{"decoder.1.attention." + std::string(name) + ".weight", "f32", {12, 3}};
    auto view = architecture->tensor(wanted, **source);
    ASSERT_TRUE(view) << view.error().message;
    std::vector<float> found(rows.size());
    (*view)->read(0, found);
    EXPECT_EQ(found, rows) << name;
  }
}

/// A decoder's file, which adds a few keys to the shared ones.
class GgufDecoderTest : public GgufImportTest {
protected:
  void SetUp() override {
    GgufImportTest::SetUp();
    sizes("qwen3");
    file.add("qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
    file.add("qwen3.attention.head_count_kv", uint32_t(1)).add("qwen3.rope.freq_base", 1e6f);
    file.tensor("token_embd.weight", {20, 8}, std::vector<float>(160));
  }
  static Expected<Json> configOf(const GgufFile &given) {
    TemporaryFolder temporary;
    const std::string path = temporary.write("m.gguf", given.bytes());
    return Architecture::ggufConfig(HEDDLE_TRY(Gguf::open(path)));
  }
  static std::string refusal(const GgufFile &given) {
    auto config = configOf(given);
    if (config)
      return "no error";
    return config.error().message.substr(config.error().message.find("m.gguf: ") + 8);
  }
};

TEST_F(GgufDecoderTest, DecodersShareASet) {
  auto config = configOf(file);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["model_type"], "qwen3");
  EXPECT_EQ((*config)["num_key_value_heads"], 1);
  EXPECT_EQ((*config)["head_dim"], 4);
  EXPECT_EQ((*config)["rope_theta"], 1e6);
  EXPECT_EQ((*config)["tie_word_embeddings"], true);
  EXPECT_FALSE(config->contains("rope_scaling"));
}

TEST_F(GgufDecoderTest, RotaryPositionsAreScaledAsTheKeysSay) {
  auto scaling = [&](const char *type, bool hasFactor) {
    GgufFile given = file;
    if (type)
      given.add("qwen3.rope.scaling.type", type);
    if (hasFactor)
      given.add("qwen3.rope.scaling.factor", 4.0f);
    auto config = configOf(given);
    return config ? config->value("rope_scaling", Json()).dump() : config.error().message;
  };
  const std::string linear = R"({"rope_type":"linear","factor":4.0})";
  EXPECT_EQ(scaling("linear", true), linear);
  EXPECT_EQ(scaling(nullptr, true), linear); // the format's default
  EXPECT_EQ(scaling("none", false), "null");
  EXPECT_THAT(
      scaling("dynamic", true),
      HasSubstr("m.gguf: qwen3.rope.scaling.type: expected 'none' or 'linear' or 'yarn', found "
                "'dynamic': other scalings of rotary positions are not supported"));
  EXPECT_THAT(scaling("longrope", true), HasSubstr("expected 'none' or 'linear' or 'yarn', found"));
  EXPECT_THAT(
      scaling("yarn", true),
      HasSubstr("qwen3.rope.scaling.original_context_length: expected a value, found none"));
  EXPECT_THAT(scaling("linear", false),
              HasSubstr("qwen3.rope.scaling.factor: expected a value, found none"));
}

/// Llama 3 stores its scaling as a factor for each pair, Phi-3 stores two.
TEST_F(GgufDecoderTest, FactorsOfPairsAreTensors) {
  auto scaling = [&](const GgufFile &given) {
    auto config = configOf(given);
    return config ? config->value("rope_scaling", Json()).dump() : config.error().message;
  };
  GgufFile factors = file;
  factors.tensor("rope_freqs.weight", {2}, {1, 4});
  EXPECT_EQ(scaling(factors),
            R"({"rope_type":"longrope","short_factor":[1.0,4.0],"long_factor":[1.0,4.0],)"
            R"("attention_factor":1.0,"original_max_position_embeddings":10})");
  EXPECT_THAT(scaling(factors.add("qwen3.rope.scaling.type", "linear")),
              HasSubstr("qwen3.rope.scaling.type: expected 'none', found 'linear'"));
  GgufFile both = file;
  both.tensor("rope_factors_long.weight", {2}, {2, 4});
  EXPECT_THAT(scaling(both),
              HasSubstr("m.gguf: expected a tensor rope_factors_short.weight, found none"));
  both.tensor("rope_factors_short.weight", {2}, {1, 3});
  both.add("qwen3.rope.scaling.original_context_length", 4u);
  both.add("qwen3.rope.scaling.attn_factor", 1.5f).add("qwen3.rope.scaling.type", "longrope");
  EXPECT_EQ(scaling(both),
            R"({"rope_type":"longrope","short_factor":[1.0,3.0],"long_factor":[2.0,4.0],)"
            R"("attention_factor":1.5,"original_max_position_embeddings":4})");
  GgufFile broken = file;
  broken.tensor("rope_freqs.weight", {2}, {1, std::nanf("")});
  EXPECT_THAT(scaling(broken),
              HasSubstr("m.gguf: rope_freqs.weight: expected numbers, found one that is none"));
}

/// Many chat models end a turn with a separate token.
TEST_F(GgufDecoderTest, EveryEndIsOne) {
  auto ends = [](const GgufFile &given) {
    auto config = configOf(given);
    return config ? (*config)["eos_token_id"].dump() : config.error().message;
  };
  EXPECT_EQ(ends(file), "null");
  file.add("tokenizer.ggml.eos_token_id", 7u);
  EXPECT_EQ(ends(file), "7");
  EXPECT_EQ(ends(GgufFile(file).add("tokenizer.ggml.eot_token_id", 7u)), "7");
  EXPECT_EQ(ends(GgufFile(file).add("tokenizer.ggml.eot_token_id", UINT32_MAX)), "7");
  file.add("tokenizer.ggml.eot_token_id", 9u);
  EXPECT_EQ(ends(GgufFile(file).add("tokenizer.ggml.eom_token_id", 3u)), "[7,3,9]");
  const std::string wrong = ends(GgufFile(file).add("tokenizer.ggml.eom_token_id", 300u));
  EXPECT_NE(wrong.find("tokenizer.ggml.eom_token_id: expected an id below "), std::string::npos)
      << wrong;
}

/// Tokens whose names mark the end of a text, with ids below the rows of the model.
TEST_F(GgufDecoderTest, NamesAreEnds) {
  const std::vector<std::string> tokens{"a", "<|end|>", "b", "</s>"};
  auto config = configOf(
      GgufFile(file).add("tokenizer.ggml.tokens", tokens).add("tokenizer.ggml.eos_token_id", 3u));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["eos_token_id"].dump(), "[3,1]");
}

/// A converter stores the settings of generation_config.json.
TEST_F(GgufDecoderTest, SamplingIsThatOfTheFile) {
  auto config =
      configOf(GgufFile(file)
                   .add("general.sampling.temp", 0.5f)
                   .add("general.sampling.top_k", 7u)
                   .addNumbers<int32_t>("tokenizer.ggml.suppress_tokens", GgufType::I32, {2, 3})
                   .add("general.sampling.mirostat", 1u)
                   .add("general.name", "a"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["do_sample"], true);
  EXPECT_EQ((*config)["temperature"], 0.5);
  EXPECT_EQ((*config)["top_k"], 7);
  EXPECT_EQ((*config)["suppress_tokens"].dump(), "[2,3]");
  EXPECT_TRUE(config->contains("general.sampling.mirostat")); // the warning on unread keys needs it
  auto greedy = configOf(GgufFile(file).add("general.sampling.temp", 0.0f));
  ASSERT_TRUE(greedy) << greedy.error().message;
  EXPECT_EQ((*greedy)["do_sample"], false);
  EXPECT_FALSE(greedy->contains("temperature"));
}

/// Errors about invalid sizes name the keys of the file.
TEST_F(GgufDecoderTest, SizesAreIntegers) {
  for (const char *key : {"embedding_length", "block_count", "attention.head_count",
                          "feed_forward_length", "context_length"}) {
    GgufFile given;
    given.add("general.architecture", "llama").add(std::string("llama.") + key, "x");
    for (const char *other : {"embedding_length", "block_count", "attention.head_count",
                              "feed_forward_length", "context_length"})
      if (std::string_view(other) != key)
        given.add(std::string("llama.") + other, 2u);
    given.tensor("token_embd.weight", {20, 2}, std::vector<float>(40));
    auto config = configOf(given);
    ASSERT_FALSE(config) << key;
    EXPECT_NE(config.error().message.find(std::string("llama.") + key +
                                          ": expected an integer of at least 1, found 'x'"),
              std::string::npos)
        << config.error().message;
  }
}

TEST_F(GgufDecoderTest, CountsFitTheSizesAndTensors) {
  auto failure = [](auto heads, uint32_t layers) {
    GgufFile given;
    given.add("general.architecture", "llama")
        .add("llama.embedding_length", 8u)
        .add("llama.block_count", layers)
        .add("llama.attention.head_count", heads)
        .tensor("blk.1.attn_norm.weight", {8}, std::vector<float>(8));
    auto config = configOf(given);
    return config ? "none" : config.error().message;
  };
  const std::string divisor =
      "llama.attention.head_count: expected a divisor of embedding_length, 8, found ";
  const std::string whole = "llama.attention.head_count: expected an integer of at least 1, found ";
  EXPECT_NE(failure(0u, 2).find(whole + "0"), std::string::npos) << failure(0u, 2);
  EXPECT_NE(failure(2.5f, 2).find(whole + "2.5"), std::string::npos) << failure(2.5f, 2);
  EXPECT_NE(failure(3u, 2).find(divisor + "3"), std::string::npos) << failure(3u, 2);
  EXPECT_NE(failure(2u, 1).find("llama.block_count: expected more than the layer of the tensor "
                                "blk.1.attn_norm.weight, found 1"),
            std::string::npos)
      << failure(2u, 1);
}

/// The layers with a window may be listed as booleans, and as nothing else.
TEST_F(GgufDecoderTest, ListsAreOfNumbersOrBooleans) {
  GgufFile given;
  given.add("general.architecture", "exaone4")
      .tensor("token_embd.weight", {20, 8}, std::vector<float>(160));
  for (const char *key : {"embedding_length", "block_count", "attention.head_count",
                          "feed_forward_length", "context_length"})
    given.add(std::string("exaone4.") + key, 2u);
  given.add("exaone4.attention.layer_norm_rms_epsilon", 1e-6f);
  const char *key = "exaone4.attention.sliding_window_pattern";
  auto config = configOf(GgufFile(given).addNumbers<uint8_t>(key, GgufType::Bool, {1, 0}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["_sliding"].dump(), "[true,false]");
  EXPECT_EQ(refusal(GgufFile(given).add(key, "LLLG")),
            "exaone4.attention.sliding_window_pattern: expected a list of numbers or booleans, "
            "found 'LLLG'");
}

TEST_F(GgufDecoderTest, WhatWouldChangeResultsIsRefusedByName) {
  auto with = [&](const char *key, auto value) { return refusal(GgufFile(file).add(key, value)); };
  EXPECT_EQ(refusal(file), "no error");
  EXPECT_EQ(with("qwen3.rope.scaling.yarn_attn_factor", 2.0f),
            "qwen3.rope.scaling.yarn_attn_factor: expected 1, found 2: scores scaled by length are "
            "not supported");
  EXPECT_EQ(with("qwen3.attention.sliding_window", 8u),
            "qwen3.attention.sliding_window: expected 0, found 8: windows are not supported for "
            "this architecture");
  EXPECT_EQ(with("qwen3.expert_count", 8u), "qwen3.expert_count: expected 0, found 8: mixtures of "
                                            "experts are not supported");
  EXPECT_EQ(with("qwen3.expert_count", 0u), "no error");
  EXPECT_EQ(with("qwen3.attention.value_length", 2u),
            "qwen3.attention.value_length: expected 4, found 2: values of another size than keys "
            "are not supported");
  EXPECT_EQ(with("qwen3.attention.value_length", 4u), "no error");
  EXPECT_EQ(with("qwen3.attention.causal", false),
            "qwen3.attention.causal: expected true, found false: rows that see what follows are "
            "not supported");
  EXPECT_EQ(with("split.count", 3u), "split.count: expected 1, or a file with a name like "
                                     "NAME-00001-of-00003.gguf, found 3");
  EXPECT_EQ(with("qwen3.pooling_type", 4u), "expected a tensor cls.output.weight, found none");
  EXPECT_EQ(with("general.type", "adapter"), "general.type: expected 'model', found 'adapter': the "
                                             "file is no model of its own");
}

TEST_F(GgufImportTest, KeysThatNothingReadsAreWarnings) {
  addBert();
  file.add("bert.attention.value_scale", 2.0f).add("general.name", "a");
  auto model = import(ggufPath());
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->warnings.size(), 1u);
  EXPECT_THAT(model->warnings[0],
              HasSubstr("m.gguf: expected only keys that architecture bert reads, found "
                        "'bert.attention.value_scale'"));
}

} // namespace
