//===- Globals.cpp - Global functions -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global functions: range, dict, namespace and others.
#include "Interpreter.h"
#include "heddle/Templates/Strings.h"

namespace heddle::templates {

namespace {

Expected<Value> range(Call &call) {
  constexpr uint64_t longest = 100'000; // limit of Jinja's sandbox
  const Values &given = call.rest.byPlace;
  if (given.empty() || given.size() > 3 || !call.rest.byName.empty())
    return inputError("range: expected one to three whole numbers, found " +
                      std::to_string(given.size() + call.rest.byName.size()));
  for (const Value &bound : given)
    if (!bound.isWhole())
      return call.error("whole numbers", bound);
  const int64_t first = given.size() > 1 ? given[0].integer() : 0;
  const int64_t end = given[given.size() > 1 ? 1 : 0].integer();
  const int64_t step = given.size() > 2 ? given[2].integer() : 1;
  if (step == 0)
    return inputError("range: expected a step other than 0, found 0");
  const bool isUp = step > 0;
  uint64_t count = 0;
  if (isUp ? first < end : first > end) {
    const uint64_t distance = isUp ? static_cast<uint64_t>(end) - static_cast<uint64_t>(first)
                                   : static_cast<uint64_t>(first) - static_cast<uint64_t>(end);
    const uint64_t size = isUp ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    count = (distance - 1) / size + 1;
  }
  if (count > longest)
    return inputError("range: expected at most " + std::to_string(longest) + " numbers, found " +
                      std::to_string(count));
  Values numbers;
  for (uint64_t i = 0; i < count; ++i)
    numbers.emplace_back(
        static_cast<int64_t>(static_cast<uint64_t>(first) + i * static_cast<uint64_t>(step)));
  std::string shown = "range(" + std::to_string(first) + ", " + std::to_string(end);
  shown += step == 1 ? ")" : ", " + std::to_string(step) + ")";
  return Value::sequence(Kind::Range, std::move(numbers), call.budget, std::move(shown));
}

/// Entries of a mapping or of a list of pairs, and of arguments by name.
Expected<std::vector<std::pair<Value, Value>>> givenEntries(Call &call) {
  std::vector<std::pair<Value, Value>> entries;
  if (call.rest.byPlace.size() > 1)
    return call.error("at most one argument without a name", call.rest.byPlace[1]);
  if (call.rest.byPlace.size() == 1 && call.rest.byPlace[0].is(Kind::Dict)) {
    entries = call.rest.byPlace[0].entries();
    HEDDLE_TRY(call.budget.step(entries.size()));
  } else if (call.rest.byPlace.size() == 1) {
    const Values pairs = HEDDLE_TRY(elementsOf(call.rest.byPlace[0], call.budget));
    for (const Value &pair : pairs) {
      Values both = HEDDLE_TRY(elementsOf(pair, call.budget));
      if (both.size() != 2)
        return call.error("pairs of a key and a value", pair);
      HEDDLE_TRY(setEntry(entries, std::move(both[0]), std::move(both[1]), call.budget));
    }
  }
  for (const auto &[name, value] : call.rest.byName)
    HEDDLE_TRY(setEntry(entries, Value::text(name), value, call.budget));
  return entries;
}

Expected<Value> dict(Call &call) {
  return Value::dict(HEDDLE_TRY(givenEntries(call)), call.budget);
}

Expected<Value> makeNamespace(Call &call) {
  std::vector<std::pair<std::string, Value>> attributes;
  auto entries = HEDDLE_TRY(givenEntries(call));
  for (auto &[key, value] : entries) {
    if (!key.isText())
      return call.error("strings as names", key);
    attributes.emplace_back(key.text(), std::move(value));
  }
  return call.interpreter.makeNamespace(std::move(attributes));
}

/// raise_exception: the template rejects its input.
Expected<Value> raise(Call &call) {
  constexpr size_t most = 200; // a sentence for the user
  const std::string text = HEDDLE_TRY(textOf(call.value(0), call.budget));
  return inputError("expected what the template takes, found: " + printable(shortened(text, most)));
}

Expected<Value> strftimeNow(Call &call) {
  const std::string form = HEDDLE_TRY(call.text(0));
  char buffer[1024];
  const size_t size =
      form.empty() || form.size() > sizeof buffer || form.find('\0') != form.npos
          ? 0
          : std::strftime(buffer, sizeof buffer, form.c_str(), &call.interpreter.now());
  if (size == 0 && !form.empty())
    return inputError("strftime_now: expected the format of a time, found " + quotedText(form));
  HEDDLE_TRY(checkText({buffer, size}));
  return Value::text(std::string(buffer, size));
}

constexpr Function table[] = {
    {"range", "*", range},
    {"dict", "*", dict},
    {"namespace", "*", makeNamespace},
    {"raise_exception", "message", raise},
    {"strftime_now", "format", strftimeNow},
    {"cycler", "", nullptr},
    {"joiner", "", nullptr},
    {"lipsum", "", nullptr},
};

} // namespace

std::span<const Function> globals() { return table; }

} // namespace heddle::templates
