//===- SafetensorsWriter.cpp - Writing safetensors files -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal tensors and metadata give equal bytes. Data begins at a multiple of 8 bytes, which the
// header reaches by blanks after its JSON.

#include "heddle/Pack/Safetensors.h"

#include "heddle/Support/Try.h"

#include <bit>
#include <nlohmann/json.hpp>

namespace heddle {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

Expected<SafetensorsWriter>
SafetensorsWriter::create(const std::string &path, std::span<const TensorInfo> tensors,
                          const std::map<std::string, std::string> &metadata) {
  using Json = nlohmann::ordered_json;
  Json header = Json::object();
  header["__metadata__"]["format"] = "pt";
  for (const auto &[key, value] : metadata)
    header["__metadata__"][key] = value;
  int64_t elements = 0;
  for (const TensorInfo &tensor : tensors) {
    const int64_t end = elements + tensor.elements();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {elements * 4, end * 4}}};
    elements = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i));
  AtomicFile file = HEDDLE_TRY(AtomicFile::create(path));
  HEDDLE_TRY(file.write(length + text));
  return SafetensorsWriter(std::move(file), path, elements);
}

Status SafetensorsWriter::write(std::span<const float> values) {
  left -= std::ssize(values);
  return file.write({reinterpret_cast<const char *>(values.data()), values.size_bytes()});
}

Status SafetensorsWriter::commit() {
  if (left != 0)
    return deviceError(
        path + ": expected all elements of the tensors, found " +
        (left > 0 ? std::to_string(left) + " fewer" : std::to_string(-left) + " more"));
  return file.commit();
}

} // namespace heddle
