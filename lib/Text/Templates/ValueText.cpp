//===- ValueText.cpp - Conversion of values to text -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's str, repr and json.dumps. Values are nested at most a hundred levels deep. Every element
// is charged to the budget: equal lists in one list may make an exponentially long text.
#include "Value.h"
#include "heddle/Templates/Strings.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace heddle::templates {

//===- Numbers -------------------------------------------------------------===//

/// The shortest digits that parse to the same number; with an exponent below 1e-4 and from 1e16 on.
std::string realText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view scientific(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t mark = scientific.find('e');
  int exponent = 0;
  std::from_chars(buffer + mark + (scientific[mark + 1] == '+' ? 2 : 1), end.ptr, exponent);
  if (exponent < -4 || exponent >= 16)
    return std::string(scientific);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string text(buffer, fixed.ptr);
  return text.find('.') == text.npos ? text + ".0" : text;
}

namespace {

/// A growing text that is charged to the budget.
class PaidText {
public:
  explicit PaidText(Budget &budget) : budget(budget) {}
  std::string result;

protected:
  Status add(std::string_view text) {
    HEDDLE_TRY(budget.allocate(text.size()));
    HEDDLE_TRY(budget.step());
    result += text;
    return {};
  }
  Budget &budget;
};

//===- str and repr --------------------------------------------------------===//

class Shower : public PaidText {
public:
  using PaidText::PaidText;

  Status show(const Value &value) {
    constexpr int maxDepth = 250; // namespaces may contain themselves
    if (depth == maxDepth)
      return inputError("expected a value that does not hold itself, found one that does");
    ++depth;
    HEDDLE_TRY(showOne(value));
    --depth;
    return {};
  }

private:
  Status showOne(const Value &value) {
    switch (value.kind()) {
    case Kind::Undefined:
      return add("Undefined");
    case Kind::None:
      return add("None");
    case Kind::Boolean:
      return add(value.integer() != 0 ? "True" : "False");
    case Kind::Integer:
      return add(std::to_string(value.integer()));
    case Kind::Float:
      return add(realText(value.real()));
    case Kind::String:
      return add(pythonQuoted(value.text()));
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range:
    case Kind::View:
      return showSequence(value);
    case Kind::Dict:
      return showDict(value);
    case Kind::Namespace:
      return showNamespace(value.as<NamespaceObject>());
    default:
      return inputError(std::string("expected a value that has a text, found ") + describe(value) +
                        (value.is(Kind::Iterator) ? "; the filter list makes it a list" : ""));
    }
  }

  Status showSequence(const Value &value) {
    if (value.is(Kind::Range))
      return add(value.note());
    const bool isTuple = value.is(Kind::Tuple);
    HEDDLE_TRY(add(value.is(Kind::View) ? value.note() + "([" : isTuple ? "(" : "["));
    const char *before = "";
    for (const Value &item : value.items()) {
      HEDDLE_TRY(add(before));
      HEDDLE_TRY(show(item));
      before = ", ";
    }
    if (isTuple)
      return add(value.items().size() == 1 ? ",)" : ")");
    return add(value.is(Kind::View) ? "])" : "]");
  }

  Status showDict(const Value &value) {
    HEDDLE_TRY(add("{"));
    const char *before = "";
    for (const auto &[key, element] : value.entries()) {
      HEDDLE_TRY(add(before));
      HEDDLE_TRY(show(key));
      HEDDLE_TRY(add(": "));
      HEDDLE_TRY(show(element));
      before = ", ";
    }
    return add("}");
  }

  Status showNamespace(const NamespaceObject &space) {
    HEDDLE_TRY(add("<Namespace {"));
    const char *before = "";
    for (const std::string &name : space.order) {
      HEDDLE_TRY(add(before + pythonQuoted(name) + ": "));
      HEDDLE_TRY(show(space.attributes.at(name)));
      before = ", ";
    }
    return add("}>");
  }

  int depth = 0;
};

} // namespace

Expected<std::string> shownText(const Value &value, Budget &budget) {
  Shower shower(budget);
  HEDDLE_TRY(shower.show(value));
  return std::move(shower.result);
}

Expected<std::string> textOf(const Value &value, Budget &budget) {
  if (value.isUndefined())
    return std::string();
  if (!value.isText())
    return shownText(value, budget);
  HEDDLE_TRY(budget.allocate(value.text().size()));
  return value.text();
}

Expected<Value> textValueOf(const Value &value, Budget &budget) {
  if (!value.isText())
    return madeOf(value, HEDDLE_TRY(textOf(value, budget)), budget);
  HEDDLE_TRY(budget.allocate(bytesOf(value)));
  return value;
}

