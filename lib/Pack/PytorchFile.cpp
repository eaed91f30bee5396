//===- PytorchFile.cpp - Checkpoints that torch.save writes ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ZIP file with a pickle, NAME/data.pkl, that names the tensors, and a member for each storage,
// NAME/data/KEY.

#include "heddle/Pack/PytorchFile.h"

#include "FileTensors.h"
#include "Pickle.h"

#include "heddle/Support/Try.h"
#include "heddle/Support/ZipMembers.h"

#include <algorithm>
#include <string_view>

namespace heddle {

namespace {

using Members = std::map<std::string, std::span<const std::byte>, std::less<>>;

class PytorchFile : public FileTensors {
public:
  using FileTensors::FileTensors;

  Status readTensors();

private:
  Expected<std::string> prefixOf(const Members &members) const;
  Status add(const PickledTensor &tensor, const Members &members, const std::string &prefix);
};

/// Number of elements if they follow each other without gaps; none otherwise. The product of all sizes
/// that are not 0 does not overflow, so later products of some dimensions are safe.
std::optional<uint64_t> contiguousElements(const PickledTensor &tensor) {
  uint64_t stride = 1;
  bool isContiguous = true, isEmpty = false;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    const auto size = static_cast<uint64_t>(tensor.shape[i]);
    isContiguous &= size <= 1 || static_cast<uint64_t>(tensor.strides[i]) == stride;
    isEmpty |= size == 0;
    if (__builtin_mul_overflow(stride, std::max<uint64_t>(size, 1), &stride) ||
        stride > uint64_t(INT64_MAX) / 8)
      return std::nullopt;
  }
  if (isEmpty)
    return 0;
  return isContiguous ? std::optional(stride) : std::nullopt;
}

/// The folder within the ZIP file.
Expected<std::string> PytorchFile::prefixOf(const Members &members) const {
  constexpr std::string_view pickle = "/data.pkl";
  for (const auto &[name, contents] : members)
    if (name.ends_with(pickle))
      return name.substr(0, name.size() - pickle.size());
  return fail("expected a file of torch.save with a member data.pkl, found none");
}

Status PytorchFile::add(const PickledTensor &tensor, const Members &members,
                        const std::string &prefix) {
  const StorageType *type = tensor.type;
  const auto member = members.find(prefix + "/data/" + tensor.storage);
  if (member == members.end())
    return fail(tensor.name + ": expected the storage " + tensor.storage + ", found none");
  const std::span<const std::byte> stored = member->second;
  if (tensor.stored > stored.size() / type->bytes || tensor.stored * type->bytes != stored.size())
    return fail(tensor.name + ": expected a storage of " + std::to_string(tensor.stored) +
                " elements of " + type->name + ", found " + std::to_string(stored.size()) +
                " bytes");
  const auto elements = contiguousElements(tensor);
  if (!elements)
    return fail(tensor.name + ": expected elements one after another, found other strides");
  if (tensor.offset > tensor.stored || *elements > tensor.stored - tensor.offset)
    return fail(tensor.name + ": expected a part of its storage of " +
                std::to_string(tensor.stored) + " elements, found " + std::to_string(*elements) +
                " from " + std::to_string(tensor.offset));
  const uint64_t begin =
      static_cast<uint64_t>(stored.data() - contents.data()) + tensor.offset * type->bytes;
  infos.push_back({tensor.name, type->name, tensor.shape});
  extents.push_back({begin, begin + *elements * type->bytes});
  return {};
}

Status PytorchFile::readTensors() {
  contents = file.bytes();
  if (!contents.empty() && contents[0] == std::byte(0x80)) // a pickle without a ZIP file
    return fail("expected a file of torch.save since PyTorch 1.6, found one of an earlier version; "
                "Python converts it: torch.save(torch.load(FILE, weights_only=True), FILE)");
  const Members members = HEDDLE_TRY(storedMembers(contents, path));
  const std::string prefix = HEDDLE_TRY(prefixOf(members));
  if (const auto order = members.find(prefix + "/byteorder"); order != members.end()) {
    const std::string_view text(reinterpret_cast<const char *>(order->second.data()),
                                order->second.size());
    if (text != "little")
      return fail("expected numbers in little-endian order, found the byteorder " +
                  std::string(text.substr(0, 16)));
  }
  const auto pickled = HEDDLE_TRY(pickledTensors(members.find(prefix + "/data.pkl")->second, path));
  for (const PickledTensor &tensor : pickled)
    HEDDLE_TRY(add(tensor, members, prefix));
  return {};
}

} // namespace

Expected<std::unique_ptr<WeightSource>> openPytorchFile(const std::string &path) {
  auto file = HEDDLE_TRY(MappedBytes::openFile(path));
  auto source = std::make_unique<PytorchFile>(std::move(file), path);
  HEDDLE_TRY(source->readTensors());
  return std::unique_ptr<WeightSource>(std::move(source));
}

} // namespace heddle
