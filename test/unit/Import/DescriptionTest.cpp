//===- DescriptionTest.cpp - Keys, values and what they exclude -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the full text of each error, since users see it.

#include "Description.h"
#include "ImportFixture.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <fstream>
#include <sstream>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

class DescriptionTest : public ImportTest {
protected:
  std::string textProblem(const std::string &text) {
    auto model = import(write("m.json", text));
    return model ? "no error" : withoutFolder(model.error().message);
  }
};

TEST_F(DescriptionTest, TextThatIsNoDescription) {
  EXPECT_EQ(textProblem(""), "m.json:1:1: expected valid JSON, found the end");
  EXPECT_EQ(textProblem("{\n \"heddle\": 1,\n \"kind\" 3\n}"),
            "m.json:3:9: expected valid JSON, found '3'");
  EXPECT_EQ(textProblem("{\"size\": NaN}"), "m.json:1:10: expected valid JSON, found 'N'");
  EXPECT_EQ(textProblem("{\"a\": 1e999}"),
            "m.json:1:11: expected valid JSON, found a number beyond the range of f64");
  EXPECT_EQ(textProblem("\xEF\xBB\xBF" + small().dump()),
            "m.json:1:1: expected valid JSON, found a byte order mark");
  EXPECT_EQ(textProblem("{}" + std::string(1, '\0')),
            "m.json:1:3: expected valid JSON, found byte 0");
  EXPECT_EQ(textProblem("[1]"), "m.json: expected an object, found [1]");
  EXPECT_EQ(textProblem("{\"attention\": {\"heads\": 1, \"heads\": 2}}"),
            "m.json: attention: expected each key once, found 'heads' twice");
  EXPECT_THAT(textProblem(std::string("\x7f"
                                      "ELF\0\1\2",
                                      7)),
              StartsWith("m.json:1:1: "));
}

TEST_F(DescriptionTest, RequiredKeys) {
  for (const char *key :
       {"heddle", "kind", "size", "weights", "source", "target", "encoder", "decoder"}) {
    Json json = small();
    json.erase(key);
    EXPECT_THAT(problem(json), StartsWith(std::string("m.json: ") + key + ": expected "));
  }
  Json json = small();
  json.erase("attention");
  EXPECT_EQ(problem(json),
            "m.json: attention.heads: expected a number of heads, found no such key");
  EXPECT_EQ(problemWith("/source", Json::object()),
            "m.json: source.vocabulary: expected a file name, a size or null, found no such key");
}

TEST_F(DescriptionTest, UnknownKeysNameTheNearest) {
  EXPECT_EQ(problemWith("/attention/haeds", 3),
            "m.json: attention.haeds: expected a known key, found 'haeds', the nearest known one "
            "is 'heads'");
  EXPECT_EQ(problemWith("/encoder/layer", 3), "m.json: encoder.layer: expected a known key, found "
                                              "'layer', the nearest known one is 'layers'");
  EXPECT_THAT(problemWith("/encoder/layers", Json::array({{{"mas", "causal"}}})),
              HasSubstr("encoder.layers.0.mas: expected a known key"));
  EXPECT_EQ(problemWith("/a\nb", 3).find('\n'), std::string::npos);
}

TEST_F(DescriptionTest, TypesAndRanges) {
  EXPECT_EQ(problemWith("/attention/heads", 2.5),
            "m.json: attention.heads: expected an integer of at least 1 and at most 65536, found "
            "2.5");
  EXPECT_EQ(problemWith("/attention/heads", 3.0), "no error");
  EXPECT_EQ(problemWith("/source/vocabulary", 20.0), "no error");
  EXPECT_THAT(problemWith("/size", 1e30), HasSubstr("size: expected an integer"));
  EXPECT_THAT(problemWith("/size", uint64_t(1) << 63), HasSubstr("size: expected an integer"));
  EXPECT_EQ(problemWith("/attention", nullptr),
            "m.json: attention: expected an object, found null");
  EXPECT_EQ(problemWith("/attention/bias", true),
            "m.json: attention.bias: expected an object of query, key, value and output, each true "
            "or false, found true");
  EXPECT_EQ(problemWith("/attention/score-scale", 1e300),
            "m.json: attention.score-scale: expected a finite number, found 1e+300");
  EXPECT_EQ(problemWith("/norm/epsilon", -1),
            "m.json: norm.epsilon: expected a number of at least 0, found -1");
  EXPECT_EQ(problemWith("/source/padding", 20),
            "m.json: source.padding: expected an integer of at least 0 and at most 19, found 20");
  EXPECT_EQ(problemWith("/ffn/activation", "softplus"),
            "m.json: ffn.activation: expected one of relu, gelu, gelu-tanh, quick-gelu, silu, "
            "tanh, sigmoid, relu2, relu6, hard-swish, mish, xielu, "
            "found 'softplus'");
  EXPECT_EQ(problemWith("/encoder/layers", Json::array()),
            "m.json: encoder.layers: expected 1 to 4096 layers, found 0");
}

