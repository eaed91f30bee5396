//===- TextFacts.cpp - Text settings of a model as JSON -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Support/TextFacts.h"

#include "heddle/Support/FieldsJson.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/SettingsJson.h"
#include "heddle/Support/Try.h"

using namespace heddle;
using Json = nlohmann::ordered_json;

std::string heddle::toJson(const ModelFacts &facts) {
  return FieldEncoder<JsonStyle::Facts>::encode(facts).dump(-1, ' ', false,
                                                            Json::error_handler_t::replace);
}

Expected<ModelFacts> heddle::modelFactsFromJson(std::string_view json) {
  const Json parsed = HEDDLE_TRY(parseJson(json, "model facts"));
  if (!parsed.is_object())
    return inputError(std::string("model facts: expected an object, found ") + parsed.type_name());
  return factsFrom<ModelFacts>(parsed, "");
}

Expected<SearchSettings> heddle::searchSettingsFromJson(const Json &json,
                                                        const std::string &place) {
  return factsFrom<SearchSettings>(json, place);
}
