//===- Json.cpp - JSON without exceptions ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing with checks. Values are built from the parser's events, because a finished object no
// longer shows duplicate keys, and deep nesting must stop the parser before the stack overflows.

#include "heddle/Support/Json.h"

#include "heddle/Support/MappedBytes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t maxNesting = 64;

/// SAX handler of the parser, which stops when a method returns false.
class Builder : public nlohmann::json_sax<Json> {
public:
  Json root;
  std::string failure;
  std::optional<size_t> failedAt; ///< offset in the text, for syntax errors

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t &) override { return place(value); }
  bool string(string_t &value) override { return place(std::move(value)); }
  bool binary(binary_t &) override { return false; } // only in CBOR and similar formats
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    if (!keys.back().insert(name).second) {
      failure = where() + "expected each key once, found " + quotedText(name) + " twice";
      return false;
    }
    lastKey = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string &, const Json::exception &error) override {
    constexpr int numberOutOfRange = 406;
    failedAt = std::max<size_t>(position, 1) - 1;
    if (error.id == numberOutOfRange)
      failure = "expected valid JSON, found a number beyond the range of f64";
    return false;
  }

private:
  /// Path of the innermost open value, "a.b: "; empty for the outermost.
  std::string where() const {
    std::string path;
    for (size_t i = 1; i < names.size(); ++i)
      path += (i > 1 ? "." : "") + printable(names[i]);
    return path.empty() ? "" : path + ": ";
  }
  Json *add(Json value) {
    if (stack.empty()) {
      root = std::move(value);
      return &root;
    }
    Json &parent = *stack.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // The key is new (see key), so it is appended without the linear search of operator[].
    auto &object = parent.get_ref<Json::object_t &>();
    if (object.size() == object.capacity())
      enlarge(object);
    object.emplace_back(std::move(lastKey), std::move(value));
    return &object.back().second;
  }
  /// Grows an object without exceptions in noexcept code: when a vector grows, it copies the
  /// constant keys inside noexcept, and a failed allocation would end the process.
  static void enlarge(Json::object_t &object) {
    Json::object_t larger;
    larger.reserve(2 * object.size() + 1);
    for (auto &[key, value] : object)
      larger.emplace_back(key, std::move(value));
    object.swap(larger);
  }
  bool place(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (stack.size() == maxNesting) {
      failure = "expected at most " + std::to_string(maxNesting) + " levels of nesting, found more";
      return false;
    }
    bool inArray = !stack.empty() && stack.back()->is_array();
    names.push_back(inArray ? std::to_string(stack.back()->size()) : lastKey);
    stack.push_back(add(std::move(value)));
    keys.emplace_back();
    return true;
  }
  bool close() {
    stack.pop_back();
    names.pop_back();
    keys.pop_back();
    return true;
  }

  std::vector<Json *> stack; ///< open values; a parent does not grow while its child is open
  std::vector<std::unordered_set<std::string>> keys;
  std::vector<std::string> names; ///< keys or indices of the open values
  std::string lastKey;
};

/// `place` with line and column, counted from 1 in bytes: "model.json:3:14". If it names a line,
/// only the column is added: "line 7, column 14".
std::string placeAt(const std::string &place, JsonText of, std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at);
  size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const std::string column = std::to_string(at - start + 1);
  return of == JsonText::Line ? place + ", column " + column
                              : place + ":" + std::to_string(line) + ":" + column;
}

std::string foundAt(std::string_view text, size_t at) {
  if (at >= text.size())
    return "the end";
  auto byte = static_cast<unsigned char>(text[at]);
  if (byte > 32 && byte < 127)
    return std::string("'") + text[at] + "'";
  return "byte " + std::to_string(byte);
}

/// Offset and description of a byte that the parser accepts silently: it skips a byte order mark
/// and stops at a NUL.
std::optional<std::pair<size_t, std::string>> strayBytes(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"))
    return std::pair(size_t{0}, std::string("a byte order mark"));
  if (size_t at = text.find('\0'); at != text.npos)
    return std::pair(at, foundAt(text, at));
  return std::nullopt;
}

} // namespace

Expected<Json> parseJson(std::string_view text, const std::string &place, JsonText of) {
  Builder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) {
    if (const auto stray = strayBytes(text))
      return inputError(placeAt(place, of, text, stray->first) + ": expected valid JSON, found " +
                        stray->second);
    return std::move(builder.root);
  }
  if (!builder.failedAt)
    return inputError(place + ": " + builder.failure);
  size_t at = *builder.failedAt;
  std::string failure =
      builder.failure.empty() ? "expected valid JSON, found " + foundAt(text, at) : builder.failure;
  if (std::string_view kind = foreignFile(text); !kind.empty())
    failure = "expected valid JSON, found " + std::string(kind);
  return inputError(placeAt(place, of, text, at) + ": " + failure);
}

} // namespace heddle