TEST_F(DescriptionTest, ImpossibleCombinations) {
  EXPECT_EQ(problemWith("/attention/heads", 7),
            "m.json: attention.heads: expected a divisor of size 12, found 7");
  Json json = small();
  json["attention"] = {{"heads", 7}, {"head-size", 5}};
  EXPECT_EQ(problem(json), "no error");
  EXPECT_EQ(problemWith("/attention/key-value-heads", 2),
            "m.json: attention.key-value-heads: expected a divisor of heads 3, found 2");
  json["attention"]["output-projection"] = false;
  EXPECT_EQ(problem(json), "m.json: attention.output-projection: expected true, or heads times "
                           "value-size to be size 12, found false and 35");
  EXPECT_EQ(problemWith("/classifier", {{"tied", true}, {"size", 5}}),
            "m.json: classifier.tied: expected false, or one class a token of the embedding, found "
            "true and 5 classes");
  json = small();
  json["kind"] = "encoder";
  EXPECT_EQ(problem(json),
            "m.json: decoder: expected no such key in a description of kind encoder, found it");
  const std::pair<const char *, Json> others[] = {{"/source/limit", 9},
                                                  {"/target/add", true},
                                                  {"/target/length", 9},
                                                  {"/target/too-long", "cut"}};
  for (const auto &[key, value] : others)
    EXPECT_THAT(problemWith(key, value), HasSubstr(": expected no such key of the "));
  EXPECT_EQ(problemWith("/target/too-long", "error"), "no error"); // the default
  EXPECT_THAT(problemWith("/position/base", 10000), HasSubstr("with sinusoidal positions"));
  EXPECT_EQ(problemWith("/encoder/layers", Json::array({{{"norm", {{"after-stack", true}}}}})),
            "m.json: encoder.layers.0.norm.after-stack: expected no such key in a layer, found it");
  json = small();
  json["source"]["vocabulary"] = json["target"]["vocabulary"] = nullptr;
  json["embedding"] = {{"scale", 2.0}};
  EXPECT_EQ(problem(json),
            "m.json: embedding.scale: expected no such key where vectors come in, found it");
}

TEST_F(DescriptionTest, SegmentsAndHiddenLayers) {
  EXPECT_EQ(problemWith("/encoder/embedding", {{"types", 2}}), "no error");
  EXPECT_THAT(problemWith("/encoder/embedding", {{"types", 0}}),
              HasSubstr("m.json: encoder.embedding.types: expected "));
  EXPECT_EQ(
      problemWith("/decoder/embedding", {{"types", 2}}),
      "m.json: decoder.embedding.types: expected no such key but of a source of ids, found it");
  Json hidden = {{"size", 12}, {"activation", "tanh"}, {"norm", {{"epsilon", 1e-6}}}};
  EXPECT_EQ(problemWith("/classifier", {{"hidden", hidden}, {"tied", true}}), "no error");
  hidden["size"] = 13;
  EXPECT_EQ(problemWith("/classifier", {{"hidden", hidden}}), "no error");
  EXPECT_EQ(
      problemWith("/classifier", {{"hidden", hidden}, {"tied", true}}),
      "m.json: classifier.hidden.size: expected the features of the embedding's rows, 12, with "
      "tied, found 13");
  hidden["norm"] = {{"kind", "rms"}, {"root", false}};
  EXPECT_EQ(
      problemWith("/classifier", {{"hidden", hidden}}),
      "m.json: classifier.hidden.norm.root: expected true where the kind is rms, found false");
  EXPECT_THAT(problemWith("/classifier", {{"hidden", {{"place", "pre"}}}}),
              HasSubstr("m.json: classifier.hidden.place: expected a known key"));
}

TEST_F(DescriptionTest, EmbeddingsOfAnotherSize) {
  EXPECT_EQ(problemWith("/encoder/embedding", {{"size", 5}, {"projection", {{"bias", false}}}}),
            "no error");
  EXPECT_EQ(problemWith("/encoder/embedding", {{"size", 12}}), "no error");
  EXPECT_EQ(problemWith("/encoder/embedding", {{"size", 5}}),
            "m.json: encoder.embedding.projection: expected an object with a size that is not "
            "the model's 12, found no such key");
  EXPECT_EQ(problemWith("/encoder/embedding", {{"size", 5}, {"projection", nullptr}}),
            "m.json: encoder.embedding.projection: expected an object with a size that is not "
            "the model's 12, found null");
  EXPECT_THAT(problemWith("/encoder/embedding", {{"size", 0}}),
              HasSubstr("m.json: encoder.embedding.size: expected "));
  Json json = small();
  json["decoder"]["embedding"] = {{"size", 5}, {"projection", Json::object()}};
  json["classifier"] = {{"tied", true}};
  EXPECT_EQ(problem(json), "m.json: classifier.tied: expected the features of the embedding's "
                           "rows, 5, with tied, found 12");
  json["classifier"]["hidden"] = {{"size", 5}};
  EXPECT_EQ(problem(json), "no error");
}

TEST_F(DescriptionTest, NormsOfSubLayers) {
  Json json = small();
  json["norm"] = {{"kind", "rms"}, {"epsilon", 0.25}, {"place", "both"}};
  json["encoder"]["layers"] = {{{"attention", {{"norm", nullptr}}}},
                               {{"ffn", {{"norm", {{"epsilon", 0.5}}}}}}};
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  const std::vector<LayerDescription> &layers = d->encoder->layers;
  EXPECT_EQ(layers[0].place, NormPlace::Both);
  EXPECT_FALSE(layers[0].selfNorm);
  ASSERT_TRUE(layers[0].ffnNorm && layers[1].selfNorm && layers[1].ffnNorm);
  EXPECT_EQ(layers[0].ffnNorm->epsilon, 0.25);
  EXPECT_EQ(layers[1].selfNorm->epsilon, 0.25);
  EXPECT_EQ(layers[1].ffnNorm->epsilon, 0.5);
  EXPECT_TRUE(layers[1].ffnNorm->rms) << "what it does not say is that of all sub-layers";
  EXPECT_TRUE(d->decoder->layers[0].crossNorm);
  EXPECT_EQ(problemWith("/norm", {{"place", "around"}}),
            "m.json: norm.place: expected one of post, pre, both, output, found 'around'");
  EXPECT_EQ(problemWith("/ffn/norm", {{"place", "pre"}}),
            "m.json: ffn.norm.place: expected a known key, found 'place', the nearest known one is "
            "'kind'");
  EXPECT_EQ(problemWith("/attention/projection-norm", {{"kind", "rms"}}), "no error");
  EXPECT_EQ(problemWith("/attention/projection-norm", {{"over", "row"}}), "no error");
  EXPECT_EQ(problemWith("/attention/projection-norm", {{"over", "heads"}}), "no error");
}

