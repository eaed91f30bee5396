//===- FolderKeysTest.cpp - Files and keys that disagree -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Architecture.h"
#include "GgufFile.h"
#include "TemporaryFolder.h"

#include "heddle/Pack/Checkpoint.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

class FolderKeysTest : public testing::Test {
protected:
  void write(const std::string &name, std::string_view text) { temporary.write(name, text); }
  TemporaryFolder temporary;
  std::string folder = temporary.path().string();
};

/// Of a tensor in two files the last one counts, whatever the index says.
TEST_F(FolderKeysTest, ATensorInTwoFiles) {
  auto fileOf = [](const std::string &header, float value) {
    const uint64_t size = header.size();
    const std::string bytes(reinterpret_cast<const char *>(&value), 4);
    return std::string(reinterpret_cast<const char *>(&size), 8) + header + bytes + bytes;
  };
  write("a.safetensors", fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 1));
  write("b.safetensors", fileOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                R"("y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                2));
  auto valueOf = [&](std::string_view index) {
    write("model.safetensors.index.json", index);
    std::vector<std::string> files;
    auto source = openCheckpoint(folder, files, "");
    EXPECT_TRUE(source) << source.error().message;
    float value = 0;
    (*source)->read((*source)->find("x"), 0, std::span(&value, 1));
    return value;
  };
  EXPECT_EQ(valueOf(R"({"weight_map": {"x": "a.safetensors"}})"), 1);
  EXPECT_EQ(valueOf(R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})"), 2);
}

/// dense_act_fn of T5 goes over feed_forward_proj, as in its class.
TEST_F(FolderKeysTest, KeysThatRuleOverOthers) {
  auto described = [&](Json given) {
    auto loaded = Architecture::load(folder, std::move(given));
    auto description = loaded ? loaded->description() : Expected<Json>(loaded.takeError());
    return description ? *description : Json(description.takeError().message);
  };
  Json t5{{"model_type", "t5"}, {"feed_forward_proj", "gated-gelu"}};
  EXPECT_EQ(described(t5)["ffn"]["activation"], "gelu-tanh");
  t5["dense_act_fn"] = "silu";
  EXPECT_EQ(described(t5)["ffn"]["activation"], "silu");
  EXPECT_EQ(described(t5)["ffn"]["gated"], true);
  t5["is_gated_act"] = false;
  EXPECT_EQ(described(t5)["ffn"]["gated"], false);
  Json gemma{{"model_type", "gemma3_text"}, {"architectures", {"Gemma3ForCausalLM"}}};
  EXPECT_TRUE(described(gemma).is_object()) << described(gemma);
  gemma["use_bidirectional_attention"] = true;
  EXPECT_THAT(described(gemma).get<std::string>(),
              HasSubstr("use_bidirectional_attention = true: a decoder whose tokens see"));
  gemma["use_bidirectional_attention"] = false;
  gemma["attn_logit_softcapping"] = 50.0;
  EXPECT_THAT(described(gemma).get<std::string>(),
              HasSubstr("expected attn_logit_softcapping == null, found"));
}

/// A list of equal numbers, one a layer, is the number.
TEST_F(FolderKeysTest, EqualNumbersOfLayers) {
  auto configOfHeads = [&](const std::vector<uint32_t> &heads) {
    GgufFile given;
    given.add("general.architecture", "llama")
        .addNumbers("llama.attention.head_count", GgufType::U32, heads);
    for (const char *key :
         {"embedding_length", "block_count", "feed_forward_length", "context_length"})
      given.add(std::string("llama.") + key, 2u);
    given.add("llama.attention.layer_norm_rms_epsilon", 1e-6f)
        .tensor("token_embd.weight", {20, 2}, std::vector<float>(40));
    write("m.gguf", given.bytes());
    auto file = Gguf::open(temporary / "m.gguf");
    EXPECT_TRUE(file) << file.error().message;
    return Architecture::ggufConfig(*file);
  };
  auto config = configOfHeads({2, 2});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["num_attention_heads"], 2);
  auto mixed = configOfHeads({2, 1});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("llama.attention.head_count: expected one value, or equal "),
            std::string::npos)
      << mixed.error().message;
}

} // namespace
