//===- MaskExpression.cpp - Masks and score rules as text -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the tree of an expression. Without a site it checks the expression, with one it also
// builds ops.

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
/// A mask or a score rule: its function in expressions, and the least value of its integers.
struct Signature {
  ExpressionFunction function;
  Kind kind;
  int64_t smallest = 0;
};
constexpr Signature masks[] = {
    {{"causal", "o", true}, Kind::Causal},
    {{"window", "iio", true}, Kind::Window},
    {{"lengths", "n"}, Kind::Lengths},
    {{"keep", "n"}, Kind::Keep},
    {{"hide", "n"}, Kind::Hide},
    {{"prefix", "n"}, Kind::Prefix},
    {{"documents", "nn"}, Kind::Documents},
    {{"documents_packed", "nn"}, Kind::PackedDocuments},
    {{"dense", "n"}, Kind::Dense},
    {{"blocks", "nii"}, Kind::Blocks, 1},
    {{"where", "w"}, Kind::Where},
};
constexpr Signature rules[] = {
    {{"alibi", "f", true}, Kind::Alibi},
    {{"relative", "ii"}, Kind::Relative, 1},
    {{"layer_relative", "ii"}, Kind::LayerRelative, 1},
    {{"query_distance", "i"}, Kind::QueryDistance, 8},
    {{"key_distance", "i"}, Kind::KeyDistance, 8},
    {{"dense", "n"}, Kind::Dense},
    {{"where", "w"}, Kind::Where},
};

/// The language of masks or of score rules.
class MaskGrammar : public ExpressionGrammar {
public:
  explicit MaskGrammar(bool scoreRule)
      : known(scoreRule ? std::span<const Signature>(rules) : masks) {
    static constexpr ExpressionOperator ofMasks[] = {{"|", disjunctionLevel},
                                                     {"&", conjunctionLevel}},
                                        ofRules[] = {{"+", disjunctionLevel}};
    for (const Signature &signature : known) {
      names.push_back(signature.function);
      words += (words.empty() ? "" : ", ") + std::string(signature.function.word);
    }
    words = (scoreRule ? "a score rule (" : "a mask (") + words + ")";
    operators = scoreRule ? std::span<const ExpressionOperator>(ofRules) : ofMasks;
    functions = names;
    prefixes = scoreRule ? "" : "!";
    parentheses = !scoreRule;
    values = choices = false;
    dashes = true;
    indices = 0;
    operand = "a name";
    function = words;
    inner = &formulaGrammar;
  }
  MaskGrammar(const MaskGrammar &) = delete;
  MaskGrammar &operator=(const MaskGrammar &) = delete;

  static const MaskGrammar &of(bool scoreRule) {
    static const MaskGrammar mask(false), rule(true);
    return scoreRule ? rule : mask;
  }
  const std::span<const Signature> known;

private:
  std::vector<ExpressionFunction> names;
  std::string words;
};

/// A mask or a score rule; `value` is null without a site.
struct Part {
  Value value;
  bool seesAhead = false;
};

class PartEvaluator : public ExpressionEvaluator<Part> {
public:
  PartEvaluator(ExpressionCursor &in, MaskExpression &result, const MaskPlace *site = nullptr)
      : ExpressionEvaluator(in), result(result), site(site) {}

private:
  Part call(const Expression &e) override;
  Part prefix(const Expression &e, Part x) override;
  Part join(const ExpressionOperator &op, Part x, Part y, size_t left, size_t right) override;
  void takeArguments(const Expression &e, const Signature &signature, MaskCall &node);
  Value where(const Expression &formula, MaskCall &node);

  MaskExpression &result;
  const MaskPlace *site;
};
} // namespace

Part PartEvaluator::join(const ExpressionOperator &op, Part x, Part y, size_t, size_t) {
  result.conjunction &= op.word != "|";
  const bool isAnd = op.word == "&";
  Part made{x.value ? x.value : y.value,
            isAnd ? x.seesAhead && y.seesAhead : x.seesAhead || y.seesAhead};
  if (!site || !x.value || !y.value)
    return made;
  OpBuilder &b = site->f.b;
  const Location loc = site->f.loc;
  made.value = isAnd            ? MaskAndOp::create(b, loc, x.value, y.value).getResult()
               : op.word == "|" ? MaskOrOp::create(b, loc, x.value, y.value).getResult()
                                : BiasAddOp::create(b, loc, x.value, y.value).getResult();
  return made;
}

