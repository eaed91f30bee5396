//===- ImageProcessor.cpp - Image preprocessing ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image processing by preprocessor_config.json, with the keys and defaults of the image processors
// of Transformers (ViT, DeiT, CLIP, BiT, DETR, YOLOS and their "Fast" variants), which write most keys into the
// file.
#include "heddle/Images/Image.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

/// Maximum number of pixels of a resized image: resizing a long strip may need many.
constexpr int64_t mostResizedPixels = int64_t(1) << 27;
/// Maximum length of an image's side, so that no file requests gigabytes.
constexpr int64_t mostSide = 4096;

class Keys {
public:
  Keys(const Json &json, std::string place) : json(json), place(std::move(place)) {}

  /// The value of a key; null if it is missing or null.
  const Json &operator[](const char *key) const {
    static const Json none;
    auto found = json.find(key);
    return found == json.end() ? none : *found;
  }
  Error expected(const std::string &key, const std::string &what, const Json &found) const {
    return inputError(place + ": " + key + ": expected " + what + ", found " +
                      (found.is_null() ? "none" : found.dump().substr(0, 60)));
  }
  /// A switch; null is false, as in Transformers.
  Expected<bool> flag(const char *key, bool fallback) const {
    const Json &value = (*this)[key];
    if (value.is_null())
      return fallback && !json.contains(key);
    if (!value.is_boolean())
      return expected(key, "true or false", value);
    return value.get<bool>();
  }
  Expected<int64_t> side(const std::string &key, const Json &value) const {
    if (!value.is_number_integer() || value < 1 || value > mostSide)
      return expected(key, "a whole number from 1 to " + std::to_string(mostSide), value);
    return value.get<int64_t>();
  }
  Expected<std::array<float, 3>> channels(const char *key, bool positive) const {
    Json value = (*this)[key];
    if (value.is_number()) // of all channels
      value = Json::array({value, value, value});
    bool good = value.is_array() && value.size() == 3;
    for (const Json &number : good ? value : Json::array())
      good = good && number.is_number() && (!positive || number > 0);
    if (!good)
      return expected(key, positive ? "three numbers above 0" : "three numbers", value);
    return std::array{value[0].get<float>(), value[1].get<float>(), value[2].get<float>()};
  }

  const Json &json;
  std::string place;
};

/// Supported steps; enabling another one is an error.
constexpr const char *steps[] = {"do_resize", "do_center_crop", "do_rescale", "do_normalize",
                                 "do_convert_rgb"};

/// Steps of a detector that change nothing of an image alone: padding to the largest image of a
/// batch, and the boxes of training.
constexpr const char *detectorSteps[] = {"do_pad", "do_convert_annotations"};

Status refuseOthers(const Keys &keys, bool detects) {
  auto isIn = [](const auto &names, const std::string &key) {
    return std::ranges::any_of(names, [&](const char *name) { return key == name; });
  };
  for (const auto &[key, value] : keys.json.items())
    if (key.starts_with("do_") && value == true && !isIn(steps, key) &&
        !(detects && isIn(detectorSteps, key)))
      return keys.expected(key, "false, for the step is not built", value);
  if (!keys["pad_size"].is_null())
    return keys.expected("pad_size", "no such key: it is not built", keys["pad_size"]);
  if (keys["use_square_size"] == true)
    return keys.expected("use_square_size", "false, for the step is not built",
                         keys["use_square_size"]);
  const Json &share = keys["crop_pct"];
  return share.is_null() ? Status()
                         : keys.expected("crop_pct", "no such key: it is not built", share);
}

/// Defaults of a processor for keys that its file omits.
struct Defaults {
  std::string_view type;
  bool shortest; ///< a single number as the size means the shorter edge
  ImageFilter filter;
  bool crops;
  int64_t multiple = 0; ///< of a detector: edges are multiples of it; 0: not one
};
constexpr Defaults defaults[] = {{"CLIP", true, ImageFilter::Bicubic, true},
                                 {"Bit", true, ImageFilter::Bicubic, true},
                                 {"DeiT", false, ImageFilter::Bicubic, true},
                                 {"ViT", false, ImageFilter::Bilinear, false},
                                 {"Siglip", false, ImageFilter::Bicubic, false},
                                 {"Beit", false, ImageFilter::Bilinear, false},
                                 {"DPT", false, ImageFilter::Bilinear, false},
                                 {"Detr", true, ImageFilter::Bilinear, false, 1},
                                 {"Yolos", true, ImageFilter::Bilinear, false, 16},
                                 {"ConditionalDetr", true, ImageFilter::Bilinear, false, 1}};
/// The processor of a file that names none.
constexpr Defaults unnamed = {"", false, ImageFilter::Bilinear, false};

