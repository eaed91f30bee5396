//===- Value.h - Values of templates ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's values, as far as templates see them. They are shared and never change,
// but for namespaces and for iterators, which are read once.
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

/// What a render may still use. Everything that takes time or memory in proportion to a value asks
/// here first, so that no template runs for ever.
class Budget {
public:
  Budget(int64_t steps, int64_t bytes)
      : stepLimit(steps), byteLimit(bytes), steps(steps), bytes(bytes) {}
  Status step(size_t count = 1);
  /// Also counts as steps: to write memory takes time.
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
  Iterator, ///< what map, select and their like give
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
/// Parts of a text that others wrote than the template: bytes, in order.
using Given = std::vector<TokenSpan>;

class Value {
public:
  Value() = default; ///< undefined
  static Value none() { return Value(Kind::None); }
  static Value undefined(std::string what);
  static Value text(std::string text, Given given = {});
  /// Sequences of any kind; an error where values nest too deeply. `shown`: how a range or a view
  /// prints.
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
  /// An integer or a boolean, which counts as 0 or 1.
  bool isWhole() const { return of == Kind::Integer || of == Kind::Boolean; }
  bool isNumber() const { return isWhole() || of == Kind::Float; }
  /// A list, a tuple, a range, a view or an iterator.
  bool isSequence() const { return of >= Kind::List && of <= Kind::Iterator; }
  /// A sequence that has elements by number.
  bool isIndexed() const { return of >= Kind::List && of <= Kind::Range; }

  int64_t integer() const { return number.integer; }
  double real() const {
    return of == Kind::Float ? number.real : static_cast<double>(number.integer);
  }
  const std::string &text() const;
  const Given &given() const; ///< of a text
  const Values &items() const;
  const std::vector<std::pair<Value, Value>> &entries() const;
  /// How a range or a view prints; what is not defined; see `sequence`.
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
  int depth = 1; ///< levels of values; bounded, since values are walked by recursion
  std::string shown;
  size_t taken = 0; ///< of an iterator
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
};

struct NamespaceObject : Object {
  std::map<std::string, Value, std::less<>> attributes;
  std::vector<std::string> order; ///< of the attributes, as they came
};

/// "a string", or what is not defined, for messages.
std::string describe(const Value &value);

/// A text that is put together of texts, and which parts of it are given.
class TextBuilder {
public:
  void add(std::string_view own) { bytes += own; }
  void add(const Value &text) { addPart(text, text.text()); }
  /// Adds a part of a text, which is a view of it.
  void addPart(const Value &whole, std::string_view part);
  Value value() && { return Value::text(std::move(bytes), std::move(parts)); }
  std::string &text() { return bytes; }
  Given &given() { return parts; }

private:
  std::string bytes;
  Given parts;
};

/// What a text takes of memory.
inline size_t bytesOf(const Value &text) {
  return text.text().size() + text.given().size() * sizeof(TokenSpan);
}
/// A part of a text, which is a view of it.
Value partOfText(const Value &whole, std::string_view part);
/// Whether a text, or one within the value, has parts that are given.
Expected<bool> holdsGiven(const Value &value, Budget &budget);
/// A text that was made of `from` letter by letter: all of it is given where a part of that is.
Expected<Value> madeOf(const Value &from, std::string text, Budget &budget);

/// Values of JSON; its texts are the template's own, or given.
Expected<Value> fromJson(const nlohmann::ordered_json &json, bool given, Budget &budget,
                         int depth = 0);

/// Python's truth: empty texts and sequences are false, iterators are true.
bool isTrue(const Value &value);
Expected<bool> areEqual(const Value &a, const Value &b, Budget &budget);
/// Whether a < b; an error for values without an order.
Expected<bool> isLess(const Value &a, const Value &b, Budget &budget);
/// a < b, a <= b and their like, which all ask `isLess` alike.
Expected<bool> isOrdered(std::string_view sign, const Value &a, const Value &b, Budget &budget);
Expected<bool> contains(const Value &container, const Value &value, Budget &budget);
/// The entry of a key; null where there is none.
Expected<const Value *> findKey(const Value &dict, const Value &key, Budget &budget);
/// Error for values that cannot be keys.
Status checkKey(const Value &key);

/// Adds an entry, or gives a key that is there another value.
Status setEntry(std::vector<std::pair<Value, Value>> &entries, Value key, Value value,
                Budget &budget);

/// What a loop over the value visits. Reads an iterator to its end.
Expected<Values> elementsOf(const Value &value, Budget &budget);

/// str(value): what `{{ value }}` prints.
Expected<std::string> textOf(const Value &value, Budget &budget);
/// The same as a text that knows which parts of it are given.
Expected<Value> textValueOf(const Value &value, Budget &budget);
/// repr(value): how it prints within a list.
Expected<std::string> shownText(const Value &value, Budget &budget);
std::string realText(double value);

struct JsonStyle {
  bool ascii = false, sorted = false;
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
};
Expected<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget);

} // namespace heddle::templates
