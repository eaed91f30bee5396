//===- TemplateTest.cpp - Errors and limits of templates ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests forbidden operations of templates and their errors. GoldenTest compares
// texts.
#include "heddle/Templates/Template.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

Expected<std::string> rendered(const std::string &source, const Json &variables = Json::object(),
                               const RenderOptions &options = {}) {
  auto read = Template::parse(source, "chat.jinja");
  return read ? read->render(variables, options) : Expected<std::string>(read.takeError());
}

std::string message(const std::string &source, const Json &variables = Json::object(),
                    const RenderOptions &options = {}) {
  auto text = rendered(source, variables, options);
  return text ? "no error: " + *text : text.error().message;
}

std::string repeated(const std::string &text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST(Template, ErrorsOfTemplatesNameTheLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"{{ a b }}", "chat.jinja:1: expected `}}`, found 'b'"},
      {"a\nb {{ (1 }}", "chat.jinja:2: expected `)`, found '}'"},
      {"{% if x %}\n\na", "chat.jinja:3: expected `{% elif %}` or `{% else %}` or `{% endif %}`, "
                          "found the end"},
      {"{% for x on y %}", "chat.jinja:1: expected `in`, found 'on'"},
      {"{% for x in y %}{% endif %}",
       "chat.jinja:1: expected `{% else %}` or `{% endfor %}`, found 'endif'"},
      {"{% fnord %}", "chat.jinja:1: expected a tag such as if, for or set, found 'fnord'"},
      {"\n{% include 'x' %}", "chat.jinja:2: expected a tag that is built, found 'include'"},
      {"{% extends 'x' %}", "chat.jinja:1: expected a tag that is built, found 'extends'"},
      {"{% block x %}{% endblock %}", "chat.jinja:1: expected a tag that is built, found 'block'"},
      {"{% import 'x' as y %}", "chat.jinja:1: expected a tag that is built, found 'import'"},
      {"{% for x in y recursive %}{% endfor %}",
       "chat.jinja:1: expected a loop that is not recursive, which is not built, found "
       "'recursive'"},
      {"{% break %}", "chat.jinja:1: expected a loop around it, found 'break'"},
      {"{% for x in y %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
       "chat.jinja:1: expected a loop around it, found 'break'"},
      {"{# a", "chat.jinja:1: expected `#}` at the end of a comment, found the end"},
      {"{% raw %}a", "chat.jinja:1: expected `{% endraw %}` after `{% raw %}`, found the end"},
      {"{{ 'a }}", "chat.jinja:1: expected an end of the string, found the end"},
      {"{{ '\\ud800' }}", "chat.jinja:1: expected a character's number after the backslash, found "
                          "'d800'"},
      {"{{ '\\N{BULLET}' }}", "chat.jinja:1: expected a character by its number, found one by its "
                              "name, which is not built"},
      {"{{ 99999999999999999999 }}",
       "chat.jinja:1: expected a whole number of 64 bits, found '99999999999999999999'"},
      {"{{ x[1, 2] }}", "chat.jinja:1: expected one key; several are not built, found ','"},
      {"{{ f(a=1, 2) }}", "chat.jinja:1: expected arguments without a name before those with one, "
                          "found one after them"},
      {"\xff", "chat.jinja: expected UTF-8, found byte 0xff at offset 0"},
  };
  for (auto [source, expected] : cases)
    EXPECT_EQ(message(source), expected) << source;
}

