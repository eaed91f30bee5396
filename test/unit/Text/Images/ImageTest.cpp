//===- ImageTest.cpp - Images against Pillow and Transformers -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares images with Pillow and Transformers. test/data/images/make.py writes the
// images and the expected values.
#include "heddle/Images/Image.h"
#include "TemporaryFolder.h"

#include "heddle/Runtime/Npy.h"
#include "heddle/Support/MappedBytes.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

const std::string folder = HEDDLE_SOURCE_DIR "/test/data/images/";

std::vector<float> goldenOf(const std::string &name) {
  auto tensor = readNpy(folder + "golden/" + name + ".npy");
  EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
  if (!tensor)
    return {};
  std::span<const float> values = tensor->values<float>();
  return {values.begin(), values.end()};
}

Image imageOf(const std::string &name) {
  auto image = readImage(folder + name);
  EXPECT_TRUE(image) << (image ? "" : image.error().message);
  return image ? *image : Image{1, 1, {0, 0, 0}};
}

float largestDifference(const auto &found, const std::vector<float> &expected) {
  EXPECT_EQ(found.size(), expected.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<float>(found[i]) - expected[i]));
  return largest;
}

std::string failureOf(const std::string &name, const std::string &content) {
  test::TemporaryFolder folder;
  auto image = readImage(folder.write(name, content));
  return image ? "no failure" : image.error().message;
}

std::string contentOf(const std::string &name) {
  auto text = readTextFile(folder + name, 1 << 20);
  EXPECT_TRUE(text);
  return text ? *text : "";
}

class ImageFileTest : public testing::TestWithParam<std::string> {};

TEST_P(ImageFileTest, HasThePixelsOfPillow) {
  // Pillow rounds differently when it converts CMYK.
  const float allowed = GetParam() == "inks.jpg" ? 1 : 0;
  EXPECT_LE(largestDifference(imageOf(GetParam()).pixels, goldenOf(GetParam())), allowed);
}

INSTANTIATE_TEST_SUITE_P(Files, ImageFileTest,
                         testing::Values("rgb.png", "grey.png", "bits.png", "palette.png",
                                         "alpha.png", "grey-alpha.png", "rgb.jpg",
                                         "progressive.jpg", "grey.jpg", "inks.jpg", "held-1.jpg",
                                         "held-2.jpg", "held-3.jpg", "held-4.jpg", "held-5.jpg",
                                         "held-6.jpg", "held-7.jpg", "held-8.jpg", "held-6.png",
                                         "held-7.png", "tall.png", "dot.png"));

TEST(Image, ResizedPixelsAreThoseOfPillow) {
  const Image image = imageOf("rgb.png");
  for (int filter = 0; filter < 6; ++filter)
    for (auto [width, height] : {std::pair(20, 31), std::pair(45, 50), std::pair(13, 7),
                                 std::pair(60, 70), std::pair(1, 1)}) {
      const std::string name = "resized-" + std::to_string(filter) + "-" + std::to_string(width) +
                               "x" + std::to_string(height);
      Image found = resized(image, width, height, static_cast<ImageFilter>(filter));
      EXPECT_EQ(largestDifference(found.pixels, goldenOf(name)), 0) << name;
    }
}

TEST(Image, AProcessorGivesTheNumbersOfTransformers) {
  for (const char *name : {"vit", "plain", "deit", "clip", "padded", "bit"}) {
    std::string path = std::string("golden/") + name + ".json";
    auto processor = ImageProcessor::fromJson(contentOf(path), path);
    ASSERT_TRUE(processor) << processor.error().message;
    for (const char *file : {"rgb.png", "tall.png", "dot.png"}) {
      const std::string golden = std::string(name) + "-" + file;
      // Pillow 12 and later resizes rows first if this is less work, which rounds differently.
      const bool otherOrder = std::string_view(file) == "tall.png";
      auto planes = processor->apply(imageOf(file));
      ASSERT_TRUE(planes) << planes.error().message;
      EXPECT_LE(largestDifference(planes->values, goldenOf(golden)),
                otherOrder ? 1.001f / 255 / 0.2f : 1e-6f)
          << golden;
    }
  }
}

TEST(Image, DamagedFilesAreOneLine) {
  EXPECT_THAT(failureOf("a.png", "hello"),
              HasSubstr("a.png: expected a PNG or JPEG file, found another kind"));
  EXPECT_THAT(failureOf("a.png", ""), HasSubstr("found another kind"));
  const std::string png = contentOf("rgb.png"), jpeg = contentOf("rgb.jpg");
  EXPECT_THAT(failureOf("a.png", png.substr(0, png.size() / 2)),
              HasSubstr("expected a whole PNG image"));
  EXPECT_THAT(failureOf("a.jpg", jpeg.substr(0, jpeg.size() / 2)),
              HasSubstr("expected a whole JPEG image"));
  std::string large = png;
  large.replace(16, 8, std::string("\0\0\x7f\xff\0\0\x7f\xff", 8)); // width and height
  EXPECT_THAT(failureOf("a.png", large), HasSubstr("expected a whole PNG image"));
  EXPECT_THAT(failureOf("a.jpg", jpeg.substr(0, 20)), HasSubstr("expected a whole JPEG image"));
  auto missing = readImage("/nonexistent.png");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("found: No such file or directory"));
}

