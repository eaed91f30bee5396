//===- MaskExpression.cpp - Masks and score rules as text -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive-descent parser; a table gives the arguments of each name. Without a site it checks
// the expression, with one it also builds ops.

#include "Formula.h"
#include "MaskBuilder.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using Kind = MaskCall::Kind;

bool MaskExpression::hidesLater() const {
  return conjunction && llvm::any_of(calls, [](const MaskCall &call) {
           bool ofOwn = !call.offset && call.offsetInput.empty();
           return ofOwn && (call.kind == Kind::Causal ||
                            (call.kind == Kind::Window && call.numbers[1] == 0));
         });
}

const MaskCall *MaskExpression::find(Kind wanted, std::string_view name) const {
  for (const MaskCall &call : calls)
    if (call.kind == wanted && (name.empty() || llvm::is_contained(call.inputs, name)))
      return &call;
  return nullptr;
}

namespace {
/// Arguments of a name: names of inputs, then integers, then an option.
struct Signature {
  const char *word;
  Kind kind;
  int inputs, numbers;
  int64_t smallest; ///< least value of the integers
  /// The optional last argument.
  enum class Optional : uint8_t { Nothing, Offset, Factor } optional = Optional::Nothing;
};
using Optional = Signature::Optional;
constexpr Signature masks[] = {
    {"causal", Kind::Causal, 0, 0, 0, Optional::Offset},
    {"window", Kind::Window, 0, 2, 0, Optional::Offset},
    {"lengths", Kind::Lengths, 1, 0, 0},
    {"keep", Kind::Keep, 1, 0, 0},
    {"hide", Kind::Hide, 1, 0, 0},
    {"prefix", Kind::Prefix, 1, 0, 0},
    {"documents", Kind::Documents, 2, 0, 0},
    {"documents_packed", Kind::PackedDocuments, 2, 0, 0},
    {"dense", Kind::Dense, 1, 0, 0},
    {"blocks", Kind::Blocks, 1, 2, 1},
};
constexpr Signature rules[] = {
    {"alibi", Kind::Alibi, 0, 0, 0, Optional::Factor},
    {"relative", Kind::Relative, 0, 2, 1},
    {"layer_relative", Kind::LayerRelative, 0, 2, 1},
    {"query_distance", Kind::QueryDistance, 0, 1, 8},
    {"key_distance", Kind::KeyDistance, 0, 1, 8},
    {"dense", Kind::Dense, 1, 0, 0},
};

/// A parsed part; `value` is null without a site.
struct Part {
  Value value;
  bool seesAhead = false;
};

class Parser {
public:
  Parser(std::string_view text, bool scoreRule, const MaskPlace *site = nullptr)
      : in(text), site(site), known(scoreRule ? std::span<const Signature>(rules) : masks) {
    result.text = text;
    result.scoreRule = scoreRule;
  }

  Expected<MaskExpression> run() {
    if (in.atEnd())
      in.report(result.scoreRule ? "expected a score rule, found nothing"
                                 : "expected a mask, found nothing");
    whole = chain(result.scoreRule ? "+" : "|");
    result.seesAhead = whole.seesAhead;
    if (!in.failed() && !in.atEnd())
      in.fail("an operator or the end");
    if (in.failed())
      return in.takeError();
    return result;
  }
  Part whole;

private:
  Part chain(llvm::StringRef op);
  Part unary();
  Part call();
  Value where(const MaskCall &node);
  void arguments(MaskCall &node, const Signature &signature);
  void offset(MaskCall &node);
  void factor(MaskCall &node);

  ExpressionCursor in;
  const MaskPlace *site;
  std::span<const Signature> known;
  MaskExpression result;
};
} // namespace

/// Parses a chain of operators of one precedence: '|', then '&', or '+' of score rules.
Part Parser::chain(llvm::StringRef op) {
  auto next = [&] { return op == "|" ? chain("&") : op == "&" ? unary() : call(); };
  auto join = [&](Value x, Value y) -> Value {
    OpBuilder &b = site->f.b;
    return op == "|"   ? MaskOrOp::create(b, site->f.loc, x, y).getResult()
           : op == "&" ? MaskAndOp::create(b, site->f.loc, x, y).getResult()
                       : BiasAddOp::create(b, site->f.loc, x, y).getResult();
  };
  Part left = next();
  while (!in.failed() && in.take(op)) {
    Part right = next();
    result.conjunction &= op != "|";
    if (site && left.value && right.value)
      left.value = join(left.value, right.value);
    else if (right.value)
      left.value = right.value;
    left.seesAhead =
        op == "&" ? left.seesAhead && right.seesAhead : left.seesAhead || right.seesAhead;
  }
  return left;
}

