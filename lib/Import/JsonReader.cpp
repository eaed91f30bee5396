//===- JsonReader.cpp - Checked reading of layered JSON -------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lookup through the layers, types and ranges of single keys.
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace heddle;

std::string heddle::shown(const Json &value) {
  if (value.is_string())
    return quotedText(value.get_ref<const std::string &>());
  std::string text = quotedText(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text.substr(1, text.size() - 2); // what is no string has no quotes
}

void ErrorSink::add(const std::string &path, const std::string &message) {
  if (!first)
    first = inputError(file + ": " + (path.empty() ? "" : path + ": ") + message);
}

void ErrorSink::fail(Error error) {
  if (!first)
    first = std::move(error);
}

void ErrorSink::expected(const std::string &path, const std::string &what,
                         const std::string &found) {
  add(path, "expected " + what + ", found " + found);
}

void ErrorSink::notBuilt(const std::string &path, const std::string &what) {
  add(path, what + " is not built yet");
}

/// "a.b", or the key alone in the whole file.
static std::string joined(const std::string &path, const std::string &key) {
  return path.empty() ? key : path + "." + key;
}

ObjectReader::ObjectReader(std::vector<Layer> list, ErrorSink &errors, std::string place)
    : errors(errors), place(std::move(place)) {
  for (Layer &layer : list) {
    if (layer.object->is_object())
      layers.push_back(std::move(layer));
    else if (!layer.object->is_null())
      errors.expected(layer.path, "an object", shown(*layer.object));
  }
}

const ObjectReader::Layer *ObjectReader::layerOf(const std::string &key) const {
  for (auto it = layers.rbegin(); it != layers.rend(); ++it)
    if (it->object->contains(key))
      return &*it;
  return nullptr;
}

const Json *ObjectReader::find(const std::string &key) const {
  const Layer *layer = layerOf(key);
  return layer ? &(*layer->object)[key] : nullptr;
}

bool ObjectReader::isNull(const std::string &key) const {
  const Json *value = find(key);
  return value && value->is_null();
}

std::string ObjectReader::path(const std::string &key) const {
  const Layer *layer = layerOf(key);
  if (!layer && !layers.empty())
    layer = &layers.front();
  return joined(layer ? layer->path : place, key);
}

/// Levenshtein's distance, for the nearest known key.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
      diagonal = above;
    }
  }
  return row.back();
}

void ObjectReader::known(const std::vector<std::string> &keys) {
  for (const Layer &layer : layers)
    for (const auto &[key, value] : layer.object->items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end())
        continue;
      const std::string &name = key;
      auto nearest = std::min_element(keys.begin(), keys.end(), [&](auto &a, auto &b) {
        return distance(name, a) < distance(name, b);
      });
      std::string quoted = shown(key); // on one line, whatever the key holds
      errors.expected(joined(layer.path, quoted.substr(1, quoted.size() - 2)), "a known key",
                      quoted + ", the nearest known one is '" + *nearest + "'");
    }
}

std::optional<int64_t> heddle::integerOf(const Json &value) {
  // JSON has one kind of number: 32.0 is 32. Doubles name integers one by one up to 2^53.
  if (value.is_number_float()) {
    double number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > 0x1p53)
      return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)))
    return std::nullopt;
  return value.get<int64_t>();
}

int64_t ObjectReader::integer(const std::string &key, int64_t standard, int64_t low, int64_t high) {
  const Json *value = find(key);
  if (!value)
    return standard;
  std::optional<int64_t> number = integerOf(*value);
  if (number && *number >= low && *number <= high)
    return *number;
  errors.expected(path(key),
                  "an integer of at least " + std::to_string(low) + " and at most " +
                      std::to_string(high),
                  shown(*value));
  return standard;
}

std::optional<int64_t> ObjectReader::optionalInteger(const std::string &key,
                                                     std::optional<int64_t> standard, int64_t low,
                                                     int64_t high) {
  if (isNull(key))
    return std::nullopt;
  return has(key) ? std::optional(integer(key, low, low, high)) : standard;
}

double ObjectReader::number(const std::string &key, double standard) {
  const Json *value = find(key);
  if (!value)
    return standard;
  if (value->is_number() && std::isfinite(value->get<double>()) &&
      std::isfinite(static_cast<float>(value->get<double>())))
    return value->get<double>();
  errors.expected(path(key), "a finite number", shown(*value));
  return standard;
}

bool ObjectReader::boolean(const std::string &key, bool standard) {
  const Json *value = find(key);
  if (!value)
    return standard;
  if (value->is_boolean())
    return value->get<bool>();
  errors.expected(path(key), "true or false", shown(*value));
  return standard;
}

std::string ObjectReader::text(const std::string &key, const std::string &standard) {
  const Json *value = find(key);
  if (!value)
    return standard;
  if (value->is_string())
    return value->get<std::string>();
  errors.expected(path(key), "a string", shown(*value));
  return standard;
}

std::string ObjectReader::word(const std::string &key, const std::string &standard,
                               const std::vector<std::string> &words, size_t built) {
  std::string value = text(key, standard);
  auto it = std::find(words.begin(), words.end(), value);
  if (it == words.end()) {
    std::string list;
    for (const std::string &word : words)
      list += (list.empty() ? "" : ", ") + word;
    errors.expected(path(key), "one of " + list, quotedText(value));
    return standard;
  }
  if (static_cast<size_t>(it - words.begin()) >= built)
    errors.notBuilt(path(key), quotedText(value));
  return value;
}

bool ObjectReader::require(const std::string &key, const std::string &what) {
  if (has(key) && !isNull(key))
    return true;
  errors.expected(path(key), what, has(key) ? "null" : "no such key");
  return false;
}

void ObjectReader::onlyBuilt(const std::string &key, const std::vector<Json> &allowed) {
  const Json *value = find(key);
  if (value && std::find(allowed.begin(), allowed.end(), *value) == allowed.end())
    errors.notBuilt(path(key), shown(*value));
}

ObjectReader ObjectReader::object(const std::string &key) {
  if (isNull(key))
    errors.expected(path(key), "an object", "null");
  std::vector<Layer> inner;
  for (const Layer &layer : layers)
    if (layer.object->contains(key))
      inner.push_back({&(*layer.object)[key], joined(layer.path, key)});
  return ObjectReader(std::move(inner), errors, path(key));
}

ObjectReader ObjectReader::overriddenBy(const ObjectReader &inner) const {
  std::vector<Layer> all = layers;
  all.insert(all.end(), inner.layers.begin(), inner.layers.end());
  return ObjectReader(std::move(all), errors, place);
}
