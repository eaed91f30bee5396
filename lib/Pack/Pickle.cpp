//===- Pickle.cpp - Tensors named in a pickle -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stack machine for protocol 2 of Python's pickle. Objects are numbered in the order in which they are
// made, and refer to each other by number, so objects that contain themselves are harmless.

#include "Pickle.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

namespace heddle {

namespace {

enum class Kind : uint8_t { Other, Number, Text, Tuple, List, Dict, Global, Storage, Tensor };

struct Object {
  Kind kind = Kind::Other;
  int64_t number = 0;                ///< of a storage its elements; of a tensor its index
  std::string text;                  ///< of a global its name; of a storage its key
  const StorageType *type = nullptr; ///< of a storage
  std::vector<uint32_t> items;       ///< of a dictionary keys and values in turn
};

constexpr const char *rebuildsTensor = "torch._utils._rebuild_tensor_v2",
                     *rebuildsParameter = "torch._utils._rebuild_parameter",
                     *makesDict = "collections.OrderedDict";
constexpr std::string_view torchPrefix = "torch.";

/// The class of storages that a global names; null: another global.
const StorageType *storageType(std::string_view global) {
  if (!global.starts_with(torchPrefix))
    return nullptr;
  const auto *found =
      std::ranges::find(storageTypes, global.substr(torchPrefix.size()), &StorageType::kind);
  return found == std::end(storageTypes) ? nullptr : found;
}

class Machine {
public:
  Machine(std::span<const std::byte> bytes, const std::string &place)
      : bytes(bytes), place(place) {}
  Expected<std::vector<PickledTensor>> run();

private:
  Error fail(const std::string &message) const { return inputError(place + ": " + message); }
  Error damaged() const {
    return fail("expected a pickle of a dictionary of tensors, found a damaged one");
  }
  std::optional<uint64_t> field(size_t count);
  std::optional<std::string> text(uint64_t size);
  std::optional<std::string> line();
  void push(Object object);
  std::optional<uint32_t> pop();
  std::optional<std::vector<uint32_t>> popToMark();
  Object &at(uint32_t index) { return objects[index]; }

  Status step(uint8_t code);
  Status constant(uint8_t code);
  Status structure(uint8_t code);
  Status remember(uint8_t code);
  Status longNumber();
  Status tuple(std::optional<std::vector<uint32_t>> items);
  Status append(std::optional<std::vector<uint32_t>> items, Kind kind);
  Status global();
  Status storage();
  Status reduce();
  Status rebuild(const std::vector<uint32_t> &arguments);
  std::optional<std::vector<int64_t>> sizesOf(const Object &tuple) const;
  Expected<std::vector<PickledTensor>> results();

