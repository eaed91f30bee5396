//===- Parser.cpp - Parser of statements ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of statements. A tag is a row of `tags`; tags that chat templates do not use have rows
// too, so that the error can name them.
#include "Parser.h"

#include "heddle/Support/Text.h"

#include <algorithm>

namespace heddle::templates {

namespace {

class Parser : public ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;

  Expected<Body> run() {
    Body body = HEDDLE_TRY(parseBody({}));
    return body;
  }

private:
  using Ends = std::initializer_list<const char *>;
  struct Tag {
    const char *name;
    Expected<Statement> (Parser::*parse)(); ///< null: unsupported
  };

  /// Parses up to one of `ends`, which is read and stored in `ending`; without ends, up to the end
  /// of the template.
  Expected<Body> parseBody(Ends ends) {
    Guard guard(levels);
    HEDDLE_TRY(checkNesting());
    Body body;
    while (token().kind != Token::End) {
      if (token().kind == Token::Data) {
        body.push_back({.kind = Statement::Text, .line = token().line, .text = token().text});
        ++at;
      } else if (token().kind == Token::OpenOutput) {
        body.push_back(HEDDLE_TRY(parseOutput()));
      } else {
        ++at; // {%
        for (const char *end : ends)
          if (takeName(end)) {
            ending = end;
            return body;
          }
        body.push_back(HEDDLE_TRY(parseTag(ends)));
        HEDDLE_TRY(closeTag());
      }
    }
    if (ends.size() > 0)
      return expected(endsText(ends));
    return body;
  }
  static std::string endsText(Ends ends) {
    return listText(
        ends, [](const char *end) { return "`{% " + std::string(end) + " %}`"; }, " or ");
  }
  /// Parses `%}` and the body that follows. The `%}` of an ending is read if it is the last one.
  Expected<Body> parseBodyOf(Ends ends) {
    takeSign(":"); // a Python-style colon
    HEDDLE_TRY(closeTag());
    return parseBody(ends);
  }
  Status closeTag() {
    if (token().kind != Token::CloseTag)
      return expected("`%}`");
    ++at;
    return {};
  }
  bool ended(std::string_view word) const { return ending == word; }

  Expected<Statement> parseOutput() {
    Statement output{.kind = Statement::Output, .line = token().line};
    ++at;
    output.parts.push_back(HEDDLE_TRY(parseTuple()));
    if (token().kind != Token::CloseOutput)
      return expected("`}}`");
    ++at;
    return output;
  }

  Expected<Statement> parseTag(Ends ends) {
    static constexpr Tag tags[] = {{"if", &Parser::parseIf},
                                   {"for", &Parser::parseFor},
                                   {"set", &Parser::parseSet},
                                   {"macro", &Parser::parseMacro},
                                   {"call", &Parser::parseCall},
                                   {"filter", &Parser::parseFilterBlock},
                                   {"with", &Parser::parseWith},
                                   {"print", &Parser::parsePrint},
                                   {"generation", &Parser::parseGeneration},
                                   {"break", &Parser::parseBreak},
                                   {"continue", &Parser::parseContinue},
                                   {"include", nullptr},
                                   {"extends", nullptr},
                                   {"import", nullptr},
                                   {"from", nullptr},
                                   {"block", nullptr},
                                   {"autoescape", nullptr},
                                   {"do", nullptr},
                                   {"trans", nullptr},
                                   {"debug", nullptr}};
    if (token().kind != Token::Name)
      return expected("the name of a tag");
    const auto *tag = std::ranges::find(tags, token().text, &Tag::name);
    if (tag == std::end(tags))
      return expected(ends.size() > 0 ? endsText(ends) : "a tag such as if, for or set");
    if (!tag->parse)
      return expected("a tag that is built");
    return (this->*tag->parse)();
  }

  Statement begin(Statement::Kind kind) { return {.kind = kind, .line = tokens[at++].line}; }

  //===- Tags ----------------------------------------------------------------===//