TEST_F(DescriptionTest, OutputStages) {
  Json json = small();
  json["kind"] = "encoder";
  json.erase("decoder");
  json.erase("target");
  json["encoder"]["pool"] = "weighted-mean";
  auto with = [&](const Json &output) {
    Json changed = json;
    changed["encoder"]["output"] = output;
    return problem(changed);
  };
  Json dense = {{"dense", {{"size", 5}, {"activation", "tanh"}, {"bias", false}}}};
  EXPECT_EQ(with({dense, "normalize"}), "no error");
  EXPECT_EQ(with({"normalise"}),
            "m.json: encoder.output.0: expected one of normalize, found 'normalise'");
  EXPECT_EQ(with({3}), "m.json: encoder.output.0: expected \"normalize\" or {\"dense\": {…}}, "
                       "found 3");
  EXPECT_EQ(with(Json::array({{{"dense", Json::object()}}})),
            "m.json: encoder.output.0.dense.size: expected a number of features, found no such "
            "key");
  EXPECT_EQ(with(Json::array({Json::object()})),
            "m.json: encoder.output.0.dense: expected an object with a size, found no such key");
  EXPECT_THAT(with(Json::array()), HasSubstr("m.json: encoder.output: expected 1 to 64 output"));
  EXPECT_EQ(problemWith("/encoder/output", Json::array({"normalize"})),
            "m.json: encoder.output: expected null where a decoder reads the encoder's output, "
            "found a list");
  EXPECT_EQ(problemWith("/classifier", {{"softmax", true}, {"sigmoid", true}}),
            "m.json: classifier.sigmoid: expected false with softmax, found true");
}

TEST_F(DescriptionTest, PoolingsSideBySide) {
  Json json = small();
  json["kind"] = "encoder";
  json.erase("decoder");
  json.erase("target");
  auto with = [&](const Json &pool, const Json &classifier = nullptr) {
    Json changed = json;
    changed["encoder"]["pool"] = pool;
    changed["classifier"] = classifier;
    return problem(changed);
  };
  EXPECT_EQ(with({"cls", "mean"}), "no error");
  EXPECT_EQ(with("first"), "m.json: encoder.pool: expected one of cls, mean, last, max, "
                           "weighted-mean, mean-sqrt, sum, attention, found 'first'");
  EXPECT_EQ(with({"cls", "first"}), "m.json: encoder.pool.1: expected one of cls, mean, last, max, "
                                    "weighted-mean, mean-sqrt, sum, found 'first'");
  EXPECT_EQ(with(Json::array()), "m.json: encoder.pool: expected 1 to 16 pool, found 0");
  EXPECT_EQ(with(3), "m.json: encoder.pool: expected one of cls, mean, last, max, weighted-mean, "
                     "mean-sqrt, sum, attention, or a list of them but the last, found 3");
  Json pooled = {{"pool", "mean"}, {"size", 3}};
  EXPECT_EQ(with(nullptr, pooled), "no error");
  EXPECT_EQ(with(nullptr, {{"pool", "max"}, {"size", 3}}), "no error");
  EXPECT_EQ(with("cls", pooled), "m.json: classifier.pool: expected null but in an encoder without "
                                 "encoder.pool, found 'mean'");
  EXPECT_EQ(problemWith("/classifier", {{"pool", "mean"}}),
            "m.json: classifier.pool: expected null but in an encoder without encoder.pool, found "
            "'mean'");
  pooled["sigmoid"] = true;
  EXPECT_EQ(with(nullptr, pooled),
            "m.json: classifier.pool: expected null with sigmoid, found 'mean'");
}

TEST_F(DescriptionTest, RulesOfDistances) {
  Json json = small();
  json["kind"] = "encoder";
  json.erase("decoder");
  json.erase("target");
  auto with = [&](const char *rule) {
    json["attention"]["score-bias"] = rule;
    return problem(json);
  };
  EXPECT_EQ(with("query_distance(16) + key_distance(8)"), "no error");
  EXPECT_EQ(with("query_distance(12)"), "m.json: attention.score-bias: expected a multiple of 8 in "
                                        "query_distance, found 12");
  EXPECT_THAT(with("key_distance(4)"), HasSubstr("expected an integer of at least 8, found 4"));
  json["attention"]["key-value-heads"] = 1;
  EXPECT_THAT(with("key_distance(8)"), HasSubstr("expected as many heads of keys as of queries"));
  EXPECT_EQ(
      problemWith("/decoder/attention", {{"score-bias", "query_distance(8)"}}),
      "m.json: decoder.attention.score-bias: expected no rule of distances in a decoder, where "
      "it is not supported yet, found query_distance");
}

