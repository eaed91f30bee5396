//===- Value.cpp - Values of templates --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction, comparison and lookup of values.
#include "Value.h"

#include "heddle/Templates/Strings.h"

#include <algorithm>
#include <cctype>

namespace heddle::templates {

namespace {

constexpr int maxDepth = 100;
constexpr size_t valueBytes = 48;

int depthOf(const Value &value) {
  if (value.isSequence())
    return value.as<SequenceObject>().depth;
  return value.is(Kind::Dict) ? value.as<DictObject>().depth : 0;
}

Status checkDepth(int depth) {
  if (depth > maxDepth)
    return inputError("expected at most " + std::to_string(maxDepth) +
                      " levels of lists in lists, found more");
  return {};
}

} // namespace

Status Budget::step(size_t count) {
  if (count > static_cast<size_t>(steps))
    return inputError("expected an end after " + std::to_string(stepLimit) + " steps, found more");
  steps -= static_cast<int64_t>(count);
  return {};
}

Status Budget::allocate(size_t count) {
  if (count > static_cast<size_t>(bytes))
    return inputError("expected at most " + std::to_string(byteLimit) +
                      " bytes of texts and lists, found more");
  bytes -= static_cast<int64_t>(count);
  return step(count / 64);
}

std::string describe(const Value &value) {
  static constexpr const char *texts[] = {
      "an undefined value", "none",      "a boolean",   "a whole number", "a number",
      "a string",           "a list",    "a tuple",     "a range",        "a view of a mapping",
      "an iterator",        "a mapping", "a namespace", "a loop",         "a function"};
  return value.isUndefined() ? value.note() : texts[static_cast<size_t>(value.kind())];
}

//===- Construction --------------------------------------------------------===//

Value Value::object(Kind kind, std::shared_ptr<Object> object) {
  Value value(kind);
  value.held = std::move(object);
  return value;
}

Value Value::undefined(std::string what) {
  return object(Kind::Undefined, std::make_shared<TextObject>(std::move(what)));
}

Value Value::text(std::string text, Given given) {
  return object(Kind::String, std::make_shared<TextObject>(std::move(text), std::move(given)));
}

Expected<Value> Value::sequence(Kind kind, Values items, Budget &budget, std::string shown) {
  HEDDLE_TRY(budget.allocate(valueBytes * (items.size() + 1)));
  auto object = std::make_shared<SequenceObject>();
  for (const Value &item : items)
    object->depth = std::max(object->depth, depthOf(item) + 1);
  HEDDLE_TRY(checkDepth(object->depth));
  object->items = std::move(items);
  object->shown = std::move(shown);
  return Value::object(kind, std::move(object));
}

Expected<Value> Value::dict(std::vector<std::pair<Value, Value>> entries, Budget &budget) {
  HEDDLE_TRY(budget.allocate(2 * valueBytes * (entries.size() + 1)));
  auto object = std::make_shared<DictObject>();
  for (const auto &[key, value] : entries)
    object->depth = std::max({object->depth, depthOf(key) + 1, depthOf(value) + 1});
  HEDDLE_TRY(checkDepth(object->depth));
  object->entries = std::move(entries);
  return Value::object(Kind::Dict, std::move(object));
}

const std::string &Value::text() const { return as<TextObject>().text; }
const Given &Value::given() const { return as<TextObject>().given; }
const Values &Value::items() const { return as<SequenceObject>().items; }
const std::vector<std::pair<Value, Value>> &Value::entries() const {
  return as<DictObject>().entries;
}
const std::string &Value::note() const {
  static const std::string otherwise = "an undefined value";
  if (!isUndefined())
    return as<SequenceObject>().shown;
  return held ? text() : otherwise;
}

//===- Given parts ---------------------------------------------------------===//

void TextBuilder::addPart(const Value &whole, std::string_view part) {
  const auto place = static_cast<uint32_t>(bytes.size());
  bytes += part;
  const Given &given = whole.given();
  if (part.empty() || given.empty())
    return;
  const auto begin = static_cast<uint32_t>(part.data() - whole.text().data());
  const auto end = begin + static_cast<uint32_t>(part.size());
  auto at = std::ranges::upper_bound(given, begin, {}, &TokenSpan::end);
  for (; at != given.end() && at->begin < end; ++at) {
    const TokenSpan own{place + std::max(at->begin, begin) - begin,
                        place + std::min(at->end, end) - begin};
    if (!parts.empty() && parts.back().end == own.begin)
      parts.back().end = own.end;
    else
      parts.push_back(own);
  }
}

Value partOfText(const Value &whole, std::string_view part) {
  TextBuilder text;
  text.addPart(whole, part);
  return std::move(text).value();
}

Expected<bool> holdsGiven(const Value &value, Budget &budget) {
  HEDDLE_TRY(budget.step());
  if (value.isText())
    return !value.given().empty();
  if (value.isSequence())
    for (const Value &item : value.items())
      if (HEDDLE_TRY(holdsGiven(item, budget)))
        return true;
  if (value.is(Kind::Dict))
    for (const auto &[key, element] : value.entries())
      if (HEDDLE_TRY(holdsGiven(key, budget)) || HEDDLE_TRY(holdsGiven(element, budget)))
        return true;
  return value.is(Kind::Namespace); // it may contain itself
}

Expected<Value> madeOf(const Value &from, std::string text, Budget &budget) {
  Given given;
  if (!text.empty() && HEDDLE_TRY(holdsGiven(from, budget)))
    given.push_back({0, static_cast<uint32_t>(text.size())});
  return Value::text(std::move(text), std::move(given));
}

namespace {

using Json = nlohmann::ordered_json;

Expected<Value> fromNumber(const Json &json) {
  if (json.is_number_float())
    return Value(json.get<double>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX)
    return inputError("expected whole numbers of 64 bits, found " + json.dump());
  return Value(json.get<int64_t>());
}

Expected<Value> fromList(const Json &json, bool given, Budget &budget, int depth) {
  Values items;
  for (const Json &element : json)
    items.push_back(HEDDLE_TRY(fromJson(element, given, budget, depth + 1)));
  return Value::sequence(Kind::List, std::move(items), budget);
}

Value fromText(const std::string &text, bool given) {
  if (text.empty() || !given)
    return Value::text(text);
  return Value::text(text, {{0, static_cast<uint32_t>(text.size())}});
}

/// Whether a text is a single word, such as a role: templates write it inside their markers.
bool isWord(const Json &json) {
  const auto *text = json.get_ptr<const Json::string_t *>();
  return text && std::ranges::all_of(*text, [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_');
         });
}

Expected<Value> fromObject(const Json &json, bool given, Budget &budget, int depth) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto &[key, element] : json.items()) {
    const bool isGiven = given && !(key == "role" && isWord(element));
    entries.emplace_back(fromText(key, given),
                         HEDDLE_TRY(fromJson(element, isGiven, budget, depth + 1)));
  }
  return Value::dict(std::move(entries), budget);
}

} // namespace

