//===- Methods.cpp - Methods of texts, lists, mappings, loops ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of texts, lists, dictionaries and loops. Values are immutable: methods that would change
// their object are rows that report an error.
#include "Interpreter.h"
#include "heddle/Templates/Strings.h"

namespace heddle::templates {

namespace {

//===- Texts ---------------------------------------------------------------===//

Expected<Value> changed(Call &call, std::string (*change)(std::string_view)) {
  HEDDLE_TRY(call.budget.allocate(3 * call.self.text().size()));
  return madeOf(call.self, change(call.self.text()), call.budget);
}

Expected<Value> upper(Call &call) { return changed(call, upperText); }
Expected<Value> lower(Call &call) { return changed(call, lowerText); }
Expected<Value> title(Call &call) { return changed(call, titleText); }
Expected<Value> capitalize(Call &call) { return changed(call, capitalText); }

Expected<Value> stripped(Call &call, bool atStart, bool atEnd) {
  std::string_view text = call.self.text();
  if (!call.has(0)) {
    text = atStart ? stripStart(text) : text;
    return partOfText(call.self, atEnd ? stripEnd(text) : text);
  }
  const std::string characters = HEDDLE_TRY(call.text(0));
  HEDDLE_TRY(call.budget.step((text.size() + characters.size()) / 16));
  text = atStart ? stripStart(text, characters) : text;
  return partOfText(call.self, atEnd ? stripEnd(text, characters) : text);
}

Expected<Value> strip(Call &call) { return stripped(call, true, true); }
Expected<Value> lstrip(Call &call) { return stripped(call, true, false); }
Expected<Value> rstrip(Call &call) { return stripped(call, false, true); }

/// A sequence of parts of the text.
Expected<Value> texts(Call &call, Kind kind, const std::vector<std::string_view> &pieces) {
  HEDDLE_TRY(call.budget.allocate(call.self.text().size() + 48 * pieces.size()));
  Values items;
  for (std::string_view piece : pieces)
    items.push_back(partOfText(call.self, piece));
  return Value::sequence(kind, std::move(items), call.budget);
}

Error emptySeparator(const Call &call) {
  return inputError(std::string(call.function.name) + ": expected a separator, found an empty one");
}

Expected<Value> splitFrom(Call &call, bool fromEnd) {
  const int64_t most = HEDDLE_TRY(call.integer(1, -1));
  // Each piece may be a single byte.
  HEDDLE_TRY(call.budget.allocate(16 * call.self.text().size()));
  if (!call.has(0))
    return texts(call, Kind::List, splitBlanks(call.self.text(), most, fromEnd));
  const std::string separator = HEDDLE_TRY(call.text(0));
  if (separator.empty())
    return emptySeparator(call);
  return texts(call, Kind::List, splitAt(call.self.text(), separator, most, fromEnd));
}

Expected<Value> split(Call &call) { return splitFrom(call, false); }
Expected<Value> rsplit(Call &call) { return splitFrom(call, true); }
Expected<Value> splitlines(Call &call) {
  HEDDLE_TRY(call.budget.allocate(16 * call.self.text().size()));
  return texts(call, Kind::List, linesOf(call.self.text()));
}

Expected<Value> partitioned(Call &call, bool fromEnd) {
  const std::string &text = call.self.text();
  const std::string separator = HEDDLE_TRY(call.text(0));
  if (separator.empty())
    return emptySeparator(call);
  const size_t at = fromEnd ? lastPlaceOf(text, separator) : placeOf(text, separator);
  const std::string_view view = text;
  if (at == text.npos)
    return texts(call, Kind::Tuple,
                 fromEnd ? std::vector<std::string_view>{"", "", view}
                         : std::vector<std::string_view>{view, "", ""});
  return texts(
      call, Kind::Tuple,
      {view.substr(0, at), view.substr(at, separator.size()), view.substr(at + separator.size())});
}

Expected<Value> partition(Call &call) { return partitioned(call, false); }
Expected<Value> rpartition(Call &call) { return partitioned(call, true); }

/// Whether the text begins or ends with the argument, or with an element of a tuple.
Expected<Value> hasEdge(Call &call, bool atEnd) {
  const Value wanted = call.value(0);
  const Values choices = wanted.is(Kind::Tuple) ? wanted.items() : Values{wanted};
  HEDDLE_TRY(call.budget.step(choices.size()));
  for (const Value &choice : choices) {
    if (!choice.isText())
      return call.error("a string or a tuple of strings", choice);
    if (atEnd ? call.self.text().ends_with(choice.text())
              : call.self.text().starts_with(choice.text()))
      return Value(true);
  }
  return Value(false);
}

Expected<Value> startswith(Call &call) { return hasEdge(call, false); }
Expected<Value> endswith(Call &call) { return hasEdge(call, true); }

Expected<Value> removeprefix(Call &call) {
  const std::string prefix = HEDDLE_TRY(call.text(0));
  const std::string_view text = call.self.text();
  return partOfText(call.self, text.substr(text.starts_with(prefix) ? prefix.size() : 0));
}
Expected<Value> removesuffix(Call &call) {
  const std::string suffix = HEDDLE_TRY(call.text(0));
  const std::string_view text = call.self.text();
  return partOfText(call.self,
                    text.substr(0, text.size() - (text.ends_with(suffix) ? suffix.size() : 0)));
}

Expected<Value> replace(Call &call) {
  const std::string old = HEDDLE_TRY(call.text(0));
  HEDDLE_TRY(call.text(1));
  return replacedText(call.self, old, call.value(1), HEDDLE_TRY(call.integer(2, -1)), call.budget);
}

/// Index of the first occurrence in code points; -1: none.
Expected<int64_t> pointOf(Call &call, bool fromEnd) {
  const std::string wanted = HEDDLE_TRY(call.text(0));
  const std::string_view text = call.self.text();
  const size_t at = fromEnd ? lastPlaceOf(text, wanted) : placeOf(text, wanted);
  return at == text.npos ? -1 : static_cast<int64_t>(lengthOf(text.substr(0, at)));
}

Expected<Value> find(Call &call) { return Value(HEDDLE_TRY(pointOf(call, false))); }
Expected<Value> rfind(Call &call) { return Value(HEDDLE_TRY(pointOf(call, true))); }
Expected<Value> textIndex(Call &call) {
  const int64_t place = HEDDLE_TRY(pointOf(call, false));
  if (place < 0)
    return inputError("index: expected a part of the text, found " +
                      quotedText(call.value(0).text()));
  return Value(place);
}
Expected<Value> textCount(Call &call) {
  const std::string wanted = HEDDLE_TRY(call.text(0));
  if (wanted.empty())
    return Value(static_cast<int64_t>(lengthOf(call.self.text())) + 1);
  return Value(static_cast<int64_t>(splitAt(call.self.text(), wanted, -1, false).size()) - 1);
}

Expected<Value> join(Call &call) {
  const Values items = HEDDLE_TRY(elementsOf(call.value(0), call.budget));
  TextBuilder text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].isText())
      return call.error("strings", items[i]);
    HEDDLE_TRY(call.budget.allocate(bytesOf(items[i]) + bytesOf(call.self)));
    if (i > 0)
      text.add(call.self);
    text.add(items[i]);
  }
  return std::move(text).value();
}

