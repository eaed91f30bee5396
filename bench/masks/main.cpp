//===- main.cpp - Benchmark of attention masks on the CPU -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Benchmark of masks: one head of 64 over 8,192 tokens, f32, one thread. Attention under each mask
// is compared with attention without one, kernel by kernel, interleaved in one run. Gates limit the
// time relative to the unmasked kernel. Exit status 1: a gate was missed.
#include "Contender.h"

#include "heddle/Support/CpuRates.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace heddle;
using namespace heddle::bench;

namespace {

constexpr int64_t kTokens = 8192, kHeadSize = 64;
constexpr double kFlops = 4.0 * kTokens * kTokens * kHeadSize;

/// Consecutive documents of mixed lengths with unaligned starts.
struct Documents {
  std::vector<int32_t> starts{0}, ids;
  double share = 0; ///< fraction of the pairs that are inside one document

  explicit Documents(std::mt19937 &random) {
    while (starts.back() < kTokens) {
      int64_t length = std::min<int64_t>(50 + random() % 951, kTokens - starts.back());
      ids.insert(ids.end(), static_cast<size_t>(length), static_cast<int32_t>(starts.size()));
      starts.push_back(starts.back() + static_cast<int32_t>(length));
      share += static_cast<double>(length) * length / (kTokens * kTokens);
    }
  }
};

/// Upper bound of a mask's cost.
struct Gate {
  enum class Of { Unmasked, Share, Documents, Packed } of;
  double limit;
};

struct Case {
  const char *name;
  const char *mask; ///< ops that define %m
  const char *argument = "";
  std::vector<Gate> gates = {};
};

#define FORMULA(text)                                                                              \
  "%m = transformer.mask.where {\n^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n" text                \
  "transformer.yield %r : i1\n}\n"
constexpr const char *kIds =
    ", %ids: tensor<?x?xi32> {transformer.name = \"ids\", transformer.dims = [\"B\", \"T\"]}";
constexpr const char *kStarts =
    ", %starts: tensor<?xi32> {transformer.name = \"starts\", transformer.dims = [\"starts\"]}";

const Case kCases[] = {
    {"no mask", "", ""},
    {"causal", "%m = transformer.mask.causal\n", "", {{Gate::Of::Unmasked, 0.55}}},
    {"causal & window(255, 0)",
     "%c = transformer.mask.causal\n%w = transformer.mask.window before = 255 after = 0\n"
     "%m = transformer.mask.and %c, %w\n",
     "",
     {{Gate::Of::Unmasked, 0.08}}},
    {"documents_packed",
     "%m = transformer.mask.documents starts(%starts, %starts) : tensor<?xi32>, tensor<?xi32>\n",
     kStarts},
    {"documents",
     "%m = transformer.mask.documents %ids, %ids : tensor<?x?xi32>, tensor<?x?xi32>\n",
     kIds,
     {{Gate::Of::Share, 1.5}, {Gate::Of::Packed, 1.3}}},
    {"where(d[b, i] == d[b, j])",
     FORMULA("%x = transformer.mask.load %ids[%b, %i] : tensor<?x?xi32>\n"
             "%y = transformer.mask.load %ids[%b, %j] : tensor<?x?xi32>\n"
             "%r = arith.cmpi eq, %x, %y : i32\n"),
     kIds,
     {{Gate::Of::Documents, 2.0}}},
    {"where(i/64 == j/64)",
     FORMULA("%c = arith.constant 64 : i32\n%x = arith.floordivsi %i, %c : i32\n"
             "%y = arith.floordivsi %j, %c : i32\n%r = arith.cmpi eq, %x, %y : i32\n"),
     "",
     {{Gate::Of::Unmasked, 0.05}}},
    {"where(0 <= i-j && i-j < 256 || j < 16)",
     FORMULA("%z = arith.constant 0 : i32\n%c = arith.constant 256 : i32\n"
             "%s = arith.constant 16 : i32\n%d = arith.subi %i, %j : i32\n"
             "%p = arith.cmpi sle, %z, %d : i32\n%n = arith.cmpi slt, %d, %c : i32\n"
             "%a = arith.andi %p, %n : i1\n%t = arith.cmpi slt, %j, %s : i32\n"
             "%r = arith.ori %a, %t : i1\n"),
     "",
     {{Gate::Of::Unmasked, 0.10}}},
    {"neighbours within 4 on a grid of 128 x 64",
     FORMULA("%c = arith.constant 64 : i32\n%f = arith.constant 4 : i32\n"
             "%z = arith.constant 0 : i32\n%x = arith.floordivsi %i, %c : i32\n"
             "%y = arith.floordivsi %j, %c : i32\n%d = arith.subi %x, %y : i32\n"
             "%nd = arith.subi %z, %d : i32\n%ad = arith.maxsi %d, %nd : i32\n"
             "%p = arith.cmpi sle, %ad, %f : i32\n%x64 = arith.muli %x, %c : i32\n"
             "%xr = arith.subi %i, %x64 : i32\n%y64 = arith.muli %y, %c : i32\n"
             "%yr = arith.subi %j, %y64 : i32\n%e = arith.subi %xr, %yr : i32\n"
             "%ne = arith.subi %z, %e : i32\n%ae = arith.maxsi %e, %ne : i32\n"
             "%n = arith.cmpi sle, %ae, %f : i32\n%r = arith.andi %p, %n : i1\n"),
     "",
     {{Gate::Of::Unmasked, 0.14}}},
};

std::string modelText(const Case &c) {
  const std::string type = "tensor<1x1x?x64xf32>";
  auto argument = [&](const std::string &name) {
    return "%" + name + ": " + type + " {transformer.name = \"" + name +
           "\", transformer.dims = [1, 1, \"T\", 64]}";
  };
  return "func.func @attend(" + argument("q") + ", " + argument("k") + ", " + argument("v") +
         c.argument + ") -> (" + type + " {transformer.name = \"o\"}) {\n" + c.mask +
         "%o = transformer.attention %q, %k, %v" + (*c.mask ? " mask(%m)" : "") +
         " {scale = 0.125 : f32} : (" + type + ", " + type + ", " + type + ") -> " + type +
         "\nreturn %o : " + type + "\n}\n";
}

Expected<Contender> prepare(const Case &c, const Inputs &all, const Documents &documents) {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("heddle-bench-masks-" + std::to_string(getpid()) + ".mlir"))
                         .string();
  std::ofstream(path) << modelText(c);
  auto artifact = compileKernel(path, "cpu", {});
  std::filesystem::remove(path);
  if (!artifact)
    return artifact.takeError();
  Inputs inputs = {{"q", all.at("q")}, {"k", all.at("k")}, {"v", all.at("v")}};
  Dimensions dims = {{"T", kTokens}};
  if (c.argument == kIds) {
    inputs["ids"] = all.at("ids");
    dims["B"] = 1;
  } else if (c.argument == kStarts) {
    inputs["starts"] = all.at("starts");
    dims["starts"] = static_cast<int64_t>(documents.starts.size());
  }
  return Contender::create(std::move(*artifact), "cpu", /*threads=*/1, dims, inputs);
}

