//===- Operators.cpp - Arithmetic operators -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators, as in Python: / always gives a float, // and % round down. Integers have 64 bits;
// overflow is an error, unlike in Python.
#include "Functions.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace heddle::templates {

namespace {

Error tooLarge() { return inputError("expected whole numbers of 64 bits, found a larger result"); }
Error zeroDivisor() { return inputError("expected a divisor other than 0, found 0"); }

/// `result` is a reference, because it is read after the operation that returns `overflows` has
/// written it.
Expected<Value> fitting(bool overflows, const int64_t &result) {
  return overflows ? Expected<Value>(tooLarge()) : Value(result);
}

Expected<Value> wholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      return tooLarge();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
      return tooLarge();
  }
  return Value(result);
}

Expected<Value> onWhole(std::string_view sign, int64_t a, int64_t b) {
  int64_t result = 0;
  if (sign == "+")
    return fitting(__builtin_add_overflow(a, b, &result), result);
  if (sign == "-")
    return fitting(__builtin_sub_overflow(a, b, &result), result);
  if (sign == "*")
    return fitting(__builtin_mul_overflow(a, b, &result), result);
  if (b == -1) // the quotient of the least integer does not fit
    return sign == "%" ? Expected<Value>(Value(int64_t{0}))
                       : fitting(__builtin_sub_overflow(0, a, &result), result);
  const int64_t rest = a % b;
  const bool isBelow = rest != 0 && (rest < 0) != (b < 0);
  return Value(sign == "%" ? rest + (isBelow ? b : 0) : a / b - (isBelow ? 1 : 0));
}

Expected<Value> realPower(double a, double b) {
  if (a == 0 && b < 0)
    return zeroDivisor();
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    return inputError("expected a power that is a real number, found one that is not");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    return inputError("expected a power in the range of f64, found a larger one");
  return Value(result);
}

Expected<Value> onReal(std::string_view sign, double a, double b) {
  if (sign == "+")
    return Value(a + b);
  if (sign == "-")
    return Value(a - b);
  if (sign == "*")
    return Value(a * b);
  if (sign == "/")
    return Value(a / b);
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0))
    rest += b;
  if (sign == "%")
    return Value(rest == 0 ? std::copysign(0.0, b) : rest);
  const double quotient = (a - rest) / b, down = std::floor(quotient);
  if (quotient == 0)
    return Value(std::copysign(0.0, a / b));
  return Value(quotient - down > 0.5 ? down + 1 : down);
}

Expected<Value> onNumbers(std::string_view sign, const Value &a, const Value &b) {
  const bool areWhole = a.isWhole() && b.isWhole();
  if (sign == "**") {
    if (areWhole && b.integer() >= 0)
      return wholePower(a.integer(), b.integer());
    return realPower(a.real(), b.real());
  }
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && b.real() == 0)
    return zeroDivisor();
  if (areWhole && sign == "/")
    return Value(static_cast<double>(static_cast<long double>(a.integer()) /
                                     static_cast<long double>(b.integer())));
  return areWhole ? onWhole(sign, a.integer(), b.integer()) : onReal(sign, a.real(), b.real());
}

Expected<Value> repeated(const Value &value, int64_t times, Budget &budget) {
  const size_t count = times > 0 ? static_cast<size_t>(times) : 0;
  const size_t size = value.isText() ? bytesOf(value) : 48 * value.items().size();
  size_t bytes = 0;
  if (__builtin_mul_overflow(size, count, &bytes))
    bytes = SIZE_MAX;
  HEDDLE_TRY(budget.allocate(bytes));
  if (value.isText()) {
    TextBuilder text;
    for (size_t i = 0; size > 0 && i < count; ++i)
      text.add(value);
    return std::move(text).value();
  }
  Values items;
  for (size_t i = 0; size > 0 && i < count; ++i)
    items.insert(items.end(), value.items().begin(), value.items().end());
  return Value::sequence(value.kind(), std::move(items), budget);
}

