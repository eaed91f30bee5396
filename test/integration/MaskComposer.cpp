//===- MaskComposer.cpp - Random attentions as text ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composition of masks, rules and functions; formulas are in MaskFormulas.cpp. Table contents are
// random so that masks are mostly neither empty nor full, with occasional numbers at the limits of
// i32.
#include "MaskComposer.h"

#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t largest = std::numeric_limits<int32_t>::max(),
                  smallest = std::numeric_limits<int32_t>::min();

RefTensor filled(DType type, std::vector<int64_t> shape, const std::function<double()> &value) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  RefTensor tensor{type, std::move(shape), {}};
  for (int64_t n = 0; n < count; ++n)
    tensor.values.push_back(type == DType::F32 ? static_cast<float>(value()) : value());
  return tensor;
}

RefTensor starts(const std::vector<int64_t> &list) {
  return {DType::I32, {static_cast<int64_t>(list.size())}, {list.begin(), list.end()}};
}

std::string text(int64_t number) { return std::to_string(number); }

std::string rank4(int64_t heads, const std::string &rows, int64_t features) {
  return "tensor<?x" + text(heads) + "x" + rows + "x" + text(features) + "xf32>";
}

} // namespace

//===- Sizes -------------------------------------------------------------===//

std::string Composer::queriesInType() const {
  return fixed.queries ? text(fixed.queries) : std::string("?");
}
std::string Composer::keysInType() const {
  return fixed.keys ? text(fixed.keys) : std::string("?");
}
std::string Composer::queriesInDims() const {
  return fixed.queries ? text(fixed.queries) : std::string("\"T\"");
}
std::string Composer::keysInDims() const {
  return fixed.keys ? text(fixed.keys) : std::string("\"S\"");
}

//===- Arguments ---------------------------------------------------------===//

std::string Composer::define(const std::string &op) {
  std::string name = "%m" + text(next++);
  body += "  " + name + " = " + op + "\n";
  return name;
}

std::string Composer::argument(const std::string &type, const std::string &dims,
                               std::function<RefTensor(const Sizes &, Random &)> make) {
  std::string name = "t" + text(static_cast<int64_t>(arguments.size()));
  arguments.push_back({name, type, dims, std::move(make)});
  return "%" + name;
}

/// Number of keys of each sequence.
std::string Composer::lengths() {
  return argument("tensor<?xi32>", sequences(), [](const Sizes &s, Random &r) {
    int64_t b = 0;
    return filled(DType::I32, {s.sequences()},
                  [&] { return static_cast<double>(r.whole(0, s.keysOf(b++))); });
  });
}

/// One number per sequence; `extremes` percent of them at the limits of i32.
std::string Composer::perSequence(int64_t extremes) {
  return argument("tensor<?xi32>", sequences(), [extremes](const Sizes &s, Random &r) {
    return filled(DType::I32, {s.sequences()}, [&]() -> double {
      if (r.chance(static_cast<int>(extremes)))
        return static_cast<double>(r.chance(50) ? smallest : largest);
      return static_cast<double>(r.whole(-s.queries, s.keys));
    });
  });
}

/// Clause of an offset: none, a number, or one number per sequence.
std::string Composer::offset() {
  if (random.chance(50))
    return "";
  if (random.chance(50))
    return " offset(" + perSequence(4) + " : tensor<?xi32>)";
  std::string number = argument("i32", "", [](const Sizes &s, Random &r) {
    return RefTensor{DType::I32, {}, {static_cast<double>(r.whole(-s.queries / 2, s.keys))}};
  });
  return " offset(" + number + " : i32)";
}

//===- Masks -------------------------------------------------------------===//

std::string Composer::rangeLeaf(int kind) {
  switch (kind) {
  case 0:
    return define("transformer.mask.causal" + offset());
  case 1: {
    std::string before = text(random.of<int64_t>({0, 1, 7, 40, 100, largest})),
                after = text(random.of<int64_t>({0, 0, 3, 30, largest}));
    return define("transformer.mask.window before = " + before + " after = " + after + offset());
  }
  case 2:
    return define("transformer.mask.lengths " + lengths() + " : tensor<?xi32>");
  default:
    return define("transformer.mask.prefix " + perSequence(3) + " : tensor<?xi32>");
  }
}

