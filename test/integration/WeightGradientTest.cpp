//===- WeightGradientTest.cpp - Gradients of weights on a CPU ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the ops that add to the gradient of a weight, and the product over the rows of a weight,
// bit by bit: each element is one chain in the order of the rows of the batch, which later calls
// continue.
#include "LinearModel.h"

#include "heddle/Pack/Unpack.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

std::string tensorType(std::initializer_list<int64_t> shape, const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + element + ">";
}

std::string argument(const std::string &name, const std::string &type, const std::string &dims) {
  return "%" + name + ": " + type + " {transformer.name = \"" + name + "\", transformer.dims = [" +
         dims + "]}";
}

/// A tensor of a twin that the session holds.
std::vector<float> tensorOf(Session &session, const std::string &name,
                            std::string_view twin = "gradients") {
  const Program &program = session.program();
  for (const PackEntry &entry : program.pack)
    if (entry.tensor == name) {
      std::vector<float> stored(packedElements(entry)), tensor(tensorElements(entry));
      Status read = session.readTwin(twin, program.weights[entry.weight].offset,
                                     std::as_writable_bytes(std::span(stored)));
      EXPECT_TRUE(read) << read.error().message;
      Status unpacked = unpack(entry, stored, tensor);
      EXPECT_TRUE(unpacked) << unpacked.error().message;
      return tensor;
    }
  ADD_FAILURE() << "no weight " << name;
  return {};
}

struct Case {
  int64_t rows, features, outputs;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.rows << " rows of " << c.features << " to " << c.outputs;
}

class WeightGradientTest : public testing::TestWithParam<Case> {
protected:
  Expected<Session> open(const LinearModel &model, const std::string &text) {
    return model.open("f32", "native", text);
  }
};

TEST_P(WeightGradientTest, ProductsAreChainsOverRows) {
  const auto [rows, features, outputs] = GetParam();
  LinearModel model(rows, features, outputs);
  const std::string x = tensorType({-1, -1, features}), y = tensorType({-1, -1, outputs}),
                    w = tensorType({outputs, features}), b = tensorType({outputs}),
                    dims = "\"B\", \"T\", ";
  auto session =
      open(model, "func.func @run(" + argument("x", x, dims + std::to_string(features)) + ", " +
                      argument("dy", y, dims + std::to_string(outputs)) + ") -> (" + y +
                      " {transformer.name = \"y\"}, " + x + " {transformer.name = \"dx\"}) {\n" +
                      "  %w = transformer.weight \"w\" : " + w +
                      "\n  %b = transformer.weight \"b\" : " + b +
                      "\n  %y = transformer.linear %x, %w bias(%b) : (" + x + ", " + w + ", " + b +
                      ") -> " + y + "\n  transformer.gradient.product \"w\", %dy, %x : " + y +
                      ", " + x + "\n  transformer.gradient.columns \"b\", %dy : " + y +
                      "\n  %dx = transformer.linear.transposed %dy, %w : (" + y + ", " + w +
                      ") -> " + x + "\n  return %y, %dx : " + y + ", " + x + "\n}\n");
  ASSERT_TRUE(session) << session.error().message;
  Matrix matrix{outputs, features, std::vector<float>(outputs * features)};
  std::vector<float> vector(outputs);
  for (uint32_t turn : {7, 8}) {
    Matrix dy = numbers(rows, outputs, turn);
    auto results = call(*session, "run",
                        {{"x", Tensor::f32({1, rows, features}, model.input.values)},
                         {"dy", Tensor::f32({1, rows, outputs}, dy.values)}});
    ASSERT_TRUE(results) << results.error().message;
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < outputs; ++n) {
        vector[n] += dy.at(m, n);
        for (int64_t k = 0; k < features; ++k)
          matrix.at(n, k) = std::fmaf(model.input.at(m, k), dy.at(m, n), matrix.at(n, k));
      }
    std::span<const float> dx = results->at("dx").values<float>();
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t k = 0; k < features; ++k) {
        float sum = 0;
        for (int64_t n = 0; n < outputs; ++n)
          sum = std::fmaf(dy.at(m, n), model.weight.at(n, k), sum);
        ASSERT_EQ(dx[m * features + k], sum) << m << " " << k;
      }
    std::vector<float> found = tensorOf(*session, "w");
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], matrix.values[i]) << i / features << " " << i % features;
    ASSERT_EQ(tensorOf(*session, "b"), vector);
  }
}

