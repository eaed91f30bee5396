//===- ProgramText.h - Structures of a program as text ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of the structures of Support/Program.h, derived from their lists of
// fields. Sizes and strings are quoted, words are bare, lists are in brackets.
// Shown fields come first; the others follow by name in braces unless they have
// their default value.
//
//   "x" f32 ["B", "16"] {dense, range = ["0", "100"]}
#pragma once

#include "heddle/Support/Program.h"
#include "heddle/Support/Text.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

template <typename T>
constexpr bool isList = false;
template <typename T>
constexpr bool isList<std::vector<T>> = true;
template <typename T>
constexpr bool isPair = false;
template <typename A, typename B>
constexpr bool isPair<std::pair<A, B>> = true;

//===- Printing ----------------------------------------------------------===//

template <Structure T>
void printFields(llvm::raw_ostream &os, const T &value);

template <typename T>
void printText(llvm::raw_ostream &os, const T &value) {
  if constexpr (Structure<T>) {
    printFields(os, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    os << '"';
    llvm::printEscapedString(value, os);
    os << '"';
  } else if constexpr (std::is_same_v<T, SizeExpr>) {
    os << '"' << value.str() << '"';
  } else if constexpr (std::is_enum_v<T>) {
    os << wordOf(value);
  } else if constexpr (isList<T>) {
    os << '[';
    llvm::interleaveComma(value, os, [&](const auto &element) { printText(os, element); });
    os << ']';
  } else if constexpr (isPair<T>) {
    os << '[';
    printText(os, value.first);
    os << ", ";
    printText(os, value.second);
    os << ']';
  } else if constexpr (std::is_integral_v<T>) {
    os << value;
  } else {
    printText(os, *value); // optional: absent fields are not printed
  }
}

template <Structure T>
void printFields(llvm::raw_ostream &os, const T &value) {
  static const T none;
  size_t index = 0, named = 0;
  auto one = [&](const auto &field, const auto &unset) {
    const std::string &name = fieldWords<T>()[index++];
    if (index <= T::shownFields) {
      os << (index > 1 ? " " : "");
      printText(os, field);
    } else if (!(field == unset)) {
      os << (named++ ? ", " : T::shownFields ? " {" : "{") << name;
      if constexpr (!std::is_same_v<decltype(field), const bool &>) {
        os << " = ";
        printText(os, field);
      }
    }
  };
  auto both = [&](const auto &...field) {
    std::apply([&](const auto &...unset) { (one(field, unset), ...); }, none.fields());
  };
  std::apply(both, value.fields());
  os << (named > 0 ? "}" : T::shownFields ? "" : "{}");
}

template <typename T>
void printValue(mlir::AsmPrinter &printer, const T &value) {
  printText(printer.getStream(), value);
}

/// Hash of a value of any type that a structure may have as a field.
template <typename T>
llvm::hash_code hashOf(const T &value) {
  if constexpr (Structure<T>)
    return std::apply([](const auto &...field) { return llvm::hash_combine(hashOf(field)...); },
                      value.fields());
  else if constexpr (std::is_same_v<T, std::string>)
    return llvm::hash_value(llvm::StringRef(value));
  else if constexpr (std::is_same_v<T, SizeExpr>) // equal expressions have equal texts
    return value.isConstant() ? llvm::hash_value(value.constantValue()) : hashOf(value.str());
  else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
    return llvm::hash_value(value);
  else if constexpr (isList<T>) {
    llvm::hash_code all = llvm::hash_value(value.size());
    for (const auto &element : value)
      all = llvm::hash_combine(all, hashOf(element));
    return all;
  } else if constexpr (isPair<T>)
    return llvm::hash_combine(hashOf(value.first), hashOf(value.second));
  else // optional
    return value ? llvm::hash_combine(true, hashOf(*value)) : llvm::hash_value(false);
}

/// Hash of an attribute's value.
template <typename T>
  requires Structure<T> || std::is_same_v<T, SizeExpr> || std::is_same_v<T, std::vector<SizeExpr>>
llvm::hash_code hash_value(const T &value) {
  return hashOf(value);
}

//===- Parsing -----------------------------------------------------------===//

template <Structure T>
mlir::ParseResult parseFields(mlir::AsmParser &parser, T &value);

template <typename T>
mlir::ParseResult parseValue(mlir::AsmParser &parser, T &value) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if constexpr (Structure<T>) {
    return parseFields(parser, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return parser.parseString(&value);
  } else if constexpr (std::is_same_v<T, SizeExpr>) {
    std::string text;
    if (parser.parseString(&text))
      return mlir::failure();
    Expected<SizeExpr> size = SizeExpr::parse(text);
    if (!size)
      return parser.emitError(loc, "expected a size expression, found \"")
             << text << "\": " << size.error().message;
    value = std::move(*size);
    return mlir::success();
  } else if constexpr (std::is_enum_v<T>) {
    llvm::StringRef word;
    if (parser.parseKeyword(&word))
      return mlir::failure();
    if (parseWord(word, value))
      return mlir::success();
    return parser.emitError(loc, "expected one of ")
           << listText(enumWords<T>()) << ", found " << word;
  } else if constexpr (isList<T>) {
    auto one = [&] { return parseValue(parser, value.emplace_back()); };
    return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, one);
  } else if constexpr (isPair<T>) {
    return mlir::failure(parser.parseLSquare() || parseValue(parser, value.first) ||
                         parser.parseComma() || parseValue(parser, value.second) ||
                         parser.parseRSquare());
  } else if constexpr (std::is_integral_v<T>) {
    return parser.parseInteger(value);
  } else {
    return parseValue(parser, value.emplace()); // optional
  }
}

/// Parses `rows = 4`, or a bare flag such as `dense`.
template <Structure T>
mlir::ParseResult parseNamed(mlir::AsmParser &parser, T &value) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef key;
  if (parser.parseKeyword(&key))
    return mlir::failure();
  std::optional<mlir::ParseResult> result;
  visitFields(value, [&](const std::string &name, auto &field) {
    if (name != key)
      return;
    if constexpr (std::is_same_v<decltype(field), bool &>) {
      field = true;
      result = mlir::success();
    } else {
      result = mlir::failure(parser.parseEqual() || parseValue(parser, field));
    }
  });
  if (result)
    return *result;
  return parser.emitError(loc, "expected one of ")
         << listText(fieldWords<T>()) << ", found " << key;
}

template <Structure T>
mlir::ParseResult parseFields(mlir::AsmParser &parser, T &value) {
  mlir::ParseResult shown = mlir::success();
  size_t index = 0;
  visitFields(value, [&](const std::string &, auto &field) {
    if (mlir::succeeded(shown) && index++ < T::shownFields)
      shown = parseValue(parser, field);
  });
  if (mlir::failed(shown))
    return mlir::failure();
  if (T::shownFields == 0 ? parser.parseLBrace() : parser.parseOptionalLBrace())
    return mlir::success(T::shownFields > 0);
  if (mlir::succeeded(parser.parseOptionalRBrace()))
    return mlir::success();
  return mlir::failure(parser.parseCommaSeparatedList([&] { return parseNamed(parser, value); }) ||
                       parser.parseRBrace());
}

} // namespace heddle