TEST_F(DescriptionTest, NormsAndPositions) {
  EXPECT_EQ(problemWith("/norm", {{"kind", "rms"}, {"root", false}}),
            "m.json: norm.root: expected true where the kind is rms, found false");
  EXPECT_EQ(problemWith("/embedding/norm", {{"place", "pre"}}),
            "m.json: embedding.norm.place: expected a known key, found 'place', the nearest known "
            "one is 'kind'");
  EXPECT_EQ(problemWith("/position/kind", "learned"),
            "m.json: position.length: expected the rows of the table of learned positions, found "
            "no such key");
  EXPECT_EQ(problemWith("/position", {{"kind", "learned"}, {"length", nullptr}}),
            "m.json: position.length: expected the rows of the table of learned positions, found "
            "null");
  Json json = small();
  json["position"] = {{"kind", "learned"}, {"length", 20}};
  json["embedding"] = {{"norm", {{"kind", "rms"}, {"epsilon", 0.5}}}};
  json["encoder"]["embedding"] = {{"norm", nullptr}};
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->target->limit, 20) << "as many tokens as have positions";
  EXPECT_FALSE(d->encoder->embeddingNorm);
  ASSERT_TRUE(d->decoder->embeddingNorm);
  EXPECT_TRUE(d->decoder->embeddingNorm->rms);
  EXPECT_EQ(d->decoder->embeddingNorm->epsilon, 0.5);
  EXPECT_FALSE(d->decoder->norm);
}

TEST_F(DescriptionTest, ALossNeedsADecoderOfTokens) {
  const std::string expected =
      "m.json: classifier.loss: expected false, or a decoder of tokens with a start and one class "
      "a token, or an encoder with one class a text, found ";
  EXPECT_EQ(problemWith("/classifier", {{"loss", true}}), "no error");
  EXPECT_EQ(problemWith("/classifier", {{"loss", true}, {"size", 5}}),
            expected + "5 classes for 30 tokens of the target");
  Json json = small();
  json["classifier"] = {{"loss", true}};
  json["target"]["start"] = nullptr;
  EXPECT_EQ(problem(json), expected + "target.start null");
  json["target"] = {{"vocabulary", nullptr}};
  json["classifier"]["size"] = 5;
  EXPECT_EQ(problem(json), expected + "vectors as the target");
}

TEST_F(DescriptionTest, TrainingNeedsProbabilitiesBelowOne) {
  EXPECT_EQ(problemWith("/training", {{"loss", {{"smoothing", 0.1}, {"over", "others"}}}}),
            "no error");
  EXPECT_EQ(problemWith("/training", {{"loss", {{"smoothing", 1}}}}),
            "m.json: training.loss.smoothing: expected a number below 1, found 1");
  EXPECT_EQ(problemWith("/training", {{"dropout", {{"ffn", 1.5}}}}),
            "m.json: training.dropout.ffn: expected a number below 1, found 1.5");
  EXPECT_EQ(problemWith("/training", {{"loss", {{"over", "padding"}}}}),
            "m.json: training.loss.over: expected one of all, others, others-but-padding, found "
            "'padding'");
}

TEST_F(DescriptionTest, ClassesOfTextsHaveNoPadding) {
  Json json = small();
  json["kind"] = "encoder";
  json.erase("decoder");
  json.erase("target");
  json["encoder"]["pool"] = "mean";
  json["classifier"] = {{"size", 3}};
  json["training"]["loss"] = {{"smoothing", 0.1}, {"over", "others-but-padding"}};
  EXPECT_EQ(problem(json), "m.json: training.loss.over: expected all or others for classes of "
                           "texts, found others-but-padding");
}

TEST_F(DescriptionTest, OneTableForBothSides) {
  Json json = small();
  json["embedding"] = {{"shared", true}};
  EXPECT_EQ(problem(json), "m.json: embedding.shared: expected false, or vocabularies of the same "
                           "size, found true and 20 and 30 tokens");
  json["source"]["vocabulary"] = 30;
  EXPECT_EQ(problem(json), "no error");
}

TEST_F(DescriptionTest, AnImageIsCutIntoPatches) {
  Json json = small();
  json["source"] = {{"image", {3, 8, 12}}, {"patch", 4}, {"class-token", true}};
  json["encoder"]["position"] = {{"kind", "learned"}};
  json["encoder"].erase("mask");
  json["decoder"].erase("cross-mask");
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  ASSERT_TRUE(d->source->image);
  EXPECT_EQ(d->source->image->rows(), 7);
  EXPECT_EQ(d->encoder->position.length, 7);
  json["source"]["class-token"] = 5;
  d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->source->image->rows(), 11);
  json["source"]["class-token"] = true;
  auto after = [&](const char *pointer, const Json &value) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = value;
    return problem(changed);
  };
  EXPECT_EQ(after("/source/patch", 5),
            "m.json: source.patch: expected a divisor of the height 8 and the width 12, found 5");
  EXPECT_EQ(after("/source/image", {3, 8}),
            "m.json: source.image: expected [channels, height, width], each of 1 to 65536, found "
            "[3,8]");
  EXPECT_EQ(after("/source/vocabulary", 9),
            "m.json: source.vocabulary: expected no such key with an image, found it");
  EXPECT_EQ(after("/source/image", nullptr),
            "m.json: source.image: expected [channels, height, width], each of 1 to 65536, found "
            "null");
  EXPECT_EQ(after("/encoder/position/length", 9),
            "m.json: encoder.position.length: expected the rows of the image, 7, found 9");
  EXPECT_EQ(after("/encoder/mask", "lengths(source)"),
            "m.json: encoder.mask: expected no such mask over the patches of an image, found "
            "lengths(source)");
  EXPECT_EQ(after("/layout", "sequence-first"),
            "m.json: layout: expected batch-first with an image, found sequence-first");
  EXPECT_EQ(after("/target/patch", 4),
            "m.json: target.patch: expected an image with it, found none");
}