/// A matrix that a product reads too is in panels; otherwise it is in rows.
TEST_P(WeightGradientTest, RowsOfTablesAreAddedInOrder) {
  const auto [rows, features, size] = GetParam();
  for (bool isTied : {false, true}) {
    LinearModel model(rows, features, size);
    const std::string x = tensorType({-1, -1, features}), ids = tensorType({-1, -1}, "i32"),
                      w = tensorType({size, features}), y = tensorType({-1, -1, size});
    std::string text = "func.func @run(" + argument("ids", ids, "\"B\", \"T\"") + ", " +
                       argument("dy", x, "\"B\", \"T\", " + std::to_string(features)) + ") -> (" +
                       (isTied ? y : x) + " {transformer.name = \"y\"}) {\n" +
                       "  %w = transformer.weight \"w\" : " + w +
                       "\n  %x = transformer.embedding %ids, %w : (" + ids + ", " + w + ") -> " + x;
    if (isTied)
      text += "\n  %y = transformer.linear %x, %w : (" + x + ", " + w + ") -> " + y;
    text += "\n  transformer.gradient.rows \"w\", %dy, %ids {scale = 2.0 : f32, padding_id = 0 : "
            "i64, size = " +
            std::to_string(size) + " : i64} : " + x + ", " + ids + "\n  return %" +
            (isTied ? "y : " + y : "x : " + x) + "\n}\n";
    auto session = open(model, text);
    ASSERT_TRUE(session) << session.error().message;
    Matrix table{size, features, std::vector<float>(size * features)};
    std::vector<int32_t> words(rows);
    for (int64_t m = 0; m < rows; ++m)
      words[m] = static_cast<int32_t>(m * 7 % size);
    for (int turn = 0; turn < 2; ++turn) {
      auto results = call(*session, "run",
                          {{"ids", Tensor::i32({1, rows}, words)},
                           {"dy", Tensor::f32({1, rows, features}, model.input.values)}});
      ASSERT_TRUE(results) << results.error().message;
      for (int64_t m = 0; m < rows; ++m)
        for (int64_t k = 0; k < features && words[m] != 0; ++k)
          table.at(words[m], k) += 2 * model.input.at(m, k);
    }
    ASSERT_EQ(tensorOf(*session, "w"), table.values) << "tied " << isTied;
  }
}

TEST_P(WeightGradientTest, PositionsAddSequencesInOrder) {
  const auto [rows, features, size] = GetParam();
  const int64_t length = std::min(rows, size), batch = 3;
  LinearModel model(rows, features, size);
  const std::string x = tensorType({-1, -1, features}), w = tensorType({size, features});
  auto session = open(
      model, "func.func @run(" + argument("x", x, "\"B\", \"T\", " + std::to_string(features)) +
                 ") -> (" + x + " {transformer.name = \"y\"}) {\n" +
                 "  %w = transformer.weight \"w\" : " + w +
                 "\n  %y = transformer.position.learned %x, %w : " + x + ", " + w +
                 "\n  transformer.gradient.positions \"w\", %x {size = " + std::to_string(size) +
                 " : i64} : " + x + "\n  return %y : " + x + "\n}\n");
  ASSERT_TRUE(session) << session.error().message;
  Matrix input = numbers(batch * length, features, 5), table{size, features, {}};
  table.values.resize(size * features);
  auto results =
      call(*session, "run", {{"x", Tensor::f32({batch, length, features}, input.values)}});
  ASSERT_TRUE(results) << results.error().message;
  for (int64_t m = 0; m < batch * length; ++m)
    for (int64_t k = 0; k < features; ++k)
      table.at(m % length, k) += input.at(m, k);
  ASSERT_EQ(tensorOf(*session, "w"), table.values);
}

/// Positions of packed documents add the bits of the same rows in sequences of their own, also of
/// an empty document.
TEST_P(WeightGradientTest, PositionsAddPackedDocumentsInOrder) {
  const auto [rows, features, size] = GetParam();
  const auto most = static_cast<int32_t>(std::min(rows, size));
  const std::vector<int32_t> starts = {0, most, most, most + 1, most + 1 + most / 2};
  LinearModel model(rows, features, size);
  const std::string x = tensorType({1, -1, features}), w = tensorType({size, features}),
                    s = tensorType({-1}, "i32");
  auto session = open(
      model, "func.func @run(" + argument("x", x, "1, \"T\", " + std::to_string(features)) + ", " +
                 argument("s", s, "\"D\"") + ") -> (" + x + " {transformer.name = \"y\"}) {\n" +
                 "  %w = transformer.weight \"w\" : " + w +
                 "\n  %y = transformer.position.learned %x, %w documents(%s : " + s + ") : " + x +
                 ", " + w + "\n  transformer.gradient.positions \"w\", %x documents(%s : " + s +
                 ") {size = " + std::to_string(size) + " : i64} : " + x + "\n  return %y : " + x +
                 "\n}\n");
  ASSERT_TRUE(session) << session.error().message;
  Matrix input = numbers(starts.back(), features, 5), table{size, features, {}};
  table.values.resize(size * features);
  for (int call = 0; call < 2; ++call) {
    auto results = test::call(*session, "run",
                              {{"x", Tensor::f32({1, starts.back(), features}, input.values)},
                               {"s", Tensor::i32({static_cast<int64_t>(starts.size())}, starts)}});
    ASSERT_TRUE(results) << results.error().message;
    for (size_t d = 0; d + 1 < starts.size(); ++d)
      for (int64_t m = starts[d]; m < starts[d + 1]; ++m)
        for (int64_t k = 0; k < features; ++k)
          table.at(m - starts[d], k) += input.at(m, k);
  }
  ASSERT_EQ(tensorOf(*session, "w"), table.values);
}

