//===- MaskFormulas.cpp - Random formulas as text -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions of mask.where and bias.where. Half of them are typical of models (bands, grids, tables).
// The other half combines arbitrary ops and numbers, including overflows, divisions by a loaded 0
// and shifts by too many bits. Numbers in score rules stay small, so that f32 and the reference's
// f64 are comparable.
#include "MaskComposer.h"

using namespace heddle;
using namespace heddle::test;

static std::string text(int64_t number) { return std::to_string(number); }

std::string Composer::region(const std::string &op, const std::string &yielded,
                             const std::string &type) {
  std::string ops = std::move(formula);
  formula.clear();
  return define(op + " {\n  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n" + ops +
                "    transformer.yield " + yielded + " : " + type + "\n  }");
}

std::string Composer::binary(const std::string &op, const std::string &a, const std::string &b,
                             const std::string &type) {
  std::string name = "%x" + text(next++);
  formula += "    " + name + " = " + op + " " + a + ", " + b + " : " + type + "\n";
  return name;
}

std::string Composer::constant(int64_t value) {
  std::string name = "%x" + text(next++);
  formula += "    " + name + " = arith.constant " + text(value) + " : i32\n";
  return name;
}

/// An entry of a new table of rank 1 or 2; the index may be out of range.
std::string Composer::load(const std::string &element, const std::string &index) {
  bool perSequence = random.chance(40), extremes = element == "i32" && random.chance(15);
  std::string type = std::string(perSequence ? "tensor<?x?x" : "tensor<?x") + element + ">";
  std::string size = "\"N" + text(next++) + "\"";
  bool isReal = element == "f32";
  std::string table = argument(
      type, (perSequence ? sequences() + ", " : "") + size, [=](const Sizes &s, Random &r) {
        int64_t count = r.whole(1, s.keys + 5);
        std::vector<int64_t> shape =
            perSequence ? std::vector{s.sequences(), count} : std::vector{count};
        RefTensor made{isReal ? DType::F32 : DType::I32, shape, {}};
        for (int64_t n = 0; n < (perSequence ? s.sequences() * count : count); ++n) {
          double value =
              isReal ? static_cast<float>(2 * r.unit()) : static_cast<double>(r.whole(-2, 9));
          if (extremes && r.chance(20))
            value = r.chance(50) ? -0x1p31 : 0x1p31 - 1;
          made.values.push_back(value);
        }
        return made;
      });
  std::string name = "%x" + text(next++);
  formula += "    " + name + " = transformer.mask.load " + table + "[" +
             (perSequence ? "%b, " : "") + index + "] : " + type + "\n";
  return name;
}

//===- Integers ----------------------------------------------------------===//

std::string Composer::integerLeaf() {
  int64_t kind = random.whole(0, 9);
  if (kind < 3)
    return "%i";
  if (kind < 6)
    return "%j";
  if (kind == 6)
    return random.chance(50) ? "%b" : "%h";
  if (kind == 7)
    return load("i32", random.of<std::string>({"%i", "%j", "%j", "%h"}));
  if (kind == 8 && random.chance(40))
    return argument("i32", "", [](const Sizes &s, Random &r) {
      return RefTensor{DType::I32, {}, {static_cast<double>(r.whole(-s.queries, s.keys))}};
    });
  return constant(random.chance(12)
                      ? random.of<int64_t>({-2147483648, 2147483647, 1 << 20, -65536, 31, 32})
                      : random.whole(-3, 40));
}

std::string Composer::integer(int depth) {
  if (depth <= 0 || random.chance(20))
    return integerLeaf();
  int64_t kind = random.whole(0, 19);
  if (kind == 0)
    return load("i32", integer(depth - 1));
  if (kind == 1) {
    std::string c = condition(depth - 1), a = integer(depth - 1), b = integer(depth - 1);
    std::string name = "%x" + text(next++);
    formula += "    " + name + " = arith.select " + c + ", " + a + ", " + b + " : i32\n";
    return name;
  }
  if (kind == 2) { // a narrow integer, or a truth value, as a number
    std::string narrow = random.of<std::string>({"i8", "i16", "i1"});
    std::string wide = integer(depth - 1), cut = "%x" + text(next++), name = "%x" + text(next++);
    formula += "    " + cut + " = arith.trunci " + wide + " : i32 to " + narrow + "\n    " + name +
               " = arith." + random.of<std::string>({"extsi", "extui"}) + " " + cut + " : " +
               narrow + " to i32\n";
    return name;
  }
  static const std::vector<std::string> ops = {
      "addi",  "subi",  "subi", "muli", "floordivsi", "ceildivsi", "divsi", "remsi",
      "minsi", "maxsi", "andi", "ori",  "xori",       "shli",      "shrsi", "shrui"};
  std::string op = random.of(ops), a = integer(depth - 1), b = integer(depth - 1);
  return binary("arith." + op, a, b);
}