/// Integers as floats with their bits.
Values bitsOf(const std::vector<int32_t> &integers) {
  Values values;
  for (int32_t integer : integers)
    values.push_back(std::bit_cast<float>(integer));
  return values;
}

int run(int rounds) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Documents documents(random);
  Inputs inputs = {{"ids", bitsOf(documents.ids)}, {"starts", bitsOf(documents.starts)}};
  for (const char *name : {"q", "k", "v"})
    for (int64_t i = 0; i < kTokens * kHeadSize; ++i)
      inputs[name].push_back(normal(random));
  std::vector<Contender> contenders;
  for (const Case &c : kCases) {
    auto made = prepare(c, inputs, documents);
    if (!made) {
      std::fprintf(stderr, "error: %s: %s\n", c.name, made.error().message.c_str());
      return 1;
    }
    contenders.push_back(std::move(*made));
  }
  std::vector<std::vector<double>> times(contenders.size());
  double peak = 0;
  for (int round = 0; round < rounds; ++round) {
    peak = std::max(peak, measureRate(Arithmetic::F32, 1));
    for (size_t i = 0; i < contenders.size(); ++i) {
      auto duration = contenders[i].time(1);
      if (!duration) {
        std::fprintf(stderr, "error: %s\n", duration.error().message.c_str());
        return 1;
      }
      times[i].push_back(duration->wall);
    }
  }
  auto ratio = [&](size_t i, size_t to) {
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round)
      ratios.push_back(times[i][round] / times[to][round]);
    return median(ratios);
  };
  constexpr size_t packed = 3, ids = 4;
  double fastest = *std::min_element(times[0].begin(), times[0].end());
  double share = kFlops / fastest / peak;
  std::printf(
      "device     %s\npeak       %.1f GFLOP/s, %s, 1 thread\nunmasked   %.2f of the peak%s\n"
      "documents  %zu, %.4f of the pairs are in one document\nrounds     %d\n\n",
      contenders.front().describe().c_str(), peak * 1e-9, rateInstruction(Arithmetic::F32).c_str(),
      share, share >= 0.70 ? "" : "  (below 0.70: missed)", documents.starts.size() - 1,
      documents.share, rounds);
  std::printf("%-44s %9s %10s\n", "mask", "ms", "of no mask");
  bool passed = share >= 0.70;
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::printf("%-44s %9.2f %10.4f", kCases[i].name, median(times[i]) * 1e3, ratio(i, 0));
    for (const Gate &gate : kCases[i].gates) {
      bool ofOther = gate.of == Gate::Of::Documents || gate.of == Gate::Of::Packed;
      double found = ofOther ? ratio(i, gate.of == Gate::Of::Packed ? packed : ids) : ratio(i, 0);
      double limit = gate.of == Gate::Of::Share ? gate.limit * documents.share : gate.limit;
      const char *what = gate.of == Gate::Of::Packed      ? " of documents_packed"
                         : gate.of == Gate::Of::Documents ? " of documents"
                                                          : "";
      std::printf("  %.4f%s <= %.4f %s", found, what, limit, found <= limit ? "pass" : "MISSED");
      passed &= found <= limit;
    }
    std::printf("\n");
  }
  return passed ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc == 3 && std::string_view(argv[1]) == "--rounds" ? std::atoi(argv[2]) : 15;
  if (rounds < 1 || (argc != 1 && argc != 3)) {
    std::fprintf(stderr, "usage: heddle-bench-masks [--rounds N]\n");
    return 2;
  }
  return run(rounds);
}
