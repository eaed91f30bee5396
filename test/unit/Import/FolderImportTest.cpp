//===- FolderImportTest.cpp - Hugging Face folders, valid and invalid -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes a folder with its own architecture file in one place at a time.
// test/integration/FolderTest.cpp compares results with Transformers.

#include "Architecture.h"
#include "ImportFixture.h"

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class FolderImportTest : public ImportTest {
protected:
  FolderImportTest() {
    config = Json::parse(R"({"model_type": "mine", "width": 8, "layers": 2, "kinds": ["a", "b"]})");
    architecture = Json::parse(R"x({
      "heddle-architecture": 1, "names": {"p": ["body.", ""]},
      "config": {"width": {}, "layers": {"default": 1}, "heads": {"or": ["n_head"], "default": "=width / 4"},
                 "kinds": {"default": null}},
      "model": {"heddle": 1, "kind": "encoder", "size": "=width", "source": {"vocabulary": 10},
        "position": null, "attention": {"heads": "=heads", "bias": {"output": false}},
        "ffn": {"size": 16, "bias": false}, "norm": {"kind": "rms"},
        "encoder": {"layers": {"each": "=layers", "layer":
          {"if": "kinds != null && kinds[layer] == 'b'", "then": {"mask": "window({width - 7}, 0)"}, "else": {}}}}},
      "tensors": {
        "source.embedding.weight": "{p}words",
        "encoder.{layer}.attention.query.weight": {"of": "{p}{layer}.qkv", "rows": [0, "=width"]},
        "encoder.{layer}.attention.key.weight": {"of": "{p}{layer}.qkv", "view": [3, "=width"], "at": [1]},
        "encoder.{layer}.attention.value.weight": {"of": "{p}{layer}.qkv", "rows": ["=2 * width", "=3 * width"]},
        "encoder.{layer}.attention.output.*": {"of": "{p}{layer}.o.*", "transpose": true},
        "encoder.{layer}.attention.norm.*": {"of": "{p}norm", "plus": 1},
        "encoder.{layer}.ffn.norm.*": {"of": "{p}norm", "plus": 1},
        "encoder.{layer}.ffn.in.weight": {"concat": ["{p}{layer}.half", {"of": "{p}{layer}.half", "times": 0.5}]},
        "encoder.{layer}.ffn.out.weight": {"fill": 0}
      },
      "ignore": ["*.inv_freq"]
    })x");
    tensors = {{"body.words", "f32", {10, 8}}, {"body.norm", "f16", {8}}};
    for (const char *layer : {"body.0.", "body.1."})
      for (auto [name, rows] : {std::pair("qkv", 24), {"o.weight", 8}, {"half", 8}})
        tensors.push_back({std::string(layer) + name, "bf16", {rows, 8}});
  }

  Expected<ImportedModel> importFolder(const std::vector<TensorInfo> &stored) {
    write("config.json", config.dump());
    write("heddle.json", architecture.dump());
    write("model.safetensors", safetensors(stored));
    return import(folder);
  }
  /// The first line of a folder's error, without the folder's path.
  std::string folderProblem() {
    auto model = importFolder(tensors);
    if (model)
      return "no error";
    std::string text = withoutFolder(model.error().message);
    return text.substr(0, text.find('\n'));
  }
  std::string problemWithKey(const std::string &pointer, const Json &value) {
    Json before = architecture;
    architecture[Json::json_pointer(pointer)] = value;
    std::string problem = folderProblem();
    architecture = before;
    return problem;
  }

  Json config, architecture;
  std::vector<TensorInfo> tensors;
};

TEST_F(FolderImportTest, AFileInTheFolderIsEnough) {
  auto model = importFolder(tensors);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->warnings, IsEmpty());
  // An output must not be one of these files.
  for (const char *file : {"/config.json", "/heddle.json", "/model.safetensors"})
    EXPECT_THAT(model->files, testing::Contains(folder + file));
  EXPECT_GE(model->weights->find("encoder.1.attention.key.weight"), 0);
  // Both norms of both layers use one recipe.
  EXPECT_EQ(std::ranges::count_if(
                model->tensors,
                [](const TensorInfo &t) { return t.name.find(".norm.") != std::string::npos; }),
            1);
  std::vector<float> norm(8);
  model->weights->read(model->weights->find("encoder.0.attention.norm.weight"), 0, norm);
  EXPECT_EQ(norm[7], 1); // the file's zero plus 1
  EXPECT_THAT(textOf(*model), HasSubstr("mask.window"));
}