bool canRepeat(const Value &value) {
  return value.isText() || value.is(Kind::List) || value.is(Kind::Tuple);
}

Expected<Value> joined(const Value &a, const Value &b, Budget &budget) {
  if (a.isText()) {
    HEDDLE_TRY(budget.allocate(bytesOf(a) + bytesOf(b)));
    TextBuilder text;
    text.add(a);
    text.add(b);
    return std::move(text).value();
  }
  HEDDLE_TRY(budget.step(a.items().size() + b.items().size()));
  Values items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return Value::sequence(a.kind(), std::move(items), budget);
}

} // namespace

Expected<Value> arithmetic(std::string_view sign, const Value &a, const Value &b, Budget &budget) {
  if (a.isNumber() && b.isNumber())
    return onNumbers(sign, a, b);
  if (sign == "+" && a.kind() == b.kind() && canRepeat(a))
    return joined(a, b, budget);
  if (sign == "*" && canRepeat(a) && b.isWhole())
    return repeated(a, b.integer(), budget);
  if (sign == "*" && canRepeat(b) && a.isWhole())
    return repeated(b, a.integer(), budget);
  if (sign == "%" && a.isText()) {
    const Values values = b.is(Kind::Tuple) ? b.items() : Values{b};
    return formatText(a, values, budget);
  }
  return inputError("expected values that " + std::string(sign) + " takes, found " + describe(a) +
                    " and " + describe(b));
}

//===- Rounding ------------------------------------------------------------===//

double rounded(double value, int64_t places) {
  if (!std::isfinite(value) || places > 22)
    return value;
  if (places < -308)
    return 0 * value;
  if (places < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-places));
    return std::nearbyint(value / unit) * unit;
  }
  // Digits of the exact value, ties to even.
  const std::string digits = formatted("%.*f", static_cast<int>(places), value);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

//===- Formats -------------------------------------------------------------===//

namespace {

/// Format specifier without its letter: "%-5.2f".
struct Field {
  std::string flags;
  size_t width = 0;
  std::optional<size_t> precision;
};

class Formatter {
public:
  Formatter(const Value &whole, const Values &values, Budget &budget)
      : whole(whole), form(whole.text()), values(values), budget(budget) {}

  Expected<Value> run() {
    while (at < form.size()) {
      const size_t next = std::min(form.find('%', at), form.size());
      result.addPart(whole, std::string_view(form).substr(at, next - at));
      at = next;
      if (at < form.size())
        HEDDLE_TRY(readField());
    }
    // A value that has items by key may have more items than the format takes.
    const bool hasItems =
        values.size() == 1 && (values[0].is(Kind::Dict) || values[0].is(Kind::List) ||
                               values[0].is(Kind::Range) || values[0].isUndefined());
    if (used < values.size() && !hasItems)
      return inputError("expected a place in the format for each value, found " +
                        std::to_string(values.size()) + " values for " + std::to_string(used));
    HEDDLE_TRY(budget.allocate(result.text().size()));
    return std::move(result).value();
  }

private:
  size_t readSize() {
    constexpr size_t most = size_t(1) << 40; // beyond what a budget allows
    size_t size = 0;
    for (; at < form.size() && form[at] >= '0' && form[at] <= '9'; ++at)
      size = std::min(most, 10 * size + static_cast<size_t>(form[at] - '0'));
    return size;
  }

  Expected<Value> readValue() {
    if (at < form.size() && form[at] == '(') {
      const size_t end = form.find(')', at);
      if (end == form.npos || values.size() != 1 || !values[0].is(Kind::Dict))
        return inputError("expected a mapping for a format with names, found none");
      const std::string key = form.substr(at + 1, end - at - 1);
      at = end + 1;
      if (const Value *value = HEDDLE_TRY(findKey(values[0], Value::text(key), budget)))
        return *value;
      return inputError("expected a value for " + quotedText(key) + " of the format, found none");
    }
    return Value();
  }