TEST_F(DescriptionTest, FramesGoThroughConvolutions) {
  Json json = small();
  json["source"] = {{"vocabulary", nullptr},
                    {"frames", {10, 7}},
                    {"convolutions", {{{"activation", "gelu"}}, {{"size", 5}, {"stride", 2}}}}};
  json["encoder"]["position"] = {{"kind", "learned"}};
  json["encoder"].erase("mask");
  json["decoder"].erase("cross-mask");
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  ASSERT_TRUE(d->source->frames);
  EXPECT_EQ(d->source->frames->rows(), 4);
  EXPECT_EQ(d->encoder->position.length, 4);
  auto after = [&](const char *pointer, const Json &value) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = value;
    return problem(changed);
  };
  EXPECT_EQ(after("/source/frames", {10}),
            "m.json: source.frames: expected [channels, frames], each of 1 to 1048576, found [10]");
  EXPECT_EQ(after("/source/convolutions", Json::array()),
            "m.json: source.convolutions: expected a list of 1 to 16 objects, found []");
  EXPECT_EQ(after("/source/convolutions/1/size", 4),
            "m.json: source.convolutions.1.size: expected an odd number of frames, found 4");
  EXPECT_EQ(after("/source/vocabulary", 9),
            "m.json: source.vocabulary: expected null with frames, found a vocabulary");
  EXPECT_EQ(after("/encoder/position/length", 9),
            "m.json: encoder.position.length: expected the rows of the frames, 4, found 9");
  EXPECT_EQ(after("/encoder/mask", "lengths(source)"),
            "m.json: encoder.mask: expected no such mask over rows of frames, found "
            "lengths(source)");
  EXPECT_EQ(after("/layout", "sequence-first"),
            "m.json: layout: expected batch-first with frames, found sequence-first");
  EXPECT_EQ(after("/target/frames", {10, 7}),
            "m.json: target.frames: expected no such key of the target, found it");
  json["source"].erase("convolutions");
  EXPECT_EQ(problem(json), "m.json: source.convolutions: expected a list of 1 to 16 objects, found "
                           "no such key");
  json["source"] = {{"vocabulary", nullptr}, {"convolutions", {Json::object()}}};
  EXPECT_EQ(problem(json), "m.json: source.convolutions: expected frames with it, found none");
}

TEST_F(DescriptionTest, RotaryPositions) {
  auto with = [&](const char *key, Json value) {
    Json position{{"kind", "rotary"}};
    position[key] = std::move(value);
    return problemWith("/position", position);
  };
  EXPECT_EQ(with("base", 500000), "no error");
  EXPECT_EQ(with("base", 0.5), "m.json: position.base: expected a number of at least 1, found 0.5");
  EXPECT_EQ(with("fraction", 1), "no error");
  EXPECT_EQ(with("fraction", 0), "m.json: position.fraction: expected a number above 0, found 0");
  EXPECT_EQ(with("fraction", 1.25),
            "m.json: position.fraction: expected a number of at most 1, found 1.25");
  EXPECT_EQ(with("scale", 2),
            "m.json: position.scale: expected no such key with rotary positions, found it");
  EXPECT_EQ(with("length", 12),
            "m.json: position.length: expected target.limit in its place in a decoder of rotary "
            "positions, found it");
  EXPECT_EQ(with("length", nullptr), "no error");
  EXPECT_EQ(with("scaling", {{"rope_type", "linear"}, {"factor", 8}}), "no error");
  EXPECT_EQ(with("scaling", {{"rope_type", "default"}, {"rope_theta", 1e4}}), "no error");
  EXPECT_EQ(with("scaling", {{"factor", 8}}),
            "m.json: position.scaling.rope_type: expected one with factor, found none");
  EXPECT_EQ(with("scaling", {{"type", "linear"}, {"rope_type", "default"}, {"factor", 8}}),
            "m.json: position.scaling.type: expected what rope_type is, 'default', found 'linear'");
  EXPECT_EQ(with("scaling", {{"type", "linear"}}),
            "m.json: position.scaling.factor: expected a number above 0, found no such key");
  EXPECT_EQ(with("scaling", {{"rope_type", "linear"}, {"factor", 0}}),
            "m.json: position.scaling.factor: expected a number above 0, found 0");
  EXPECT_EQ(with("scaling", {{"rope_type", "dynamic"}, {"factor", 2}}),
            "m.json: position.scaling.rope_type: expected a scaling that does not follow the "
            "lengths of texts: a text's result would depend on those with it, found 'dynamic'");
  EXPECT_EQ(with("scaling", {{"rope_type", "llama3"}, {"factor", 2}}),
            "m.json: position.scaling.original_max_position_embeddings: expected the tokens of a "
            "text before the scaling, found no such key");
  EXPECT_EQ(with("scaling", {{"rope_type", "llama3"},
                             {"factor", 2},
                             {"original_max_position_embeddings", 8},
                             {"low_freq_factor", 4},
                             {"high_freq_factor", 4}}),
            "m.json: position.scaling.high_freq_factor: expected a number above low_freq_factor, "
            "found 4");
  EXPECT_EQ(with("scaling", {{"rope_type", "yarn"}, {"original_max_position_embeddings", 8}}),
            "m.json: position.scaling.factor: expected a number above 0, found no such key");
  EXPECT_EQ(with("scaling", {{"type", "su"},
                             {"original_max_position_embeddings", 8},
                             {"short_factor", {1, 1}},
                             {"long_factor", {1, 2, 3}}}),
            "m.json: position.scaling.long_factor: expected 2 numbers, one a pair, found 3");
  EXPECT_EQ(
      with("scaling", {{"type", "longrope"},
                       {"original_max_position_embeddings", 8},
                       {"short_factor", {1, 0}}}),
      "m.json: position.scaling.short_factor: expected a list of numbers above 0, found [1,0]");
  Json json = small();
  json["position"] = {{"kind", "rotary"}, {"scaling", {{"type", "linear"}, {"factor", 4}}}};
  json["encoder"]["layers"] = {
      {{"position", nullptr}}, {{"position", {{"base", 7}, {"scaling", nullptr}}}}, Json::object()};
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  const std::vector<LayerDescription> &layers = d->encoder->layers;
  EXPECT_FALSE(layers[0].position.rotary());
  EXPECT_EQ(layers[1].position.base, 7);
  EXPECT_EQ(layers[1].position.factor, 1);
  EXPECT_EQ(layers[2].position.base, 10000);
  EXPECT_EQ(layers[2].position.factor, 4);
  EXPECT_EQ(problemWith("/encoder/layers", Json::array({{{"position", nullptr}}})),
            "m.json: encoder.layers.0.position: expected no such key in a layer with positions "
            "that are not rotary, found it");
  EXPECT_EQ(problemWith("/position/fraction", 0.5),
            "m.json: position.fraction: expected no such key with sinusoidal positions, found it");
  EXPECT_EQ(problemWith("/position/kind", "angular"),
            "m.json: position.kind: expected one of sinusoidal, learned, rotary, plane, grid, "
            "found 'angular'");
}

