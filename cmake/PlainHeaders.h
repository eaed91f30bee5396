//===- PlainHeaders.h - Common headers of files without LLVM -- -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Standard headers and JSON, precompiled once (heddle_precompile). Every file
// still includes the headers that it uses, so a build works without this one.
// Headers of the project change too often for this list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

// Makes Clang instantiate these templates once, in the precompiled header. Otherwise each file
// spends three seconds on them.
inline nlohmann::ordered_json precompiledJson(std::string_view text) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
  json["key"] = "value";
  json["key"] = std::string(text);
  json["key"] = int64_t(1);
  json["key"] = size_t(1);
  json["key"] = 1.0;
  json["key"] = true;
  json.push_back({{"key", 1}});
  for (const auto &[key, value] : json.items())
    if (value.is_object() && value.contains(key) && json == value)
      return value.value(key, std::string());
  json.push_back(json.get<std::vector<std::string>>());
  json.push_back(json.get<std::string>() + json.dump());
  json.push_back(json.get<int64_t>() + json.get<double>());
  return json.get<bool>() ? json.find("key").value() : json.at(0);
}