  Status readField() {
    ++at; // %
    if (at < form.size() && form[at] == '%') {
      result.addPart(whole, std::string_view(form).substr(at++, 1));
      return {};
    }
    const bool isNamed = at < form.size() && form[at] == '(';
    Value value = HEDDLE_TRY(readValue());
    Field field;
    for (; at < form.size() && std::string_view("-+ #0").find(form[at]) != std::string_view::npos;
         ++at)
      if (field.flags.find(form[at]) == std::string::npos)
        field.flags += form[at];
    field.width = readSize();
    if (at < form.size() && form[at] == '.') {
      ++at;
      field.precision = readSize();
    }
    if (at == form.size())
      return inputError("expected a letter after % in a format, found the end");
    const char letter = form[at++];
    if (!isNamed) {
      if (used >= values.size())
        return inputError("expected a value for each place in the format, found " +
                          std::to_string(values.size()));
      value = values[used++];
    }
    HEDDLE_TRY(budget.allocate(field.width + field.precision.value_or(0)));
    return write(letter, field, value);
  }

  Status write(char letter, const Field &field, const Value &value) {
    if (letter == 's' || letter == 'r')
      return writeText(
          field, letter == 's'
                     ? HEDDLE_TRY(textValueOf(value, budget))
                     : HEDDLE_TRY(madeOf(value, HEDDLE_TRY(shownText(value, budget)), budget)));
    const bool isReal = std::string_view("feEgFG").find(letter) != std::string_view::npos;
    if (!isReal && std::string_view("diuxXo").find(letter) == std::string_view::npos)
      return inputError("expected %s, %d, %f or their like in a format, found %" +
                        printable(std::string_view(&letter, 1)));
    if (!value.isNumber() || (!isReal && !std::isfinite(value.real())))
      return inputError("expected a number for the format, found " + describe(value));
    const bool fits = !value.is(Kind::Float) || std::abs(value.real()) < 9.2e18;
    if (!isReal && (!fits || (letter != 'd' && letter != 'i' && letter != 'u' &&
                              (value.is(Kind::Float) || value.integer() < 0))))
      return inputError("expected a whole number that the format takes, found " + describe(value));
    std::string form = "%" + field.flags + (field.width > 0 ? std::to_string(field.width) : "");
    if (field.precision)
      form += "." + std::to_string(*field.precision);
    if (isReal)
      result.add(std::string_view(formatted((form + letter).c_str(), value.real())));
    else
      result.add(std::string_view(formatted(
          (form + "ll" + (letter == 'u' ? 'd' : letter)).c_str(),
          static_cast<long long>(value.is(Kind::Float) ? static_cast<int64_t>(value.real())
                                                       : value.integer()))));
    return {};
  }

  Status writeText(const Field &field, const Value &value) {
    std::string_view text = value.text();
    if (field.precision)
      text = cutTo(text, *field.precision);
    const size_t length = countOf(text);
    const std::string blanks(field.width > length ? field.width - length : 0, ' ');
    const bool isLeft = field.flags.find('-') != std::string::npos;
    if (!isLeft)
      result.add(std::string_view(blanks));
    result.addPart(value, text);
    if (isLeft)
      result.add(std::string_view(blanks));
    return {};
  }
  static bool begins(char c) { return (c & 0xc0) != 0x80; }
  static size_t countOf(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
  }
  static std::string_view cutTo(std::string_view text, size_t most) {
    size_t end = 0;
    for (size_t count = 0; end < text.size(); ++end)
      if (begins(text[end]) && count++ == most)
        break;
    return text.substr(0, end);
  }

  const Value &whole;
  const std::string &form;
  const Values &values;
  Budget &budget;
  size_t at = 0, used = 0;
  TextBuilder result;
};

} // namespace

Expected<Value> formatText(const Value &form, const Values &values, Budget &budget) {
  return Formatter(form, values, budget).run();
}

} // namespace heddle::templates