std::string Composer::ids() {
  std::string queryType = "tensor<?x" + queriesInType() + "xi32>",
              keyType = "tensor<?x" + keysInType() + "xi32>";
  auto table = [&](const std::string &type, const std::string &dim, int64_t Sizes::*rows) {
    return argument(type, "\"B\", " + dim, [rows](const Sizes &s, Random &r) {
      int64_t id = 0;
      bool ascends = r.chance(60);
      return filled(DType::I32, {s.batch, s.*rows}, [&]() -> double {
        id = ascends ? id + r.chance(12) : r.whole(0, 3);
        return static_cast<double>(id);
      });
    });
  };
  std::string queries = table(queryType, queriesInDims(), &Sizes::queries),
              keys = table(keyType, keysInDims(), &Sizes::keys);
  return define("transformer.mask.documents " + queries + ", " + keys + " : " + queryType + ", " +
                keyType);
}

/// A rank-4 table, possibly with dimensions of 1, as a mask or a rule.
std::string Composer::dense(const std::string &element) {
  bool full[4];
  for (bool &dim : full)
    dim = random.chance(60);
  std::string h = full[1] ? text(heads.queries) : "1";
  std::string type = std::string("tensor<") + (full[0] ? "?" : "1") + "x" + h + "x" +
                     (full[2] ? queriesInType() : "1") + "x" + (full[3] ? keysInType() : "1") +
                     "x" + element + ">";
  std::string dims = std::string(full[0] ? "\"B\"" : "1") + ", " + h + ", " +
                     (full[2] ? queriesInDims() : "1") + ", " + (full[3] ? keysInDims() : "1");
  bool f[4] = {full[0], full[1], full[2], full[3]};
  int hidden = random.chance(30) ? 20 : 0;
  std::string table = argument(
      type, dims,
      [=, b = f[0], hs = f[1], q = f[2], k = f[3], n = heads.queries](const Sizes &s, Random &r) {
        std::vector<int64_t> shape = {b ? s.batch : 1, hs ? n : 1, q ? s.queries : 1,
                                      k ? s.keys : 1};
        if (element == "i1")
          return filled(DType::Bool, shape, [&] { return r.chance(65) ? 1.0 : 0.0; });
        return filled(DType::F32, shape, [&] {
          return r.chance(hidden) ? -std::numeric_limits<double>::infinity() : 2 * r.unit();
        });
      });
  return define("transformer." + std::string(element == "i1" ? "mask" : "bias") + ".dense " +
                table + " : " + type);
}

std::string Composer::blocks() {
  return blocks(random.of<int64_t>({1, 5, 16, 48, 64}), random.of<int64_t>({1, 7, 16, 48, 64, 100}),
                55);
}

std::string Composer::blocks(int64_t rows, int64_t columns, int percent) {
  bool b = random.chance(40), h = random.chance(40);
  std::string head = h ? text(heads.queries) : "1";
  auto count = [](int64_t length, int64_t size) { return text((length + size - 1) / size); };
  std::string down = fixed.queries ? count(fixed.queries, rows) : "",
              across = fixed.keys ? count(fixed.keys, columns) : "";
  std::string type = std::string("tensor<") + (b ? "?" : "1") + "x" + head + "x" +
                     (down.empty() ? "?" : down) + "x" + (across.empty() ? "?" : across) + "xi1>";
  std::string table =
      argument(type,
               std::string(b ? "\"B\"" : "1") + ", " + head + ", " +
                   (down.empty() ? "\"R" + text(next) + "\"" : down) + ", " +
                   (across.empty() ? "\"C" + text(next) + "\"" : across),
               [=, n = heads.queries](const Sizes &s, Random &r) {
                 return filled(DType::Bool,
                               {b ? s.batch : 1, h ? n : 1, (s.queries + rows - 1) / rows,
                                (s.keys + columns - 1) / columns},
                               [&] { return r.chance(percent) ? 1.0 : 0.0; });
               });
  return define("transformer.mask.blocks " + table + " rows = " + text(rows) +
                " columns = " + text(columns) + " : " + type);
}

