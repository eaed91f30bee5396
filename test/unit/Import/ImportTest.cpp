//===- ImportTest.cpp - Files, functions and masks ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which functions a description produces, with their inputs and results.
// Lit tests check the texts of whole functions.

#include "ImportFixture.h"

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <filesystem>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

class ModelTest : public ImportTest {
protected:
  /// The signatures of a description: "encode(source, source.lengths) -> memory, source.lengths;
  /// …".
  std::string signatures(const Json &json, const ImportOptions &options = {}) {
    auto model = importJson(json, options);
    if (!model)
      return model.error().message;
    std::string text;
    model->module->walk([&](mlir::func::FuncOp f) {
      std::string inputs, results;
      for (unsigned i = 0; i < f.getNumArguments(); ++i)
        if (auto fallback = defaultFromAttr(f.getArgAttr(i, "transformer.default"));
            !fallback || !fallback->isKept())
          inputs += (inputs.empty() ? "" : ", ") + nameOf(f.getArgAttr(i, "transformer.name"));
      for (unsigned i = 0; i < f.getNumResults(); ++i)
        results += (i ? ", " : " -> ") + nameOf(f.getResultAttr(i, "transformer.name"));
      text += (text.empty() ? "" : "; ") + f.getSymName().str() + "(" + inputs + ")" + results;
    });
    return text;
  }
  static std::string nameOf(mlir::Attribute attribute) {
    return mlir::cast<mlir::StringAttr>(attribute).getValue().str();
  }
  std::string fileProblem(const std::string &path, const ImportOptions &options = {}) {
    auto model = import(path, options);
    return model ? "no error" : withoutFolder(model.error().message);
  }
};

TEST_F(ModelTest, FunctionsOfTheKinds) {
  EXPECT_EQ(signatures(small()),
            "encode(source, source.lengths) -> memory, source.lengths; "
            "decode(target, memory, target.lengths, source.lengths) -> output; "
            "decode_start(memory, source.lengths, rows); "
            "decode_prompt(target, target.lengths) -> output; "
            "decode_step(target) -> output; decode_reorder(parents)");
  Json json = small();
  json["kind"] = "encoder";
  json.erase("decoder"), json.erase("target");
  EXPECT_EQ(signatures(json), "encode(source, source.lengths) -> output");
  json["encoder"].erase("mask");
  json["classifier"] = {{"size", 4}};
  EXPECT_EQ(signatures(json), "encode(source) -> logits");
  json = small();
  json["classifier"] = {{"softmax", true}, {"loss", true}};
  EXPECT_EQ(signatures(json),
            "encode(source, source.lengths) -> memory, source.lengths; "
            "decode(target, memory, target.lengths, source.lengths) -> probabilities; "
            "loss(source, source.lengths, reference, reference.lengths) -> loss; "
            "decode_start(memory, source.lengths, rows); "
            "decode_prompt(target, target.lengths) -> probabilities; "
            "decode_step(target) -> probabilities; decode_reorder(parents)");
  json = small();
  json["kind"] = "decoder";
  json.erase("encoder"), json.erase("source"), json["decoder"].erase("cross-mask");
  json["decoder"]["mask"] = "causal";
  EXPECT_EQ(signatures(json), "decode(target) -> output; decode_start(); "
                              "decode_prompt(target, target.lengths) -> output; "
                              "decode_step(target) -> output; decode_reorder(parents)");
}

TEST_F(ModelTest, WeightsAreResultsOnRequest) {
  Json json = small();
  json["encoder"]["layers"] = json["decoder"]["layers"] = 1;
  json["attention"]["return-weights"] = "average";
  json["decoder"]["cross"] = {{"return-weights", "heads"}};
  auto model = importJson(json);
  ASSERT_TRUE(model);
  std::string text = textOf(*model);
  EXPECT_THAT(text, HasSubstr(R"(tensor<?x?x?xf32> {transformer.dims = ["B", "T", "T"], )"
                              R"(transformer.name = "decoder.0.weights"})"));
  EXPECT_THAT(text, HasSubstr(R"(tensor<?x3x?x?xf32> {transformer.dims = ["B", 3, "T", "S"], )"
                              R"(transformer.name = "decoder.0.cross-weights"})"));
  EXPECT_THAT(signatures(json), HasSubstr("decode_step(target) -> output;"));
}

TEST_F(ModelTest, MasksOfTheCommandLine) {
  ImportOptions options;
  options.mask = {"decoder.mask=keep(k)", "encoder.1.mask=hide(h)"};
  EXPECT_EQ(signatures(small(), options),
            "encode(source, source.lengths, h) -> memory, source.lengths; "
            "decode(target, memory, k, source.lengths) -> output; "
            "decode_start(memory, source.lengths, rows); "
            "decode_prompt(target, target.lengths, k) -> output; "
            "decode_step(target, k) -> output; decode_reorder(parents)");
  const std::pair<const char *, const char *> wrong[] = {
      {"encoder.2.mask=causal",
       "--mask: expected the key path of a mask of this model (encoder.0.mask, encoder.mask, "
       "encoder.1.mask, decoder.0.mask, decoder.mask, decoder.0.cross-mask, decoder.cross-mask, "
       "decoder.1.mask and 1 more), found 'encoder.2.mask'"},
      {"causal", "--mask: expected NAME=EXPR, found 'causal'"},
      {"decoder.mask=causal &",
       "--mask decoder.mask: column 9: expected a name, found the end\n  causal &\n          ^"}};
  for (const auto &[mask, message] : wrong) {
    options.mask = {mask};
    EXPECT_EQ(problem(small(), options), message);
  }
  // A stack's mask would replace nothing if each layer has its own mask.
  Json json = small();
  json["decoder"]["layers"] = Json::array({{{"mask", "causal"}}});
  options.mask = {"decoder.mask=window(3, 0)"};
  EXPECT_THAT(problem(json, options), HasSubstr("found 'decoder.mask'"));
  options.mask = {"decoder.0.mask=window(3, 0)"};
  EXPECT_EQ(problem(json, options), "no error");
}

