//===- GivenTest.cpp - Parts of a text from variables -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests each operation on texts. Brackets mark the given parts, which come from
// variables instead of the template.
#include "heddle/Templates/Template.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

std::string marked(const std::string &text, const Json &given) {
  const auto parsed = Template::parse(text, "t");
  if (!parsed)
    return parsed.error().message;
  const auto made = parsed->renderParts({{"own", "o"}}, given);
  if (!made)
    return made.error().message;
  std::string result;
  size_t done = 0;
  for (auto [begin, end] : made->given) {
    result +=
        made->text.substr(done, begin - done) + "[" + made->text.substr(begin, end - begin) + "]";
    done = end;
  }
  return result + made->text.substr(done);
}

/// Renders with x = "ab c", l = ["p", "q"] and d = {"k": "v"}.
std::string marked(const std::string &text) {
  return marked(text, {{"x", "ab c"}, {"l", {"p", "q"}}, {"d", {{"k", "v"}}}, {"n", 7}});
}

TEST(Given, IsKeptWherePartsOfTextsAre) {
  EXPECT_EQ(marked("<{{ x }}>{{ own }}{{ 'y' }}{{ n }}"), "<[ab c]>oy7");
  EXPECT_EQ(marked("{{ '<' ~ x ~ '>' + x + own }}"), "<[ab c]>[ab c]o");
  EXPECT_EQ(marked("{{ ('<' ~ x ~ '>')[:3] }}{{ x[1] }}{{ x[::-1] }}"), "<[abbc ba]");
  EXPECT_EQ(marked("{{ ('-' ~ x) * 2 }}"), "-[ab c]-[ab c]");
  EXPECT_EQ(marked("{{ (' ' ~ x ~ ' ') | trim }}|{{ (' <' ~ x).strip() }}|{{ x.lstrip('a') }}"),
            "[ab c]|<[ab c]|[b c]");
  EXPECT_EQ(marked("{{ ('<' ~ x).split(' ') | join('+') }}"), "<[ab]+[c]");
  EXPECT_EQ(marked("{{ x.split('b')[-1] }}|{{ ('<' ~ x).partition('b') | join('|') }}"),
            "[ c]|<[a]|[b]|[ c]");
  EXPECT_EQ(marked("{{ '<'.join(l) }}{{ l | join(x) }}"), "[p]<[qpab cq]");
  EXPECT_EQ(marked("{{ ('<b>' ~ x).replace('b', 'BB') }}|{{ 'a-' | replace('-', x) }}"),
            "<BB>[a]BB[ c]|a[ab c]");
  EXPECT_EQ(marked("{{ ('<' ~ x).removeprefix('<a') }}{{ (x ~ '>').removesuffix('c>') }}"),
            "[b cab ]");
  EXPECT_EQ(marked("{{ '<%s>%d%%' % (x, n) }}|{{ '<%6s|%.2s>' | format(x, x) }}|{{ "
                   "'{{}}{}{0}'.format(x) }}"),
            "<[ab c]>7%|<  [ab c]|[ab]>|{}[ab cab c]");
  EXPECT_EQ(marked("{% for c in x %}{{ c }}.{% endfor %}"), "[a].[b].[ ].[c].");
  EXPECT_EQ(marked("{{ ('<' ~ x) | reverse }}{{ l | first }}{{ ['<', x] | first }}"),
            "[c ba]<[p]<");
}

TEST(Given, IsKeptByBlocksMacrosAndValues) {
  EXPECT_EQ(marked("{% set t %}<{{ x }}>{% endset %}{{ t }}"), "<[ab c]>");
  EXPECT_EQ(marked("{% macro m(a) %}<{{ a }}{{ caller() }}{% endmacro %}{% call m(x) %}:{{ n }}{% "
                   "endcall %}"),
            "<[ab c]:7");
  EXPECT_EQ(marked("{% filter trim %} <{{ x }} {% endfilter %}"), "<[ab c]");
  EXPECT_EQ(marked("{% set s = namespace(t='<') %}{% set s.t = s.t ~ x %}{{ s.t }}"), "<[ab c]");
  EXPECT_EQ(marked("{{ d.k }}{{ d['k'] }}{{ d.get('k') }}{% for k, v in d.items() %}{{ k }}={{ v "
                   "}}{% endfor %}"),
            "[vvvk]=[v]");
  EXPECT_EQ(marked("{{ none or x }}{{ x if x else '<' }}{{ missing | default(x) }}"),
            "[ab cab cab c]");
}

TEST(Given, IsAllOfWhatIsMadeLetterByLetter) {
  EXPECT_EQ(marked("{{ ('<' ~ x) | upper }}|{{ ('<' ~ x).title() }}|{{ '<a>' | upper }}"),
            "[<AB C]|[<Ab C]|<A>");
  EXPECT_EQ(marked("{{ ('<' ~ x) | indent }}"), "[<ab c]");
  EXPECT_EQ(marked("{{ d | tojson }}{{ l }}{{ ['<', 'y'] }}{{ {'<': 1} | tojson }}"),
            R"([{"k": "v"}['p', 'q']]['<', 'y']{"<": 1})");
}

TEST(Given, RolesThatAreWordsAreTheTemplates) {
  const std::string text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";
  EXPECT_EQ(
      marked(text, {{"messages",
                     {{{"role", "user"}, {"content", "x"}}, {{"role", "a|>"}, {"content", ""}}}}}),
      "<|user|>[x]<|[a|>]|>");
}

} // namespace

/// Given parts count as memory: a text in which every letter is a separate part takes nine times
/// its size.
TEST(Given, CountsItsPartsAsMemory) {
  const std::string spotted = "{% set ns = namespace(s='') %}{% for i in range(200) %}"
                              "{% set ns.s = ns.s ~ '-' ~ x %}{% endfor %}";
  for (const char *operation :
       {"('|' * 400) | replace('|', ns.s)", "('|' * 400).replace('|', ns.s)",
        "([0] * 400) | join(ns.s)", "ns.s.join(['a'] * 400)", "'a'.join([ns.s] * 400)"}) {
    const auto parsed = Template::parse(spotted + "{{ (" + operation + ") | length }}", "t");
    ASSERT_TRUE(parsed) << parsed.error().message;
    // The text alone has 160,000 bytes, and its given parts take 80,000 times 8 bytes.
    const auto made = parsed->renderParts(Json::object(), {{"x", "a"}}, {.bytes = 800'000});
    ASSERT_FALSE(made) << operation;
    EXPECT_EQ(made.error().message,
              "t:1: expected at most 800000 bytes of texts and lists, found more")
        << operation;
  }
}
