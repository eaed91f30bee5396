# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small templates, each a rule of Jinja or Python that chat templates lean on. make.py renders them with VARIABLES."""


VARIABLES = {
    "t": "héllo Wörld", "empty": "", "n": 7, "m": -3, "x": 2.5, "yes": True, "no": False, "nil": None,
    "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "d": {"b": 1, "a": "two", "items": [1], "get": 2},
    "people": [{"name": "Ann", "age": 30, "tags": ["x"]}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 30, "tags": []}],
    "nested": [[1, 2], [3, [4, "5"]]], "quote": "it's \"so\"", "lines": "a\n\n b\r\nc\n", "emoji": "a🙂b", "sharp": "straße ǆ İ ΑΣ",
}

# Expressions, semicolons between them.
VALUES = """
t|upper; t|lower; t|title; t|capitalize; t|length; t|reverse; t[1]; t[-1]; t[1:4]; t[::-1]; t[::2]; t[-3:]; t[:-3]; t[100]; t[5:100]
emoji|length; emoji[1]; emoji[::-1]; emoji|list; emoji.find('b'); sharp.upper(); sharp.lower(); sharp.title(); sharp|title; sharp|capitalize; "o'neil a-b (c)"|title; "o'neil a-b".title()
n + 1; n - 10; n * 2; n / 2; n // 2; m // 2; n % 3; m % 2; n % -4; m // -2; 2 ** 10; 2 ** -1; 2.0 ** 3; -2 ** 2; 2 ** 3 ** 2; 7.5 // 2; -7.5 // 2; -7.5 % 2; 7.5 % -2; 1e3; 1_000; 0x1F; 0b101; 0o17; 1.5e-7; 1e16; 123456789012345.0; 1e22; 0.1 + 0.2; 1 / 3; -0.0; 4 / 2; 10 // 3.0; yes + 1; 3 * yes
n / 0; n // 0; n % 0; 2.5 % 0; 0 ** -1; 'a' + 1; 'a' - 'b'; nil + 1; missing + 1; [1] + (2,); -'a'
1 < 2 < 3; 1 < 3 < 2; 1 == 1.0; 1 == true; 'a' < 'b'; 'a' < 'B'; [1, 2] < [1, 3]; (1, 2) == (1, 2); [1] == (1,); {'a': 1} == {'a': 1.0}; 1 < 'a'; nil < 1; nil == none; missing == missing; missing == none; 1 != 2; n >= 7; n <= 6; 2 > 1 == true
'a' in 'cat'; 'z' not in t; 1 in l; 5 not in l; 'a' in d; 'two' in d; 1 in 'cat'; 'x' in missing; 1 in 5; (1, 2) in [(1, 2)]; not 1 in l
yes and no; no or 'x'; '' or nil; nil or missing or 0; 1 and 2; not ''; not nil; not l; yes if no else 'else'; 'a' if yes; 'a' if no; ('a' if no) is undefined; 1 if 0 else 2 if 0 else 3; not not 1
'a' ~ 1 ~ none ~ 2.0 ~ true; 'a' ~ missing ~ 'b'; 'ab' * 3; 3 * 'ab'; 'ab' * -1; [1, 2] * 2; (1,) * 2; 'a' 'b' "c"; 'a' ~ 1 + 2; 1 + 2 ~ 3
true; True; none; None; false; [1, 'a', none, true, 2.0]; (1,); (1, 2); (); {}; {'a': {'b': [1]}}; {1: 2, 'x': (3,)}; [missing]; [quote]
missing; missing.x; missing['x']; missing(); d.zzz; d.zzz.y; d['zzz']; d.b; d['a']; d['items']; d.get('a'); d.get('q'); d.get('q', 5); d['get']; nil.x; nil['x']; n.x; n['x']; l[5]; l['a']; l[1.5]; l[true]; l.0; nested.1.1.0; nested[1][1][1]
l[1:]; l[:-1]; l[::-1]; l[5:]; l[-2:]; l[2:0:-1]; l[none:none]; l[::0]; (1, 2, 3)[1:]; d[1:]; n[:2]; nil[::2]; missing[1:]; l[-100:100]; range(5)[1:3]|list; l[:1:-1]; l[10:0:-2]
range(3); range(1, 4)|list; range(5, 0, -2)|list; range(0)|list; range(3)|length; range(100001)|length; range(1, 2, 0); range('a'); range(2, 10, 3); range(3)[1]; range(3)[-1]
dict(a=1, b=2); dict(d, a=3); dict([('a', 1), ('b', 2)]); namespace(a=1).a; namespace(a=1); namespace(d).b; namespace(a=1).b; namespace(a=1)['a']
' a b '|trim; 'xxaxx'|trim('x'); '\\u3000a\\u00a0\\x1f'|trim; 12|trim; missing|trim; nil|trim
l|join; l|join(', '); words|join('-'); people|join(', ', attribute='name'); 'abc'|join('.'); [1, none, 2.5, 'x']|join(','); missing|join; d|join(','); n|join
l|sort; l|sort(reverse=true); words|sort; words|sort(case_sensitive=true); people|sort(attribute='name')|map(attribute='age')|list; people|sort(attribute='age,name')|map(attribute='name')|list; people|sort(attribute='age', reverse=true)|map(attribute='name')|list; [1, 'a']|sort; l|sort|first; d|dictsort; {'b': 1, 'A': 2}|dictsort; {'b': 1, 'A': 2}|dictsort(true); {'b': 2, 'a': 3}|dictsort(by='value'); {'b': 2, 'a': 3}|dictsort(false, 'key', true)
[1, 2, 1, 3]|unique|list; ['a', 'A', 'b']|unique|list; ['a', 'A']|unique(true)|list; l|min; l|max; words|min; words|max; l|sum; people|sum(attribute='age'); [[1], [2]]|sum(start=[]); []|min; []|sum; people|max(attribute='age'); [1, true, 1.0]|unique|list
l|first; l|last; []|first; []|last; 'abc'|first; 'abc'|last; d|first; missing|first; missing|last; d|last; l|reverse|list; (1, 2)|reverse|list; d|list; d|length; nil|length; n|length; missing|length; l|count
l|map('string')|list; words|map('upper')|join; people|map(attribute='name')|list; people|map(attribute='tags')|list; people|map(attribute='tags', default='-')|list; people|map(attribute='tags.0')|list; l|map('round', 1)|list; words|map('replace', 'a', 'z')|list; missing|map('upper')|list; l|map('nothing')|list; l|map|list; l|map('add', 1)|list
l|select('odd')|list; l|reject('odd')|list; l|select('>', 1)|list; l|select('in', [1, 2])|list; [0, 1, '', 'a', none]|select|list; [0, 1]|reject|list; people|selectattr('tags')|map(attribute='name')|list; people|selectattr('age', 'equalto', 30)|map(attribute='name')|list; people|rejectattr('age', '>', 26)|map(attribute='name')|list; people|selectattr('tags', 'defined')|list|length; people|rejectattr('tags', 'undefined')|list|length; l|select('nothing')|list; words|select('lower')|list; l|select('divisibleby', 2)|list; people|selectattr('name', 'in', ['bob'])|map(attribute='age')|first
l|tojson; d|tojson; nested|tojson; t|tojson; quote|tojson; "</a>&"|tojson; nil|tojson; 2.0|tojson; 1e100|tojson; yes|tojson; missing|tojson; (1, 2)|tojson; {1: 2, none: 3, true: 4, 1.5: 6}|tojson; emoji|tojson; emoji|tojson(ensure_ascii=true); 'é\\x7f\\u2028'|tojson; 'é\\x7f'|tojson(true); 'é\\x7f\\x01\\n\\b'|tojson(ensure_ascii=true); d|tojson(indent=2); nested|tojson(indent=4); []|tojson(indent=2); {}|tojson(indent=2); d|tojson(sort_keys=true); d|tojson(separators=(',', ':')); [1, {'a': []}]|tojson(indent=0); [1]|tojson(indent='--'); range(2)|tojson; [1]|tojson(indent=-1)
t|replace('l', 'L'); t|replace('l', 'L', 1); 'aaa'|replace('aa', 'b'); 'ab'|replace('', '-'); 'ab'.replace('', '-', 2); 12|replace(1, 'x'); t.replace('o', '0'); t.replace('zz', ''); 'a.b.c'.replace('.', '')
missing|default('x'); nil|default('x'); ''|default('x', true); nil|d('y', true); missing|d; missing|default; 0|default(5, boolean=true); d.q|default(n)
'3'|int; '3.9'|int; 'x'|int; 'x'|int(5); 3.9|int; -3.9|int; ' 12 '|int; '0x1f'|int(base=16); '101'|int(0, 2); '1_000'|int; nil|int; true|int; 'inf'|int; ''|int; '+5'|int; '-5'|int; '3.5'|float; 'x'|float; 'x'|float(1.5); 3|float; '1e3'|float; 'nan'|float; '-inf'|float; '1_0.5'|float; nil|float; '1e999'|float; missing|int; missing|float(1.5); d.q|int(3)
(-3)|abs; -2.5|abs; 2.5|round; 3.5|round; 2.675|round(2); 42.55|round(1, 'floor'); 42.51|round(0, 'ceil'); 7|round; 1234|round(-2); 2.5|round|int; 1.25|round(1); -1.5|round; 'a'|round; 'a'|abs; 5|round(1, 'ceil'); 0.5|round(0, 'nothing')
'a\\nb'|indent; 'a\\nb'|indent(2); 'a\\n\\nb'|indent(2, true); 'a\\n\\nb'|indent(2, blank=true); 'a\\nb\\n'|indent(1); lines|indent('> '); n|indent; ''|indent(first=true)
'<a href="x">\\'&'|e; '<b>'|escape; '<b>'|safe; n|string + '1'; nil|string; '%s is %d, %.2f'|format('a', 5, 2.345); '%5s|%-5s|%05d|%x|%r|%%'|format('a', 'b', 42, 255, 'q'); '%(a)s-%(b)03d'|format(a=1, b=2); '%s' % n; '%s %s' % (1, 2); '%d' % 'a'; '%s %s' % 1; '%s'|format; '%i' % 2.9; '%+d' % 5; '%e' % 12345.678; '%g' % 0.0001; 'a' % l; 'a' % d; 'a' % (1,); 'a' % 1
d|items|list; d.items()|list; {'a': 1}.items(); {'a': 1}.keys(); {'a': 1}.values(); {'a': 1}.keys()|list; {'a': 1}|items|first; missing|items|list; l|items|list; {'a': 1}.items()|length; people[0]|attr('name')
'a,b,,c'.split(','); ' a  b '.split(); ' a b c '.split(none, 1); 'a,b,c'.split(',', 1); 'a,b,c'.rsplit(',', 1); ' a b c '.rsplit(none, 1); ''.split(); ''.split(','); 'abc'.split(''); 'a\\nb\\r\\nc\\x0bd\\u2028e'.splitlines(); 'a=b=c'.partition('='); 'a=b=c'.rpartition('='); 'abc'.partition('='); 'abc'.rpartition('='); 'a-b'.split('-')[0]; 'ab'.split(sep='b', maxsplit=1)
' xa '.strip(); 'xxaxx'.strip('x'); 'xyaxy'.lstrip('yx'); 'xyaxy'.rstrip('yx'); ' a '.lstrip(); ' a '.rstrip(); 'éaé'.strip('é'); 'abc'.startswith('ab'); 'abc'.endswith('bc'); 'abc'.startswith(('x', 'a')); 'abc'.endswith(['c']); 'abc'.removeprefix('a'); 'abc'.removesuffix('c'); 'abc'.upper().lower(); 'abc'.capitalize(); '-'.join(words); '-'.join(l); 'abcabc'.find('c'); 'abcabc'.rfind('c'); 'abc'.find('z'); 'abc'.index('c'); 'abc'.index('z'); 'aXbX'.count('X'); 'abc'.count('')
'12'.isdigit(); 'a1'.isdigit(); '²'.isdigit(); '½'.isnumeric(); 'ab'.isalpha(); 'a1'.isalnum(); ' \\t'.isspace(); ''.isspace(); 'AB'.isupper(); 'aB'.islower(); 'a1'.islower(); '1'.isupper(); '{} and {}'.format(1, 'b'); '{1}{0}'.format('a', 'b'); '{x}'.format(x=5); '{{}}'.format(); '{}'.format(); '}'.format()
l.index(1); l.index(9); l.count(1); (1, 1).count(1); l.append(4); d.update({}); d.pop('a'); l.pop() is defined; l.append; d.clear(); l.copy(); (1, 2).index(2); (1,).copy(); (1,).append(2); d.copy() == d; l.sort(); l.zzz()
n is defined; missing is defined; missing is undefined; d.zz is defined; nil is none; nil is not none; n is number; x is number; yes is number; n is integer; yes is integer; x is float; yes is boolean; yes is true; no is false; n is true; t is string; l is string; l is sequence; t is sequence; d is sequence; n is sequence; d is mapping; l is mapping; l is iterable; t is iterable; n is iterable; d is iterable; missing is iterable; missing is sequence; range(2) is sequence; l|map('string') is sequence; l|map('string') is iterable; d.keys() is sequence; d.items is callable; range is callable; n is callable
n is odd; n is even; n is divisibleby 7; n is divisibleby(2); n is eq 7; n is equalto 8; n is ne 7; n is gt 5; n is lessthan 5; n is ge 7; n is le 6; 1 is in [1]; 'a' is in 'abc'; n is sameas n; 1 is sameas true; nil is sameas none; t is lower; 'ABC' is upper; 'upper' is filter; 'zzz' is filter; 'odd' is test; t is escaped; n is not odd; n is odd and x is float; not n is odd; 'a' is odd; n is nothing; x is odd; n is divisibleby 0
raise_exception('stop: ' ~ n); strftime_now('%d %b %Y'); strftime_now('%Y-%m-%dT%H:%M:%S %A %j %%'); strftime_now(); zzz(1); n(1); 'a'(); l|zzz; (l); ((1)); [1, 2,]; {'a': 1,}; (1,)[0]; [[1, 2][0]][0]; {'a': 1}['a']; 'a'|upper|lower|length; -1|abs; (n)|string|length; -n; +n; - -n; not no and yes; n if n else m; [n, m][0]; l|map('string')|map('length')|list|sum; {'a': 1, 'a': 2}; {[1]: 2}; d[[1]]; {(1, 2): 3}[(1, 2)]; {1: 'a'}[1.0]; {1: 'a'}[true]
2 ** 62; 9223372036854775807; 0.1; 100.0; 1e-5; 0.0001; 123456.789e3; 5e-324; 1.7976931348623157e308; 3.0e0; 12345678901234567.0; [0.1, 1e16, -0.0]; 1 // 1; 6 / 3|int; 1.0 == 1; 2**0.5; 10 % 3.5; 1 - 0.9
"""