TEST(Template, ErrorsOfRenderingNameTheLine) {
  const Json variables = {{"n", 7}, {"l", {1}}, {"d", {{"a", 1}}}};
  const std::pair<const char *, const char *> cases[] = {
      {"\n{{ n / 0 }}", "chat.jinja:2: expected a divisor other than 0, found 0"},
      {"{{ who.name }}", "chat.jinja:1: expected a value to take 'name' of, found the undefined "
                         "variable 'who'"},
      {"{{ d.b.c }}",
       "chat.jinja:1: expected a value to take 'c' of, found 'b', which a mapping has not"},
      {"{{ n + 'x' }}", "chat.jinja:1: expected values that + takes, found a whole number and a "
                        "string"},
      {"{% macro m() %}\n{{ raise_exception('no\nwine') }}{% endmacro %}\n{{ m() }}",
       "chat.jinja:2: expected what the template takes, found: no\\x0awine"},
      {"{{ l.append(1) }}", "chat.jinja:1: expected a function to call, found the method 'append', "
                            "which changes its list or mapping: templates may not"},
      {"{{ n|wordwrap }}", "chat.jinja:1: expected a filter that is built, found 'wordwrap'"},
      {"{{ n is zero }}", "chat.jinja:1: expected a test that is built, found 'zero'"},
      {"{{ cycler(1) }}",
       "chat.jinja:1: cycler: expected a function that is built, found one that is not"},
      {"{{ 'a'|replace('b') }}", "chat.jinja:1: replace: expected an argument new, found none"},
      {"{{ 'a'.strip('b', 'c') }}", "chat.jinja:1: strip: expected at most 1 arguments, found 2"},
      {"{{ l|map('upper') }}", "chat.jinja:1: expected a value that has a text, found an iterator; "
                               "the filter list makes it a list"},
      {"{{ d.items }}", "chat.jinja:1: expected a value that has a text, found a function"},
      {"{{ 9223372036854775807 + 1 }}",
       "chat.jinja:1: expected whole numbers of 64 bits, found a larger result"},
      {"{% for a, b in [[1]] %}{% endfor %}",
       "chat.jinja:1: expected 2 values for as many names, found 1"},
      {"{{ missing|tojson }}", "chat.jinja:1: expected a value that JSON has for tojson, found the "
                               "undefined variable 'missing'"},
  };
  for (auto [source, expected] : cases)
    EXPECT_EQ(message(source, variables), expected) << source;
}