  std::span<const std::byte> bytes;
  const std::string &place;
  size_t next = 0;
  std::vector<Object> objects;
  std::vector<uint32_t> stack;
  std::vector<size_t> marks; ///< heights of the stack
  std::unordered_map<uint64_t, uint32_t> memo;
  std::vector<PickledTensor> tensors;
};

//===- Bytes and stack -----------------------------------------------------===//

/// The next `count` bytes as a little-endian number.
std::optional<uint64_t> Machine::field(size_t count) {
  if (count > bytes.size() - next)
    return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(bytes[next++]) << (8 * i);
  return value;
}

std::optional<std::string> Machine::text(uint64_t size) {
  if (size > bytes.size() - next)
    return std::nullopt;
  std::string value(reinterpret_cast<const char *>(bytes.data()) + next, size);
  next += size;
  return value;
}

std::optional<std::string> Machine::line() {
  const auto rest = bytes.subspan(next);
  const auto end = std::ranges::find(rest, std::byte('\n'));
  if (end == rest.end())
    return std::nullopt;
  auto value = text(static_cast<uint64_t>(end - rest.begin()));
  ++next;
  return value;
}

void Machine::push(Object object) {
  stack.push_back(static_cast<uint32_t>(objects.size()));
  objects.push_back(std::move(object));
}

/// Pops an object above the last mark.
std::optional<uint32_t> Machine::pop() {
  if (stack.size() <= (marks.empty() ? 0 : marks.back()))
    return std::nullopt;
  const uint32_t top = stack.back();
  stack.pop_back();
  return top;
}

std::optional<std::vector<uint32_t>> Machine::popToMark() {
  if (marks.empty())
    return std::nullopt;
  const auto from = stack.begin() + static_cast<ptrdiff_t>(marks.back());
  std::vector<uint32_t> items(from, stack.end());
  stack.erase(from, stack.end());
  marks.pop_back();
  return items;
}

//===- Instructions --------------------------------------------------------===//

Status Machine::tuple(std::optional<std::vector<uint32_t>> items) {
  if (!items)
    return damaged();
  push({.kind = Kind::Tuple, .items = std::move(*items)});
  return {};
}

/// Appends to the list or dictionary on top of the stack.
Status Machine::append(std::optional<std::vector<uint32_t>> items, Kind kind) {
  if (!items || stack.empty() || at(stack.back()).kind != kind ||
      (kind == Kind::Dict && items->size() % 2 != 0))
    return damaged();
  std::vector<uint32_t> &all = at(stack.back()).items;
  all.insert(all.end(), items->begin(), items->end());
  return {};
}

/// A name of Python's. Only those that make dictionaries and tensors are allowed.
Status Machine::global() {
  const auto module = line(), name = line();
  if (!module || !name)
    return damaged();
  std::string whole = *module + "." + *name;
  if (whole != rebuildsTensor && whole != rebuildsParameter && whole != makesDict &&
      !storageType(whole))
    return fail("expected a dictionary of tensors, found " + quotedText(whole) +
                ", which is not read");
  push({.kind = Kind::Global, .text = std::move(whole)});
  return {};
}

/// ("storage", class, key, device, number of elements). Each storage and tensor has a copy of its key,
/// which torch.save numbers, so keys are short.
Status Machine::storage() {
  constexpr size_t longestKey = 64;
  const auto id = pop();
  if (!id || at(*id).kind != Kind::Tuple || at(*id).items.size() != 5)
    return damaged();
  const std::vector<uint32_t> items = at(*id).items;
  const Object &type = at(items[1]), &key = at(items[2]), &count = at(items[4]);
  const StorageType *known = type.kind == Kind::Global ? storageType(type.text) : nullptr;
  if (at(items[0]).text != "storage" || !known || key.kind != Kind::Text ||
      key.text.size() > longestKey || count.kind != Kind::Number || count.number < 0)
    return damaged();
  push({.kind = Kind::Storage, .number = count.number, .text = key.text, .type = known});
  return {};
}

std::optional<std::vector<int64_t>> Machine::sizesOf(const Object &tuple) const {
  constexpr size_t mostDimensions = 32;
  if (tuple.kind != Kind::Tuple || tuple.items.size() > mostDimensions)
    return std::nullopt;
  std::vector<int64_t> sizes;
  for (uint32_t item : tuple.items) {
    if (objects[item].kind != Kind::Number || objects[item].number < 0)
      return std::nullopt;
    sizes.push_back(objects[item].number);
  }
  return sizes;
}

/// (storage, offset, shape, strides, …)
Status Machine::rebuild(const std::vector<uint32_t> &arguments) {
  if (arguments.size() < 4)
    return damaged();
  const Object &stored = at(arguments[0]), &offset = at(arguments[1]);
  const auto shape = sizesOf(at(arguments[2])), strides = sizesOf(at(arguments[3]));
  if (stored.kind != Kind::Storage || offset.kind != Kind::Number || offset.number < 0 || !shape ||
      !strides || shape->size() != strides->size())
    return damaged();
  PickledTensor tensor{.type = stored.type,
                       .storage = stored.text,
                       .stored = static_cast<uint64_t>(stored.number),
                       .offset = static_cast<uint64_t>(offset.number),
                       .shape = *shape,
                       .strides = *strides};
  push({.kind = Kind::Tensor, .number = static_cast<int64_t>(tensors.size())});
  tensors.push_back(std::move(tensor));
  return {};
}

/// Calls a global.
Status Machine::reduce() {
  const auto tuple = pop(), callee = pop();
  if (!tuple || !callee || at(*tuple).kind != Kind::Tuple || at(*callee).kind != Kind::Global)
    return damaged();
  const std::vector<uint32_t> &arguments = at(*tuple).items; // until the next object is made
  const std::string &name = at(*callee).text;
  if (name == rebuildsTensor)
    return rebuild(arguments);
  if (name == makesDict && arguments.empty()) {
    push({.kind = Kind::Dict});
    return {};
  }
  if (name != rebuildsParameter || arguments.empty() || at(arguments[0]).kind != Kind::Tensor)
    return damaged();
  stack.push_back(arguments[0]);
  return {};
}

/// A number of up to 8 bytes, of which the last has the sign.
Status Machine::longNumber() {
  const auto size = field(1);
  const auto value = size && *size <= 8 ? field(*size) : std::nullopt;
  if (!value)
    return damaged();
  const auto unused = static_cast<int>(64 - 8 * *size);
  const int64_t number = *size == 0 ? 0 : static_cast<int64_t>(*value << unused) >> unused;
  push({.kind = Kind::Number, .number = number});
  return {};
}

/// Objects that are written out.
Status Machine::constant(uint8_t code) {
  const bool isNumber = code == 'J' || code == 'K' || code == 'M';
  if (isNumber) {
    const auto value = field(code == 'J' ? 4 : code == 'M' ? 2 : 1);
    if (!value)
      return damaged();
    const auto number = code == 'J' ? static_cast<int32_t>(*value) : static_cast<int64_t>(*value);
    push({.kind = Kind::Number, .number = number});
    return {};
  }
  if (code == 'X') {
    const auto size = field(4);
    auto value = size ? text(*size) : std::nullopt;
    if (!value)
      return damaged();
    push({.kind = Kind::Text, .text = std::move(*value)});
    return {};
  }
  if (code == 'G' && !field(8))
    return damaged();
  push({.kind = code == '}'   ? Kind::Dict
                : code == ']' ? Kind::List
                : code == ')' ? Kind::Tuple
                              : Kind::Other});
  return {};
}

/// Objects that are made of the stack's.
Status Machine::structure(uint8_t code) {
  auto few = [&](size_t count) -> std::optional<std::vector<uint32_t>> {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) {
      const auto item = pop();
      if (!item)
        return std::nullopt;
      items[i] = *item;
    }
    return items;
  };
  switch (code) {
  case 't':
    return tuple(popToMark());
  case 0x85:
  case 0x86:
  case 0x87:
    return tuple(few(code - 0x84));
  case 's':
    return append(few(2), Kind::Dict);
  case 'u':
    return append(popToMark(), Kind::Dict);
  case 'a':
    return append(few(1), Kind::List);
  case 'e':
    return append(popToMark(), Kind::List);
  default: // BUILD: attributes of a dictionary, which say nothing of its tensors
    return pop() && !stack.empty() && at(stack.back()).kind == Kind::Dict ? Status() : damaged();
  }
}

/// Stores the top of the stack by number, or pushes what is stored.
Status Machine::remember(uint8_t code) {
  const auto number = field(code == 'q' || code == 'h' ? 1 : 4);
  if (!number)
    return damaged();
  if (code == 'q' || code == 'r') {
    if (stack.empty())
      return damaged();
    memo[*number] = stack.back();
    return {};
  }
  const auto found = memo.find(*number);
  if (found == memo.end())
    return damaged();
  stack.push_back(found->second);
  return {};
}

Status Machine::step(uint8_t code) {
  switch (code) {
  case '(':
    marks.push_back(stack.size());
    return {};
  case 'c':
    return global();
  case 'Q':
    return storage();
  case 'R':
    return reduce();
  case 0x8a:
    return longNumber();
  default:
    break;
  }
  constexpr std::string_view constants = "JKMXG}])N\x88\x89", structures = "tsuaeb\x85\x86\x87",
                             memos = "qrhj";
  const char letter = static_cast<char>(code);
  if (constants.find(letter) != constants.npos)
    return constant(code);
  if (structures.find(letter) != structures.npos)
    return structure(code);
  if (memos.find(letter) != memos.npos)
    return remember(code);
  return fail("expected a dictionary of tensors, found the pickle instruction " +
              std::to_string(code) + ", which is not read");
}

//===- Result --------------------------------------------------------------===//

/// The dictionary on the stack.
Expected<std::vector<PickledTensor>> Machine::results() {
  if (stack.size() != 1 || at(stack[0]).kind != Kind::Dict)
    return fail("expected a dictionary of tensors, found another object");
  std::vector<PickledTensor> named;
  std::set<std::string_view> names; // checked before copies: a pickle may name one long text often
  const std::vector<uint32_t> &items = at(stack[0]).items;
  for (size_t i = 0; i < items.size(); i += 2) {
    const Object &key = at(items[i]), &value = at(items[i + 1]);
    if (key.kind != Kind::Text)
      return fail("expected names of tensors, found another key");
    if (value.kind != Kind::Tensor)
      return fail(quotedText(key.text) + ": expected a tensor, found another object");
    if (!names.insert(key.text).second)
      return fail(quotedText(key.text) + ": expected each tensor once, found it twice");
    named.push_back(tensors[static_cast<size_t>(value.number)]);
    named.back().name = key.text;
  }
  return named;
}

Expected<std::vector<PickledTensor>> Machine::run() {
  constexpr uint64_t start = 0x80, protocol = 2, longest = 1 << 23; // bytes
  if (bytes.size() > longest)
    return fail("expected at most " + std::to_string(longest) + " bytes, found " +
                std::to_string(bytes.size()));
  if (field(1) != start || field(1) != protocol)
    return fail("expected a pickle of protocol 2, as torch.save writes it, found another file");
  while (const auto code = field(1)) {
    if (*code == '.')
      return results();
    HEDDLE_TRY(step(static_cast<uint8_t>(*code)));
  }
  return damaged();
}

} // namespace

Expected<std::vector<PickledTensor>> pickledTensors(std::span<const std::byte> bytes,
                                                    const std::string &place) {
  return Machine(bytes, place).run();
}

} // namespace heddle