# A line each, which may hold line ends of its own.
TEXTS = r"""
{% for i in l %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}
{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}
{% for i in [] %}x{% else %}none{% endfor %}{% for i in l if i > 5 %}x{% else %}none{% endfor %}
{% for i in l if i != 1 %}{{ loop.index }}:{{ i }} {% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}
{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [1, 2] %}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for c in 'aé🙂' %}[{{ c }}]{% endfor %}
{% for i in missing %}x{% else %}e{% endfor %}
{% for i in 5 %}x{% endfor %}
{% for i in none %}x{% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(3) %}{% for j in range(3) %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}
{% for i in l %}{{ loop.previtem }}<{{ i }}<{{ loop.nextitem }} {% endfor %}
{% for i in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}
{% for i in range(4) %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i // 2) }}{% endfor %}
{% for i in l %}{% for j in 'ab' %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for i in l %}{% set x = i %}{% endfor %}{{ x }}
{% for i in l %}{{ i }}{% endfor %}{{ i }}{{ loop }}
{% set ns = namespace(c=0) %}{% for i in l %}{% set ns.c = ns.c + i %}{% endfor %}{{ ns.c }}
{% set ns = namespace() %}{% set ns.a, b = 1, 2 %}{{ ns.a }}{{ b }}{% set ns.l = [] %}{% set ns.l = ns.l + [1] %}{{ ns.l }}
{% set d.x = 1 %}
{% set missing.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}{% set q = 1, 2 %}{{ q }}
{% set y %}  <{{ n }}>{% endset %}[{{ y }}]{{ y|length }}
{% set y | upper | trim %} abc {% endset %}[{{ y }}]
{% set y %}{% set inner = 1 %}{% endset %}{{ inner is defined }}
{% if no %}a{% elif nil %}b{% elif n %}c{% else %}d{% endif %}
{% if no %}{% set z = 1 %}{% endif %}{{ z is defined }}{% if yes %}{% set z = 2 %}{% endif %}{{ z }}
{% if n == 7 and x %}ok{% endif %}{% if missing %}no{% endif %}{% if not missing %}ok{% endif %}
{% if l|select('odd') %}true{% endif %}{% if [] | map('upper') %}true{% endif %}
{% set g = l|map('string') %}{{ g|join }}{{ g|join }}
{% set g = l|map('string') %}{{ g|first }}{{ g|list }}
{% macro m(a, b=2, c='x' ~ b) %}[{{ a }}|{{ b }}|{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=6) }}{{ m() }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}
{% macro f(k) %}{% if k > 1 %}{{ k }}*{{ f(k - 1) }}{% else %}1{% endif %}{% endmacro %}{{ f(5) }}
{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}
{% macro m() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m() }}{% set later = 6 %}{{ m() }}
{% macro m() %}{% set n = 1 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}
{% macro wrap(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call wrap('b') %}in {{ n }}{% endcall %}
{% macro each(l) %}{% for i in l %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(a, b) each(words) %}{{ b }}{{ a }} {% endcall %}
{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}{{ m(n)|upper }}{{ m(1) + 'x' }}
{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}
{% filter upper %}abc {{ t }}{% endfilter %}{% filter replace('a', 'b')|trim %} aa {% endfilter %}
{% with a = 1, b = n %}{{ a }}{{ b }}{% set n = 0 %}{{ n }}{% endwith %}{{ n }}{{ a }}
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}
{% generation %}{% set inside = 1 %}text {{ n }}{% endgeneration %}{{ inside }}
{% raw %}{{ x }} {% if %}{# #}{% endraw %}|{%- raw -%}  a  {%- endraw -%}  |{% raw %}⏎ b{% endraw %}
a {# comment #} b{#- c -#} d{# {{ x }} {% if %} #}
a⏎{# comment #}⏎b⏎  {# indented #}⏎c
a⏎{% if yes %}⏎b⏎{% endif %}⏎c⏎
a⏎   {% if yes %}   ⏎  b  ⏎  {% endif %}⏎c
a  {% if yes %}b{% endif %}  c
a⏎  {%- if yes -%}  ⏎ b ⏎ {%- endif -%} ⏎ c
a⏎  {%+ if yes %}⏎ b⏎  {%+ endif %}⏎c
a⏎{% if yes +%}⏎b{% endif +%}⏎c
  {{ n }}  ⏎  {{- n -}}  ⏎  {{ n }}⏎
{{ n }}⏎⏎
x␍⏎y␍z⏎
{{ 'a\nb' }}⏎{{ "\r\n" | length }}
{{ {'a': {'b': 1}}['a']['b'] }}{{ {'a': {}} }}
{{ '}}' }}{{ "%}" }}{% if '%}' %}y{% endif %}
{%if n%}a{%endif%}{{n}}{{-n-}}
{% print n, 1 %}{% if yes: %}p{% endif %}
{{ n⏎  }}{{⏎ loop is defined }}
{{ 'é' }}{{ [quote, 'a\nb', '\\', 'é', '\x07', '\u200b', "'", '\ue000\u2028'] }}
{{ 'tab\there\'s \x41 \u00e9 \U0001F600 \101 \q' }}
{% set messages = l[1:] %}{{ messages }}{% for l in [1] %}{{ l }}{% endfor %}{{ l }}
{{ range(3) | map('string') | join('') }}{{ joiner is defined }}
{{ ns.x }}
{% set ns = namespace(a=[]) %}{% for p in people %}{% set ns.a = ns.a + [p.name] %}{% endfor %}{{ ns.a | join(' ') }}
{{ caller() }}
{% for p in people | sort(attribute='age') %}{{ p.name }}{{ ',' if not loop.last }}{% endfor %}
{% for p in people %}{{ p['tags'][0] if p.tags else '-' }}{% endfor %}
{% set x = namespace(v=x) %}{{ x.v }}
{{ 1 if }}
{{ }}
{% if %}{% endif %}
{% for in l %}{% endfor %}
{% endif %}
{% if yes %}
{{ n
{# open
{% raw %} x
{% set 5 = 1 %}
{% unknown %}
{{ 'open }}
{{ n | }}
{{ (1, 2 }}
{{ [1, 2) }}
{{ n n }}
{% break %}
{{ l[1:2:3:4] }}
{{ n is }}
{{ a.b.c }}
{{ $ }}
{% macro m(a=1, b) %}{% endmacro %}
{{ '\x4' }}
{% else %}
{% for i in l %}{% elif %}{% endfor %}
{% include 'x' %}
"""
