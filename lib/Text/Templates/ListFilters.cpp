//===- ListFilters.cpp - Filters for lists and mappings -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Filters for lists. Filters that are generators in Jinja return an iterator, which is true, has no
// length and can be read once.
#include "Interpreter.h"
#include "heddle/Templates/Strings.h"

#include <algorithm>

namespace heddle::templates {

namespace {

//===- Attributes ----------------------------------------------------------===//

/// The attribute "a.0.b" of a value; without an attribute, the value itself.
Expected<Value> partOf(Call &call, Value value, const Value &attribute,
                       const std::optional<Value> &otherwise = {}) {
  if (attribute.isNone())
    return value;
  if (!attribute.isText())
    return call.interpreter.item(value, attribute);
  for (std::string_view part : splitAt(attribute.text(), ".", -1, false)) {
    const bool isNumber = !part.empty() && part.size() < 10 &&
                          std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    const Value key =
        isNumber ? Value(int64_t{std::stoi(std::string(part))}) : Value::text(std::string(part));
    value = HEDDLE_TRY(call.interpreter.item(value, key));
    if (otherwise && value.isUndefined())
      value = *otherwise;
  }
  return value;
}

Expected<Value> withoutCase(Call &call, Value value, bool keepsCase) {
  if (keepsCase || !value.isText())
    return value;
  HEDDLE_TRY(call.budget.allocate(3 * value.text().size()));
  return madeOf(value, lowerText(value.text()), call.budget);
}

Expected<Value> made(Call &call, Kind kind, Values items) {
  return Value::sequence(kind, std::move(items), call.budget);
}

//===- Parts ---------------------------------------------------------------===//

Expected<Value> length(Call &call) {
  if (call.self.isUndefined())
    return Value(int64_t{0});
  if (call.self.isText()) {
    HEDDLE_TRY(call.budget.step(call.self.text().size() / 64));
    return Value(static_cast<int64_t>(lengthOf(call.self.text())));
  }
  if (call.self.is(Kind::Dict))
    return Value(static_cast<int64_t>(call.self.entries().size()));
  if (!call.self.isSequence() || call.self.is(Kind::Iterator))
    return call.error("a value that has a length", call.self);
  return Value(static_cast<int64_t>(call.self.items().size()));
}

Expected<Value> first(Call &call) {
  if (call.self.is(Kind::Iterator)) {
    auto &iterator = call.self.as<SequenceObject>();
    if (iterator.taken < iterator.items.size())
      return iterator.items[iterator.taken++];
  }
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  return items.empty() ? Value::undefined("the first of no elements") : items[0];
}

Expected<Value> last(Call &call) {
  if (call.self.is(Kind::Iterator))
    return call.error("a list", call.self);
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  return items.empty() ? Value::undefined("the last of no elements") : items.back();
}

Expected<Value> list(Call &call) {
  return made(call, Kind::List, HEDDLE_TRY(elementsOf(call.self, call.budget)));
}

Expected<Value> reverse(Call &call) {
  Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  std::ranges::reverse(items);
  if (!call.self.isText())
    return made(call, Kind::Iterator, std::move(items));
  TextBuilder text;
  for (const Value &item : items)
    text.add(item);
  return std::move(text).value();
}

Expected<Value> items(Call &call) {
  Values pairs;
  if (call.self.isUndefined())
    return made(call, Kind::Iterator, {});
  if (!call.self.is(Kind::Dict))
    return call.error("a mapping", call.self);
  for (const auto &[key, value] : call.self.entries())
    pairs.push_back(HEDDLE_TRY(made(call, Kind::Tuple, {key, value})));
  return made(call, Kind::Iterator, std::move(pairs));
}

Expected<Value> attr(Call &call) {
  const std::string wanted = HEDDLE_TRY(call.text(0));
  if (call.self.is(Kind::Dict)) // an attribute is not a key
    return Value::undefined(quotedText(wanted) + ", which a mapping has not");
  return call.interpreter.item(call.self, Value::text(wanted));
}

Expected<Value> join(Call &call) {
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  const Value between = HEDDLE_TRY(textValueOf(call.value(0, Value::text("")), call.budget));
  HEDDLE_TRY(call.budget.allocate(bytesOf(between) * items.size()));
  TextBuilder text;
  for (size_t i = 0; i < items.size(); ++i) {
    const Value part = HEDDLE_TRY(partOf(call, items[i], call.value(1)));
    if (i > 0)
      text.add(between);
    text.add(HEDDLE_TRY(textValueOf(part, call.budget)));
  }
  return std::move(text).value();
}

//===- Selection -----------------------------------------------------------===//

/// `select`, `reject` and their `…attr` forms: elements for which a test holds, by default truth.
/// The `…attr` forms test an attribute of the element.
Expected<Value> chosen(Call &call, bool byAttribute, bool isWanted) {
  Values kept;
  if (!isTrue(call.self))
    return made(call, Kind::Iterator, {});
  Values given = call.rest.byPlace;
  Value attribute = Value::none();
  if (byAttribute) {
    if (given.empty())
      return inputError(std::string(call.function.name) + ": expected an attribute, found none");
    attribute = given.front();
    given.erase(given.begin());
  }
  const std::optional<Value> test = given.empty() ? std::nullopt : std::optional(given.front());
  if (test && !test->isText())
    return call.error("the name of a test", *test);
  if (test)
    given.erase(given.begin());
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  for (const Value &item : items) {
    const Value part = HEDDLE_TRY(partOf(call, item, attribute));
    HEDDLE_TRY(call.budget.step(1 + given.size()));
    const bool passes =
        test ? HEDDLE_TRY(call.interpreter.test(test->text(), part, {given, call.rest.byName}))
             : isTrue(part);
    if (passes == isWanted)
      kept.push_back(item);
  }
  return made(call, Kind::Iterator, std::move(kept));
}

Expected<Value> select(Call &call) { return chosen(call, false, true); }
Expected<Value> reject(Call &call) { return chosen(call, false, false); }
Expected<Value> selectattr(Call &call) { return chosen(call, true, true); }
Expected<Value> rejectattr(Call &call) { return chosen(call, true, false); }

Expected<Value> mapByAttribute(Call &call, const Value &attribute) {
  std::optional<Value> otherwise;
  for (const auto &[name, value] : call.rest.byName)
    if (name == "default")
      otherwise = value;
    else if (name != "attribute")
      return inputError("map: expected attribute and default, found " + quotedText(name));
  if (otherwise && otherwise->isNone())
    otherwise.reset();
  Values parts;
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  for (const Value &item : items)
    parts.push_back(HEDDLE_TRY(partOf(call, item, attribute, otherwise)));
  return made(call, Kind::Iterator, std::move(parts));
}

Expected<Value> map(Call &call) {
  if (!isTrue(call.self))
    return made(call, Kind::Iterator, {});
  Values given = call.rest.byPlace;
  if (given.empty()) {
    for (const auto &[name, value] : call.rest.byName)
      if (name == "attribute")
        return mapByAttribute(call, value);
    return inputError("map: expected a filter or attribute=, found none");
  }
  const Value filter = given.front();
  given.erase(given.begin());
  if (!filter.isText())
    return call.error("the name of a filter", filter);
  Values results;
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  for (const Value &item : items) {
    HEDDLE_TRY(call.budget.step(1 + given.size()));
    results.push_back(
        HEDDLE_TRY(call.interpreter.filter(filter.text(), item, {given, call.rest.byName})));
  }
  return made(call, Kind::Iterator, std::move(results));
}

//===- Sorting -------------------------------------------------------------===//

/// Sorts by keys, which are computed once. The order of equal elements is kept, in reverse too.
Expected<Values> sorted(Call &call, const Values &items, Values keys, bool isReversed) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::optional<Error> failure; // after the first error, no element precedes another
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (failure)
      return false;
    auto less = isLess(keys[isReversed ? b : a], keys[isReversed ? a : b], call.budget);
    if (!less)
      failure = less.takeError();
    return less && *less;
  });
  if (failure)
    return *failure;
  Values result;
  for (size_t place : order)
    result.push_back(items[place]);
  return result;
}

