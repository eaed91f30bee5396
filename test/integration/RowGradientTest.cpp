//===- RowGradientTest.cpp - Ops of rows of the backward pass ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests gradients that are computed row by row on both devices against the reference interpreter:
// activations, soft caps, norms, poolings and losses, and the ops that are fused with a linear.
#include "LinearModel.h"

#include "heddle/Compiler/RegisterAll.h"
#include "heddle/ExecutionEngine/Reference.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A function in dialect text, and the values of its arguments.
class Function {
public:
  explicit Function(std::string name) : name(std::move(name)) {}

  /// Adds an argument. `dims` are names of dynamic dimensions, or sizes of static ones.
  Function &argument(const std::string &of, std::vector<std::string> dims, RefTensor value) {
    std::string type = "tensor<", names;
    for (const std::string &dim : dims) {
      const bool isStatic = std::isdigit(dim.front());
      type += (isStatic ? dim : "?") + "x";
      names += (names.empty() ? "" : ", ") + (isStatic ? dim : "\"" + dim + "\"");
    }
    type += value.type == DType::I32 ? "i32>" : "f32>";
    types[of] = type;
    arguments += (arguments.empty() ? "%" : ", %") + of + ": " + type + " {transformer.name = \"" +
                 of + "\", transformer.dims = [" + names + "]}";
    inputs.emplace_back(of, std::move(value));
    return *this;
  }
  /// Adds an op, in which `$name` is the type of an argument or of a result.
  Function &op(const std::string &text) {
    body += "  " + replaced(text) + "\n";
    return *this;
  }
  /// Names the type of a value, for `op` and `result`.
  Function &type(const std::string &of, const std::string &text) {
    types[of] = replaced(text);
    return *this;
  }
  Function &result(const std::string &of) {
    results += (results.empty() ? "" : ", ") + types[of] + " {transformer.name = \"" + of + "\"}";
    returned += (returned.empty() ? "%" : ", %") + of;
    returnedTypes += (returnedTypes.empty() ? "" : ", ") + types[of];
    return *this;
  }
  std::string text() const {
    return "func.func @" + name + "(" + arguments + ") -> (" + results + ") {\n" + body +
           "  return " + returned + " : " + returnedTypes + "\n}\n";
  }

  std::string name;
  NamedRefTensors inputs;
  double tolerance = 2e-6; ///< relative to the largest number of a result, but at least to 1

private:
  std::string replaced(std::string text) const {
    for (const auto &[of, type] : types)
      for (size_t at; (at = text.find("$" + of + "$")) != std::string::npos;)
        text.replace(at, of.size() + 2, type);
    return text;
  }

  std::map<std::string, std::string> types;
  std::string arguments, body, results, returned, returnedTypes;
};

RefTensor random(std::vector<int64_t> shape, uint32_t seed, double scale = 1) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  RefTensor tensor{DType::F32, std::move(shape), {}};
  for (float value : numbers(size, 1, seed).values)
    tensor.values.push_back(static_cast<float>(scale * value));
  return tensor;
}

RefTensor integers(std::vector<int64_t> shape, std::vector<double> values) {
  return {DType::I32, std::move(shape), std::move(values)};
}

Tensor toTensor(const RefTensor &tensor) {
  Tensor result(tensor.type, tensor.shape);
  for (int64_t n = 0; n < tensor.size(); ++n)
    if (tensor.type == DType::I32)
      result.values<int32_t>()[n] = static_cast<int32_t>(tensor.values[n]);
    else
      result.values<float>()[n] = static_cast<float>(tensor.values[n]);
  return result;
}

double at(const Tensor &tensor, int64_t n) {
  return tensor.dtype() == DType::I32 ? tensor.values<int32_t>()[n] : tensor.values<float>()[n];
}