/// Values of Transformers 4.57, for heads of 8 features and a base of 10000.
TEST_F(DescriptionTest, RotaryScalings) {
  auto scaled = [&](Json scaling, int64_t limit = 64) {
    Json json = small();
    json["attention"]["head-size"] = 8;
    json["target"]["limit"] = limit;
    json["position"] = {{"kind", "rotary"},
                        {"scaling", std::move(scaling)},
                        {"original-length", 16},
                        {"extended-length", 64}};
    auto d = readDescription(write("m.json", json.dump()), {});
    EXPECT_TRUE(d) << d.error().message;
    return d ? d->decoder->layers[0].position : PositionDescription();
  };
  auto expect = [](const PositionDescription &position, std::vector<double> frequencies,
                   double magnitude) {
    ASSERT_EQ(position.frequencies.size(), frequencies.size());
    for (size_t pair = 0; pair < frequencies.size(); ++pair)
      EXPECT_NEAR(position.frequencies[pair], frequencies[pair], 5e-7 * frequencies[pair]) << pair;
    EXPECT_NEAR(position.magnitude, magnitude, 1e-9);
  };
  expect(scaled({{"rope_type", "llama3"},
                 {"factor", 4},
                 {"low_freq_factor", 1},
                 {"high_freq_factor", 4},
                 {"original_max_position_embeddings", 128}}),
         {1, 0.0509295836, 0.0025, 0.00025}, 1);
  Json yarn = {
      {"type", "yarn"}, {"factor", 4}, {"beta_fast", 4}, {"original_max_position_embeddings", 64}};
  expect(scaled(yarn), {1, 0.0625, 0.0025, 0.00025}, 1.138629436111989);
  yarn.update({{"truncate", false}, {"mscale", 0.7}, {"mscale_all_dim", 1.3}});
  expect(scaled(yarn), {1, 0.0259965975, 0.0025, 0.00025}, 0.9295234923939468);
  Json longrope = {
      {"type", "su"}, {"short_factor", {1, 1.5, 2, 2.5}}, {"long_factor", {1, 2, 3, 4}}};
  expect(scaled(longrope, 16), {1, 0.1 / 1.5, 0.005, 0.0004}, 1.224744871391589);
  expect(scaled(longrope, 17), {1, 0.05, 0.01 / 3, 0.00025}, 1.224744871391589);
  // The factors depend on the limits of the model, not on a text.
  longrope["attention_factor"] = 2;
  expect(scaled(longrope, 17), {1, 0.05, 0.01 / 3, 0.00025}, 2);
}

TEST_F(DescriptionTest, ParallelBlocksAndCaps) {
  Json json = small();
  json["norm"] = {{"place", "pre"}};
  json["parallel"] = true;
  EXPECT_EQ(problem(json), "m.json: parallel: expected false with cross attention, found true");
  json = small();
  json["encoder"]["parallel"] = true;
  EXPECT_EQ(problem(json),
            "m.json: encoder.parallel: expected false with norm.place post, found true");
  json["encoder"]["norm"] = {{"place", "output"}};
  EXPECT_EQ(problem(json), "no error");
  EXPECT_EQ(problemWith("/classifier", {{"softcap", 30}}), "no error");
  EXPECT_EQ(problemWith("/classifier", {{"softcap", 0}}),
            "m.json: classifier.softcap: expected a number above 0, found 0");
  EXPECT_EQ(problemWith("/classifier", {{"softcap", 30}, {"sigmoid", true}}),
            "m.json: classifier.softcap: expected null with sigmoid, found 30");
}