/// The defaults of a processor, such as CLIPImageProcessorFast or ViTFeatureExtractor.
Expected<const Defaults *> defaultsOf(const Keys &keys) {
  for (const char *key : {"image_processor_type", "feature_extractor_type"}) {
    const Json &type = keys[key];
    if (!type.is_string())
      continue;
    const std::string name = type.get<std::string>();
    std::vector<std::string> known;
    for (const Defaults &one : defaults) {
      known.emplace_back(one.type);
      if (name.starts_with(std::string(one.type) + "ImageProcessor") ||
          name.starts_with(std::string(one.type) + "FeatureExtractor"))
        return &one;
    }
    return keys.expected(key, "an image processor of " + listText(known), type);
  }
  return &unnamed;
}

/// Center of an image, padded with zeros if the image is smaller.
Image middle(const Image &image, int64_t width, int64_t height) {
  Image result{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))};
  // Half of an odd difference is rounded down, both for cropping and for padding, which counts from
  // the opposite side.
  auto offset = [](int64_t from, int64_t to) {
    return from >= to ? (from - to) / 2 : -((to - from + 1) / 2);
  };
  const int64_t left = offset(image.width, width), top = offset(image.height, height);
  const int64_t first = std::max<int64_t>(0, -left);
  const int64_t count = std::min(width, image.width - left) - first;
  for (int64_t y = std::max<int64_t>(0, -top); y < std::min(height, image.height - top); ++y)
    std::copy_n(image.pixels.begin() + 3 * ((y + top) * image.width + first + left), 3 * count,
                result.pixels.begin() + 3 * (y * width + first));
  return result;
}

/// Bounds of the edges of a detector's images: a number has a separate bound of the longer edge.
Expected<ResizeRule> detectorRule(const Keys &keys, ResizeRule rule) {
  constexpr int64_t usualShortest = 800, usualLongest = 1333;
  const Json &size = keys["size"], &most = keys["max_size"];
  rule.shortest = usualShortest;
  rule.longest = usualLongest;
  if (size.is_number_integer())
    rule.shortest = HEDDLE_TRY(keys.side("size", size));
  if (size.is_number_integer() && !most.is_null())
    rule.longest = HEDDLE_TRY(keys.side("max_size", most));
  return rule;
}

Expected<ResizeRule> ruleOf(const Keys &keys, const Defaults &otherwise) {
  ResizeRule rule{.detects = otherwise.multiple > 0,
                  .multiple = std::max<int64_t>(otherwise.multiple, 1)};
  const Json &size = keys["size"];
  auto has = [&](const char *one, const char *other) {
    return size.is_object() && size.contains(one) && size.contains(other);
  };
  if (size.is_object() && size.contains("shortest_edge")) {
    rule.shortest = HEDDLE_TRY(keys.side("size.shortest_edge", size["shortest_edge"]));
    if (size.contains("longest_edge"))
      rule.longest = HEDDLE_TRY(keys.side("size.longest_edge", size["longest_edge"]));
    return rule;
  }
  const bool isWithin = rule.detects && has("max_height", "max_width");
  if (isWithin || has("height", "width")) {
    const std::string before = isWithin ? "max_" : "";
    rule.height = HEDDLE_TRY(keys.side("size." + before + "height", size[before + "height"]));
    rule.width = HEDDLE_TRY(keys.side("size." + before + "width", size[before + "width"]));
    rule.within = isWithin;
    rule.multiple = isWithin ? rule.multiple : 1;
    return rule;
  }
  if (rule.detects && (size.is_null() || size.is_number_integer()))
    return detectorRule(keys, rule);
  if (!size.is_number_integer())
    return keys.expected("size", "a number, or an object with height and width or shortest_edge",
                         size);
  const int64_t side = HEDDLE_TRY(keys.side("size", size));
  (otherwise.shortest ? rule.shortest : rule.width) = side;
  rule.height = rule.width;
  return rule;
}

} // namespace