std::string Composer::leaf() {
  int64_t kind = random.whole(0, 11);
  if (kind < 4)
    return rangeLeaf(static_cast<int>(kind));
  // Tables of the whole attention cannot be combined with packed documents.
  if (kind == 4 && !packed)
    return ids();
  if (kind == 5 && !packed)
    return blocks();
  if (kind == 6 && !packed)
    return dense("i1");
  return where();
}

std::string Composer::conjunction(const std::string &a, const std::string &b) {
  return define("transformer.mask.and " + a + ", " + b);
}

std::string Composer::mask(int depth) {
  if (depth <= 1 || random.chance(25))
    return leaf();
  if (random.chance(20))
    return define("transformer.mask.not " + mask(depth - 1));
  std::string op = random.chance(60) ? "and " : "or ", lhs = mask(depth - 1), rhs = mask(depth - 1);
  return define("transformer.mask." + op + lhs + ", " + rhs);
}

std::string Composer::ranges(int count) {
  std::string result = rangeLeaf(static_cast<int>(random.whole(0, 3)));
  for (int n = 1; n < count; ++n)
    result = conjunction(result, rangeLeaf(static_cast<int>(random.whole(0, 3))));
  return result;
}

std::string Composer::packedDocuments() {
  packed = true;
  auto table = [&](std::vector<int64_t> Sizes::*list) {
    return argument("tensor<?xi32>", "\"N\"",
                    [list](const Sizes &s, Random &) { return starts(s.*list); });
  };
  std::string queries = table(&Sizes::queryStarts), keys = table(&Sizes::keyStarts);
  return define("transformer.mask.documents starts(" + queries + ", " + keys +
                ") : tensor<?xi32>, tensor<?xi32>");
}

//===- Score rules -------------------------------------------------------===//

std::string Composer::bias(int depth) {
  if (depth > 1 && random.chance(40)) {
    std::string lhs = bias(depth - 1), rhs = bias(depth - 1);
    return define("transformer.bias.add " + lhs + ", " + rhs);
  }
  int64_t kind = random.whole(0, 4);
  if (kind == 4)
    return distance();
  if (kind == 0 && body.find("alibi") == std::string::npos)
    return define(depth > 1 ? "transformer.bias.alibi"
                            : "transformer.bias.alibi {factor = 0.3 : f32}");
  if (kind == 1 && !packed)
    return dense("f32");
  if (kind == 2)
    return biasWhere();
  bool both = random.chance(50);
  int64_t buckets = random.of<int64_t>({4, 8, 32});
  std::string type = "tensor<" + text(buckets) + "x" + text(heads.queries) + "xf32>";
  std::string table =
      argument(type, text(buckets) + ", " + text(heads.queries),
               [buckets, h = heads.queries](const Sizes &, Random &r) {
                 return filled(DType::F32, {buckets, h}, [&] { return 2 * r.unit(); });
               });
  return define("transformer.bias.relative " + table +
                " max_distance = " + text(random.of<int64_t>({33, 64, 128})) + offset() +
                (both ? " {bidirectional} : " : " : ") + type);
}

std::string Composer::distance() {
  bool keys = random.chance(50);
  int64_t columns = random.of<int64_t>({2, 6, 32}), h = heads.queries;
  std::string type = rank4(h, keys ? keysInType() : queriesInType(), columns);
  std::string table = argument(
      type,
      "\"B\", " + text(h) + ", " + (keys ? keysInDims() : queriesInDims()) + ", " + text(columns),
      [=](const Sizes &s, Random &r) {
        return filled(DType::F32, {s.batch, h, keys ? s.keys : s.queries, columns},
                      [&] { return 2 * r.unit(); });
      });
  return define("transformer.bias.distance " + table + (keys ? " {of_keys} : " : " : ") + type);
}

std::string Composer::sinks() {
  std::string type = "tensor<" + text(heads.queries) + "xf32>";
  std::string table =
      argument(type, text(heads.queries), [h = heads.queries](const Sizes &, Random &r) {
        return filled(DType::F32, {h}, [&] {
          return r.chance(15) ? -std::numeric_limits<double>::infinity() : 2 * r.unit();
        });
      });
  return " sinks(" + table + " : " + type + ")";
}

