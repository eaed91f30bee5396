//===- Models.cpp - Artifacts, goldens and comparisons ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to test artifacts and goldens, and comparison of results.
#include "Models.h"
#include "heddle/Runtime/Npy.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace heddle;
using namespace heddle::test;
namespace fs = std::filesystem;

std::optional<fs::path> heddle::test::artifactFolder() {
  if (const char *folder = std::getenv("HEDDLE_TEST_ARTIFACTS"); folder && *folder)
    return fs::path(folder);
#ifdef HEDDLE_BUILDS_ARTIFACTS
  return fs::path(HEDDLE_BINARY_DIR) / "test-artifacts";
#else
  return std::nullopt;
#endif
}

Expected<Session> heddle::test::openArtifact(const std::string &model,
                                             const SessionOptions &options) {
  return Session::open((*artifactFolder() / (model + ".heddle")).string(), options);
}

Expected<Tensors> heddle::test::readTensors(const fs::path &folder) {
  Tensors tensors;
  if (!fs::is_directory(folder))
    return tensors;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    auto tensor = readNpy(entry.path().string());
    if (!tensor)
      return tensor.takeError();
    tensors.emplace(entry.path().stem().string(), std::move(*tensor));
  }
  return tensors;
}

Expected<Golden> Golden::read(const std::string &name) {
  const fs::path folder = fs::path(HEDDLE_SOURCE_DIR) / "test" / "data" / "goldens" / name;
  auto inputs = readTensors(folder / "inputs"), encode = readTensors(folder / "encode"),
       decode = readTensors(folder / "decode"), loss = readTensors(folder / "loss");
  for (auto *read : {&inputs, &encode, &decode, &loss})
    if (!*read)
      return read->takeError();
  std::stringstream description;
  description << std::ifstream(folder / "model.json").rdbuf();
  const bool sequenceFirst = description.str().find("sequence-first") != std::string::npos;
  return Golden{std::move(*inputs), std::move(*encode), std::move(*decode), std::move(*loss),
                sequenceFirst};
}

size_t Golden::batchAxis(std::string_view tensor) const {
  for (std::string_view transposed :
       {"source", "target", "memory", "output", "logits", "probabilities"})
    if (sequenceFirst && tensor == transposed)
      return 1;
  return 0;
}

Tensor heddle::test::slice(const Tensor &tensor, size_t axis, int64_t begin, int64_t end) {
  std::vector<int64_t> shape = tensor.shape();
  int64_t outer = 1, inner = byteSize(tensor.dtype());
  for (size_t i = 0; i < shape.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  const int64_t extent = shape[axis];
  shape[axis] = end - begin;
  Tensor part(tensor.dtype(), shape);
  for (int64_t i = 0; i < outer; ++i)
    std::memcpy(part.bytes().data() + i * (end - begin) * inner,
                tensor.bytes().data() + (i * extent + begin) * inner,
                static_cast<size_t>((end - begin) * inner));
  return part;
}

Tensor heddle::test::gather(const Tensor &tensor, size_t axis,
                            const std::vector<int32_t> &indices) {
  std::vector<int64_t> shape = tensor.shape();
  shape[axis] = static_cast<int64_t>(indices.size());
  Tensor result(tensor.dtype(), shape);
  int64_t outer = 1, inner = byteSize(tensor.dtype());
  for (size_t i = 0; i < shape.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  std::byte *to = result.bytes().data();
  for (int64_t i = 0; i < outer; ++i)
    for (int32_t index : indices) {
      std::memcpy(to, tensor.bytes().data() + (i * tensor.dim(axis) + index) * inner,
                  static_cast<size_t>(inner));
      to += inner;
    }
  return result;
}

bool heddle::test::isMissingDevice(const Error &error) {
  return error.message.find("no Vulkan") != std::string::npos;
}

Expected<Tensors> heddle::test::call(Session &session, const std::string &function,
                                     const Tensors &tensors) {
  auto ports = session.inputs(function);
  if (!ports)
    return ports.takeError();
  NamedInputs inputs;
  for (const PortInfo &port : *ports)
    if (auto found = tensors.find(port.name); found != tensors.end())
      inputs.emplace_back(found->first, found->second);
  auto outputs = session.run(function, inputs);
  if (!outputs)
    return outputs.takeError();
  Tensors results;
  for (auto &[name, tensor] : *outputs)
    results.emplace(name, std::move(tensor));
  return results;
}

double heddle::test::difference(const Tensor &found, const Tensor &expected) {
  if (found.shape() != expected.shape() || found.dtype() != DType::F32)
    return INFINITY;
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    const double a = found.values<float>()[i], b = expected.values<float>()[i];
    if (!std::isfinite(a))
      return INFINITY;
    largest = std::max(largest, std::abs(a - b));
    scale = std::max(scale, std::abs(b));
  }
  return largest == 0 ? 0 : largest / scale;
}

testing::AssertionResult heddle::test::sameBits(const Tensor &found, const Tensor &expected) {
  if (found.shape() != expected.shape() || found.dtype() != expected.dtype())
    return testing::AssertionFailure()
           << "shapes " << shapeText(found.shape()) << " and " << shapeText(expected.shape());
  const size_t size = expected.bytes().size(),
               element = static_cast<size_t>(byteSize(expected.dtype()));
  for (size_t i = 0; i < size; i += element)
    if (std::memcmp(found.bytes().data() + i, expected.bytes().data() + i, element) != 0)
      return testing::AssertionFailure()
             << "element " << i / element << " of " << size / element
             << " differs: " << describe(found) << " and " << describe(expected);
  return testing::AssertionSuccess();
}

testing::AssertionResult heddle::test::sameBits(const Tensors &found, const Tensors &expected) {
  if (found.size() != expected.size())
    return testing::AssertionFailure() << found.size() << " and " << expected.size() << " results";
  for (const auto &[name, tensor] : expected) {
    auto other = found.find(name);
    if (other == found.end())
      return testing::AssertionFailure() << "no result " << name;
    if (auto same = sameBits(other->second, tensor); !same)
      return testing::AssertionFailure() << name << ": " << same.message();
  }
  return testing::AssertionSuccess();
}
