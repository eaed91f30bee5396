//===- FolderFiles.cpp - Files next to a model ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

namespace heddle::tokenizers {

Expected<std::string> readText(const std::filesystem::path &path) {
  auto file = HEDDLE_TRY(MappedBytes::openFile(path.string()));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Expected<Json> readObject(const std::filesystem::path &path) {
  if (!isThere(path))
    return Json::object();
  auto json = HEDDLE_TRY(parseJson(HEDDLE_TRY(readText(path)), path.string()));
  HEDDLE_TRY(JsonField(json, path.string()).checkObject());
  return json;
}

const std::string *tokenText(const Json &value) {
  if (value.is_string())
    return value.get_ptr<const std::string *>();
  if (!value.is_object())
    return nullptr;
  auto content = value.find("content");
  return content == value.end() ? nullptr : content->get_ptr<const std::string *>();
}

} // namespace heddle::tokenizers