TEST_F(FolderImportTest, UnreadKeysAndTensorsAreWarnings) {
  config["rope_scaling"] = {{"type", "yarn"}};
  config["hidden_dropout"] = 0.1;
  tensors.push_back({"body.extra", "f32", {3}});
  tensors.push_back({"body.inv_freq", "f32", {3}});
  auto model = importFolder(tensors);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->warnings.size(), 2u);
  EXPECT_THAT(model->warnings[0], HasSubstr("found 'rope_scaling'"));
  EXPECT_THAT(model->warnings[1], HasSubstr("found 'body.extra'"));
}

/// A misspelt recipe, or a recipe shadowed by another, would otherwise be ignored silently.
TEST_F(FolderImportTest, UnreadRecipesAreWarnings) {
  architecture["tensors"]["source.embeding.weight"] = "{p}words";
  architecture["tensors"]["encoder.1.ffn.norm.weight"] = "{p}words";
  auto model = importFolder(tensors);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->warnings.size(), 1u);
  EXPECT_EQ(withoutFolder(model->warnings[0]),
            "heddle.json: tensors: expected only recipes that a tensor of the model takes, found "
            "'encoder.1.ffn.norm.weight' after 'encoder.{layer}.ffn.norm.*', "
            "'source.embeding.weight'");
}

/// An unreadable tokenizer is an error for commands that read texts, and a warning for others.
TEST_F(FolderImportTest, TokenizersThatCannotBeRead) {
  ImportOptions texts;
  texts.needsTexts = true;
  ASSERT_TRUE(importFolder(tensors));
  auto problem = [&] {
    auto model = import(folder, texts);
    return model ? "no error" : withoutFolder(model.error().message);
  };
  EXPECT_THAT(problem(), HasSubstr("expected a folder with tokenizer.json, vocab.txt"));
  std::filesystem::copy_file(HEDDLE_SOURCE_DIR "/test/data/tokenizers/pieces-bpe/tokenizer.model",
                             folder + "/sentencepiece.bpe.model");
  EXPECT_THAT(problem(), HasSubstr("sentencepiece.bpe.model: expected tokenizer.json next to it, "
                                   "which gives the tokens around a text, found none"));
  write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_EQ(problem(), "tokenizer.json:1:1: expected valid JSON, found a pointer of Git LFS, which "
                       "`git lfs pull` replaces by the file");
  auto model = import(folder);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->warnings, ElementsAre(HasSubstr("the model takes ids and no text")));
  const std::string words =
      R"({"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": )";
  write("tokenizer.json", words + "9}}}");
  EXPECT_EQ(problem(), "no error");
  write("tokenizer.json", words + "10}}}");
  model = import(folder, texts);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->warnings, ElementsAre(HasSubstr("tokenizer.json: expected ids below the "
                                                     "model's 10 tokens, found 10 of 'b'")));
}

TEST_F(FolderImportTest, SettingsOfModulesThatAreLeftOutAreWarnings) {
  ASSERT_TRUE(importFolder(tensors));
  std::filesystem::create_directory(folder + "/1_Pooling");
  write("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 8, "layers": [1, 2]})");
  write("sentence_bert_config.json", R"({"max_seq_length": 5, "do_lower_case": true, "stems": 1})");
  auto model = import(folder);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(
      model->warnings,
      ElementsAre(HasSubstr("sentence_bert_config.json: expected only max_seq_length, "
                            "do_lower_case, transformer_task, modality_config, "
                            "module_output_name, unpad_inputs, query_length, document_length, "
                            "query_expansion, found 'stems'"),
                  HasSubstr("1_Pooling/config.json: expected only word_embedding_dimension, "
                            "embedding_dimension, pooling_mode*, include_prompt, found "
                            "'layers'")));
}

TEST_F(FolderImportTest, APoolingThatHeddleLacksIsRefused) {
  ASSERT_TRUE(importFolder(tensors));
  std::filesystem::create_directory(folder + "/1_Pooling");
  write("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  write("1_Pooling/config.json",
        R"({"pooling_mode_mean_tokens": true, "pooling_mode_median": true})");
  auto model = import(folder);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message,
              HasSubstr("1_Pooling/config.json: pooling_mode_median: expected a pooling that "
                        "Heddle has, found another one"));
}

