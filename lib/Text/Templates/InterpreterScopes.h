//===- InterpreterScopes.h - Depth and scopes of evaluation -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Interpreter.h"

namespace heddle::templates {

class Interpreter::Level {
public:
  explicit Level(int &depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }
  Level(const Level &) = delete;
  Level &operator=(const Level &) = delete;
  Status check() const {
    constexpr int most = 1000; // each takes some hundred bytes of stack
    if (depth > most)
      return inputError("expected at most " + std::to_string(most) +
                        " levels of expressions and macros within each other, found more");
    return {};
  }

private:
  int &depth;
};

class Interpreter::Inner {
public:
  explicit Inner(ScopePtr &scope) : scope(scope), around(scope) {
    scope = std::make_shared<Scope>(Scope{around});
  }
  ~Inner() { scope = std::move(around); }
  Inner(const Inner &) = delete;
  Inner &operator=(const Inner &) = delete;

private:
  ScopePtr &scope;
  ScopePtr around;
};

} // namespace heddle::templates