std::string mismatch(const Tensor &found, const RefTensor &expected, double tolerance) {
  if (found.shape() != expected.shape)
    return "shape " + shapeText(found.shape()) + ", expected " + shapeText(expected.shape);
  double largest = 1;
  for (double value : expected.values)
    largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  for (int64_t n = 0; n < expected.size(); ++n) {
    const double a = at(found, n), b = expected.values[n];
    const bool same = std::isnan(b) ? std::isnan(a) : a == b;
    const double allowed = expected.type == DType::I32 ? 0 : tolerance * largest;
    if (!same && !(std::fabs(a - b) <= allowed))
      return "element " + std::to_string(n) + " of " + shapeText(expected.shape) + ": found " +
             std::to_string(a) + ", expected " + std::to_string(b) + ", difference " +
             std::to_string((a - b) / largest * 1e6) + "e-6";
  }
  return "";
}

/// Functions on a device. Linears have the weights of `model`.
class Compiled {
public:
  static Expected<Compiled> open(const std::vector<Function> &functions, const std::string &device,
                                 const LinearModel &model) {
    Compiled made;
    std::string text;
    for (const Function &function : functions)
      text += function.text();
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    made.context = std::make_unique<mlir::MLIRContext>(registry);
    made.module = mlir::parseSourceString<mlir::ModuleOp>(text, made.context.get());
    if (!made.module)
      return inputError("the text does not parse: " + text);
    made.reference.emplace(
        *made.module, [model](const std::string &name, DType) -> Expected<ReferenceValues> {
          return ReferenceValues{name == "w" ? model.weight.values : model.bias.values};
        });
    Expected<Artifact> artifact =
        model.compile("f32", device == "vulkan" ? device : "native", text);
    if (!artifact)
      return artifact.takeError();
    SessionOptions options;
    options.device = device;
    options.poison = true;
    Expected<Session> session = Session::fromArtifact(std::move(*artifact), options);
    if (!session)
      return session.takeError();
    made.session.emplace(std::move(*session));
    return made;
  }

  Expected<Tensors> onDevice(const Function &function) {
    Tensors tensors;
    for (const auto &[name, value] : function.inputs)
      tensors.emplace(name, toTensor(value));
    return call(*session, function.name, tensors);
  }