Expected<Value> sort(Call &call) {
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  const Value attribute = call.value(2);
  std::vector<Value> attributes = {attribute};
  if (attribute.isText()) {
    attributes.clear();
    for (std::string_view part : splitAt(attribute.text(), ",", -1, false))
      attributes.push_back(Value::text(std::string(part)));
  }
  Values keys;
  for (const Value &item : items) {
    Values parts;
    for (const Value &part : attributes)
      parts.push_back(
          HEDDLE_TRY(withoutCase(call, HEDDLE_TRY(partOf(call, item, part)), call.flag(1))));
    keys.push_back(HEDDLE_TRY(made(call, Kind::List, std::move(parts))));
  }
  return made(call, Kind::List, HEDDLE_TRY(sorted(call, items, std::move(keys), call.flag(0))));
}

Expected<Value> dictsort(Call &call) {
  if (!call.self.is(Kind::Dict))
    return call.error("a mapping", call.self);
  const std::string by = HEDDLE_TRY(call.text(1, "key"));
  if (by != "key" && by != "value")
    return inputError("dictsort: expected key or value, found " + quotedText(by));
  Values pairs, keys;
  for (const auto &[key, value] : call.self.entries()) {
    pairs.push_back(HEDDLE_TRY(made(call, Kind::Tuple, {key, value})));
    keys.push_back(HEDDLE_TRY(withoutCase(call, by == "key" ? key : value, call.flag(0))));
  }
  return made(call, Kind::List, HEDDLE_TRY(sorted(call, pairs, std::move(keys), call.flag(2))));
}