Expected<ImageProcessor> ImageProcessor::fromJson(std::string_view text,
                                                  const std::string &fileName) {
  const Json json = HEDDLE_TRY(parseJson(text, fileName));
  if (!json.is_object())
    return inputError(fileName + ": expected an object, found " + json.type_name());
  const Keys keys(json, fileName);
  const Defaults &otherwise = *HEDDLE_TRY(defaultsOf(keys));
  HEDDLE_TRY(refuseOthers(keys, otherwise.multiple > 0));
  ImageProcessor processor;
  processor.filter = otherwise.filter;
  processor.resizes = HEDDLE_TRY(keys.flag("do_resize", true));
  if (processor.resizes) {
    processor.rule = HEDDLE_TRY(ruleOf(keys, otherwise));
    const Json &filter = keys["resample"];
    if (!filter.is_null() && !(filter.is_number_integer() && filter >= 0 && filter <= 5))
      return keys.expected("resample", "a filter from 0 to 5", filter);
    if (!filter.is_null())
      processor.filter = static_cast<ImageFilter>(filter.get<int>());
  }
  if (HEDDLE_TRY(keys.flag("do_center_crop", otherwise.crops))) {
    const Json &size = keys["crop_size"];
    const bool two = size.is_object() && size.contains("width") && size.contains("height");
    processor.crop = {HEDDLE_TRY(keys.side("crop_size", two ? size["width"] : size)),
                      HEDDLE_TRY(keys.side("crop_size", two ? size["height"] : size))};
  }
  if (HEDDLE_TRY(keys.flag("do_rescale", true))) {
    const Json &factor = keys["rescale_factor"];
    if (!factor.is_null() && !factor.is_number())
      return keys.expected("rescale_factor", "a number", factor);
    processor.scale = factor.is_null() ? 1.0 / 255 : factor.get<double>();
  }
  if (HEDDLE_TRY(keys.flag("do_normalize", true)))
    processor.normal = {HEDDLE_TRY(keys.channels("image_mean", false)),
                        HEDDLE_TRY(keys.channels("image_std", true))};
  return processor;
}

/// Sizes of a detector's image with a bound of its longer edge. Products and quotients are in the
/// order of Transformers, and rounded as there.
static std::pair<int64_t, int64_t> detectorSizes(const ResizeRule &rule, const Image &image) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  const double small = std::min(width, height), large = std::max(width, height);
  auto edge = static_cast<double>(rule.shortest), exact = edge;
  if (rule.longest && large / small * edge > static_cast<double>(*rule.longest)) {
    exact = static_cast<double>(*rule.longest) * small / large;
    edge = std::nearbyint(exact);
  }
  double toWidth = edge, toHeight = edge;
  if (small == edge)
    std::tie(toWidth, toHeight) = std::pair(width, height);
  else if (width < height)
    toHeight = std::trunc(exact * height / width);
  else
    toWidth = std::trunc(exact * width / height);
  return {static_cast<int64_t>(toWidth), static_cast<int64_t>(toHeight)};
}

std::pair<int64_t, int64_t> ResizeRule::sizesOf(const Image &image) const {
  std::pair<int64_t, int64_t> sizes{width, height};
  const int64_t small = std::min(image.width, image.height),
                large = std::max(image.width, image.height);
  if (within) {
    const auto fromWidth = static_cast<double>(image.width),
               fromHeight = static_cast<double>(image.height);
    const double scale =
        std::min(static_cast<double>(height) / fromHeight, static_cast<double>(width) / fromWidth);
    sizes = {static_cast<int64_t>(fromWidth * scale), static_cast<int64_t>(fromHeight * scale)};
  } else if (detects && shortest) {
    sizes = detectorSizes(*this, image);
  } else if (shortest) {
    int64_t edge = shortest, other = shortest * large / small;
    if (longest && other > *longest) {
      edge = std::max<int64_t>(1, *longest * edge / other);
      other = *longest;
    }
    sizes = image.width <= image.height ? std::pair(edge, other) : std::pair(other, edge);
  }
  return {sizes.first - sizes.first % multiple, sizes.second - sizes.second % multiple};
}

int64_t ImageProcessor::pixels() const {
  if (crop)
    return (*crop)[0] * (*crop)[1];
  return resizes && !rule.shortest ? rule.width * rule.height : mostSide * mostSide;
}

Expected<ImagePlanes> ImageProcessor::apply(const Image &image) const {
  const auto [toWidth, toHeight] =
      resizes ? rule.sizesOf(image) : std::pair(image.width, image.height);
  if (toWidth < 1 || toHeight < 1)
    return inputError("expected an image with pixels left when resized, found " +
                      std::to_string(toWidth) + " by " + std::to_string(toHeight) + " from " +
                      std::to_string(image.width) + " by " + std::to_string(image.height));
  if (toWidth > mostResizedPixels / toHeight)
    return inputError("expected an image of at most " + std::to_string(mostResizedPixels) +
                      " pixels when resized, found " + std::to_string(toWidth) + " by " +
                      std::to_string(toHeight));
  Image pixels = resized(image, toWidth, toHeight, filter);
  if (crop)
    pixels = middle(pixels, (*crop)[0], (*crop)[1]);
  ImagePlanes planes{pixels.width, pixels.height, {}};
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t i = channel; i < pixels.pixels.size(); i += 3) {
      float value = pixels.pixels[i];
      if (scale)
        value = static_cast<float>(pixels.pixels[i] * *scale);
      if (normal)
        value = (value - (*normal)[0][channel]) / (*normal)[1][channel];
      planes.values.push_back(value);
    }
  return planes;
}
