//===- GgufParts.cpp - GGUF models in several files -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a model whose tensors are in several files, NAME-00001-of-00003.gguf and so on. Each file
// has its own tensors and three keys: split.no (from 0), split.count and split.tensors.count, the
// number of tensors of the model. The first file has all other keys.

#include "GgufReader.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace heddle {

namespace {

/// Name of a part: a stem, and the ending "-00002-of-00003.gguf".
struct PartName {
  std::string stem;
  int64_t number, count; ///< number from 1

  std::string path(int64_t part) const {
    return stem + formatted("-%05lld-of-%05lld.gguf", static_cast<long long>(part),
                            static_cast<long long>(count));
  }
};

/// Parses the name of a part; none for other names.
std::optional<PartName> partName(const std::string &path) {
  constexpr size_t digits = 5;
  constexpr std::string_view between = "-of-", extension = ".gguf";
  constexpr size_t length = 1 + digits + between.size() + digits + extension.size();
  if (path.size() <= length || !path.ends_with(extension))
    return std::nullopt;
  const std::string_view ending = std::string_view(path).substr(path.size() - length);
  const std::string_view number = ending.substr(1, digits);
  const std::string_view count = ending.substr(1 + digits + between.size(), digits);
  auto isNumber = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
  };
  if (ending[0] != '-' || ending.substr(1 + digits, between.size()) != between ||
      !isNumber(number) || !isNumber(count))
    return std::nullopt;
  PartName name{path.substr(0, path.size() - length), std::stoll(std::string(number)),
                std::stoll(std::string(count))};
  return 1 <= name.number && name.number <= name.count ? std::optional(name) : std::nullopt;
}

/// Adds the tensors of the parts after the first to `gguf`, which is the first part.
class PartsJoiner {
public:
  PartsJoiner(Gguf &gguf, const PartName &name) : gguf(gguf), name(name) {}

  /// Checks the keys of a part: its number, and the counts of the first part.
  Status check(const Gguf &part, int64_t number) const {
    HEDDLE_TRY(expect(part, "split.no", number - 1));
    HEDDLE_TRY(expect(part, "split.count", name.count));
    const std::optional<int64_t> tensors = HEDDLE_TRY(gguf.integer("split.tensors.count"));
    return tensors ? expect(part, "split.tensors.count", *tensors)
                   : gguf.mistaken("split.tensors.count", "a number of tensors");
  }

  /// Checks that a part has tensors of this model only.
  Status checkTensors(const Gguf &part) {
    const GgufValue *own = gguf.find("general.architecture"),
                    *other = part.find("general.architecture");
    if (own && other && own->bytes != other->bytes)
      return part.mistaken("general.architecture", own->shown() + " as in the first part");
    for (const GgufTensor &tensor : part.tensors())
      if (!names.insert(tensor.name).second)
        return inputError(part.name() + ": " + printable(tensor.name) +
                          ": expected each tensor in one part, found it in two");
    return {};
  }

  /// Checks the number of tensors of all parts.
  Status checkCount() const {
    const std::optional<int64_t> wanted = HEDDLE_TRY(gguf.integer("split.tensors.count"));
    if (static_cast<int64_t>(names.size()) == wanted)
      return {};
    return gguf.mistaken("split.tensors.count",
                         std::to_string(names.size()) + ", the tensors of all parts");
  }

private:
  Status expect(const Gguf &part, std::string_view key, int64_t wanted) const {
    const std::optional<int64_t> found = HEDDLE_TRY(part.integer(key));
    if (found == wanted)
      return {};
    return part.mistaken(key, std::to_string(wanted) + " in this part of a model");
  }

  const Gguf &gguf;
  const PartName &name;
  std::unordered_set<std::string> names;
};

} // namespace

std::vector<std::string> ggufParts(const std::string &path) {
  const std::optional<PartName> name = partName(path);
  if (!name)
    return {path};
  std::vector<std::string> paths;
  for (int64_t part = 1; part <= name->count; ++part)
    paths.push_back(name->path(part));
  return paths;
}

/// Opens one file and checks everything except the numbers in the tensors.
static Expected<Gguf> openPart(const std::string &path, int64_t number, int64_t count) {
  std::error_code none;
  if (std::filesystem::exists(path, none))
    return GgufReader::open(path);
  return inputError(path + ": expected part " + std::to_string(number) + " of " +
                    std::to_string(count) + " of a model, found no such file");
}

Expected<Gguf> Gguf::open(const std::string &path) {
  Gguf given = HEDDLE_TRY(GgufReader::open(path));
  const std::optional<int64_t> count = HEDDLE_TRY(given.integer("split.count"));
  if (!count || *count <= 1)
    return given;
  const std::optional<PartName> name = partName(path);
  if (!name || name->count != *count)
    return given.mistaken("split.count",
                          name ? std::to_string(name->count) + ", as the file's name says"
                               : "1, or a file with a name like NAME-00001-of-00003.gguf");
  Gguf gguf =
      name->number == 1 ? std::move(given) : HEDDLE_TRY(openPart(name->path(1), 1, name->count));
  PartsJoiner joiner(gguf, *name);
  HEDDLE_TRY(joiner.check(gguf, 1));
  HEDDLE_TRY(joiner.checkTensors(gguf));
  for (int64_t number = 2; number <= name->count; ++number) {
    Gguf part = HEDDLE_TRY(openPart(name->path(number), number, name->count));
    HEDDLE_TRY(joiner.check(part, number));
    HEDDLE_TRY(joiner.checkTensors(part));
    std::ranges::move(part.files, std::back_inserter(gguf.files));
    std::ranges::move(part.infos, std::back_inserter(gguf.infos));
  }
  HEDDLE_TRY(joiner.checkCount());
  return gguf;
}

} // namespace heddle