/// The key that `unique`, `min` and `max` compare.
Expected<Value> keyOf(Call &call, const Value &item) {
  return withoutCase(call, HEDDLE_TRY(partOf(call, item, call.value(1))), call.flag(0));
}

Expected<Value> unique(Call &call) {
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  Values kept, seen;
  for (const Value &item : items) {
    Value key = HEDDLE_TRY(keyOf(call, item));
    HEDDLE_TRY(checkKey(key));
    bool isNew = true;
    for (const Value &other : seen)
      isNew = isNew && !HEDDLE_TRY(areEqual(key, other, call.budget));
    if (isNew) {
      seen.push_back(std::move(key));
      kept.push_back(item);
    }
  }
  return made(call, Kind::Iterator, std::move(kept));
}

Expected<Value> extreme(Call &call, bool isLeast) {
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  std::optional<Value> best, bestKey;
  for (const Value &item : items) {
    const Value key = HEDDLE_TRY(keyOf(call, item));
    if (bestKey &&
        !HEDDLE_TRY(isLess(isLeast ? key : *bestKey, isLeast ? *bestKey : key, call.budget)))
      continue;
    best = item;
    bestKey = key;
  }
  return best.value_or(Value::undefined("the best of no elements"));
}

Expected<Value> least(Call &call) { return extreme(call, true); }
Expected<Value> most(Call &call) { return extreme(call, false); }

Expected<Value> sum(Call &call) {
  Value total = call.value(1, Value(int64_t{0}));
  const Values items = HEDDLE_TRY(elementsOf(call.self, call.budget));
  for (const Value &item : items)
    total = HEDDLE_TRY(
        arithmetic("+", total, HEDDLE_TRY(partOf(call, item, call.value(0))), call.budget));
  return total;
}

constexpr Function table[] = {
    {"length", "", length},
    {"count", "", length},
    {"first", "", first},
    {"last", "", last},
    {"list", "", list},
    {"reverse", "", reverse},
    {"items", "", items},
    {"attr", "name", attr},
    {"join", "d= attribute=", join},
    {"select", "*", select},
    {"reject", "*", reject},
    {"selectattr", "*", selectattr},
    {"rejectattr", "*", rejectattr},
    {"map", "*", map},
    {"sort", "reverse= case_sensitive= attribute=", sort},
    {"dictsort", "case_sensitive= by= reverse=", dictsort},
    {"unique", "case_sensitive= attribute=", unique},
    {"min", "case_sensitive= attribute=", least},
    {"max", "case_sensitive= attribute=", most},
    {"sum", "attribute= start=", sum},
};

} // namespace

std::span<const Function> listFilters() { return table; }

} // namespace heddle::templates