//===- JSON ----------------------------------------------------------------===//

namespace {

std::string jsonEscape(char32_t point) {
  switch (point) {
  case '"':
    return "\\\"";
  case '\\':
    return "\\\\";
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  case '\f':
    return "\\f";
  case '\b':
    return "\\b";
  default:
    break;
  }
  if (point < 0x10000)
    return formatted("\\u%04x", static_cast<unsigned>(point));
  const auto rest = static_cast<unsigned>(point) - 0x10000;
  return formatted("\\u%04x\\u%04x", 0xd800 | rest >> 10, 0xdc00 | (rest & 0x3ff));
}

std::string jsonString(std::string_view text, bool ascii) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t first = at;
    const char32_t point = tokenizers::nextPoint(text, at);
    if (point < 0x20 || point == '"' || point == '\\' || (ascii && point >= 0x7f))
      result += jsonEscape(point);
    else
      result += text.substr(first, at - first);
  }
  return result += '"';
}

std::string jsonNumber(const Value &value) {
  if (value.is(Kind::Boolean))
    return value.integer() != 0 ? "true" : "false";
  if (value.is(Kind::Integer))
    return std::to_string(value.integer());
  if (std::isnan(value.real()))
    return "NaN";
  if (std::isinf(value.real()))
    return value.real() < 0 ? "-Infinity" : "Infinity";
  return realText(value.real());
}

class JsonWriter : public PaidText {
public:
  JsonWriter(const JsonStyle &style, Budget &budget) : PaidText(budget), style(style) {}

  Status write(const Value &value) {
    if (value.isText())
      return add(jsonString(value.text(), style.ascii));
    if (value.isNumber())
      return add(jsonNumber(value));
    if (value.isNone())
      return add("null");
    if (value.is(Kind::List) || value.is(Kind::Tuple))
      return writeList(value);
    if (value.is(Kind::Dict))
      return writeDict(value);
    return inputError(std::string("expected a value that JSON has for tojson, found ") +
                      (value.isUndefined() ? value.note() : describe(value)));
  }

private:
  Status newLine() {
    if (!style.indent)
      return {};
    HEDDLE_TRY(add("\n"));
    for (int i = 0; i < depth; ++i)
      HEDDLE_TRY(add(*style.indent));
    return {};
  }

  Status writeList(const Value &value) {
    if (value.items().empty())
      return add("[]");
    HEDDLE_TRY(add("["));
    ++depth;
    for (const Value &item : value.items()) {
      HEDDLE_TRY(add(&item == value.items().data() ? "" : style.comma));
      HEDDLE_TRY(newLine());
      HEDDLE_TRY(write(item));
    }
    --depth;
    HEDDLE_TRY(newLine());
    return add("]");
  }

  Expected<std::string> keyText(const Value &key) const {
    if (key.isText())
      return key.text();
    if (key.isNone() || key.isNumber())
      return key.isNone() ? "null" : jsonNumber(key);
    return inputError(std::string("expected strings as keys for tojson, found ") + describe(key));
  }

  /// Indices of the entries in the order in which they are written.
  Expected<std::vector<size_t>> orderOf(const Value &value) {
    std::vector<size_t> order(value.entries().size());
    std::iota(order.begin(), order.end(), 0);
    if (!style.sorted)
      return order;
    for (const auto &[key, element] : value.entries())
      if (!key.isText())
        return inputError(std::string("expected strings as keys to sort, found ") + describe(key));
    HEDDLE_TRY(budget.step(8 * order.size()));
    std::ranges::stable_sort(order, {}, [&](size_t i) -> const std::string & {
      return value.entries()[i].first.text();
    });
    return order;
  }

  Status writeDict(const Value &value) {
    if (value.entries().empty())
      return add("{}");
    HEDDLE_TRY(add("{"));
    ++depth;
    const std::vector<size_t> order = HEDDLE_TRY(orderOf(value));
    for (size_t i = 0; i < order.size(); ++i) {
      const auto &[key, element] = value.entries()[order[i]];
      HEDDLE_TRY(add(i == 0 ? "" : style.comma));
      HEDDLE_TRY(newLine());
      HEDDLE_TRY(add(jsonString(HEDDLE_TRY(keyText(key)), style.ascii) + style.colon));
      HEDDLE_TRY(write(element));
    }
    --depth;
    HEDDLE_TRY(newLine());
    return add("}");
  }

  const JsonStyle &style;
  int depth = 0;
};

} // namespace

Expected<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget) {
  JsonWriter writer(style, budget);
  HEDDLE_TRY(writer.write(value));
  return std::move(writer.result);
}

} // namespace heddle::templates
