//===- TextFilters.cpp - Filters for texts and numbers --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Filters for texts and numbers.
#include "Functions.h"
#include "heddle/Templates/Strings.h"

#include "heddle/Support/Svg.h"

#include <charconv>
#include <cmath>

namespace heddle::templates {

namespace {

Expected<Value> ofText(Call &call, std::string (*change)(std::string_view)) {
  const std::string text = HEDDLE_TRY(textOf(call.self, call.budget));
  HEDDLE_TRY(call.budget.allocate(6 * text.size()));
  return madeOf(call.self, change(text), call.budget);
}

Expected<Value> upper(Call &call) { return ofText(call, upperText); }
Expected<Value> lower(Call &call) { return ofText(call, lowerText); }
Expected<Value> title(Call &call) { return ofText(call, titleWords); }
Expected<Value> capitalize(Call &call) { return ofText(call, capitalText); }
Expected<Value> escape(Call &call) { return ofText(call, escapedHtml); }

Expected<Value> string(Call &call) { return textValueOf(call.self, call.budget); }

Expected<Value> trim(Call &call) {
  const Value whole = HEDDLE_TRY(textValueOf(call.self, call.budget));
  const std::string_view text = whole.text();
  if (!call.has(0))
    return partOfText(whole, stripEnd(stripStart(text)));
  const std::string characters = HEDDLE_TRY(call.text(0));
  HEDDLE_TRY(call.budget.step(text.size() / 16 * (characters.size() / 16 + 1)));
  return partOfText(whole, stripEnd(stripStart(text, characters), characters));
}

Expected<Value> replace(Call &call) {
  const Value text = HEDDLE_TRY(textValueOf(call.self, call.budget));
  const std::string old = HEDDLE_TRY(textOf(call.value(0), call.budget));
  const Value with = HEDDLE_TRY(textValueOf(call.value(1), call.budget));
  return replacedText(text, old, with, HEDDLE_TRY(call.integer(2, -1)), call.budget);
}

Expected<Value> indent(Call &call) {
  if (!call.self.isText())
    return call.error("a string", call.self);
  std::string blanks(4, ' ');
  if (call.has(0) && call.value(0).isText()) {
    blanks = call.value(0).text();
  } else {
    const int64_t width = HEDDLE_TRY(call.integer(0, 4));
    HEDDLE_TRY(call.budget.allocate(static_cast<size_t>(std::max<int64_t>(width, 0))));
    blanks.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool first = call.flag(1), blank = call.flag(2);
  // As in Jinja, a newline at the end does not begin a line.
  const std::string text = call.self.text() + "\n";
  const std::vector<std::string_view> lines = linesOf(text);
  HEDDLE_TRY(call.budget.allocate(text.size() + lines.size() * (blanks.size() + 1)));
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool isIndented = i == 0 ? first : blank || !lines[i].empty();
    result += (i > 0 ? "\n" : "") + (isIndented ? blanks : "") + std::string(lines[i]);
  }
  return madeOf(call.self, std::move(result), call.budget);
}

Expected<Value> format(Call &call) {
  Values values = call.rest.byPlace;
  if (!call.rest.byName.empty()) {
    if (!values.empty())
      return inputError("format: expected values by place or by name, found both");
    std::vector<std::pair<Value, Value>> entries;
    for (const auto &[name, value] : call.rest.byName)
      entries.emplace_back(Value::text(name), value);
    values.push_back(HEDDLE_TRY(Value::dict(std::move(entries), call.budget)));
  }
  return formatText(HEDDLE_TRY(textValueOf(call.self, call.budget)), values, call.budget);
}

} // namespace

Expected<Value> replacedText(const Value &text, const std::string &old, const Value &with,
                             int64_t most, Budget &budget) {
  // Each replacement may also split a given part in two.
  const size_t each = bytesOf(with) + (text.given().empty() ? 0 : sizeof(TokenSpan));
  HEDDLE_TRY(budget.allocate(bytesOf(text) - text.text().size()));
  HEDDLE_TRY(budget.allocate(replacedSize(text.text(), old, each, most)));
  TextBuilder result;
  replaceIn(
      text.text(), old, most, [&](std::string_view part) { result.addPart(text, part); },
      [&] { result.add(with); });
  return std::move(result).value();
}

namespace {

//===- Numbers -------------------------------------------------------------===//

/// Digits in Python's notation: surrounding blanks, single _ between digits. None: not a number.
std::optional<std::string> plainDigits(std::string_view text) {
  text = stripEnd(stripStart(text));
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i + 1] != '_';
    if (text[i] == '_' && !between)
      return std::nullopt;
    if (text[i] != '_')
      digits += text[i];
  }
  return digits;
}

std::optional<double> parsedReal(std::string_view text) {
  std::optional<std::string> digits = plainDigits(text);
  if (!digits)
    return std::nullopt;
  std::string_view rest = *digits;
  if (rest.starts_with('+') && !rest.starts_with("+-"))
    rest.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (rest.empty() || read.ptr != rest.data() + rest.size() || rest.find('(') != rest.npos)
    return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    const bool isSmall = rest.find("e-") != rest.npos || rest.find("E-") != rest.npos;
    return std::copysign(isSmall ? 0.0 : INFINITY, rest.starts_with('-') ? -1.0 : 1.0);
  }
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