Expected<Value> fromJson(const Json &json, bool given, Budget &budget, int depth) {
  HEDDLE_TRY(checkDepth(depth));
  switch (json.type()) {
  case Json::value_t::boolean:
    return Value(json.get<bool>());
  case Json::value_t::number_integer:
  case Json::value_t::number_unsigned:
  case Json::value_t::number_float:
    return fromNumber(json);
  case Json::value_t::string: {
    const auto &text = json.get_ref<const std::string &>();
    HEDDLE_TRY(checkText(text));
    HEDDLE_TRY(budget.allocate(text.size()));
    return fromText(text, given);
  }
  case Json::value_t::array:
    return fromList(json, given, budget, depth);
  case Json::value_t::object:
    return fromObject(json, given, budget, depth);
  default:
    return Value::none();
  }
}

//===- Comparison ----------------------------------------------------------===//

bool isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Boolean:
  case Kind::Integer:
    return value.integer() != 0;
  case Kind::Float:
    return value.real() != 0;
  case Kind::String:
    return !value.text().empty();
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range:
  case Kind::View:
    return !value.items().empty();
  case Kind::Dict:
    return !value.entries().empty();
  default:
    return true;
  }
}

namespace {

/// A number in a type that represents both integers and floats exactly.
long double exactly(const Value &value) {
  return value.is(Kind::Float) ? static_cast<long double>(value.real())
                               : static_cast<long double>(value.integer());
}

Expected<bool> areEqualItems(const Values &a, const Values &b, Budget &budget) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!HEDDLE_TRY(areEqual(a[i], b[i], budget)))
      return false;
  return true;
}

Expected<bool> areEqualDicts(const Value &a, const Value &b, Budget &budget) {
  if (a.entries().size() != b.entries().size())
    return false;
  for (const auto &[key, value] : a.entries()) {
    const Value *other = HEDDLE_TRY(findKey(b, key, budget));
    if (!other || !HEDDLE_TRY(areEqual(value, *other, budget)))
      return false;
  }
  return true;
}

} // namespace

Expected<bool> areEqual(const Value &a, const Value &b, Budget &budget) {
  HEDDLE_TRY(budget.step());
  if (a.isNumber() && b.isNumber())
    return exactly(a) == exactly(b);
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    HEDDLE_TRY(budget.step(std::min(a.text().size(), b.text().size()) / 64));
    return a.text() == b.text();
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range:
  case Kind::View:
    return areEqualItems(a.items(), b.items(), budget);
  case Kind::Dict:
    return areEqualDicts(a, b, budget);
  default:
    return a.sameObject(b);
  }
}