TEST_F(DescriptionTest, ScoreRules) {
  EXPECT_EQ(problemWith("/attention/score-bias", "alibi + where(0.5 * j)"), "no error");
  EXPECT_EQ(problemWith("/attention/score-bias", "alibi +"),
            "m.json: attention.score-bias: column 8: expected a name, found the end\n  alibi +\n   "
            "      ^");
  EXPECT_EQ(problemWith("/attention/softcap", 0),
            "m.json: attention.softcap: expected a number above 0, found 0");
  EXPECT_EQ(problemWith("/attention/hidden-score", -1e9), "no error");
  EXPECT_EQ(problemWith("/attention/sinks", true), "no error");
}

/// Every key of the schema is known to the reader: its default is accepted or reported as
/// unsupported.
TEST_F(DescriptionTest, SchemaAndReaderAgree) {
  Json schema = Json::parse(modelDescriptionSchema());
  auto check = [&](const std::string &pointer, const Json &object) {
    for (const auto &[key, entry] : object["properties"].items())
      if (!small().contains(Json::json_pointer(pointer + "/" + key))) {
        EXPECT_THAT(problemWith(pointer + "/" + key, entry.value("default", Json())),
                    testing::Not(HasSubstr("expected a known key")))
            << pointer << "/" << key;
      }
  };
  check("", schema);
  const std::pair<const char *, const char *> objects[] = {{"/source", "side"},
                                                           {"/embedding", "embedding"},
                                                           {"/position", "position"},
                                                           {"/attention", "attention"},
                                                           {"/attention/bias", "bias"},
                                                           {"/ffn", "ffn"},
                                                           {"/norm", "norm"},
                                                           {"/embedding/norm", "embedding-norm"},
                                                           {"/encoder", "encoder"},
                                                           {"/decoder", "decoder"},
                                                           {"/decoder/cross", "attention"},
                                                           {"/classifier", "classifier"}};
  for (const auto &[pointer, name] : objects)
    check(pointer, schema["$defs"][name]);
}

TEST_F(DescriptionTest, Defaults) {
  auto d = readDescription(write("m.json", small().dump()), {});
  ASSERT_TRUE(d);
  const AttentionDescription &a = d->encoder->layers[1].self;
  EXPECT_EQ(a.keyValueHeads, 3);
  EXPECT_EQ(a.headSize, 4);
  EXPECT_EQ(a.valueSize, 4);
  EXPECT_EQ(a.scale, 0.5);
  EXPECT_TRUE(a.outputBias && !a.queryBias);
  EXPECT_EQ(d->decoder->layers[0].selfNorm->epsilon, 1e-5);
  EXPECT_EQ(d->target->limit, 256);
  const SideFacts source = *factsOf(*d).source;
  EXPECT_EQ(source.vocabularySize, 20);
  EXPECT_EQ(source.ends, std::vector<int32_t>{3});
  EXPECT_TRUE(source.unknown == 1 && source.start == 2 && source.padding == 0);
  EXPECT_TRUE(source.split == Split::Space && !source.add && !source.cut);
  EXPECT_FALSE(source.length || source.most);
}

/// The innermost of whole model, stack and layer takes precedence. For cross attention, `cross` on
/// any level takes precedence over `attention` on any level.
TEST_F(DescriptionTest, Overrides) {
  Json json = small();
  json["decoder"]["attention"] = {{"head-size", 5}};
  json["decoder"]["cross"] = {{"heads", 2}, {"bias", {{"query", true}}}};
  json["decoder"]["layers"] = Json::parse(
      R"([{}, {"attention": {"heads": 6, "bias": {"key": true}}, "mask": null, "ffn": {"size": 8}}])");
  auto d = readDescription(write("m.json", json.dump()), {});
  ASSERT_TRUE(d) << d.error().message;
  const LayerDescription &first = d->decoder->layers[0], &second = d->decoder->layers[1];
  EXPECT_EQ(d->encoder->layers[0].self.headSize, 4);
  EXPECT_EQ(first.self.heads, 3);
  EXPECT_EQ(first.self.headSize, 5);
  EXPECT_EQ(second.self.heads, 6);
  EXPECT_EQ(second.self.headSize, 5);
  EXPECT_EQ(second.cross.heads, 2);
  EXPECT_TRUE(second.cross.queryBias && second.cross.keyBias && !first.cross.keyBias);
  EXPECT_TRUE(first.mask && !second.mask && second.crossMask);
  EXPECT_EQ(second.ffn.size, 8);
}

/// A description built by a program. Every value is checked, even if a layer overrides it.
TEST_F(DescriptionTest, ValuesAtHand) {
  Json json = small();
  auto d = readDescription(json, folder + "/config.json", {"decoder.mask=causal"});
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->decoder->layers[1].mask->text, "causal");
  json["attention"]["sinks"] = 1;
  json["encoder"]["attention"] = json["decoder"]["attention"] = {{"sinks", true}};
  EXPECT_EQ(withoutFolder(readDescription(json, folder + "/config.json", {}).error().message),
            "config.json: attention.sinks: expected true or false, found 1");
}