Part PartEvaluator::prefix(const Expression &, Part x) {
  result.conjunction = false;
  return {x.value ? MaskNotOp::create(site->f.b, site->f.loc, x.value) : Value()};
}

void PartEvaluator::takeArguments(const Expression &e, const Signature &signature, MaskCall &node) {
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const Expression &argument = e.operands[i];
    const char kind = signature.function.arguments[i];
    const auto integer = static_cast<int64_t>(argument.number);
    const bool isName = argument.kind == Expression::Kind::Name;
    if (kind == 'n')
      node.inputs.push_back(argument.word);
    if (kind == 'i') {
      node.numbers.push_back(integer);
      if (integer < signature.smallest)
        in.report("expected an integer of at least " + std::to_string(signature.smallest) +
                      ", found " + std::to_string(integer),
                  argument.place);
    }
    if (kind == 'o' && isName)
      node.offsetInput = argument.word;
    if (kind == 'o' && !isName)
      node.offset = integer;
    if (kind == 'f') {
      node.factor = static_cast<float>(argument.number);
      if (!(node.factor > 0 && std::isfinite(node.factor)))
        in.report("expected a finite factor above 0", argument.place);
    }
  }
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

/// Checks the formula of `where(...)`, and builds its op and region.
Value PartEvaluator::where(const Expression &formula, MaskCall &node) {
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
  evaluateFormula(in, formula, result.scoreRule, node.inputs, inside);
  if (site)
    site->f.b.restoreInsertionPoint(outside);
  return value;
}

Part PartEvaluator::call(const Expression &e) {
  if (result.calls.size() == 1000) // chains become nested ops
    in.report("expected at most 1000 masks in one expression, found more", e.place);
  if (in.failed())
    return {};
  MaskCall &node = result.calls.emplace_back();
  const Signature &signature =
      *llvm::find_if(MaskGrammar::of(result.scoreRule).known,
                     [&](const Signature &s) { return s.function.word == e.word; });
  node.kind = signature.kind;
  if (node.kind == Kind::Where)
    return {where(e.operands[0], node)};
  takeArguments(e, signature, node);
  if (in.failed())
    return {};
  return {site ? site->masks.write(*site, node, result.scoreRule) : Value(), seesAhead(node)};
}

static Expected<MaskExpression> parsed(std::string_view text, bool scoreRule) {
  MaskExpression result{.text = std::string(text), .scoreRule = scoreRule};
  ExpressionCursor in(text);
  if (in.atEnd())
    in.report(scoreRule ? "expected a score rule, found nothing"
                        : "expected a mask, found nothing");
  result.tree = std::make_shared<const Expression>(parseExpression(in, MaskGrammar::of(scoreRule)));
  result.seesAhead = PartEvaluator(in, result).evaluate(*result.tree).seesAhead;
  if (in.failed())
    return in.takeError();
  return result;
}

Expected<MaskExpression> heddle::parseMask(std::string_view text) {
  return parsed(text, /*scoreRule=*/false);
}
Expected<MaskExpression> heddle::parseScoreRule(std::string_view text) {
  return parsed(text, /*scoreRule=*/true);
}

Value MaskBuilder::build(FunctionBuilder &f, const MaskExpression &e, bool cross, Call call) const {
  call.packed |= e.uses(Kind::PackedDocuments);
  MaskPlace site{*this, f, cross, call};
  ExpressionCursor in(e.text); // without errors: the tree has been checked
  MaskExpression written{.text = {}, .scoreRule = e.scoreRule};
  Value value = PartEvaluator(in, written, &site).evaluate(*e.tree).value;
  return call.documents.empty() || e.scoreRule ? value : within(f, call, cross, value);
}