/// libjpeg only warns about these bytes, and no pixel depends on them.
TEST(Image, BytesBeforeTheEndAreLeftOut) {
  std::string jpeg = contentOf("rgb.jpg");
  jpeg.insert(jpeg.size() - 2, "extra");
  test::TemporaryFolder folder;
  auto image = readImage(folder.write("extra.jpg", jpeg));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->pixels, imageOf("rgb.jpg").pixels);
}

TEST(Image, NoDamageCrashes) {
  for (const char *name : {"rgb.png", "palette.png", "rgb.jpg", "progressive.jpg", "held-6.jpg"}) {
    const std::string good = contentOf(name);
    for (size_t i = 0; i < good.size(); i += 7) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
      (void)failureOf("a", bad);
    }
  }
}

std::string processorFailure(const std::string &json) {
  auto processor = ImageProcessor::fromJson(json, "p.json");
  return processor ? "no failure" : processor.error().message;
}

TEST(Image, ALongStripIsAnError) {
  auto processor = ImageProcessor::fromJson(
      R"({"size": {"shortest_edge": 224}, "do_normalize": false})", "p.json");
  ASSERT_TRUE(processor) << processor.error().message;
  auto planes = processor->apply({1, 4000, std::vector<uint8_t>(12000)});
  ASSERT_FALSE(planes);
  EXPECT_THAT(planes.error().message, HasSubstr("found 224 by 896000"));
}

/// Keys that a file omits have the defaults of its processor.
TEST(Image, ProcessorsHaveDefaultsOfTheirOwn) {
  auto sizesOf = [](const std::string &type) {
    auto processor = ImageProcessor::fromJson(
        R"({"size": 8, "crop_size": 5, "do_normalize": false, "image_processor_type": ")" + type +
            "\"}",
        "p.json");
    auto planes = processor ? processor->apply({20, 10, std::vector<uint8_t>(600)})
                            : Expected<ImagePlanes>(processor.takeError());
    return planes ? std::pair(planes->width, planes->height) : std::pair<int64_t, int64_t>();
  };
  EXPECT_EQ(sizesOf("ViTImageProcessor"), std::pair(int64_t(8), int64_t(8)));
  EXPECT_EQ(sizesOf("DeiTFeatureExtractor"), std::pair(int64_t(5), int64_t(5)));
  EXPECT_EQ(sizesOf("CLIPImageProcessorFast"), std::pair(int64_t(5), int64_t(5)));
}

/// The sizes of get_size_with_aspect_ratio for DETR (800, 1333) and YOLOS (512, 1333).
TEST(Image, SizesOfDetectorsAreThoseOfTransformers) {
  constexpr int64_t sizes[][6] = {
      {1, 1, 800, 800, 512, 512},         {640, 480, 1066, 800, 672, 512},
      {480, 640, 800, 1066, 512, 672},    {200, 1000, 267, 1333, 256, 1328},
      {1000, 200, 1333, 267, 1328, 256},  {800, 800, 800, 800, 512, 512},
      {1200, 800, 1200, 800, 768, 512},   {800, 1200, 800, 1200, 512, 768},
      {1333, 533, 1333, 533, 1280, 512},  {1599, 2666, 800, 1333, 512, 848},
      {5, 3, 1333, 800, 848, 512},        {512, 512, 800, 800, 512, 512},
      {1400, 512, 1333, 487, 1328, 480},  {512, 1400, 487, 1333, 480, 1328},
      {1243, 967, 1028, 800, 656, 512},   {2955, 423, 1333, 191, 1328, 176},
      {1962, 1623, 967, 800, 608, 512},   {370, 635, 777, 1332, 512, 864},
      {82, 273, 400, 1333, 400, 1328},    {2251, 1645, 1094, 800, 688, 512},
      {1186, 3760, 420, 1333, 416, 1328}, {3135, 3279, 800, 836, 512, 528},
      {910, 242, 1333, 354, 1328, 352},   {2199, 2132, 825, 800, 528, 512},
      {1134, 1476, 800, 1041, 512, 656},  {708, 3194, 295, 1333, 288, 1328},
      {435, 3387, 171, 1333, 160, 1328},  {879, 1073, 800, 976, 512, 624}};
  const ResizeRule detr{.shortest = 800, .longest = 1333, .detects = true},
      yolos{.shortest = 512, .longest = 1333, .detects = true, .multiple = 16};
  for (auto [width, height, detrWidth, detrHeight, yolosWidth, yolosHeight] : sizes) {
    const Image image{width, height, {}};
    EXPECT_EQ(detr.sizesOf(image), std::pair(detrWidth, detrHeight)) << width << " " << height;
    EXPECT_EQ(yolos.sizesOf(image), std::pair(yolosWidth, yolosHeight)) << width << " " << height;
  }
}