//===- Functions ---------------------------------------------------------===//

/// Adds an argument of heads.
void Composer::addRows(const char *which, int64_t count, int64_t width, bool keys) {
  int64_t Sizes::*extent = keys ? &Sizes::keys : &Sizes::queries;
  arguments.push_back({which, rank4(count, keys ? keysInType() : queriesInType(), width),
                       "\"B\", " + text(count) + ", " + (keys ? keysInDims() : queriesInDims()) +
                           ", " + text(width),
                       [=](const Sizes &s, Random &r) {
                         return filled(DType::F32, {s.batch, count, s.*extent, width},
                                       [&] { return 1.5 * r.unit(); });
                       }});
}

std::string Composer::signature() const {
  std::string all;
  for (const Argument &a : arguments)
    all += (all.empty() ? "%" : ",\n    %") + a.name + ": " + a.type + " {transformer.name = \"" +
           a.name + "\"" + (a.dims.empty() ? "" : ", transformer.dims = [" + a.dims + "]") + "}";
  return all;
}

Composition Composer::finish(const std::string &name, const std::string &clauses,
                             const std::string &attributes, bool lse, bool weights) {
  std::string h = text(heads.queries);
  std::string T = queriesInType(), S = keysInType();
  addRows("q", heads.queries, heads.features, false);
  addRows("k", heads.keys, heads.features, true);
  addRows("v", heads.keys, heads.values, true);
  std::string q = rank4(heads.queries, T, heads.features), k = rank4(heads.keys, S, heads.features),
              v = rank4(heads.keys, S, heads.values), o = rank4(heads.queries, T, heads.values);
  std::string types = o + " {transformer.name = \"o\"}", values = "%o", plain = o, results = o;
  auto result = [&](const char *what, const char *value, const std::string &type) {
    results += std::string(" ") + what + " " + type;
    types += ", " + type + " {transformer.name = \"" + what + "\"}";
    values += std::string(", ") + value;
    plain += ", " + type;
  };
  if (lse)
    result("lse", "%l", "tensor<?x" + h + "x" + T + "xf32>");
  if (weights)
    result("weights", "%w",
           attributes.find("average") == std::string::npos
               ? "tensor<?x" + h + "x" + T + "x" + S + "xf32>"
               : "tensor<?x" + T + "x" + S + "xf32>");
  Composition made{name, "", heads, arguments};
  made.text = "func.func @" + name + "(" + signature() + ")\n    -> (" + types + ") {\n" + body +
              "  " + values + " = transformer.attention %q, %k, %v" + clauses + " {" + attributes +
              "scale = 0.25 : f32}\n     : (" + q + ", " + k + ", " + v + ") -> " + results +
              "\n  return " + values + " : " + plain + "\n}\n";
  return made;
}

/// Clauses of a dropout whose key enables it.
std::string Composer::dropout() {
  std::string key = argument("tensor<3xi32>", "3",
                             [](const Sizes &, Random &r) {
                               return RefTensor{DType::I32,
                                                {3},
                                                {static_cast<double>(r.whole(smallest, largest)),
                                                 static_cast<double>(r.whole(0, 100000)), 1}};
                             }),
              examples = argument("tensor<?xi32>", sequences(), [](const Sizes &s, Random &r) {
                return filled(DType::I32, {s.sequences()},
                              [&] { return static_cast<double>(r.whole(0, 1 << 20)); });
              });
  std::string site = define("arith.constant " + text(random.whole(0, 40)) + " : i32");
  return " key(" + key + " : tensor<3xi32>) examples(" + examples + " : tensor<?xi32>) site(" +
         site + ")";
}

