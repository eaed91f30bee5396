//===- MaskExpression.cpp - Masks and score rules as formulas -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent over the operators; what stands between parentheses after a
// name follows from a table.
//
//===----------------------------------------------------------------------===//

#include "MaskExpression.h"

#include <algorithm>
#include <utility>

using namespace heddle;
using Kind = MaskExpression::Kind;

const MaskExpression *MaskExpression::find(Kind wanted, std::string_view name) const {
  if (kind == wanted &&
      (name.empty() || std::find(inputs.begin(), inputs.end(), name) != inputs.end()))
    return this;
  for (const MaskExpression &operand : operands)
    if (const MaskExpression *found = operand.find(wanted, name))
      return found;
  return nullptr;
}

namespace {
/// What a name takes: names of inputs, then integers, then an offset.
struct Signature {
  const char *word;
  Kind kind;
  int inputs, numbers;
  int64_t smallest; ///< of the integers
  bool offset;
};
constexpr Signature masks[] = {
    {"causal", Kind::Causal, 0, 0, 0, true},
    {"window", Kind::Window, 0, 2, 0, true},
    {"lengths", Kind::Lengths, 1, 0, 0, false},
    {"keep", Kind::Keep, 1, 0, 0, false},
    {"hide", Kind::Hide, 1, 0, 0, false},
    {"prefix", Kind::Prefix, 1, 0, 0, false},
    {"documents", Kind::Documents, 2, 0, 0, false},
    {"documents_packed", Kind::PackedDocuments, 2, 0, 0, false},
    {"dense", Kind::Dense, 1, 0, 0, false},
    {"blocks", Kind::Blocks, 1, 2, 1, false},
};
constexpr Signature rules[] = {
    {"alibi", Kind::Alibi, 0, 0, 0, false},
    {"relative", Kind::Relative, 0, 2, 1, false},
    {"dense", Kind::Dense, 1, 0, 0, false},
};

class Parser {
public:
  Parser(std::string_view text, bool scoreRule)
      : in(text), scoreRule(scoreRule),
        known(scoreRule ? std::span<const Signature>(rules) : masks) {}

  Expected<MaskExpression> run() {
    if (in.atEnd())
      in.report(scoreRule ? "expected a score rule, found nothing"
                          : "expected a mask, found nothing");
    MaskExpression result = scoreRule ? chain("+", Kind::Add, &Parser::call) : disjunction();
    if (!in.failed() && !in.atEnd())
      in.fail("an operator or the end");
    if (in.failed())
      return in.takeError();
    return result;
  }

private:
  MaskExpression chain(const char *op, Kind kind, MaskExpression (Parser::*next)());
  MaskExpression disjunction() { return chain("|", Kind::Or, &Parser::conjunction); }
  MaskExpression conjunction() { return chain("&", Kind::And, &Parser::unary); }
  MaskExpression unary();
  MaskExpression call();
  void arguments(MaskExpression &node, const Signature &signature);
  void offset(MaskExpression &node);

  ExpressionCursor in;
  bool scoreRule;
  std::span<const Signature> known;
  int calls = 0;
};
} // namespace

MaskExpression Parser::chain(const char *op, Kind kind, MaskExpression (Parser::*next)()) {
  MaskExpression left = (this->*next)();
  while (!in.failed() && in.take(op)) {
    MaskExpression node;
    node.kind = kind;
    node.operands.push_back(std::move(left));
    node.operands.push_back((this->*next)());
    left = std::move(node);
  }
  return left;
}

MaskExpression Parser::unary() {
  ExpressionCursor::Level level(in);
  MaskExpression result;
  if (in.failed())
    return result;
  if (in.take("!")) {
    result.kind = Kind::Not;
    result.operands.push_back(unary());
  } else if (in.take("(")) {
    result = disjunction();
    in.expect(")");
  } else {
    result = call();
  }
  return result;
}

void Parser::offset(MaskExpression &node) {
  if (in.atName())
    node.offsetInput = in.name();
  else if (!in.atNumber() && in.peek() != '-')
    in.fail("an integer or the name of an input");
  else
    node.offset = in.integer();
}

void Parser::arguments(MaskExpression &node, const Signature &signature) {
  bool first = true;
  auto separate = [&] {
    if (!std::exchange(first, false))
      in.expect(",");
  };
  for (int i = 0; i < signature.inputs && !in.failed(); ++i) {
    separate();
    if (!in.failed())
      node.inputs.push_back(in.name());
  }
  for (int i = 0; i < signature.numbers && !in.failed(); ++i) {
    separate();
    in.skip();
    size_t where = in.place();
    node.numbers.push_back(in.integer());
    if (node.numbers.back() < signature.smallest)
      in.report("expected an integer of at least " + std::to_string(signature.smallest) +
                    ", found " + std::to_string(node.numbers.back()),
                where);
  }
  if (signature.offset && !in.failed() && (first || in.take(",")))
    offset(node);
}

MaskExpression Parser::call() {
  in.skip();
  size_t start = in.place();
  std::string word = in.name();
  MaskExpression node;
  if (++calls > 1000) // chains become nested ops
    in.report("expected at most 1000 masks in one expression, found more", start);
  if (in.failed())
    return node;
  if (word == "where") {
    node.kind = Kind::Where;
    in.expect("(");
    if (!in.failed())
      node.formula = parseFormula(in, scoreRule);
    in.expect(")");
    return node;
  }
  auto signature =
      std::find_if(known.begin(), known.end(), [&](const Signature &s) { return word == s.word; });
  if (signature == known.end()) {
    std::string words;
    for (const Signature &s : known)
      words += std::string(s.word) + ", ";
    in.report(std::string("expected a ") + (scoreRule ? "score rule" : "mask") + " (" + words +
                  "where), found " + quotedText(word),
              start);
    return node;
  }
  node.kind = signature->kind;
  bool needs = signature->inputs || signature->numbers;
  if (needs)
    in.expect("(");
  else if (!signature->offset || !in.take("("))
    return node;
  arguments(node, *signature);
  in.expect(")");
  return node;
}

Expected<MaskExpression> heddle::parseMask(std::string_view text) {
  return Parser(text, false).run();
}
Expected<MaskExpression> heddle::parseScoreRule(std::string_view text) {
  return Parser(text, true).run();
}