TEST_F(FolderImportTest, LabelsThatAreNoObject) {
  config["architectures"] = {"MineForSequenceClassification"};
  config["id2label"] = {"a", "b"};
  architecture["heads"]["ForSequenceClassification"] = {
      {"model", {{"classifier", {{"size", 2}, {"bias", false}}}, {"encoder", {{"pool", "cls"}}}}},
      {"tensors", {{"classifier.weight", {{"fill", 1}}}}}};
  EXPECT_EQ(folderProblem(),
            "config.json: id2label: expected an object of texts, found [\"a\",\"b\"]");
}

TEST_F(FolderImportTest, FilesOfAFolderAreNoModels) {
  ASSERT_TRUE(importFolder(tensors));
  for (const char *name : {"config.json", "model.safetensors"}) {
    auto model = import(folder + "/" + name);
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message,
                HasSubstr("expected a model, found a file of a Hugging Face folder: the folder"));
  }
}

TEST_F(FolderImportTest, TheFirstPrefixThatTheCheckpointHas) {
  for (TensorInfo &tensor : tensors)
    tensor.name.erase(0, 5);
  EXPECT_EQ(folderProblem(), "no error");
}

TEST_F(FolderImportTest, TensorsMissingOrOfAnotherShape) {
  auto all = tensors;
  std::erase_if(tensors, [](const TensorInfo &t) { return t.name == "body.1.qkv"; });
  EXPECT_EQ(folderProblem(),
            "model.safetensors: expected a tensor body.1.qkv (tensors.encoder.{layer}.attention."
            "query.weight of heddle.json), found none of this name with body.1.o.weight, "
            "body.1.half");
  tensors = {{"other", "f32", {1}}};
  EXPECT_THAT(folderProblem(), HasSubstr("found none of this name with other"));
  tensors = all;
  tensors[0].shape = {11, 8};
  EXPECT_EQ(folderProblem(), "model.safetensors: body.words: expected [10, 8] for "
                             "source.embedding.weight, found [11, 8]");
  tensors = all;
  tensors[2].shape = {20, 8};
  EXPECT_EQ(folderProblem(), "heddle.json: tensors.encoder.{layer}.attention.key.weight.view: "
                             "expected extents of 20 rows, found [3, 8]");
  tensors = all;
  tensors[1].type = "i32";
  EXPECT_THAT(folderProblem(), HasSubstr("body.norm: expected f32, f16, bf16 or f64, found i32"));
}

TEST_F(FolderImportTest, ArchitectureFilesThatAreWrong) {
  EXPECT_EQ(problemWithKey("/modle", Json::object()),
            "heddle.json: expected one of heddle-architecture, extends, names, config, config-at, "
            "require, model, generation, dropout, tensors, ignore, heads, head, same-heads, ties, "
            "gguf, found "
            "'modle'");
  EXPECT_EQ(problemWithKey("/heddle-architecture", 2),
            "heddle.json: heddle-architecture: expected version 1, found 2");
  EXPECT_EQ(problemWithKey("/config/width", {{"defualt", 1}}),
            "heddle.json: config.width: expected one of or, default, null, found 'defualt'");
  EXPECT_EQ(problemWithKey("/extends", "berd").substr(0, 46),
            "heddle.json: extends: expected one of albert, ");
  EXPECT_EQ(
      problemWithKey("/model/size", "=wdth"),
      "heddle.json: model.size: column 1: expected a key of `config`, a table or a name bound "
      "here, found 'wdth'");
  EXPECT_EQ(
      problemWithKey("/model/size", "=width +"),
      "heddle.json: model.size: column 8: expected a number, a text, a name or '(', found the "
      "end");
  EXPECT_EQ(problemWithKey("/config/layers", {{"default", "=layers"}}), "no error"); // it exists
  EXPECT_EQ(
      problemWithKey("/tensors/encoder.{layer}.ffn.out.weight", {{"of", "x"}, {"turn", 1}}),
      "heddle.json: tensors.encoder.{layer}.ffn.out.weight: expected one of of, concat, stack, "
      "fill, sinusoids, flat, as, "
      "transpose, view, at, rows, halves, norm, linear, distances, "
      "frozen-norm, channels-last, plus, times, found 'turn'");
  EXPECT_EQ(
      problemWithKey("/tensors/encoder.{layer}.ffn.out.weight", {{"sinusoids", {{"divisor", 0}}}}),
      "heddle.json: tensors.encoder.{layer}.ffn.out.weight.sinusoids: expected from of at "
      "least 0 and a divisor above 0, found 0 and 0");
  EXPECT_EQ(
      problemWithKey("/tensors/encoder.{layer}.attention.query.weight/rows", {0, 25}),
      "heddle.json: tensors.encoder.{layer}.attention.query.weight.rows: expected rows of 24, "
      "found [0, 25]");
  EXPECT_EQ(
      problemWithKey("/tensors/encoder.{layer}.attention.key.weight/at", {3}),
      "heddle.json: tensors.encoder.{layer}.attention.key.weight.at: expected places below 3, "
      "found 3");
  EXPECT_EQ(problemWithKey("/model/encoder/layers/each", 0),
            "heddle.json: model.encoder.layers.each: expected 1 to 4096 layers, found 0");
  EXPECT_EQ(
      problemWithKey("/model/attention/headz", 3),
      "heddle.json: model.attention.headz: expected a known key, found 'headz', the nearest known "
      "one is 'heads'");
  EXPECT_EQ(problemWithKey("/model/attention/heads", "=heads + 1"),
            "heddle.json: model.attention.heads (=heads + 1): expected a divisor of size 8, found "
            "3");
  architecture["tensors"].erase("source.embedding.weight");
  EXPECT_EQ(folderProblem(), "heddle.json: tensors: expected a recipe for "
                             "'source.embedding.weight', found none");
}