TEST(Image, DetectorsHaveSizesInEachForm) {
  const std::string rest = R"("image_mean": [0, 0, 0], "image_std": [1, 1, 1]})";
  auto sizes = [&](const std::string &keys) {
    auto processor = ImageProcessor::fromJson("{" + keys + ", " + rest, "steps.json");
    EXPECT_TRUE(processor) << (processor ? "" : processor.error().message);
    auto planes = processor->apply({30, 20, std::vector<uint8_t>(1800)});
    return std::pair(planes->width, planes->height);
  };
  const std::string detr = R"("image_processor_type": "DetrImageProcessor", "do_pad": true)";
  EXPECT_EQ(sizes(detr + R"(, "size": {"shortest_edge": 40, "longest_edge": 50})"),
            std::pair(int64_t(50), int64_t(33)));
  EXPECT_EQ(sizes(detr + R"(, "size": 40, "max_size": 50)"), std::pair(int64_t(50), int64_t(33)));
  EXPECT_EQ(sizes(detr + R"(, "size": {"max_height": 60, "max_width": 50})"),
            std::pair(int64_t(50), int64_t(33)));
  EXPECT_EQ(sizes(detr + R"(, "size": {"height": 35, "width": 50})"),
            std::pair(int64_t(50), int64_t(35)));
  EXPECT_EQ(sizes(R"("feature_extractor_type": "YolosFeatureExtractor", "size": 40)"),
            std::pair(int64_t(48), int64_t(32)));
}

TEST(Image, ProcessorsThatAreNotBuiltSaySo) {
  EXPECT_THAT(processorFailure("["), HasSubstr("p.json"));
  EXPECT_THAT(processorFailure("[]"), HasSubstr("p.json: expected an object"));
  EXPECT_THAT(processorFailure(R"({"do_pad": true})"), HasSubstr("do_pad: expected false"));
  EXPECT_THAT(processorFailure(R"({"crop_pct": 0.9})"), HasSubstr("crop_pct"));
  EXPECT_THAT(processorFailure("{}"), HasSubstr("size: expected a number"));
  EXPECT_THAT(processorFailure(R"({"size": 0})"),
              HasSubstr("size: expected a whole number from 1"));
  EXPECT_THAT(processorFailure(R"({"size": 8, "resample": 9})"),
              HasSubstr("resample: expected a filter"));
  EXPECT_THAT(processorFailure(R"({"size": 8})"), HasSubstr("image_mean: expected three numbers"));
  EXPECT_THAT(processorFailure(R"({"size": 8, "image_mean": [0,0,0], "image_std": [1,0,1]})"),
              HasSubstr("image_std: expected three numbers above 0"));
  EXPECT_THAT(processorFailure(R"({"size": 8, "do_normalize": 1})"),
              HasSubstr("do_normalize: expected true or false"));
  EXPECT_THAT(
      processorFailure(R"({"size": 8, "image_processor_type": "EfficientNetImageProcessor"})"),
      HasSubstr("image_processor_type: expected an image processor of CLIP, Bit, "));
  EXPECT_THAT(processorFailure(R"({"use_square_size": true})"),
              HasSubstr("use_square_size: expected false"));
}

/// A step whose key is null is left out; a number counts for each channel.
TEST(Image, NullLeavesAStepOut) {
  auto first = [](const std::string &keys) {
    auto processor = ImageProcessor::fromJson("{\"do_resize\": null, " + keys + "}", "p.json");
    EXPECT_TRUE(processor) << processor.error().message;
    return processor->apply({1, 1, {51, 51, 51}})->values[0];
  };
  EXPECT_FLOAT_EQ(first(R"("do_rescale": null, "do_normalize": null)"), 51);
  EXPECT_FLOAT_EQ(first(R"("do_normalize": null)"), 0.2F);
  EXPECT_FLOAT_EQ(first(R"("image_mean": 0.1, "image_std": 0.5)"), 0.2F);
}

} // namespace

/// Reading a pipe would wait for a writer.
TEST(Image, APipeIsAnError) {
  test::TemporaryFolder own;
  const std::string pipe = own.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readImage(pipe).error().message, pipe + ": expected a file, found a device or a pipe");
}