TEST_F(DescriptionTest, Vocabularies) {
  write("words.txt", "<pad>\n<unk>\nwho\nam");
  Json json = small();
  json["source"]["vocabulary"] = "words.txt";
  auto model = importJson(json);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->texts.at("source.txt"), "<pad>\n<unk>\nwho\nam");
  EXPECT_EQ(model->tensors[0].shape, (std::vector<int64_t>{4, 12}));
  EXPECT_EQ(Json::parse(model->facts)["source"]["vocabulary-file"], "source.txt");
  EXPECT_EQ(problemWith("/source/vocabulary", "none.txt"),
            "m.json: source.vocabulary: none.txt: expected a file, found none");
  write("empty.txt", "");
  EXPECT_EQ(problemWith("/source/vocabulary", "empty.txt"),
            "m.json: source.vocabulary: expected a file of one name a line, found an empty one, "
            "'empty.txt'");
  write("latin.txt", "<pad>\ncaf\xe9\n");
  EXPECT_EQ(problemWith("/source/vocabulary", "latin.txt"),
            "m.json: source.vocabulary: 'latin.txt', line 2: expected UTF-8, found byte 0xe9");
  write("marked.txt", "\xef\xbb\xbf<pad>\nwho\n");
  EXPECT_EQ(problemWith("/source/vocabulary", "marked.txt"),
            "m.json: source.vocabulary: 'marked.txt', line 1: expected a name, found a byte order "
            "mark");
}

/// Texts of different lengths share a batch, or a row of the encoder, only if no attention reads
/// rows past the end of a source.
TEST_F(DescriptionTest, EncoderDecodersOfTextsThatMayBePadded) {
  write("words.txt", "a\nb\nc\nd\n");
  auto pads = [&](const Json &decoder) {
    auto model = importJson({{"heddle", 1},
                             {"kind", "encoder-decoder"},
                             {"size", 12},
                             {"weights", {{"seed", 1}}},
                             {"source", {{"vocabulary", "words.txt"}}},
                             {"target", {{"vocabulary", "words.txt"}, {"start", 1}}},
                             {"attention", {{"heads", 2}, {"return-weights", "heads"}}},
                             {"ffn", {{"size", 16}}},
                             {"encoder", {{"layers", 1}, {"mask", "lengths(source)"}}},
                             {"decoder", decoder}});
    EXPECT_TRUE(model) << model.error().message;
    if (!model)
      return false;
    const TextFacts facts = modelFactsFromJson(model->facts)->text;
    auto packed = model->module->lookupSymbol<mlir::FunctionOpInterface>("encode_packed");
    EXPECT_EQ(facts.packed, facts.padded);
    EXPECT_EQ(facts.packed, static_cast<bool>(packed));
    if (packed) // only the memory, no weights
      EXPECT_EQ(packed.getNumResults(), 1u);
    return facts.padded;
  };
  const Json base = {{"layers", 1}, {"mask", "causal"}};
  auto with = [&](const char *key, const Json &value) {
    Json decoder = base;
    decoder["cross-mask"] = "lengths(source)";
    decoder[key] = value;
    return decoder;
  };
  EXPECT_TRUE(pads(with("layers", 2)));
  EXPECT_FALSE(pads(base));
  EXPECT_FALSE(pads(with("cross-mask", "lengths(source) | causal")));
  EXPECT_FALSE(pads(with("cross", {{"hidden-score", -1e9}})));
}

/// A text has the same bits when packed with others in one row only if every mask treats it equally
/// there.
TEST_F(DescriptionTest, EncodersOfTextsThatMayBePacked) {
  write("words.txt", "a\nb\nc\nd\n");
  auto packs = [&](const std::string &pointer, const Json &value) {
    Json json = {{"heddle", 1},
                 {"kind", "encoder"},
                 {"size", 12},
                 {"weights", {{"seed", 1}}},
                 {"source", {{"vocabulary", "words.txt"}}},
                 {"attention", {{"heads", 2}}},
                 {"ffn", {{"size", 16}}},
                 {"encoder", {{"layers", 2}, {"mask", "lengths(source)"}, {"pool", "mean"}}}};
    json[Json::json_pointer(pointer)] = value;
    auto model = importJson(json);
    EXPECT_TRUE(model) << model.error().message;
    if (!model)
      return false;
    const bool built = static_cast<bool>(model->module->lookupSymbol("encode_packed"));
    EXPECT_EQ(modelFactsFromJson(model->facts)->text.packed, built);
    return built;
  };
  EXPECT_TRUE(packs("/encoder/pool", "last"));
  EXPECT_TRUE(packs("/encoder/pool-parts", true));
  for (const char *mask : {"lengths(source) & causal", "(window(2, 2) & lengths(source))",
                           "lengths(source) & where(i + j < 9)", "causal | window(1, 1)"})
    EXPECT_TRUE(packs("/encoder/mask", mask)) << mask;
  for (const char *mask : {"lengths(source) | causal", "!lengths(source)", "lengths(n)", "dense(x)",
                           "causal(offset)", "where(t[j] < 9)"})
    EXPECT_FALSE(packs("/encoder/mask", mask)) << mask;
  EXPECT_TRUE(packs("/attention/score-bias", "alibi"));
  EXPECT_FALSE(packs("/attention/score-bias", "dense(x)"));
  EXPECT_TRUE(packs("/attention/return-weights", "heads")); // affects only `encode`
  EXPECT_FALSE(packs("/source/length", 5));
  EXPECT_FALSE(packs("/source/vocabulary", 4));
  EXPECT_FALSE(packs("/layout", "sequence-first"));
}

} // namespace