/// Two uses of a matrix have an accumulator each; `gradient_norm` joins them.
TEST_P(WeightGradientTest, UpdateIsAStepOfAdam) {
  const auto [rows, features, outputs] = GetParam();
  LinearModel model(rows, features, outputs);
  const std::string x = tensorType({-1, -1, features}), y = tensorType({-1, -1, outputs}),
                    w = tensorType({outputs, features}), b = tensorType({outputs}),
                    dims = "\"B\", \"T\", ";
  const std::string join = "  transformer.gradient.join \"w\" {use = 1 : i64}\n";
  auto session = open(
      model,
      "func.func @run(" + argument("x", x, dims + std::to_string(features)) + ", " +
          argument("dy", y, dims + std::to_string(outputs)) + ") -> (" + y +
          " {transformer.name = \"y\"}) {\n" + "  %w = transformer.weight \"w\" : " + w +
          "\n  %b = transformer.weight \"b\" : " + b +
          "\n  %y = transformer.linear %x, %w bias(%b) : (" + x + ", " + w + ", " + b + ") -> " +
          y + "\n  transformer.gradient.product \"w\", %dy, %x : " + y + ", " + x +
          "\n  transformer.gradient.product \"w\", %dy, %x {use = 1 : i64} : " + y + ", " + x +
          "\n  transformer.gradient.columns \"b\", %dy : " + y + "\n  return %y : " + y +
          "\n}\nfunc.func @norm() -> (tensor<1xf32> {transformer.name = \"squares\"}) {\n" + join +
          "  %n = transformer.gradient.norm : tensor<1xf32>\n  return %n : tensor<1xf32>\n}\n"
          "func.func @update(%s: tensor<16xf32> {transformer.name = \"scalars\"}) {\n" +
          join +
          "  transformer.optimizer %s {range = #transformer.weight_range<matrices>} : "
          "tensor<16xf32>\n  transformer.optimizer %s {range = #transformer.weight_range<vectors>} "
          ": tensor<16xf32>\n  return\n}\n");
  ASSERT_TRUE(session) << session.error().message;
  // rate, a1, b2, a2, c1, c2, epsilon, decay, scale
  std::vector<float> s = {0.01F, 0.1F, 0.98F, 0.02F, 10, 7, 1e-9F, 0.1F, 0.5F};
  s.resize(16);
  std::vector<float> p = model.weight.values, m(p.size()), v(p.size());
  for (int turn = 0; turn < 2; ++turn) {
    Matrix dy = numbers(rows, outputs, 7);
    auto results = call(*session, "run",
                        {{"x", Tensor::f32({1, rows, features}, model.input.values)},
                         {"dy", Tensor::f32({1, rows, outputs}, dy.values)}});
    ASSERT_TRUE(results) << results.error().message;
    std::vector<float> once = tensorOf(*session, "w");
    auto norm = call(*session, "norm", {});
    ASSERT_TRUE(norm) << norm.error().message;
    double squares = 0;
    std::vector<float> g = tensorOf(*session, "w");
    for (size_t i = 0; i < g.size(); ++i) {
      ASSERT_EQ(g[i], once[i] + once[i]);
      squares += static_cast<double>(g[i]) * g[i];
    }
    for (float bias : tensorOf(*session, "b"))
      squares += static_cast<double>(bias) * bias;
    EXPECT_NEAR(norm->at("squares").values<float>().front(), squares, 1e-5 * squares);
    auto updated = call(*session, "update", {{"scalars", Tensor::f32({16}, s)}});
    ASSERT_TRUE(updated) << updated.error().message;
    for (size_t i = 0; i < g.size(); ++i) {
      const float gradient = g[i] * s[8];
      m[i] = std::fmaf(s[1], gradient - m[i], m[i]);
      v[i] = std::fmaf(s[3], gradient * gradient, s[2] * v[i]);
      const float step = m[i] * s[4] / (std::sqrt(v[i]) * s[5] + s[6]) + s[7] * p[i];
      p[i] = p[i] - s[0] * step;
    }
    ASSERT_EQ(tensorOf(*session, "w", "weights"), p);
    ASSERT_EQ(tensorOf(*session, "w", "moments.1"), m);
    ASSERT_EQ(tensorOf(*session, "w", "moments.2"), v);
    ASSERT_EQ(tensorOf(*session, "w"), std::vector<float>(p.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WeightGradientTest,
                         testing::Values(Case{1, 1, 1}, Case{3, 17, 5}, Case{40, 64, 96},
                                         Case{300, 100, 33}, Case{513, 48, 200}, Case{70, 130, 20},
                                         Case{600, 512, 1030}));

} // namespace
