//===- JsonField.cpp - JSON values with their path ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accessors for JSON values and their error messages.
#include "heddle/Support/JsonField.h"

#include "heddle/Support/Try.h"

using namespace heddle;
using Json = nlohmann::ordered_json;

std::string heddle::foundText(const Json &value) {
  if (value.is_string())
    return quotedText(value.get_ref<const std::string &>());
  if (value.is_object())
    return "an object";
  return value.is_array() ? "a list" : value.dump();
}

Error JsonField::error(const std::string &expected, const std::string &found) const {
  return inputError(file + ": " + (path.empty() ? "" : path + ": ") + "expected " + expected +
                    ", found " + found);
}

Error JsonField::expected(const std::string &what) const { return error(what, foundText(*json)); }

std::optional<JsonField> JsonField::find(const std::string &key) const {
  if (!json->is_object())
    return std::nullopt;
  auto at = json->find(key);
  if (at == json->end() || at->is_null())
    return std::nullopt;
  return JsonField(*at, file, (path.empty() ? "" : path + ".") + printable(key));
}

Expected<JsonField> JsonField::get(const std::string &key) const {
  HEDDLE_TRY(checkObject());
  if (auto field = find(key))
    return *field;
  return error("a key " + key, "none");
}

JsonField JsonField::element(size_t index) const {
  return {(*json)[index], file, path + "." + std::to_string(index)};
}

Status JsonField::checkObject() const {
  if (!json->is_object())
    return expected("an object");
  return {};
}

Expected<std::string> JsonField::text() const {
  if (!json->is_string())
    return expected("a string");
  return json->get_ref<const std::string &>();
}

Expected<int64_t> JsonField::number(int64_t least, int64_t most) const {
  const bool whole = json->is_number_integer() &&
                     (!json->is_number_unsigned() || json->get<uint64_t>() <= INT64_MAX);
  if (!whole || json->get<int64_t>() < least || json->get<int64_t>() > most)
    return expected("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return json->get<int64_t>();
}

Expected<std::vector<JsonField>> JsonField::list() const {
  if (!json->is_array())
    return expected("a list");
  std::vector<JsonField> elements;
  for (size_t i = 0; i < json->size(); ++i)
    elements.push_back(element(i));
  return elements;
}

Expected<std::string> JsonField::textAt(const std::string &key) const {
  return HEDDLE_TRY(get(key)).text();
}

Expected<int64_t> JsonField::numberAt(const std::string &key, int64_t least, int64_t most) const {
  return HEDDLE_TRY(get(key)).number(least, most);
}

Expected<int64_t> JsonField::numberOr(const std::string &key, int64_t otherwise, int64_t least,
                                      int64_t most) const {
  HEDDLE_TRY(checkObject());
  auto field = find(key);
  return field ? field->number(least, most) : Expected<int64_t>(otherwise);
}

Expected<std::vector<JsonField>> JsonField::listAt(const std::string &key) const {
  return HEDDLE_TRY(get(key)).list();
}

Expected<bool> JsonField::flagAt(const std::string &key, bool otherwise) const {
  HEDDLE_TRY(checkObject());
  auto field = find(key);
  if (!field)
    return otherwise;
  if (!field->json->is_boolean())
    return field->expected("true or false");
  return field->json->get<bool>();
}

Expected<std::string> JsonField::textOr(const std::string &key,
                                        const std::string &otherwise) const {
  HEDDLE_TRY(checkObject());
  auto field = find(key);
  return field ? field->text() : Expected<std::string>(otherwise);
}
