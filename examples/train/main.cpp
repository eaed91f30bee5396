// Trains the model of ../classify on one more review, whose words are ids of words.txt.
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: train MODEL.heddle OUTPUT.safetensors      MODEL.heddle: compiled with --training
#include <heddle/Training/TrainingSession.h>

#include <array>
#include <cstdio>

static int fail(const heddle::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fail({.message = "expected MODEL.heddle OUTPUT.safetensors"});
  auto training = heddle::TrainingSession::open(argv[1]);
  heddle::Recipe recipe;
  recipe.rate.kind = heddle::RateRecipe::Kind::Constant;
  recipe.rate.peak = 0.001;
  const auto rate = heddle::Rate::create(recipe, /*size=*/48, /*steps=*/20, "recipe");
  if (!training || !rate)
    return fail(training ? rate.error() : training.error());
  const std::array<int32_t, 5> words = {2, 3, 4, 5, 6};
  const std::array<int32_t, 1> label = {1};
  const heddle::Tensor source = heddle::Tensor::i32({1, 5}, words),
                       labels = heddle::Tensor::i32({1}, label);
  const heddle::NamedInputs batch = {{"source", source}, {"labels", labels}}; // refer to them
  for (int64_t step = 1; step <= rate->steps(); ++step) {
    training->setDropout({.seed = 0, .step = step});
    auto result = training->step(batch, rate->scalars(step, /*tokens=*/1));
    if (!result)
      return fail(result.error());
    std::printf("step %d: loss %.4f\n", static_cast<int>(step), result->sum.loss);
  }
  auto saved = training->save(argv[2]);
  return saved ? 0 : fail(saved.error());
}