TEST_F(FolderImportTest, ProductsAndDistances) {
  const std::string key = "/tensors/encoder.{layer}.attention.query.weight";
  Json recipe = {{"of", "{p}0.half"}};
  recipe["norm"] = {{"weight", "{p}norm"}, {"bias", {{"fill", 0}}}, {"epsilon", 1}};
  recipe["linear"] = {{"weight", "{p}0.o.weight"}, {"bias", "{p}norm"}};
  // The fill has no shape inside a recipe.
  EXPECT_EQ(problemWithKey(key, recipe),
            "heddle.json: tensors.encoder.{layer}.attention.query.weight.norm.bias: expected 8 "
            "numbers, found []");
  recipe["norm"]["bias"] = "{p}norm";
  EXPECT_EQ(problemWithKey(key, recipe), "no error");
  recipe["norm"]["epsilon"] = "small";
  EXPECT_THAT(problemWithKey(key, recipe), HasSubstr("norm.epsilon: expected a number"));
  recipe["norm"] = {{"if", "false"}, {"then", 3}};
  EXPECT_EQ(problemWithKey(key, recipe), "no error");
  recipe["linear"]["weight"] = "{p}norm";
  EXPECT_THAT(problemWithKey(key, recipe),
              HasSubstr("linear.weight: expected 8 columns, found [8]"));
  recipe["linear"] = {{"weight", "{p}0.o.weight"}, {"scale", 1}};
  EXPECT_THAT(problemWithKey(key, recipe), HasSubstr("linear: expected one of weight, bias"));
  recipe.erase("linear");
  recipe["distances"] = {2, 0, 4}; // 0: the wanted tensor's buckets; a matrix has none
  EXPECT_THAT(
      problemWithKey(key, recipe),
      HasSubstr("distances: expected a tensor of [heads, 2 * reach, head size] with a reach "
                "of at least 4, found [8, 8]"));
  recipe["distances"] = {2, 4, 3};
  EXPECT_THAT(
      problemWithKey(key, recipe),
      HasSubstr("distances: expected [heads, buckets or 0, furthest distance], found [2,4,3]"));
}

TEST_F(FolderImportTest, StacksAndVectors) {
  const std::string key = "/tensors/encoder.{layer}.attention.query.weight";
  for (int part = 0; part < 2; ++part)
    tensors.push_back({"body.part" + std::to_string(part), "f32", {4, 8}});
  Json stack = {{"of", "{p}part{part}"}, {"count", 2}};
  EXPECT_EQ(problemWithKey(key, {{"stack", stack}}), "no error");
  EXPECT_EQ(problemWithKey(key, {{"stack", {{"of", "{p}part{part}"}, {"count", 1}}}}),
            "model.safetensors: body.part0: expected [8, 8] for encoder.0.attention.query.weight, "
            "found [4, 8]");
  EXPECT_THAT(problemWithKey(key, {{"stack", {{"of", "{p}part{part}"}, {"count", 3}}}}),
              HasSubstr("expected a tensor body.part2"));
  EXPECT_THAT(problemWithKey(key, {{"stack", {{"of", "{p}part{part}"}, {"count", 0}}}}),
              HasSubstr("weight.stack.count: expected 1 to 65536, found 0"));
  EXPECT_THAT(problemWithKey(key, {{"stack", "{p}part{part}"}}),
              HasSubstr("weight.stack: expected an object with of and count, found"));
  EXPECT_THAT(problemWithKey(key, {{"of", "{p}0.half"}, {"flat", true}}),
              HasSubstr("expected [8, 8] for encoder.0.attention.query.weight, found [64]"));
  EXPECT_THAT(problemWithKey(key, {{"of", "{p}0.half"}, {"flat", 1}}),
              HasSubstr("weight.flat: expected true or false, found 1"));
}

