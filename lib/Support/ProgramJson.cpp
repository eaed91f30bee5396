//===- ProgramJson.cpp - Manifests as JSON ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of programs and manifests, which follows from their fields (FieldsJson.h).

#include "ProgramJson.h"

#include "heddle/Support/FieldsJson.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

namespace heddle {

using Json = nlohmann::ordered_json;
using Encoder = FieldEncoder<JsonStyle::Program>;
using Decoder = FieldDecoder<JsonStyle::Program>;

template <typename T>
static std::string textOf(const T &value) {
  return Encoder::encode(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `place` is the path of the root in errors: "program", or "m.heddle: " for an empty path.
template <typename T>
static Expected<T> readAs(const Json &json, const std::string &place) {
  T value;
  Decoder decoder(place);
  decoder.decode(json, value);
  if (decoder.failure)
    return std::move(*decoder.failure);
  return value;
}

static Status checkProgram(const Program &program, const std::string &place) {
  Status valid = validate(program);
  return valid ? valid : inputError(place + ": " + valid.error().message);
}

std::string toJson(const Program &program) { return textOf(program); }
std::string toJson(const Manifest &manifest) { return textOf(manifest); }

Expected<Program> programFromJson(std::string_view text) {
  Program program = HEDDLE_TRY(readAs<Program>(HEDDLE_TRY(parseJson(text, "program")), "program"));
  HEDDLE_TRY(checkProgram(program, "program"));
  return program;
}

/// Checked before all other fields, which may differ in a file of another version.
static Status checkVersion(const Json &json, const std::string &place) {
  if (!json.is_object() || !json.contains("heddle") || !json["heddle"].is_number_integer())
    return inputError(place + ": expected a format version in field 'heddle', found none");
  if (json["heddle"] == artifactFormat)
    return {};
  return inputError(place + ": expected format version " + std::to_string(artifactFormat) +
                    ", found " + json["heddle"].dump() +
                    (json["heddle"] > artifactFormat
                         ? ", made by a newer Heddle"
                         : ", made by an older Heddle: compile the model again"));
}

Expected<Manifest> manifestFromJson(std::string_view text, const std::string &place) {
  Json json = HEDDLE_TRY(parseJson(text, place));
  HEDDLE_TRY(checkVersion(json, place));
  Manifest manifest = HEDDLE_TRY(readAs<Manifest>(json, place + ": "));
  HEDDLE_TRY(checkProgram(manifest.program, place + ": program"));
  return manifest;
}

} // namespace heddle