Part Parser::unary() {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  if (in.take("!")) {
    result.conjunction = false;
    Value inner = unary().value;
    return {inner ? MaskNotOp::create(site->f.b, site->f.loc, inner) : Value()};
  }
  if (!in.take("("))
    return call();
  Part inner = chain("|");
  in.expect(")");
  return inner;
}

void Parser::offset(MaskCall &node) {
  if (in.atName())
    node.offsetInput = in.name();
  else if (!in.atNumber() && in.peek() != '-')
    in.fail("an integer or the name of an input");
  else
    node.offset = in.integer();
}

void Parser::factor(MaskCall &node) {
  in.skip();
  size_t where = in.place();
  bool isReal = false;
  node.factor = static_cast<float>(in.number(isReal));
  if (!in.failed() && !(node.factor > 0 && std::isfinite(node.factor)))
    in.report("expected a finite factor above 0", where);
}

void Parser::arguments(MaskCall &node, const Signature &signature) {
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
  if (signature.optional == Optional::Nothing || in.failed() || !(first || in.take(",")))
    return;
  if (signature.optional == Optional::Offset)
    offset(node);
  else
    factor(node);
}

static bool seesAhead(const MaskCall &call) {
  switch (call.kind) {
  case Kind::Window:
    return call.offsetInput.empty() && call.numbers[1] > 0;
  case Kind::Lengths:
  case Kind::Prefix:
  case Kind::Keep:
  case Kind::Hide:
  case Kind::Documents:
    return true;
  default:
    return false;
  }
}

/// Parses `where(...)` and builds its op and region.
Value Parser::where(const MaskCall &node) {
  FormulaSite inside;
  Value value;
  OpBuilder::InsertPoint outside;
  if (site) {
    inside = {&site->f, site->call.cached() ? site->f.rowsBefore() : Value(),
              site->call.sequences()};
    value = site->masks.write(*site, node, result.scoreRule);
    outside = site->f.b.saveInsertionPoint();
    SmallVector<Type> types(4, site->f.b.getI32Type());
    site->f.b.createBlock(&value.getDefiningOp()->getRegion(0), {}, types,
                          SmallVector<Location>(4, site->f.loc));
  }
  in.expect("(");
  if (!in.failed())
    parseFormula(in, result.scoreRule, result.calls.back().inputs, inside);
  in.expect(")");
  if (site)
    site->f.b.restoreInsertionPoint(outside);
  return value;
}

Part Parser::call() {
  in.skip();
  size_t start = in.place();
  std::string word = in.name();
  if (result.calls.size() == 1000) // chains become nested ops
    in.report("expected at most 1000 masks in one expression, found more", start);
  if (in.failed())
    return {};
  MaskCall &node = result.calls.emplace_back();
  if (word == "where") {
    node.kind = Kind::Where;
    return {where(node)};
  }
  auto signature =
      std::find_if(known.begin(), known.end(), [&](const Signature &s) { return word == s.word; });
  if (signature == known.end()) {
    std::string words;
    for (const Signature &s : known)
      words += std::string(s.word) + ", ";
    in.report(std::string("expected a ") + (result.scoreRule ? "score rule" : "mask") + " (" +
                  words + "where), found " + quotedText(word),
              start);
    return {};
  }
  node.kind = signature->kind;
  bool needs = signature->inputs || signature->numbers;
  if (needs)
    in.expect("(");
  if (needs || (signature->optional != Optional::Nothing && in.take("("))) {
    arguments(node, *signature);
    in.expect(")");
  }
  if (in.failed())
    return {};
  return {site ? site->masks.write(*site, node, result.scoreRule) : Value(), seesAhead(node)};
}

Expected<MaskExpression> heddle::parseMask(std::string_view text) {
  return Parser(text, /*scoreRule=*/false).run();
}
Expected<MaskExpression> heddle::parseScoreRule(std::string_view text) {
  return Parser(text, /*scoreRule=*/true).run();
}

Value MaskBuilder::build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  call.packed |= e.uses(Kind::PackedDocuments);
  MaskPlace site{*this, f, cross, call};
  Parser parser(e.text, e.scoreRule, &site);
  (void)parser.run(); // already checked when it was read
  return call.documents.empty() || e.scoreRule ? parser.whole.value
                                               : within(f, call.documents, parser.whole.value);
}