template <bool (*holds)(char32_t)>
Expected<Value> consistsOf(Call &call) {
  return Value(isAll(call.self.text(), holds));
}
Expected<Value> isupper(Call &call) { return Value(isUpperText(call.self.text())); }
Expected<Value> islower(Call &call) { return Value(isLowerText(call.self.text())); }

/// str.format with fields {}, {0} and {name}.
Expected<Value> format(Call &call) {
  const std::string &form = call.self.text();
  TextBuilder text;
  size_t next = 0;
  for (size_t at = 0; at < form.size(); ++at) {
    const char c = form[at];
    const bool doubled = at + 1 < form.size() && form[at + 1] == c;
    if ((c != '{' && c != '}') || doubled) {
      text.addPart(call.self, std::string_view(form).substr(at, 1));
      at += (c == '{' || c == '}') ? 1 : 0;
      continue;
    }
    const size_t end = c == '{' ? form.find('}', at) : form.npos;
    if (end == form.npos)
      return inputError("format: expected a field in braces, found a single brace");
    const std::string field = form.substr(at + 1, end - at - 1);
    std::optional<Value> value;
    const bool isNumber =
        !field.empty() && field.size() < 6 && field.find_first_not_of("0123456789") == field.npos;
    const size_t place = isNumber ? std::stoul(field) : field.empty() ? next++ : SIZE_MAX;
    if (place < call.rest.byPlace.size())
      value = call.rest.byPlace[place];
    for (const auto &[name, named] : call.rest.byName)
      if (place == SIZE_MAX && name == field)
        value = named;
    if (!value)
      return inputError(
          "format: expected a field that is a number or a name that was given, found " +
          quotedText(field));
    text.add(HEDDLE_TRY(textValueOf(*value, call.budget)));
    at = end;
  }
  HEDDLE_TRY(call.budget.allocate(text.text().size()));
  return std::move(text).value();
}