TEST(Template, EndsWhateverItSays) {
  const std::pair<std::string, const char *> cases[] = {
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "levels"},
      {"{% for a in range(9999) %}{% for b in range(99) %}{% endfor %}{% endfor %}", "steps"},
      {"{% set ns = namespace(a='x') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}"
       "{% endfor %}",
       "bytes"},
      {"{{ 'x' * 9223372036854775807 }}", "bytes"},
      {"{{ [[1] * 10000] * 1000000 }}", "bytes"},
      {"{{ '%999999999d' % 1 * 900 }}", "bytes"},
      {"{{ 'a'|indent(9223372036854775807) }}", "bytes"},
      {"{{ range(9223372036854775807) }}", "range: expected at most 100000 numbers"},
      {"{{ range(-9223372036854775807, 9223372036854775807, 1) }}", "range: expected at most"},
      {"{% set ns = namespace(a=1) %}{% for i in range(200) %}{% set ns.a = [ns.a] %}{% endfor %}",
       "levels of lists"},
      {"{% set ns = namespace(a=1) %}{% for i in range(90) %}{% set ns.a = [ns.a, ns.a] %}"
       "{% endfor %}{{ ns.a == ns.a }}",
       "steps"},
      {"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "does not hold itself"},
      {"{{ " + repeated("(", 5000) + repeated(")", 5000) + " }}", "levels of nesting"},
      {"{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", "levels of nesting"},
      {"{{ " + repeated("not ", 5000) + " }}", "levels of nesting"},
      {"{{ " + repeated("-", 5000) + " }}", "levels of nesting"},
      {"{{ 1" + repeated(" if 1 else 1", 5000) + " }}", "levels of nesting"},
      {repeated("{% if 1 %}", 5000), "levels of nesting"},
      {"{{ a" + repeated(".a", 5000) + " }}", "levels, found more"},
      {"{{ 1" + repeated(" + 1", 5000) + " }}", "levels, found more"},
      {"{{ a" + repeated("|e", 5000) + " }}", "levels, found more"},
      {"{% set " + repeated("(", 5000) + repeated(")", 5000) + " %}", "levels of nesting"},
  };
  for (const auto &[source, expected] : cases) {
    const std::string found = message(source, {{"a", "x"}}, {.steps = 300'000, .bytes = 8 << 20});
    EXPECT_NE(found.find(expected), std::string::npos) << source.substr(0, 80) << "\n" << found;
  }
}

/// If the time of a search were the product of two lengths, each of these would run for more than a
/// minute.
TEST(Template, LongTextsAreSearchedOnce) {
  const std::string made =
      "{% set needle = 'a' * 1000000 ~ 'c' %}{% set hay = 'a' * 2000000 ~ 'b' %}";
  for (const auto &[expression, expected] : {std::pair("needle in hay", "False"),
                                             {"hay.find(needle)", "-1"},
                                             {"hay.count(needle)", "0"},
                                             {"('b' ~ hay).rfind('b' ~ needle)", "-1"},
                                             {"hay.replace(needle, '') == hay", "True"},
                                             {"hay.split(needle)|length", "1"},
                                             {"('b' ~ hay).rsplit('c' ~ needle)|length", "1"},
                                             {"hay.rpartition(needle)[2] == hay", "True"},
                                             {"hay.strip('c' ~ 'd' * 1000000) == hay", "True"}})
    EXPECT_EQ(message(made + "{{ " + expression + " }}"), std::string("no error: ") + expected)
        << expression;
}

TEST(Template, PiecesFromTheEndDoNotOverlap) {
  for (const auto &[expression, expected] : {std::pair("'aaaaa'.rsplit('aa')", "['a', '', '']"),
                                             {"'aaaaa'.split('aa')", "['', '', 'a']"},
                                             {"'aaaaa'.rsplit('aa', 1)", "['aaa', '']"},
                                             {"'éxéyé'.rsplit('é', 2)", "['éx', 'y', '']"},
                                             {"'aaa'.rpartition('aa')", "('a', 'aa', '')"},
                                             {"'aaa'.rfind('aa')", "1"},
                                             {"'aba'.rfind('')", "3"},
                                             {"'aba'.find('')", "0"}})
    EXPECT_EQ(*rendered(std::string("{{ ") + expression + " }}"), expected) << expression;
}

TEST(Template, LimitsAreTheCallers) {
  const std::string source = "{% for i in range(100) %}{{ i }}{% endfor %}";
  EXPECT_TRUE(rendered(source));
  EXPECT_EQ(message(source, Json::object(), {.steps = 150}),
            "chat.jinja:1: expected an end after 150 steps, found more");
  EXPECT_EQ(message("{{ 'abcdefgh' * 9 }}", Json::object(), {.bytes = 64}),
            "chat.jinja:1: expected at most 64 bytes of texts and lists, found more");
  EXPECT_EQ(message("a", Json::array()), "chat.jinja: expected an object of variables, found "
                                         "another value");
  EXPECT_EQ(message("a", {{"n", 18446744073709551615U}}),
            "chat.jinja: n: expected whole numbers of 64 bits, found 18446744073709551615");
}

TEST(Template, LongChainsOfOneKindAreNotDeep) {
  EXPECT_EQ(*rendered("{{ 1" + repeated(" ~ 1", 999) + " }}"), repeated("1", 1000));
  EXPECT_EQ(*rendered("{{ 0" + repeated(" or 0", 2000) + " }}"), "0");
  EXPECT_EQ(*rendered("{% if 0 %}" + repeated("{% elif 0 %}", 2000) + "{% else %}a{% endif %}"),
            "a");
  EXPECT_EQ(*rendered(repeated("{{ '' }}", 20'000)), "");
}

TEST(Template, MacrosThatHoldTheirScopesAreFreed) {
  EXPECT_EQ(*rendered("{% for i in range(3) %}{% macro m() %}{{ i }}{% endmacro %}"
                      "{% set ns = namespace(m=m, l=loop) %}{% set ns.self = ns %}"
                      "{{ ns.m() }}{{ loop.changed(loop) }}{% endfor %}"),
            "0True1False2False");
}

TEST(Template, TellsTheTimeOfTheCall) {
  std::tm time{};
  time.tm_year = 99;
  EXPECT_EQ(*rendered("{{ strftime_now('%Y') }}", Json::object(), {.now = time}), "1999");
  EXPECT_GE(std::stoi(*rendered("{{ strftime_now('%Y') }}")), 2024);
  EXPECT_EQ(message("{{ strftime_now('%900000000d') }}"),
            "chat.jinja:1: strftime_now: expected the format of a time, found '%900000000d'");
}

TEST(Template, RefusesWidthsBeyondTheBudget) {
  const std::string found = message("{{ '%999999999999d' | format(1) }}");
  EXPECT_NE(found.find("expected at most"), std::string::npos) << found;
}

} // namespace