  void compare(const Function &function) {
    SCOPED_TRACE(function.name);
    auto expected = reference->run(function.name, function.inputs);
    ASSERT_TRUE(expected) << expected.error().message;
    Expected<Tensors> found = onDevice(function);
    ASSERT_TRUE(found) << found.error().message;
    for (const auto &[name, tensor] : *expected)
      EXPECT_EQ(mismatch(found->at(name), tensor, function.tolerance), "") << name << " of\n"
                                                                           << function.text();
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<Reference> reference;
  std::optional<Session> session;
};

class RowGradientTest : public testing::TestWithParam<std::string> {
protected:
  /// Compares the functions; on Vulkan every third, because a driver compiles each for seconds.
  void compare(const std::vector<Function> &all, const LinearModel &model = LinearModel(1, 1, 1)) {
    std::vector<Function> functions;
    for (size_t n = 0; n < all.size(); n += GetParam() == "vulkan" ? 3 : 1)
      functions.push_back(all[n]);
    Expected<Compiled> compiled = Compiled::open(functions, GetParam(), model);
    if (!compiled && isMissingDevice(compiled.error()))
      GTEST_SKIP() << compiled.error().message;
    ASSERT_TRUE(compiled) << compiled.error().message;
    for (const Function &function : functions)
      compiled->compare(function);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RowGradientTest, testing::Values("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

std::string text(int64_t number) { return std::to_string(number); }

constexpr int64_t widths[] = {1, 3, 17, 63, 64};

//===- Elementwise functions -------------------------------------------===//

/// Inputs on both sides of all bounds, at them, and NaN.
RefTensor inputsOf(int64_t rows, int64_t features) {
  RefTensor x = random({rows, features}, 3, 5);
  std::vector<double> values = {0,  -0.0, 1e-30, 0.5, 3,   -3,   6,   -6,   2.999,
                                -9, 11,   -21,   25,  101, -101, 1e9, -1e9, NAN};
  for (size_t n = 0; n < values.size() && rows * features > 1; ++n)
    x.values[n * 7 % x.values.size()] = static_cast<float>(values[n]);
  return x;
}

TEST_P(RowGradientTest, Activations) {
  std::vector<Function> functions;
  const std::string names[] = {"none", "relu",    "gelu",  "gelu_tanh", "quick_gelu", "silu",
                               "tanh", "sigmoid", "relu2", "relu6",     "hard_swish", "mish"};
  const int64_t rows[] = {1, 200};
  for (const std::string &name : names)
    for (int64_t features : widths)
      for (bool ofResult : {false, true}) {
        if (ofResult && name != "relu" && name != "relu6" && name != "tanh" && name != "sigmoid")
          continue;
        const int64_t count = rows[features % 2];
        std::vector<std::string> dims = {"B", text(features)};
        Function f(name + (ofResult ? "_result_" : "_") + text(features));
        RefTensor x = inputsOf(count, features);
        if (ofResult)
          for (double &value : x.values)
            value = static_cast<float>(name == "tanh" ? std::tanh(value) : std::fabs(value));
        f.argument("x", dims, x).argument("dy", dims, random({count, features}, 4));
        std::string activation = "activation = #transformer.activation<" + name + ">";
        f.type("y", "$x$").type("dx", "$x$");
        f.op("%y = transformer.activate %x {" + activation + "} : $x$");
        f.op("%dx = transformer.activation.gradient %dy, %x {" + activation +
             (ofResult ? ", of_result" : "") + "} : $x$");
        functions.push_back(f.result("y").result("dx"));
      }
  compare(functions);
}

TEST_P(RowGradientTest, Softcap) {
  std::vector<Function> functions;
  for (int64_t features : widths) {
    std::vector<std::string> dims = {"B", "T", text(features)};
    Function f("softcap_" + text(features));
    f.argument("y", dims, random({2, 3, features}, 3, 1.5));
    f.argument("dy", dims, random({2, 3, features}, 4)).type("dx", "$y$");
    f.op("%dx = transformer.softcap.gradient %dy, %y {cap = 1.5 : f32} : $y$");
    functions.push_back(f.result("dx"));
  }
  compare(functions);
}

//===- Norms -------------------------------------------------------------===//

TEST_P(RowGradientTest, Norms) {
  std::vector<Function> functions;
  for (const char *kind : {"layer", "variance", "root_mean_square", "length"})
    for (int64_t features : {1, 3, 17, 63, 512})
      for (const char *gamma : {"none", "features", "heads"}) {
        const std::string word = gamma;
        if (kind == std::string("length") && word != "none")
          continue;
        std::vector<std::string> dims = {"B", "4", "T", text(features)};
        std::vector<int64_t> shape = {2, 4, features == 17 ? 25 : 3, features};
        Function f(std::string(kind) + "_" + word + "_" + text(features));
        f.argument("dy", dims, random(shape, 5, 2));
        RefTensor x = random(shape, 6);
        std::fill_n(x.values.begin(), features, 0); // a row that is not longer than epsilon
        f.argument("x", dims, x).type("dx", "$x$").type("scaled", "$x$");
        if (word == "features")
          f.argument("gamma", {text(features)}, random({features}, 7));
        if (word == "heads")
          f.argument("gamma", {"4", text(features)}, random({4, features}, 7));
        f.op("%dx, %scaled = transformer.norm.gradient %dy, %x " +
             std::string(word == "none" ? "" : "gamma(%gamma : $gamma$) ") +
             "{epsilon = 0.001 : f32, kind = #transformer.normalization<" + kind + ">} : $x$");
        if (features == 63) // a residual's gradient is added in the same kernel
          f.op("%sum = arith.addf %x, %dx : $x$").type("sum", "$x$").result("sum");
        else
          f.result("dx");
        if (features != 3) // a result without readers is not stored
          f.result("scaled");
        functions.push_back(f);
      }
  compare(functions);
}

//===- Poolings ----------------------------------------------------------===//

TEST_P(RowGradientTest, Poolings) {
  std::vector<std::vector<std::string>> choices;
  const std::vector<std::string> all = {"cls", "last",      "max",          "mean",
                                        "sum", "mean_sqrt", "weighted_mean"};
  for (const std::string &kind : all)
    choices.push_back({kind});
  choices.push_back(all);
  std::vector<Function> functions;
  for (const std::vector<std::string> &kinds : choices)
    for (const char *rows : {"", "lengths", "documents"})
      for (int64_t features : {17, 32}) {
        const std::string word = rows;
        const bool packed = word == "documents";
        const int64_t batch = packed ? 1 : 5, length = packed ? 103 : 53,
                      width = features * std::ssize(kinds);
        Function f((kinds.size() > 1 ? "all" : kinds[0]) + "_" + word + text(features));
        RefTensor x = random({batch, length, features}, 8);
        for (double &value : x.values) // several rows have the largest value
          value = std::round(3 * value);
        f.argument("dy", {"N", text(width)}, random({5, width}, 9));
        f.argument("x", {packed ? "1" : "N", "T", text(features)}, x).type("dx", "$x$");
        if (word == "lengths")
          f.argument("rows", {"N"}, integers({5}, {53, 1, 0, 16, 33}));
        if (packed)
          f.argument("rows", {"D"}, integers({6}, {0, 53, 54, 54, 70, 103}));
        std::string list;
        for (const std::string &kind : kinds)
          list += (list.empty() ? "" : ", ") + ("#transformer.pooling<" + kind) + ">";
        f.op("%dx = transformer.pool.gradient %dy, %x " +
             (word.empty() ? "" : word + "(%rows : $rows$) ") + "{kinds = [" + list +
             "]} : $dy$, $x$");
        functions.push_back(f.result("dx"));
      }
  compare(functions);
}

//===- Losses ------------------------------------------------------------===//

Function lossOf(const std::string &name, int64_t rows, int64_t classes,
                const std::string &attributes, bool hasPadding) {
  Function f(name);
  RefTensor logits = random({1, rows, classes}, 10, 8);
  std::vector<double> ids;
  for (int64_t n = 0; n < rows; ++n)
    ids.push_back(static_cast<double>(n * 7 % classes));
  if (classes > 3) // a class that its row hides
    logits.values[(ids[0] == 2 ? 3 : 2)] = attributes.empty() ? -infinity : -9;
  f.argument("x", {"B", "T", text(classes)}, logits);
  f.argument("ids", {"B", "T"}, integers({1, rows}, ids));
  f.type("dx", "$x$").type("rows", "tensor<?x?x2xf32>");
  f.type("sum", "tensor<1xf32>").type("count", "tensor<1xf32>");
  const std::string padding = hasPadding ? "padding_id = 0 : i64" : "",
                    separator = hasPadding && !attributes.empty() ? ", " : "";
  f.op("%dx, %rows = transformer.cross_entropy.gradient %x, %ids {" + padding + separator +
       attributes + "} : $x$, $ids$ -> $rows$");
  f.tolerance = classes > 1000 ? 5e-6 : 2e-6; // a lane of a row has thousands of terms
  f.op("%sum, %count = transformer.cross_entropy.sum %rows : $rows$ -> $sum$");
  return f.result("dx").result("rows").result("sum").result("count");
}

std::vector<Function> losses() {
  std::vector<Function> functions;
  const std::string smoothed = "smoothing = 0.1 : f32";
  for (auto [rows, classes] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 3}, {200, 17}, {17, 63}, {5, 1000}, {2, 100003}})
    for (bool hasPadding : {false, true}) {
      const std::string size = text(rows) + "_" + text(classes) + (hasPadding ? "_padding" : "");
      functions.push_back(lossOf("hard_" + size, rows, classes, "", hasPadding));
      functions.push_back(lossOf("all_" + size, rows, classes, smoothed, hasPadding));
      for (const char *over : {"others", "others_but_padding"})
        if (hasPadding || over == std::string("others"))
          functions.push_back(
              lossOf(over + ("_" + size), rows, classes,
                     smoothed + ", over = #transformer.smoothing_over<" + over + ">", hasPadding));
    }
  return functions;
}

TEST_P(RowGradientTest, Losses) { compare(losses()); }

/// The sum of losses is one chain, and the bits of a row do not depend on other rows.
TEST_P(RowGradientTest, LossesAreSummedInOrder) {
  std::vector<Function> functions = {lossOf("many", 333, 63, "", true)};
  Function single = lossOf("one", 1, 63, "", true);
  const int64_t row = 100;
  for (auto &[name, tensor] : single.inputs) {
    const RefTensor &many =
        name == "x" ? functions[0].inputs[0].second : functions[0].inputs[1].second;
    const int64_t size = tensor.size();
    std::copy_n(many.values.begin() + row * size, size, tensor.values.begin());
  }
  functions.push_back(single);
  Expected<Compiled> compiled = Compiled::open(functions, GetParam(), LinearModel(1, 1, 1));
  if (!compiled && isMissingDevice(compiled.error()))
    GTEST_SKIP() << compiled.error().message;
  ASSERT_TRUE(compiled) << compiled.error().message;
  Expected<Tensors> many = compiled->onDevice(functions[0]), one = compiled->onDevice(single);
  ASSERT_TRUE(many && one);
  float sums[2] = {0, 0};
  std::span<const float> rows = many->at("rows").values<float>();
  for (size_t n = 0; n < rows.size(); ++n)
    sums[n % 2] += rows[n];
  EXPECT_EQ(many->at("sum").values<float>()[0], sums[0]);
  EXPECT_EQ(many->at("count").values<float>()[0], sums[1]);
  for (int64_t n = 0; n < 63; ++n)
    EXPECT_EQ(many->at("dx").values<float>()[row * 63 + n], one->at("dx").values<float>()[n]);
  for (int64_t n = 0; n < 2; ++n)
    EXPECT_EQ(rows[row * 2 + n], one->at("rows").values<float>()[n]);
}

//===- Numbers of rows ---------------------------------------------------===//

TEST_P(RowGradientTest, RowNumbers) {
  const std::string result = "tensor<?x?x2xi32>";
  Function padded("padded"), vectors("vectors"), packed("packed");
  padded.argument("examples", {"B"}, integers({3}, {7, -2, 1000000}));
  padded.argument("x", {"B", "T", "3"}, random({3, 17, 3}, 1)).type("y", result);
  padded.op("%y = transformer.row_numbers %examples, %x : $examples$, $x$ -> $y$").result("y");
  vectors.argument("examples", {"B"}, integers({3}, {7, 5, 3}));
  vectors.argument("x", {"B", "3"}, random({3, 3}, 1)).type("y", "tensor<?x2xi32>");
  vectors.op("%y = transformer.row_numbers %examples, %x : $examples$, $x$ -> $y$").result("y");
  packed.argument("examples", {"D"}, integers({5}, {9, 8, 7, 6, 5}));
  packed.argument("x", {"1", "T", "3"}, random({1, 103, 3}, 1)).type("y", "tensor<1x?x2xi32>");
  packed.argument("starts", {"E"}, integers({6}, {0, 53, 54, 54, 70, 103}));
  packed.op("%y = transformer.row_numbers %examples, %x documents(%starts : $starts$) : "
            "$examples$, $x$ -> $y$");
  packed.result("y");
  for (const Function &function : {padded, vectors, packed})
    compare({function});
}

/// Ids of documents are shifted within them; one is empty.
TEST_P(RowGradientTest, ShiftedIds) {
  Function padded("padded"), packed("packed");
  std::vector<double> ids(102);
  std::iota(ids.begin(), ids.end(), 1);
  padded.argument("ids", {"B", "T"}, integers({3, 34}, ids)).type("y", "$ids$");
  padded.op("%y = transformer.shift_right %ids {start = 200 : i64} : $ids$").result("y");
  packed.argument("ids", {"1", "T"}, integers({1, 102}, ids)).type("y", "$ids$");
  packed.argument("starts", {"E"}, integers({6}, {0, 1, 54, 54, 70, 102}));
  packed.op("%y = transformer.shift_right %ids documents(%starts : $starts$) {start = 200 : i64} : "
            "$ids$");
  packed.result("y");
  compare({padded, packed});
}

//===- Dropout -----------------------------------------------------------===//

Function dropoutOf(const std::string &name, int64_t features, const std::string &probability,
                   double enabled) {
  Function f(name);
  const std::string size = text(features);
  f.argument("x", {"B", "T", size}, random({3, 43, features}, 11));
  f.argument("key", {"3"}, integers({3}, {-5, 123456789, enabled}));
  f.argument("examples", {"B"}, integers({3}, {7, 0, 1000000}));
  f.type("w", "tensor<" + size + "x" + size + "xf32>").type("rows", "tensor<?x?x2xi32>");
  f.op("%w = transformer.weight \"w\" : $w$");
  f.op("%rows = transformer.row_numbers %examples, %x : $examples$, $x$ -> $rows$");
  f.op("%first = arith.constant 4 : i32").op("%second = arith.constant 5 : i32");
  auto dropout = [&](const std::string &of, const std::string &rows, const std::string &site) {
    return "transformer.dropout %" + of + " key(%key : $key$) rows(%" + rows + " : $rows$) site(%" +
           site + ") {probability = " + probability + " : f32} : $x$";
  };
  f.op("%a = " + dropout("x", "rows", "first"));
  f.op("%l = transformer.linear %x, %w : ($x$, $w$) -> $x$");
  f.op("%others = transformer.row_numbers %examples, %l : $examples$, $x$ -> $rows$");
  f.op("%m = " + dropout("l", "others", "second"));
  f.op("%b = arith.addf %m, %x : $x$");
  f.op("%n = transformer.dropout %x {probability = 0.5 : f32} : $x$");
  f.op("%c = arith.addf %n, %x : $x$");
  for (const char *result : {"a", "b", "c"})
    f.type(result, "$x$").result(result);
  return f;
}

TEST_P(RowGradientTest, Dropout) {
  for (int64_t features : {1, 17, 63, 200}) {
    LinearModel model(1, features, features);
    compare({dropoutOf("tenth", features, "0.1", 1), dropoutOf("half", features, "0.5", 1),
             dropoutOf("nothing", features, "0.0", 1), dropoutOf("disabled", features, "0.5", 0)},
            model);
  }
}

//===- Fusion ------------------------------------------------------------===//

/// Ops that are fused with the linear that they follow.
TEST_P(RowGradientTest, FollowLinears) {
  for (int64_t features : {3, 17, 100}) {
    const int64_t rows = 130;
    LinearModel model(rows, features, features);
    std::vector<std::string> dims = {"B", text(features)};
    Function f("run");
    f.argument("x", dims, random({rows, features}, 1))
        .argument("h", dims, inputsOf(rows, features));
    f.type("w", "tensor<" + text(features) + "x" + text(features) + "xf32>");
    f.op("%w = transformer.weight \"w\" : $w$");
    for (const char *name : {"u", "v", "y", "z", "s"})
      f.op("%" + std::string(name) + " = transformer.linear %x, %w : ($x$, $w$) -> $x$");
    f.op("%a = transformer.activate %u {activation = #transformer.activation<gelu>} : $x$");
    f.op("%b = transformer.activation.gradient %v, %h {activation = #transformer.activation<silu>} "
         ": $x$");
    f.op("%c = arith.addf %h, %y : $x$");
    f.op("%d = arith.addf %c, %x : $x$");
    f.op("%e = transformer.activation.gradient %x, %z {activation = #transformer.activation<gelu>} "
         ": $x$");
    f.op("%g = transformer.softcap.gradient %s, %x {cap = 2.0 : f32} : $x$");
    for (const char *name : {"a", "b", "d", "e", "g"})
      f.type(name, "$x$").result(name);
    f.tolerance = 1e-5;
    compare({f}, model);
  }
}

} // namespace