Expected<std::optional<int64_t>> parsedWhole(std::string_view text, int base) {
  std::optional<std::string> digits = plainDigits(text);
  if (!digits || digits->empty())
    return std::optional<int64_t>();
  std::string_view rest = *digits;
  const bool isNegative = rest[0] == '-';
  if (isNegative || rest[0] == '+')
    rest.remove_prefix(1);
  const char letter = rest.size() > 2 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : ' ';
  const int named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (named > 0 && (base == named || base == 0))
    rest.remove_prefix(2);
  if (base == 0)
    base = named > 0 ? named : 10;
  if (rest.empty() || rest[0] == '-')
    return std::optional<int64_t>();
  const std::string number = (isNegative ? "-" : "") + std::string(rest);
  int64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (read.ptr != number.data() + number.size() || read.ec == std::errc::invalid_argument)
    return std::optional<int64_t>();
  if (read.ec == std::errc::result_out_of_range)
    return inputError("int: expected whole numbers of 64 bits, found " + quotedText(text));
  return std::optional(value);
}

Expected<Value> truncated(double value) {
  if (std::abs(value) >= 9.2e18)
    return inputError("int: expected whole numbers of 64 bits, found " + realText(value));
  return Value(static_cast<int64_t>(value));
}

Expected<Value> toInteger(Call &call) {
  const Value otherwise = call.value(0, Value(int64_t{0}));
  const int64_t base = HEDDLE_TRY(call.integer(1, 10));
  if (base != 0 && (base < 2 || base > 36))
    return call.error("a base from 2 to 36", call.value(1));
  if (call.self.isUndefined())
    return call.error("a value", call.self);
  if (call.self.isWhole())
    return Value(call.self.integer());
  if (call.self.isText()) {
    HEDDLE_TRY(call.budget.step(call.self.text().size() / 16));
    const auto whole = HEDDLE_TRY(parsedWhole(call.self.text(), static_cast<int>(base)));
    if (whole)
      return Value(*whole);
    const std::optional<double> real = parsedReal(call.self.text());
    return real && std::isfinite(*real) ? truncated(*real) : Expected<Value>(otherwise);
  }
  if (!call.self.is(Kind::Float) || std::isnan(call.self.real()))
    return otherwise;
  return truncated(call.self.real());
}

Expected<Value> toReal(Call &call) {
  const Value otherwise = call.value(0, Value(0.0));
  if (call.self.isUndefined())
    return call.error("a value", call.self);
  if (call.self.isNumber())
    return Value(call.self.real());
  if (!call.self.isText())
    return otherwise;
  HEDDLE_TRY(call.budget.step(call.self.text().size() / 16));
  const std::optional<double> real = parsedReal(call.self.text());
  return real ? Value(*real) : otherwise;
}

Expected<Value> absolute(Call &call) {
  if (!call.self.isNumber())
    return call.error("a number", call.self);
  if (call.self.is(Kind::Float))
    return Value(std::abs(call.self.real()));
  return call.self.integer() < 0 ? arithmetic("-", Value(int64_t{0}), call.self, call.budget)
                                 : Expected<Value>(Value(call.self.integer()));
}

Expected<Value> roundTo(Call &call) {
  if (!call.self.isNumber())
    return call.error("a number", call.self);
  const int64_t places = HEDDLE_TRY(call.integer(0, 0));
  const std::string method = HEDDLE_TRY(call.text(1, "common"));
  if (method == "common") {
    if (call.self.isWhole() && places >= 0)
      return Value(call.self.integer());
    const double value = rounded(call.self.real(), places);
    return call.self.isWhole() ? truncated(value) : Expected<Value>(Value(value));
  }
  if (method != "ceil" && method != "floor")
    return inputError("round: expected common, ceil or floor, found " + quotedText(method));
  const double unit = std::pow(10.0, static_cast<double>(places)), scaled = call.self.real() * unit;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value(whole / unit + 0.0);
}

//===- Any value -----------------------------------------------------------===//

Expected<Value> otherwiseValue(Call &call) {
  const bool isMissing = call.self.isUndefined() || (call.flag(1) && !isTrue(call.self));
  return isMissing ? call.value(0, Value::text("")) : call.self;
}

Expected<Value> toJson(Call &call) {
  JsonStyle style;
  style.ascii = call.flag(0);
  style.sorted = call.flag(3);
  if (call.has(1) && call.value(1).isText()) {
    style.indent = call.value(1).text();
  } else if (call.has(1)) {
    const int64_t width = std::max<int64_t>(0, HEDDLE_TRY(call.integer(1)));
    HEDDLE_TRY(call.budget.allocate(static_cast<size_t>(width)));
    style.indent = std::string(static_cast<size_t>(width), ' ');
  }
  if (style.indent)
    style.comma = ",";
  if (call.has(2)) {
    const Value separators = call.value(2);
    if (!separators.isIndexed() || separators.items().size() != 2 ||
        !separators.items()[0].isText() || !separators.items()[1].isText())
      return call.error("two strings as separators", separators);
    style.comma = separators.items()[0].text();
    style.colon = separators.items()[1].text();
  }
  return madeOf(call.self, HEDDLE_TRY(jsonText(call.self, style, call.budget)), call.budget);
}

constexpr Function table[] = {
    {"upper", "", upper},
    {"lower", "", lower},
    {"title", "", title},
    {"capitalize", "", capitalize},
    {"string", "", string},
    {"safe", "", string}, // nothing is escaped automatically
    {"escape", "", escape},
    {"e", "", escape},
    {"trim", "chars=", trim},
    {"replace", "old new count=", replace},
    {"indent", "width= first= blank=", indent},
    {"format", "*", format},
    {"int", "default= base=", toInteger},
    {"float", "default=", toReal},
    {"abs", "", absolute},
    {"round", "precision= method=", roundTo},
    {"default", "default_value= boolean=", otherwiseValue},
    {"d", "default_value= boolean=", otherwiseValue},
    {"tojson", "ensure_ascii= indent= separators= sort_keys=", toJson},
};

} // namespace

std::span<const Function> textFilters() { return table; }

} // namespace heddle::templates
