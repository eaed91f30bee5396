//===- Tests.cpp - Tests --------------------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests, as in `x is defined`.
#include "Functions.h"
#include "heddle/Templates/Strings.h"

namespace heddle::templates {

namespace {

template <Kind kind>
Expected<Value> isKind(Call &call) {
  return Value(call.self.is(kind));
}

Expected<Value> isDefined(Call &call) { return Value(!call.self.isUndefined()); }
Expected<Value> isNumber(Call &call) { return Value(call.self.isNumber()); }
Expected<Value> isTrueItself(Call &call) {
  return Value(call.self.is(Kind::Boolean) && call.self.integer() == 1);
}
Expected<Value> isFalseItself(Call &call) {
  return Value(call.self.is(Kind::Boolean) && call.self.integer() == 0);
}

Expected<Value> isIterable(Call &call) {
  const Kind kind = call.self.kind();
  return Value(call.self.isSequence() || call.self.isText() || kind == Kind::Dict ||
               kind == Kind::Undefined || kind == Kind::Loop);
}
Expected<Value> isSequence(Call &call) {
  const Kind kind = call.self.kind();
  return Value(call.self.isIndexed() || call.self.isText() || kind == Kind::Dict ||
               kind == Kind::Undefined);
}
Expected<Value> isCallable(Call &call) {
  const Kind kind = call.self.kind();
  return Value(kind == Kind::Function || kind == Kind::Undefined || kind == Kind::Loop);
}
/// Always false, since nothing is escaped automatically.
Expected<Value> isEscaped(Call &) { return Value(false); }

Expected<Value> isLower(Call &call) {
  return Value(isLowerText(HEDDLE_TRY(textOf(call.self, call.budget))));
}
Expected<Value> isUpper(Call &call) {
  return Value(isUpperText(HEDDLE_TRY(textOf(call.self, call.budget))));
}

Expected<Value> hasRest(Call &call, const Value &divisor, int64_t rest) {
  const Value found = HEDDLE_TRY(arithmetic("%", call.self, divisor, call.budget));
  return Value(HEDDLE_TRY(areEqual(found, Value(rest), call.budget)));
}
Expected<Value> isOdd(Call &call) { return hasRest(call, Value(int64_t{2}), 1); }
Expected<Value> isEven(Call &call) { return hasRest(call, Value(int64_t{2}), 0); }
Expected<Value> isDivisible(Call &call) { return hasRest(call, call.value(0), 0); }

Expected<Value> isSame(Call &call) {
  const Value other = call.value(0);
  if (call.self.kind() != other.kind())
    return Value(false);
  if (call.self.isNumber() || call.self.isNone() || call.self.isUndefined())
    return Value(HEDDLE_TRY(areEqual(call.self, other, call.budget)));
  return Value(call.self.sameObject(other));
}

Expected<Value> isIn(Call &call) {
  return Value(HEDDLE_TRY(contains(call.value(0), call.self, call.budget)));
}
Expected<Value> isEqual(Call &call) {
  return Value(HEDDLE_TRY(areEqual(call.self, call.value(0), call.budget)));
}
Expected<Value> isUnequal(Call &call) {
  return Value(!HEDDLE_TRY(areEqual(call.self, call.value(0), call.budget)));
}

Expected<Value> ordered(Call &call, std::string_view sign) {
  return Value(HEDDLE_TRY(isOrdered(sign, call.self, call.value(0), call.budget)));
}
Expected<Value> isGreater(Call &call) { return ordered(call, ">"); }
Expected<Value> isGreaterOrEqual(Call &call) { return ordered(call, ">="); }
Expected<Value> isLesser(Call &call) { return ordered(call, "<"); }
Expected<Value> isLesserOrEqual(Call &call) { return ordered(call, "<="); }

Expected<Value> isFilter(Call &call) {
  return Value(call.self.isText() && findFunction(filters(), call.self.text()));
}
Expected<Value> isTest(Call &call) {
  return Value(call.self.isText() && findFunction(tests(), call.self.text()));
}

constexpr Function table[] = {
    {"defined", "", isDefined},
    {"undefined", "", isKind<Kind::Undefined>},
    {"none", "", isKind<Kind::None>},
    {"boolean", "", isKind<Kind::Boolean>},
    {"true", "", isTrueItself},
    {"false", "", isFalseItself},
    {"integer", "", isKind<Kind::Integer>},
    {"float", "", isKind<Kind::Float>},
    {"number", "", isNumber},
    {"string", "", isKind<Kind::String>},
    {"mapping", "", isKind<Kind::Dict>},
    {"iterable", "", isIterable},
    {"sequence", "", isSequence},
    {"callable", "", isCallable},
    {"escaped", "", isEscaped},
    {"lower", "", isLower},
    {"upper", "", isUpper},
    {"odd", "", isOdd},
    {"even", "", isEven},
    {"divisibleby", "num", isDivisible},
    {"sameas", "other", isSame},
    {"in", "seq", isIn},
    {"==", "other", isEqual},
    {"eq", "other", isEqual},
    {"equalto", "other", isEqual},
    {"!=", "other", isUnequal},
    {"ne", "other", isUnequal},
    {">", "other", isGreater},
    {"gt", "other", isGreater},
    {"greaterthan", "other", isGreater},
    {">=", "other", isGreaterOrEqual},
    {"ge", "other", isGreaterOrEqual},
    {"<", "other", isLesser},
    {"lt", "other", isLesser},
    {"lessthan", "other", isLesser},
    {"<=", "other", isLesserOrEqual},
    {"le", "other", isLesserOrEqual},
    {"filter", "", isFilter},
    {"test", "", isTest},
};

} // namespace

std::span<const Function> tests() { return table; }

} // namespace heddle::templates
