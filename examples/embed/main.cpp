//===- main.cpp - Minimal program that runs a model -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodes a sentence alone and in a padded batch. Checks that both results are equal bit for bit
// and, because the last layer is a LayerNorm, that they have mean 0.

#include <heddle/ExecutionEngine/Jit.h>

#include <cmath>
#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  auto session =
      heddle::jit(argc > 1 ? argv[1] : EMBED_MODEL, {.device = argc > 2 ? argv[2] : "cpu"});
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.error().message.c_str());
    return 1;
  }
  const int32_t words[] = {5, 9, 2}, rows[] = {5, 9, 2, 0, 0, 7, 3, 8, 4, 6}; // 0 is padding
  auto ids = heddle::Tensor::i32({1, 3}, words), batch = heddle::Tensor::i32({2, 5}, rows);
  auto alone = session->run("encode", {{"source", ids}}),
       padded = session->run("encode", {{"source", batch}});
  if (!alone || !padded) {
    std::fprintf(stderr, "error: %s\n", (alone ? padded : alone).error().message.c_str());
    return 1;
  }
  auto a = (*alone)["output"].values<float>(), b = (*padded)["output"].values<float>();
  double sum = 0;
  for (float value : a)
    sum += value;
  bool same = std::memcmp(a.data(), b.data(), a.size_bytes()) == 0,
       centred = std::fabs(sum) < 1e-3 && a[0] != 0;
  std::printf("%s: same bits alone and padded: %s, rows centred: %s\n",
              session->deviceText().c_str(), same ? "yes" : "no", centred ? "yes" : "no");
  return same && centred ? 0 : 1;
}