Composition Composer::finishGradients(const std::string &name, const std::string &clauses,
                                      const std::string &attributes, bool drops) {
  std::string T = queriesInType(), S = keysInType();
  std::string dropped = drops ? dropout() : "", probability = drops ? "dropout = 0.3 : f32, " : "";
  addRows("q", heads.queries, heads.features, false);
  addRows("k", heads.keys, heads.features, true);
  addRows("v", heads.keys, heads.values, true);
  addRows("g", heads.queries, heads.values, false);
  std::string q = rank4(heads.queries, T, heads.features), k = rank4(heads.keys, S, heads.features),
              v = rank4(heads.keys, S, heads.values), o = rank4(heads.queries, T, heads.values),
              n = "tensor<?x" + text(heads.queries) + "x" + T + "xf32>";
  std::string scale = attributes + "scale = 0.25 : f32}\n     : (", all = probability + scale;
  auto named = [](const std::string &type, const char *result) {
    return type + " {transformer.name = \"" + result + "\"}";
  };
  Composition made{name, "", heads, arguments};
  made.text = "func.func @" + name + "(" + signature() + ")\n    -> (" + named(o, "o") + ", " +
              named(q, "dq") + ", " + named(k, "dk") + ", " + named(v, "dv") + ") {\n" + body +
              "  %o = transformer.attention %q, %k, %v" + clauses + dropped + " {" + all + q +
              ", " + k + ", " + v + ") -> " + o +
              "\n  %x, %s = transformer.attention.statistics %q, %k" + clauses + " {" + scale + q +
              ", " + k + ") -> " + n +
              "\n  %dq, %d = transformer.attention.query_gradient %q, %k, %v, %g, %o, %x, %s" +
              clauses + dropped + " {" + all + q + ", " + k + ", " + v + ", " + o + ", " + o +
              ", " + n + ") -> (" + q + ", " + n +
              ")\n  %dk, %dv = transformer.attention.key_gradient %q, %k, %v, %g, %x, %s, %d" +
              clauses + dropped + " {" + all + q + ", " + k + ", " + v + ", " + o + ", " + n +
              ", " + n + ") -> (" + k + ", " + v + ")\n  return %o, %dq, %dk, %dv : " + o + ", " +
              q + ", " + k + ", " + v + "\n}\n";
  return made;
}

NamedRefTensors Composition::inputs(const Sizes &sizes, uint64_t seed) const {
  Random random(seed);
  NamedRefTensors tensors;
  for (const Argument &a : arguments)
    tensors.emplace_back(a.name, a.make(sizes, random));
  return tensors;
}

Composition heddle::test::compose(uint64_t seed, const std::string &name, const Kinds &kinds) {
  Random random(seed);
  Heads heads;
  auto [queries, keys] =
      random.of<std::pair<int64_t, int64_t>>({{1, 1}, {2, 2}, {2, 1}, {4, 2}, {3, 1}});
  heads.queries = queries;
  heads.keys = keys;
  heads.features = random.of<int64_t>({4, 8, 16, 20, 33});
  heads.values = random.of<int64_t>({5, 16, 24});
  if (kinds.gradients) {
    heads.features = random.of<int64_t>({4, 6, 16, 20, 64, 80});
    heads.values = random.of<int64_t>({5, 16, 24, 64});
  }
  Composer composer(random, heads, kinds.fixed);
  std::string documents = kinds.documents ? composer.packedDocuments() : "";
  std::string mask = kinds.onlyRanges ? composer.ranges(static_cast<int>(random.whole(1, 4)))
                                      : composer.mask(kinds.depth);
  if (kinds.documents)
    mask = composer.conjunction(documents, mask);
  std::string clauses = " mask(" + mask + ")", attributes;
  if (!kinds.rules)
    return composer.finish(name, clauses, attributes, false, kinds.weights);
  if (random.chance(35))
    clauses += " bias(" + composer.bias(3) + ")";
  if (!kinds.gradients && random.chance(20))
    clauses += composer.sinks();
  if (random.chance(15))
    attributes += "softcap = 5.0 : f32, ";
  if (random.chance(15) && !kinds.documents)
    attributes +=
        "hidden_score = " + random.of<std::string>({"-1.0e9", "-3.0", "0.5"}) + " : f32, ";
  if (kinds.gradients)
    return composer.finishGradients(name, clauses, attributes, kinds.dropout);
  bool weights = random.chance(15);
  if (weights && random.chance(40))
    attributes += "average_weights, ";
  return composer.finish(name, clauses, attributes, random.chance(30), weights);
}