Expected<bool> isLess(const Value &a, const Value &b, Budget &budget) {
  HEDDLE_TRY(budget.step());
  if (a.isNumber() && b.isNumber())
    return exactly(a) < exactly(b);
  if (a.isText() && b.isText()) { // bytes of UTF-8 have the order of code points
    HEDDLE_TRY(budget.step(std::min(a.text().size(), b.text().size()) / 64));
    return a.text() < b.text();
  }
  if (a.kind() != b.kind() || !(a.is(Kind::List) || a.is(Kind::Tuple)))
    return inputError(std::string("expected two numbers, strings or lists to compare, found ") +
                      describe(a) + " and " + describe(b));
  const size_t common = std::min(a.items().size(), b.items().size());
  for (size_t i = 0; i < common; ++i)
    if (!HEDDLE_TRY(areEqual(a.items()[i], b.items()[i], budget)))
      return isLess(a.items()[i], b.items()[i], budget);
  return a.items().size() < b.items().size();
}

Expected<bool> isOrdered(std::string_view sign, const Value &a, const Value &b, Budget &budget) {
  const bool isNan =
      a.isNumber() && b.isNumber() && (exactly(a) != exactly(a) || exactly(b) != exactly(b));
  if (isNan)
    return false;
  const bool swapped = sign[0] == '>', orEqual = sign.size() > 1;
  const Value &low = swapped ? b : a, &high = swapped ? a : b;
  return orEqual ? !HEDDLE_TRY(isLess(high, low, budget)) : HEDDLE_TRY(isLess(low, high, budget));
}

Status checkKey(const Value &key) {
  if (key.is(Kind::List) || key.is(Kind::Dict))
    return inputError(std::string("expected a key that cannot change, found ") + describe(key));
  if (key.is(Kind::Tuple))
    for (const Value &item : key.items())
      HEDDLE_TRY(checkKey(item));
  return {};
}

namespace {

/// Equal numbers of different types are the same key: 1, 1.0, true.
Expected<bool> isSameKey(const Value &a, const Value &b, Budget &budget) {
  if (a.isText() && b.isText())
    return a.text() == b.text();
  return a.isText() != b.isText() ? Expected<bool>(false) : areEqual(a, b, budget);
}

} // namespace

Expected<const Value *> findKey(const Value &dict, const Value &key, Budget &budget) {
  HEDDLE_TRY(checkKey(key));
  HEDDLE_TRY(budget.step(dict.entries().size() / 16));
  for (const auto &[own, value] : dict.entries())
    if (HEDDLE_TRY(isSameKey(own, key, budget)))
      return &value;
  return nullptr;
}

Status setEntry(std::vector<std::pair<Value, Value>> &entries, Value key, Value value,
                Budget &budget) {
  HEDDLE_TRY(checkKey(key));
  HEDDLE_TRY(budget.step(entries.size() / 16));
  for (auto &[own, old] : entries)
    if (HEDDLE_TRY(isSameKey(own, key, budget))) {
      old = std::move(value);
      return {};
    }
  entries.emplace_back(std::move(key), std::move(value));
  return {};
}

Expected<bool> contains(const Value &container, const Value &value, Budget &budget) {
  if (container.isText()) {
    if (!value.isText())
      return inputError(std::string("expected a string before `in`, found ") + describe(value));
    HEDDLE_TRY(budget.step(container.text().size() / 64));
    return placeOf(container.text(), value.text()) != std::string::npos;
  }
  if (container.is(Kind::Dict))
    return HEDDLE_TRY(findKey(container, value, budget)) != nullptr;
  if (!container.isSequence() && !container.isUndefined())
    return inputError(std::string("expected a string, a list or a mapping after `in`, found ") +
                      describe(container));
  const Values items = HEDDLE_TRY(elementsOf(container, budget));
  for (const Value &item : items)
    if (HEDDLE_TRY(areEqual(item, value, budget)))
      return true;
  return false;
}

Expected<Values> elementsOf(const Value &value, Budget &budget) {
  if (value.isUndefined())
    return Values();
  if (value.is(Kind::Iterator)) {
    auto &iterator = value.as<SequenceObject>();
    HEDDLE_TRY(budget.step(iterator.items.size() - iterator.taken));
    Values rest(iterator.items.begin() + static_cast<ptrdiff_t>(iterator.taken),
                iterator.items.end());
    iterator.taken = iterator.items.size();
    return rest;
  }
  if (value.isSequence()) {
    HEDDLE_TRY(budget.step(value.items().size()));
    return value.items();
  }
  Values elements;
  if (value.is(Kind::Dict)) {
    HEDDLE_TRY(budget.step(value.entries().size()));
    for (const auto &[key, element] : value.entries())
      elements.push_back(key);
    return elements;
  }
  if (!value.isText())
    return inputError(std::string("expected a list, a mapping or a string to go through, found ") +
                      describe(value));
  HEDDLE_TRY(budget.allocate(valueBytes * value.text().size()));
  for (std::string_view character : charactersOf(value.text()))
    elements.push_back(partOfText(value, character));
  return elements;
}

} // namespace heddle::templates