constexpr Function ofTexts[] = {
    {"upper", "", upper},
    {"lower", "", lower},
    {"title", "", title},
    {"capitalize", "", capitalize},
    {"strip", "chars=", strip},
    {"lstrip", "chars=", lstrip},
    {"rstrip", "chars=", rstrip},
    {"split", "sep= maxsplit=", split},
    {"rsplit", "sep= maxsplit=", rsplit},
    {"splitlines", "", splitlines},
    {"partition", "sep", partition},
    {"rpartition", "sep", rpartition},
    {"startswith", "prefix", startswith},
    {"endswith", "suffix", endswith},
    {"removeprefix", "prefix", removeprefix},
    {"removesuffix", "suffix", removesuffix},
    {"replace", "old new count=", replace},
    {"find", "sub", find},
    {"rfind", "sub", rfind},
    {"index", "sub", textIndex},
    {"count", "sub", textCount},
    {"join", "iterable", join},
    {"format", "*", format},
    {"isupper", "", isupper},
    {"islower", "", islower},
    {"isdigit", "", consistsOf<isDigit>},
    {"isnumeric", "", consistsOf<isNumeric>},
    {"isalpha", "", consistsOf<isLetter>},
    {"isalnum", "", consistsOf<isLetterOrNumber>},
    {"isspace", "", consistsOf<isBlank>},
};

//===- Lists and mappings --------------------------------------------------===//

Expected<Value> listIndex(Call &call) {
  for (size_t i = 0; i < call.self.items().size(); ++i)
    if (HEDDLE_TRY(areEqual(call.self.items()[i], call.value(0), call.budget)))
      return Value(static_cast<int64_t>(i));
  return inputError("index: expected an element of the list, found " + describe(call.value(0)));
}
Expected<Value> listCount(Call &call) {
  int64_t count = 0;
  for (const Value &item : call.self.items())
    count += HEDDLE_TRY(areEqual(item, call.value(0), call.budget)) ? 1 : 0;
  return Value(count);
}
Expected<Value> self(Call &call) { return call.self; }

constexpr const char *changes = "which changes its list or mapping: templates may not";

constexpr Function ofLists[] = {
    {"index", "value", listIndex},
    {"count", "value", listCount},
    {"copy", "", self},
    {"append", "", nullptr, changes},
    {"extend", "", nullptr, changes},
    {"insert", "", nullptr, changes},
    {"pop", "", nullptr, changes},
    {"remove", "", nullptr, changes},
    {"reverse", "", nullptr, changes},
    {"sort", "", nullptr, changes},
    {"clear", "", nullptr, changes},
};

Expected<Value> keys(Call &call) {
  return Value::sequence(Kind::View, HEDDLE_TRY(elementsOf(call.self, call.budget)), call.budget,
                         "dict_keys");
}
Expected<Value> values(Call &call) {
  Values found;
  for (const auto &[key, value] : call.self.entries())
    found.push_back(value);
  return Value::sequence(Kind::View, std::move(found), call.budget, "dict_values");
}
Expected<Value> items(Call &call) {
  Values pairs;
  for (const auto &[key, value] : call.self.entries())
    pairs.push_back(HEDDLE_TRY(Value::sequence(Kind::Tuple, {key, value}, call.budget)));
  return Value::sequence(Kind::View, std::move(pairs), call.budget, "dict_items");
}
Expected<Value> get(Call &call) {
  const Value *found = HEDDLE_TRY(findKey(call.self, call.value(0), call.budget));
  return found ? *found : call.value(1);
}

constexpr Function ofDicts[] = {
    {"keys", "", keys},
    {"values", "", values},
    {"items", "", items},
    {"get", "key default=", get},
    {"copy", "", self},
    {"pop", "", nullptr, changes},
    {"popitem", "", nullptr, changes},
    {"setdefault", "", nullptr, changes},
    {"update", "", nullptr, changes},
    {"clear", "", nullptr, changes},
};

//===- Loops ---------------------------------------------------------------===//

Expected<Value> cycle(Call &call) {
  if (call.rest.byPlace.empty())
    return inputError("cycle: expected values, found none");
  return call.rest.byPlace[call.self.as<LoopObject>().index % call.rest.byPlace.size()];
}
Expected<Value> hasChanged(Call &call) {
  auto &loop = call.self.as<LoopObject>();
  const Values &now = call.rest.byPlace;
  bool isSame = loop.lastSeen && loop.lastSeen->size() == now.size();
  for (size_t i = 0; isSame && i < now.size(); ++i)
    isSame = HEDDLE_TRY(areEqual(now[i], (*loop.lastSeen)[i], call.budget));
  loop.lastSeen = now;
  return Value(!isSame);
}

constexpr Function ofLoops[] = {
    {"cycle", "*", cycle},
    {"changed", "*", hasChanged},
};

} // namespace

std::span<const Function> textMethods() { return ofTexts; }
std::span<const Function> listMethods() { return ofLists; }
/// Read-only list methods; tuples have only these.
std::span<const Function> tupleMethods() { return std::span(ofLists).first(2); }
std::span<const Function> dictMethods() { return ofDicts; }
std::span<const Function> loopMethods() { return ofLoops; }

} // namespace heddle::templates
