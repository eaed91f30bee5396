//===- Value.h - Values of templates ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of Python, as far as templates need them. They are shared and immutable, except
// namespaces, and iterators, which can be read once.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::templates {

/// Remaining resources of a render. Every operation whose time or memory is proportional to a value
/// charges the budget first, so that every template terminates.
class Budget {
public:
  Budget(int64_t steps, int64_t bytes)
      : stepLimit(steps), byteLimit(bytes), steps(steps), bytes(bytes) {}
  Status step(size_t count = 1);
  /// Charges memory, and also steps, since writing memory takes time.
  Status allocate(size_t count);

private:
  int64_t stepLimit, byteLimit, steps, bytes;
};

enum class Kind : uint8_t {
  Undefined,
  None,
  Boolean,
  Integer,
  Float,
  String,
  List,
  Tuple,
  Range,
  View,     ///< keys, values or items of a dictionary
  Iterator, ///< result of map, select and similar filters
  Dict,
  Namespace,
  Loop,
  Function, ///< a macro, a method with its object, or a global function
};

struct Object {
  virtual ~Object() = default;
};

class Value;
using Values = std::vector<Value>;
/// Parts of a text that the template did not write: byte ranges, in order.
using Given = std::vector<TokenSpan>;

class Value {
public:
  Value() = default; ///< undefined
  static Value none() { return Value(Kind::None); }
  static Value undefined(std::string what);
  static Value text(std::string text, Given given = {});
  /// A sequence of any kind. Error if values are nested too deeply. `shown`: how a range or a view
  /// is printed.
  static Expected<Value> sequence(Kind kind, Values items, Budget &budget, std::string shown = "");
  static Expected<Value> dict(std::vector<std::pair<Value, Value>> entries, Budget &budget);
  static Value object(Kind kind, std::shared_ptr<Object> object);
  explicit Value(bool value) : of(Kind::Boolean) { number.integer = value; }
  explicit Value(int64_t value) : of(Kind::Integer) { number.integer = value; }
  explicit Value(double value) : of(Kind::Float) { number.real = value; }

  Kind kind() const { return of; }
  bool is(Kind kind) const { return of == kind; }
  bool isText() const { return of == Kind::String; }
  bool isUndefined() const { return of == Kind::Undefined; }
  bool isNone() const { return of == Kind::None; }
  /// An integer, or a boolean, which counts as 0 or 1.
  bool isWhole() const { return of == Kind::Integer || of == Kind::Boolean; }
  bool isNumber() const { return isWhole() || of == Kind::Float; }
  /// A list, a tuple, a range, a view or an iterator.
  bool isSequence() const { return of >= Kind::List && of <= Kind::Iterator; }
  /// A sequence with elements by index.
  bool isIndexed() const { return of >= Kind::List && of <= Kind::Range; }

  int64_t integer() const { return number.integer; }
  double real() const {
    return of == Kind::Float ? number.real : static_cast<double>(number.integer);
  }
  const std::string &text() const;
  const Given &given() const; ///< of a text
  const Values &items() const;
  const std::vector<std::pair<Value, Value>> &entries() const;
  /// How a range or a view is printed; name of an undefined value. See `sequence`.
  const std::string &note() const;
  template <typename T>
  T &as() const {
    return static_cast<T &>(*held);
  }
  bool sameObject(const Value &other) const { return held == other.held; }
  std::shared_ptr<Object> sharedObject() const { return held; }

private:
  explicit Value(Kind kind) : of(kind) {}

  Kind of = Kind::Undefined;
  union {
    int64_t integer = 0;
    double real;
  } number;
  std::shared_ptr<Object> held;
};

struct TextObject : Object {
  explicit TextObject(std::string text, Given given = {})
      : text(std::move(text)), given(std::move(given)) {}
  std::string text;
  Given given;
};

struct SequenceObject : Object {
  Values items;
  int depth = 1; ///< nesting depth; bounded, since values are traversed by recursion
  std::string shown;
  size_t taken = 0; ///< elements of an iterator that were read
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
};

struct NamespaceObject : Object {
  std::map<std::string, Value, std::less<>> attributes;
  std::vector<std::string> order; ///< attributes in the order of their creation
};

/// Description for messages: "a string", or the name of an undefined value.
std::string describe(const Value &value);

/// Concatenates texts and records which parts of the result are given.
class TextBuilder {
public:
  void add(std::string_view own) { bytes += own; }
  void add(const Value &text) { addPart(text, text.text()); }
  /// Adds a part of a text; `part` is a view of it.
  void addPart(const Value &whole, std::string_view part);
  Value value() && { return Value::text(std::move(bytes), std::move(parts)); }
  std::string &text() { return bytes; }
  Given &given() { return parts; }

private:
  std::string bytes;
  Given parts;
};

/// Memory that a text takes.
inline size_t bytesOf(const Value &text) {
  return text.text().size() + text.given().size() * sizeof(TokenSpan);
}
/// A part of a text; `part` is a view of it.
Value partOfText(const Value &whole, std::string_view part);
/// Whether a text, or a text inside the value, has given parts.
Expected<bool> holdsGiven(const Value &value, Budget &budget);
/// A text derived from `from` letter by letter: all of it is given if any part of `from` is.
Expected<Value> madeOf(const Value &from, std::string text, Budget &budget);

/// Converts JSON to a value. Its texts are given, or else the template's own.
Expected<Value> fromJson(const nlohmann::ordered_json &json, bool given, Budget &budget,
                         int depth = 0);

/// Truth as in Python: empty texts and sequences are false, iterators are true.
bool isTrue(const Value &value);
Expected<bool> areEqual(const Value &a, const Value &b, Budget &budget);
/// Whether a < b. Error for values without an order.
Expected<bool> isLess(const Value &a, const Value &b, Budget &budget);
/// Evaluates <, <=, > and >=, all of which use `isLess`.
Expected<bool> isOrdered(std::string_view sign, const Value &a, const Value &b, Budget &budget);
Expected<bool> contains(const Value &container, const Value &value, Budget &budget);
/// The entry of a key; null if there is none.
Expected<const Value *> findKey(const Value &dict, const Value &key, Budget &budget);
/// Error for values that cannot be keys.
Status checkKey(const Value &key);

/// Adds an entry, or replaces the value of an existing key.
Status setEntry(std::vector<std::pair<Value, Value>> &entries, Value key, Value value,
                Budget &budget);

/// Elements over which a loop iterates. Reads an iterator to its end.
Expected<Values> elementsOf(const Value &value, Budget &budget);

/// str(value), the output of `{{ value }}`.
Expected<std::string> textOf(const Value &value, Budget &budget);
/// str(value) as a text with its given parts.
Expected<Value> textValueOf(const Value &value, Budget &budget);
/// repr(value), the form of a value inside a list.
Expected<std::string> shownText(const Value &value, Budget &budget);
std::string realText(double value);

struct JsonStyle {
  bool ascii = false, sorted = false;
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
};
Expected<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget);

} // namespace heddle::templates
