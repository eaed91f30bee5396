//===- RotaryKeysTest.cpp - Keys of rotary positions ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Architecture.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;

// Tests the keys from which Transformers 5.24 reads bases, kinds and lengths of rotary positions.
TEST(RotaryKeysTest, PlacesOfTransformers5) {
  std::vector<std::string> notes;
  auto made = [&](const char *type, const char *keys) {
    Json config = Json::parse(keys);
    config["model_type"] = type;
    auto loaded = Architecture::load("folder", std::move(config));
    auto description = loaded ? loaded->description() : Expected<Json>(loaded.takeError());
    notes = loaded ? loaded->notes() : std::vector<std::string>();
    return description ? std::move(*description) : Json(description.error().message);
  };
  auto position = [&](const char *type, const char *keys) {
    Json json = made(type, keys);
    return json.is_object() ? json["position"] : json;
  };
  // The base and fraction inside the scaling take precedence over the keys next to it.
  Json inner = position("phi", R"({"rope_theta": 5.0, "rope_scaling": {"rope_type": "linear",
      "factor": 4.0, "rope_theta": 3.0, "partial_rotary_factor": 0.25}})");
  EXPECT_EQ(inner["base"], 3.0);
  EXPECT_EQ(inner["fraction"], 0.25);
  EXPECT_THAT(notes,
              ElementsAre("rope_scaling.rope_theta: expected the 5.0 of rope_theta, found 3.0: "
                          "Transformers 5 takes the latter, and so does Heddle; "
                          "Transformers 4 took the former"));
  // The configuration's training length takes precedence over the scaling's. Phi-3 always has one.
  const char *lengths = R"({"original_max_position_embeddings": 32, "rope_parameters":
      {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}})";
  EXPECT_EQ(position("llama", lengths)["scaling"]["original_max_position_embeddings"], 32);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("expected the 16 of rope_parameters, found 32")));
  EXPECT_EQ(position("phi3", R"({"rope_scaling": {"type": "su",
      "original_max_position_embeddings": 16}})")["scaling"]["original_max_position_embeddings"],
            4096);
  // With types of layers, keys next to their objects are not read, and a note names them.
  const char *flat = R"({"rope_theta": 9.0, "rope_parameters": {"rope_type": "linear",
      "factor": 4.0, "rope_theta": 3.0}, "layer_types": ["full_attention"], "num_hidden_layers": 1})";
  Json full = position("gemma3_text", flat);
  EXPECT_EQ(full["base"], 9.0);
  EXPECT_EQ(full["scaling"]["rope_type"], "default");
  EXPECT_EQ(full["scaling"].contains("factor"), false);
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("rope_parameters.rope_type: expected it in full_attention "
                                    "or sliding_attention"),
                          HasSubstr("rope_parameters.factor: "),
                          HasSubstr("rope_parameters.rope_theta: ")));
  EXPECT_EQ(position("gemma3_text", R"({"rope_parameters": {"sliding_attention":
      {"rope_theta": 3.0}}, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})")["scaling"],
            Json::parse(R"({"rope_type": "linear", "factor": 4.0})"));
  // In ModernBERT, the other layers are scaled too; in Gemma 3 they are not.
  const char *scaled = R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0},
      "layer_types": ["full_attention", "sliding_attention"], "num_hidden_layers": 2})";
  auto second = [&](const char *type, const char *stack) {
    return made(type, scaled)[stack]["layers"][1]["position"]["scaling"]["rope_type"];
  };
  EXPECT_EQ(second("modernbert", "encoder"), "linear");
  EXPECT_EQ(second("gemma3_text", "encoder"), "default");
  // Keys that a family does not support.
  EXPECT_THAT(position("llama", R"({"partial_rotary_factor": 0.5})").dump(),
              HasSubstr("expected partial_rotary_factor == 1, found partial_rotary_factor = 0.5"));
  EXPECT_THAT(position("gpt_neox", R"({"rope_theta": 5.0})").dump(),
              HasSubstr("expected rope_theta == rotary_emb_base, found"));
  EXPECT_EQ(position("gpt_neox", R"({"rope_scaling": {"rope_type": "default",
      "partial_rotary_factor": 0.5}})")["fraction"],
            0.5);
  EXPECT_EQ(position("gpt_neox", R"({"rope_theta": 5.0, "rope_parameters":
      {"rope_theta": 3.0}})")["base"],
            3.0);
  EXPECT_EQ(position("glm4", R"({"partial_rotary_factor": 0.5})")["fraction"], 0.5);
}