std::string Composer::condition(int depth) {
  if (depth > 1 && random.chance(35)) {
    std::string op = random.of<std::string>({"andi", "ori", "xori"}), a = condition(depth - 1),
                b = condition(depth - 1);
    return binary("arith." + op, a, b, "i1");
  }
  static const std::vector<std::string> predicates = {"eq",  "ne",  "slt", "sle", "sgt",
                                                      "sge", "ult", "ule", "ugt", "uge"};
  std::string predicate = random.of(predicates), a = integer(depth), b = integer(depth);
  return binary("arith.cmpi " + predicate + ",", a, b);
}

/// Formulas typical of models: a band, equal blocks, a grid, a table of colours, a stride, a limit
/// per row.
std::string Composer::knownFormula() {
  auto compare = [&](const char *predicate, const std::string &a, const std::string &b) {
    return binary(std::string("arith.cmpi ") + predicate + ",", a, b);
  };
  int64_t size = random.of<int64_t>({3, 8, 16, 64, 100});
  std::string n = constant(size), difference = binary("arith.subi", "%i", "%j");
  auto both = [&](const char *op) { return std::pair(binary(op, "%i", n), binary(op, "%j", n)); };
  switch (random.whole(0, 5)) {
  case 0: {
    std::string near = compare("slt", difference, n),
                after = compare("sge", difference, constant(0));
    return binary("arith.andi", near, after, "i1");
  }
  case 1: {
    auto [a, b] = both("arith.floordivsi");
    return compare("eq", a, b);
  }
  case 2: {
    auto [a, b] = both("arith.divsi");
    auto [c, d] = both("arith.remsi");
    std::string rows = compare("sle", binary("arith.subi", a, b), constant(1)),
                columns = compare("sge", binary("arith.subi", c, d), constant(-2));
    return binary("arith.andi", rows, columns, "i1");
  }
  case 3:
    return compare("eq", load("i32", "%i"), load("i32", "%j"));
  case 4:
    return compare("eq", binary("arith.remsi", difference, n), constant(0));
  default:
    return compare("slt", "%j", binary("arith.muli", load("i32", "%i"), constant(8)));
  }
}

std::string Composer::where() {
  std::string truth = random.chance(40) ? knownFormula() : condition(3);
  return region("transformer.mask.where", truth, "i1");
}

//===- Numbers -----------------------------------------------------------===//

std::string Composer::real(const std::string &value) {
  std::string name = "%x" + text(next++);
  formula += "    " + name + " = arith.constant " + value + " : f32\n";
  return name;
}

std::string Composer::choice(const std::string &condition, const std::string &a,
                             const std::string &b) {
  std::string name = "%x" + text(next++);
  formula += "    " + name + " = arith.select " + condition + ", " + a + ", " + b + " : f32\n";
  return name;
}

/// A number of at most a few units, from integers clamped to [-20, 20] and from tables.
std::string Composer::number(int depth) {
  auto unary = [&](const std::string &op, const std::string &x) {
    std::string name = "%x" + text(next++);
    formula += "    " + name + " = " + op + " " + x + " : f32\n";
    return name;
  };
  if (depth <= 0 || random.chance(25)) {
    if (random.chance(50))
      return load("f32", random.of<std::string>({"%i", "%j"}));
    std::string cut = binary("arith.minsi", integer(1), constant(20));
    cut = binary("arith.maxsi", cut, constant(-20));
    std::string name = "%x" + text(next++);
    formula += "    " + name + " = arith.sitofp " + cut + " : i32 to f32\n";
    return binary("arith.mulf", name, real("0.125"), "f32");
  }
  std::string x = number(depth - 1);
  switch (random.whole(0, 6)) {
  case 0:
    return unary("math.exp", unary("arith.negf", unary("math.absf", x)));
  case 1:
    return unary("math.log", binary("arith.addf", unary("math.absf", x), real("1.0"), "f32"));
  case 2: {
    std::string y = unary("math.absf", number(depth - 1));
    return binary("arith.divf", x, binary("arith.addf", y, real("1.0"), "f32"), "f32");
  }
  case 3: {
    std::string c = condition(1);
    return choice(c, number(depth - 1), x);
  }
  default: {
    std::string op = random.of<std::string>({"addf", "subf", "maximumf", "minimumf"});
    return binary("arith." + op, x, number(depth - 1), "f32");
  }
  }
}

/// Minus infinity, which excludes a pair, is the outermost choice: no number is computed from it.
std::string Composer::biasWhere() {
  std::string value = number(3);
  if (random.chance(25)) {
    std::string c = condition(1);
    value = choice(c, real("0xFF800000"), value);
  }
  return region("transformer.bias.where", value, "f32");
}
