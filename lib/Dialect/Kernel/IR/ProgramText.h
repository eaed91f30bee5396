//===- ProgramText.h - Structures of a program as text ---------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of any structure of Support/Program.h, from its list of fields: sizes
// and strings in quotes, words bare, lists in brackets. Shown fields come first,
// the others by name in braces, where they are not the default.
//
//   "x" f32 ["B", "16"] {dense, range = ["0", "100"]}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

class ValuePrinter {
public:
  explicit ValuePrinter(llvm::raw_ostream &os) : os(os) {}

  void print(const std::string &text) {
    os << '"';
    llvm::printEscapedString(text, os);
    os << '"';
  }
  void print(const SizeExpr &size) { print(size.str()); }
  template <typename T>
    requires std::is_integral_v<T>
  void print(T number) {
    os << number;
  }
  template <typename T>
    requires std::is_enum_v<T>
  void print(T word) {
    os << wordOf(word);
  }
  template <typename T>
  void print(const std::vector<T> &list) {
    os << '[';
    llvm::interleaveComma(list, os, [&](const T &element) { print(element); });
    os << ']';
  }
  template <typename A, typename B>
  void print(const std::pair<A, B> &pair) {
    os << '[';
    print(pair.first);
    os << ", ";
    print(pair.second);
    os << ']';
  }
  template <typename T>
  void print(const std::optional<T> &value) {
    print(*value); // fields without one are left out
  }
  template <Structure T>
  void print(const T &value) {
    static const T none;
    const std::vector<std::string> &names = fieldWords<T>();
    size_t index = 0, named = 0;
    auto one = [&](const auto &field, const auto &unset) {
      const std::string &name = names[index++];
      if (index <= T::shownFields) {
        os << (index > 1 ? " " : "");
        return print(field);
      }
      if (field == unset)
        return;
      os << (named++ ? ", " : T::shownFields ? " {" : "{") << name;
      if constexpr (!std::is_same_v<decltype(field), const bool &>) {
        os << " = ";
        print(field);
      }
    };
    auto both = [&](const auto &...field) {
      std::apply([&](const auto &...unset) { (one(field, unset), ...); }, none.fields());
    };
    std::apply(both, value.fields());
    if (named == 0 && T::shownFields == 0)
      os << '{';
    if (named > 0 || T::shownFields == 0)
      os << '}';
  }

private:
  llvm::raw_ostream &os;
};

template <typename T>
void printValue(mlir::AsmPrinter &printer, const T &value) {
  ValuePrinter(printer.getStream()).print(value);
}

/// The key of an attribute that holds a value of a program: what prints alike is alike.
template <typename T>
  requires Structure<T> || std::is_same_v<T, SizeExpr> || std::is_same_v<T, std::vector<SizeExpr>>
llvm::hash_code hash_value(const T &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ValuePrinter(stream).print(value);
  return llvm::hash_value(llvm::StringRef(text));
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

class ValueParser {
public:
  explicit ValueParser(mlir::AsmParser &parser) : parser(parser) {}

  mlir::ParseResult parse(std::string &text) { return parser.parseString(&text); }
  mlir::ParseResult parse(SizeExpr &size) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    std::string text;
    if (parser.parseString(&text))
      return mlir::failure();
    Expected<SizeExpr> parsed = SizeExpr::parse(text);
    if (!parsed)
      return parser.emitError(loc, "expected a size expression, found \"")
             << text << "\": " << parsed.error().message;
    size = std::move(*parsed);
    return mlir::success();
  }
  template <typename T>
    requires std::is_integral_v<T>
  mlir::ParseResult parse(T &number) {
    return parser.parseInteger(number);
  }
  template <typename T>
    requires std::is_enum_v<T>
  mlir::ParseResult parse(T &value) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef word;
    if (parser.parseKeyword(&word))
      return mlir::failure();
    if (parseWord(word, value))
      return mlir::success();
    return parser.emitError(loc, "expected one of ")
           << commaSeparated(enumWords<T>()) << ", found " << word;
  }
  template <typename T>
  mlir::ParseResult parse(std::vector<T> &list) {
    return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                          [&] { return parse(list.emplace_back()); });
  }
  template <typename A, typename B>
  mlir::ParseResult parse(std::pair<A, B> &pair) {
    return mlir::failure(parser.parseLSquare() || parse(pair.first) || parser.parseComma() ||
                         parse(pair.second) || parser.parseRSquare());
  }
  template <typename T>
  mlir::ParseResult parse(std::optional<T> &value) {
    return parse(value.emplace());
  }
  template <Structure T>
  mlir::ParseResult parse(T &value) {
    bool failed = false;
    size_t index = 0;
    visitFields(value, [&](const std::string &, auto &field) {
      if (!failed && index++ < T::shownFields)
        failed = mlir::failed(parse(field));
    });
    if (failed)
      return mlir::failure();
    if (T::shownFields == 0 ? parser.parseLBrace() : parser.parseOptionalLBrace())
      return mlir::success(T::shownFields > 0);
    if (mlir::succeeded(parser.parseOptionalRBrace()))
      return mlir::success();
    return mlir::failure(parser.parseCommaSeparatedList([&] { return parseNamed(value); }) ||
                         parser.parseRBrace());
  }

private:
  /// `rows = 4`, or `dense` alone.
  template <Structure T>
  mlir::ParseResult parseNamed(T &value) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef key;
    if (parser.parseKeyword(&key))
      return mlir::failure();
    std::optional<mlir::ParseResult> result;
    visitFields(value, [&](const std::string &name, auto &field) {
      if (name != key)
        return;
      if constexpr (std::is_same_v<decltype(field), bool &>)
        result = (field = true, mlir::success());
      else
        result = mlir::failure(parser.parseEqual() || parse(field));
    });
    if (result)
      return *result;
    return parser.emitError(loc, "expected one of ")
           << commaSeparated(fieldWords<T>()) << ", found " << key;
  }

  mlir::AsmParser &parser;
};

template <typename T>
mlir::ParseResult parseValue(mlir::AsmParser &parser, T &value) {
  return ValueParser(parser).parse(value);
}

} // namespace heddle