TEST_F(ModelTest, InputsOfMasks) {
  EXPECT_EQ(problemWith("/encoder/mask", "lengths(target)"),
            "m.json: encoder.mask: expected lengths(source) over these keys, found "
            "lengths(target)");
  EXPECT_EQ(problemWith("/encoder/mask", "keep(memory)"),
            "m.json: encoder.mask: expected a name for the mask's own input, found 'memory'");
  EXPECT_EQ(
      problemWith("/encoder/mask", "keep(a) & dense(a)"),
      "m.json: input 'a': expected one shape and type in function encode, found i1 [B, 1, 1, S] "
      "and i1 [a.batch, a.heads, S, S]; give the uses names of their own");
  EXPECT_EQ(problemWith("/encoder/mask", "keep(a) & hide(a)"), "no error");
  EXPECT_EQ(
      problemWith("/encoder/mask", "documents_packed(s, s) & !keep(a)"),
      "m.json: encoder.mask: expected no table of whole rows with documents_packed, found keep");
}

/// With vectors as input, lengths cannot be computed. They are an input only if they are used.
TEST_F(ModelTest, LengthsOfVectors) {
  Json json = small();
  json["source"]["vocabulary"] = json["target"]["vocabulary"] = nullptr;
  auto model = importJson(json);
  ASSERT_TRUE(model);
  EXPECT_THAT(textOf(*model), testing::Not(HasSubstr("lengths_of")));
  json["encoder"].erase("mask");
  EXPECT_THAT(signatures(json), testing::StartsWith("encode(source) -> memory;"));
}

TEST_F(ModelTest, Files) {
  EXPECT_EQ(fileProblem(folder + "/none"), "none: expected a model, found no such file or folder");
  EXPECT_THAT(
      fileProblem(folder),
      HasSubstr("expected a folder with model.json, config.json or a GGUF file, found none"));
  write("config.json", "{}");
  EXPECT_THAT(fileProblem(folder),
              HasSubstr("model_type: expected an architecture that Heddle knows, found "));
  write("model.json", small().dump());
  EXPECT_EQ(fileProblem(folder), "no error");
  EXPECT_THAT(fileProblem(write("m.txt", "{}")), HasSubstr("m.txt: expected a model"));
  EXPECT_THAT(fileProblem("/dev/null"), HasSubstr("/dev/null: expected a file or a folder"));
  std::filesystem::create_directory(folder + "/x.json");
  EXPECT_THAT(fileProblem(folder + "/x.json"), HasSubstr("expected a folder with model.json"));
}

TEST_F(ModelTest, DialectText) {
  EXPECT_EQ(fileProblem(write("x.mlir", "func.func @f() {\n  transformer.nonsense\n}")),
            "x.mlir:2:3: custom op 'transformer.nonsense' is not supported yet or misspelt, the "
            "nearest op is "
            "'transformer.transpose'");
  EXPECT_EQ(fileProblem(write("x.mlir", "")), "x.mlir: expected a function, found none");
  EXPECT_THAT(fileProblem(write("x.mlir", std::string("\xff\0\1", 3))), HasSubstr("x.mlir:1:1: "));
  EXPECT_EQ(fileProblem(write("x.mlir", "func.func private @f()")),
            "x.mlir:1:1: function f: expected a body, found none");
  std::string weight = write("x.mlir", R"(func.func @f() -> tensor<2x3xf32> {
    %w = transformer.weight "w" : tensor<2x3xf32>
    return %w : tensor<2x3xf32>
  })");
  EXPECT_EQ(fileProblem(weight), "x.mlir: expected --weights FILE.safetensors for 1 tensor, w");
  ImportOptions options;
  options.weights = write("w.safetensors", safetensors({{"w", "f32", {2, 3}}}));
  EXPECT_EQ(fileProblem(weight, options), "no error");
  options.weights = write("w.safetensors", safetensors({{"w", "f32", {3, 2}}}));
  EXPECT_EQ(fileProblem(weight, options), "w.safetensors: w: expected [2, 3], found [3, 2]");
  options.mask = {"mask=causal"};
  EXPECT_EQ(fileProblem(weight, options), "--mask: expected the transformer.name of a mask op of "
                                          "x.mlir (it has none), found 'mask'");
}

/// Imports all models. The number of tensors grows with the layers, except for the norms after the
/// stacks.
TEST_F(ModelTest, Models) {
  const std::string models = std::string(HEDDLE_SOURCE_DIR) + "/test/data/models/";
  for (const char *name :
       {"base", "deep", "tiny", "odd-sizes", "pre-norm-gelu", "encoder", "decoder"})
    EXPECT_EQ(fileProblem(models + name + ".json"), "no error") << name;
  auto base = import(models + "base.json"), deep = import(models + "deep.json");
  EXPECT_EQ((base->tensors.size() - 4) * 4, deep->tensors.size() - 4);
}

} // namespace