  Expected<Statement> parseIf() {
    Statement result = begin(Statement::If);
    do {
      result.parts.push_back(HEDDLE_TRY(parseTuple(/*withCondition=*/false)));
      result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"elif", "else", "endif"})));
    } while (ended("elif"));
    if (ended("else"))
      result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endif"})));
    return result;
  }

  Expected<Statement> parseFor() {
    Statement result = begin(Statement::For);
    result.parts.push_back(HEDDLE_TRY(parseTarget()));
    if (!takeName("in"))
      return expected("`in`");
    result.parts.push_back(HEDDLE_TRY(parseTuple(/*withCondition=*/false)));
    result.parts.push_back(takeName("if") ? HEDDLE_TRY(parseExpression()) : nullptr);
    if (token().isName("recursive"))
      return expected("a loop that is not recursive, which is not built");
    ++loops;
    const int before = loopNames;
    result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"else", "endfor"})));
    result.usesLoop = loopNames > before;
    --loops;
    if (ended("else"))
      result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endfor"})));
    return result;
  }

  Expected<Statement> parseSet() {
    Statement result = begin(Statement::Set);
    result.parts.push_back(HEDDLE_TRY(parseTarget()));
    if (takeSign("=")) {
      result.parts.push_back(HEDDLE_TRY(parseTuple()));
      return result;
    }
    result.kind = Statement::SetBlock;
    result.parts.push_back(HEDDLE_TRY(parseFilters(nullptr)));
    result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endset"})));
    return result;
  }

  Expected<std::vector<Parameter>> parseParameters() {
    std::vector<Parameter> parameters;
    HEDDLE_TRY(expectSign("("));
    while (!takeSign(")")) {
      if (!parameters.empty())
        HEDDLE_TRY(expectSign(","));
      Parameter parameter{.name = HEDDLE_TRY(expectName("the name of a parameter")),
                          .otherwise = nullptr};
      if (takeSign("="))
        parameter.otherwise = HEDDLE_TRY(parseExpression());
      else if (!parameters.empty() && parameters.back().otherwise)
        return expected("a default, as the parameter before has one");
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  }
  /// Body of a macro or of a call, which `break` cannot leave.
  Status parseMacroBody(Statement &macro, const char *end) {
    const int around = std::exchange(loops, 0);
    macros.push_back(&macro);
    macro.bodies.push_back(HEDDLE_TRY(parseBodyOf({end})));
    macros.pop_back();
    loops = around;
    return {};
  }
  Expected<Statement> parseMacro() {
    Statement result = begin(Statement::Macro);
    result.text = HEDDLE_TRY(expectName("the name of a macro"));
    result.parameters = HEDDLE_TRY(parseParameters());
    HEDDLE_TRY(parseMacroBody(result, "endmacro"));
    return result;
  }
  Expected<Statement> parseCall() {
    Statement result = begin(Statement::CallBlock);
    result.text = "caller";
    if (token().isSign("("))
      result.parameters = HEDDLE_TRY(parseParameters());
    const int line = token().line;
    result.parts.push_back(HEDDLE_TRY(parseExpression()));
    if (result.parts[0]->kind != Expression::Call)
      return errorAt(line, "expected a call after `call`, found another expression");
    HEDDLE_TRY(parseMacroBody(result, "endcall"));
    return result;
  }

  Expected<Statement> parseFilterBlock() {
    Statement result = begin(Statement::FilterBlock);
    result.parts.push_back(HEDDLE_TRY(parseFilters(nullptr, /*first=*/true)));
    result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endfilter"})));
    return result;
  }

  Expected<Statement> parseWith() {
    Statement result = begin(Statement::With);
    while (token().kind != Token::CloseTag) {
      if (!result.parts.empty())
        HEDDLE_TRY(expectSign(","));
      result.parts.push_back(HEDDLE_TRY(parseTarget()));
      HEDDLE_TRY(expectSign("="));
      result.parts.push_back(HEDDLE_TRY(parseExpression()));
    }
    result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endwith"})));
    return result;
  }

  Expected<Statement> parsePrint() {
    Statement result = begin(Statement::Output);
    do
      result.parts.push_back(HEDDLE_TRY(parseExpression()));
    while (takeSign(","));
    return result;
  }

  /// Text of an assistant, marked for training; the text is kept as it is.
  Expected<Statement> parseGeneration() {
    Statement result = begin(Statement::Scope);
    const int around = std::exchange(loops, 0);
    result.bodies.push_back(HEDDLE_TRY(parseBodyOf({"endgeneration"})));
    loops = around;
    return result;
  }

  Expected<Statement> parseJump(Statement::Kind kind) {
    if (loops == 0)
      return expected("a loop around it");
    return begin(kind);
  }
  Expected<Statement> parseBreak() { return parseJump(Statement::Break); }
  Expected<Statement> parseContinue() { return parseJump(Statement::Continue); }

  std::string_view ending; ///< ending of the last parsed body
  int loops = 0;
};

} // namespace

Expected<Body> parseTemplate(std::string_view text, const std::string &name) {
  std::vector<Token> tokens = HEDDLE_TRY(tokensOf(text, name));
  return Parser(std::move(tokens), name).run();
}

} // namespace heddle::templates