TEST_F(FolderImportTest, ModelsThatNoDescriptionSays) {
  write("config.json", R"({"model_type": "jetmoe"})");
  write("model.safetensors", safetensors(tensors));
  auto model = import(folder);
  ASSERT_FALSE(model);
  EXPECT_THAT(
      model.error().message,
      HasSubstr(
          "config.json: model_type: expected a model without experts in attention, which are not "
          "supported yet, found 'jetmoe'"));
}

TEST_F(FolderImportTest, Heads) {
  config["architectures"] = {"MineForNothing"};
  auto warningsWith = [&](const Json &head) {
    architecture["heads"] = {{"ForNothing", head}};
    auto model = importFolder(tensors);
    return model ? model->warnings : std::vector{withoutFolder(model.error().message)};
  };
  EXPECT_THAT(warningsWith(Json::object()), IsEmpty());
  EXPECT_THAT(warningsWith(nullptr),
              ElementsAre(HasSubstr("found 'ForNothing', which is left out")));
  EXPECT_THAT(
      warningsWith("it is not built"),
      ElementsAre("config.json: architectures: expected another head, found 'ForNothing': it "
                  "is not built"));
}

TEST_F(FolderImportTest, Parts) {
  Json whole = architecture;
  architecture = {{"heddle-architecture", 1},
                  {"parts",
                   {{"text", {{"extends", "clip_text_model"}, {"head", "WithProjection"}}},
                    {"vision", {{"head", "WithProjection"}}}}}};
  write("config.json", config.dump());
  write("model.safetensors", safetensors(tensors));
  auto problemOf = [&](const std::string &part) {
    write("heddle.json", architecture.dump());
    ImportOptions options;
    options.part = part;
    auto model = import(folder, options);
    std::string text = model ? "no error" : withoutFolder(model.error().message);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(problemOf("sound"), "--part: expected text or vision, found 'sound'");
  EXPECT_EQ(problemOf("vision"),
            "heddle.json: parts.vision: expected an object with extends, found "
            "{\"head\":\"WithProjection\"}");
  architecture["parts"]["text"]["head"] = "ForEverything";
  EXPECT_EQ(problemOf(""), "heddle.json, part text: head: expected one of the file's heads, found "
                           "'ForEverything'");
  architecture = whole;
  EXPECT_THAT(problemOf("text"), HasSubstr("--part: expected a folder with several models, found"));
}

TEST_F(FolderImportTest, ConfigurationsThatAreWrong) {
  config.erase("width");
  EXPECT_EQ(folderProblem(), "heddle.json: model.size: column 1: expected the key 'width' in "
                             "config.json, found none");
  config["width"] = "eight";
  EXPECT_THAT(folderProblem(), HasSubstr("expected"));
  config["width"] = 8;
  config["quantization_config"] = Json::object();
  EXPECT_THAT(folderProblem(),
              HasSubstr("config.json: quantization_config: expected a checkpoint"));
  config.erase("quantization_config");
  architecture["require"] = {{"layers < 2", "one layer only"}};
  EXPECT_EQ(folderProblem(), "config.json: expected layers < 2, found layers = 2: one layer only");
  architecture["require"] = {{"false", "not at all"}};
  EXPECT_EQ(folderProblem(), "config.json: expected false, found otherwise: not at all");
}

// A vocabulary that is a text would be taken for a file name.
TEST_F(FolderImportTest, SizesOfAConfigurationAreIntegers) {
  for (const auto &[key, value] : {std::pair("vocab_size", Json("/etc/hostname")),
                                   {"vocab_size", -1},
                                   {"vocab_size", 0},
                                   {"num_attention_heads", 0},
                                   {"num_attention_heads", "4"},
                                   {"hidden_size", Json::array({64})},
                                   {"hidden_size", 64.5},
                                   {"num_hidden_layers", true},
                                   {"num_key_value_heads", "x"},
                                   {"intermediate_size", Json::object()},
                                   {"max_position_embeddings", "x"}}) {
    auto loaded = Architecture::load(folder, {{"model_type", "llama"}, {key, value}});
    auto description = loaded ? loaded->description() : Expected<Json>(loaded.takeError());
    ASSERT_FALSE(description) << key << value;
    EXPECT_THAT(description.error().message,
                HasSubstr("config.json: " + std::string(key) +
                          ": expected an integer of at least 1, found "));
    EXPECT_EQ(description.error().message.find("architecture"), std::string::npos)
        << description.error().message;
  }
}

// Defaults of first and last tokens in Transformers' BartConfig and related classes.
TEST_F(FolderImportTest, SettingsThatAConfigurationHasByItself) {
  auto settings = [&](Json given) {
    auto loaded = Architecture::load(folder, std::move(given));
    auto values = loaded ? loaded->generation() : Expected<Json>(loaded.takeError());
    return values ? *values : Json(values.takeError().message);
  };
  auto forced = [](Json first, Json last) {
    return Json{{"forced_bos_token_id", std::move(first)},
                {"forced_eos_token_id", std::move(last)}};
  };
  EXPECT_EQ(settings({{"model_type", "bart"}}), forced(nullptr, 2));
  Json old{{"model_type", "bart"}, {"bos_token_id", 3}, {"force_bos_token_to_be_generated", true}};
  EXPECT_EQ(settings(old), forced(3, 2));
  old["forced_bos_token_id"] = 5;
  old["forced_eos_token_id"] = nullptr;
  EXPECT_EQ(settings(old), forced(5, nullptr));
  EXPECT_EQ(settings({{"model_type", "pegasus"}}), forced(nullptr, 1));
  EXPECT_EQ(settings({{"model_type", "marian"}}), forced(nullptr, 0));
  for (const char *type : {"m2m_100", "whisper"})
    EXPECT_EQ(settings({{"model_type", type}}), forced(nullptr, nullptr));
  EXPECT_EQ(settings({{"model_type", "t5"}}), Json::object());
}

TEST_F(FolderImportTest, Checkpoints) {
  ASSERT_EQ(folderProblem(), "no error");
  auto imported = [&] {
    auto model = import(folder);
    return model ? "no error" : withoutFolder(model.error().message);
  };
  std::filesystem::remove(folder + "/model.safetensors");
  EXPECT_THAT(
      imported(),
      HasSubstr("expected model.safetensors, model.safetensors.index.json or pytorch_model.bin"));
  write("pytorch_model.bin", "x");
  EXPECT_THAT(imported(), HasSubstr("pytorch_model.bin: expected a ZIP file, found another kind"));
  std::filesystem::remove(folder + "/pytorch_model.bin");
  write("tf_model.h5", "x");
  EXPECT_THAT(imported(), HasSubstr("expected model.safetensors, found tf_model.h5 only; "));
  // Import two shards and an index.
  std::vector<TensorInfo> first(tensors.begin(), tensors.begin() + 3),
      second(tensors.begin() + 3, tensors.end());
  write("a.safetensors", safetensors(first));
  write("b.safetensors", safetensors(second));
  Json map = Json::object();
  for (const TensorInfo &tensor : first)
    map[tensor.name] = "a.safetensors";
  for (const TensorInfo &tensor : second)
    map[tensor.name] = "b.safetensors";
  auto withMap = [&](const Json &index) {
    write("model.safetensors.index.json", index.dump());
    return imported();
  };
  EXPECT_EQ(withMap({{"weight_map", map}}), "no error");
  EXPECT_THAT(withMap(Json::array()), HasSubstr("weight_map: expected an object, found none"));
  Json wrong = map;
  wrong["body.words"] = "c.safetensors";
  EXPECT_THAT(withMap({{"weight_map", wrong}}),
              HasSubstr("weight_map.body.words: expected the file"));
  wrong["body.words"] = "b.safetensors"; // the other file has it
  EXPECT_EQ(withMap({{"weight_map", wrong}}), "no error");
  wrong["body.none"] = "b.safetensors";
  EXPECT_THAT(withMap({{"weight_map", wrong}}),
              HasSubstr("expected the tensor 'body.none' that the index names, found none"));
  wrong["body.words"] = "../a.safetensors";
  EXPECT_THAT(withMap({{"weight_map", wrong}}), HasSubstr("expected the name of a file with it"));
}

} // namespace
