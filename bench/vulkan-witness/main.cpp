//===- main.cpp - Compiled and hand-written kernels compared --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares Heddle's kernels with hand-written GLSL: a matrix product of 512 and attention over 512
// rows, through the same runtime in one run. Each round measures the processor's peak and all four
// kernels one after the other. Reported are medians of times and of ratios inside a round, so that
// other load on the machine affects all alike, and shares of the peak, best round over best round.
// Exit status 1: a result is wrong or a gate was missed.
#include "Contender.h"
#include "Problem.h"

#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Try.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

using namespace heddle;
using namespace heddle::bench;

namespace {

constexpr int kThreads = 2;
constexpr double kTolerance = 1e-5;

struct Options {
  std::string device = "vulkan";
  int rounds = 21, repeat = 4;
};

//===- The four kernels --------------------------------------------------===//

Buffer argumentBuffer(const char *name, int64_t elements) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = Buffer::Kind::Argument;
  buffer.elements = elements;
  return buffer;
}

Port denseRows(const char *name, int64_t rows, int64_t columns, int buffer) {
  Port port;
  port.name = name;
  port.shape = {rows, columns};
  port.buffer = buffer;
  return port;
}

LaunchArgument bufferArgument(int index) { return {LaunchArgument::Kind::Buffer, index, 0}; }
LaunchArgument weightArgument(int index) { return {LaunchArgument::Kind::Weight, index, 0}; }
constexpr KernelArgument readMemory{KernelArgument::Storage::Memory, false},
    writtenMemory{KernelArgument::Storage::Memory, true},
    readWeight{KernelArgument::Storage::Weight, false};

Witness handWrittenProduct(const Product &problem) {
  constexpr int64_t n = Product::size;
  Witness witness;
  witness.module = HEDDLE_BENCH_KERNELS "/linear.spv";
  witness.kernel = {"linear", {readMemory, readWeight, readWeight, writtenMemory}, {"m"}};
  witness.kernel.vulkan = {{{{GridAxis{0, 64, 1}, GridAxis{-1, 1, n / 128}, GridAxis{}}},
                            ArtifactWriter::vulkanMember("linear"),
                            {64, 1, 1}}};
  witness.function.name = "product";
  witness.function.buffers = {argumentBuffer("x", n * n), argumentBuffer("y", n * n)};
  witness.function.inputs = {denseRows("x", n, n, 0)};
  witness.function.outputs = {denseRows("y", n, n, 1)};
  Launch launch{
      "linear", {bufferArgument(0), weightArgument(0), weightArgument(1), bufferArgument(1)}, {n}};
  witness.function.launches = {launch};
  witness.weights = {{"weight", 0, n * n}, {"bias", n * n * 4, n}};
  witness.weightValues = panelsOf(problem.weight, n);
  witness.weightValues.insert(witness.weightValues.end(), problem.bias.begin(), problem.bias.end());
  return witness;
}

Witness handWrittenAttention() {
  constexpr int64_t rows = Attention::heads * Attention::length, size = Attention::headSize;
  Witness witness;
  witness.module = HEDDLE_BENCH_KERNELS "/attention.spv";
  witness.kernel = {"attention",
                    {readMemory, readMemory, readMemory, writtenMemory},
                    {"queries", "queryRows", "keys", "keyRows"}};
  witness.kernel.vulkan = {{{{GridAxis{-1, 1, Attention::heads}, GridAxis{0, 64, 1}, GridAxis{}}},
                            ArtifactWriter::vulkanMember("attention"),
                            {64, 1, 1}}};
  witness.function.name = "attend";
  for (const char *name : {"q", "k", "v", "o"})
    witness.function.buffers.push_back(argumentBuffer(name, rows * size));
  witness.function.inputs = {denseRows("q", rows, size, 0), denseRows("k", rows, size, 1),
                             denseRows("v", rows, size, 2)};
  witness.function.outputs = {denseRows("o", rows, size, 3)};
  constexpr int64_t length = Attention::length;
  witness.function.launches = {
      {"attention",
       {bufferArgument(0), bufferArgument(1), bufferArgument(2), bufferArgument(3)},
       {length, length, length, length}}};
  return witness;
}

/// A kernel in the table.
struct Entry {
  std::string name;
  double flops;
  Contender contender;
  double error = 0;
  std::vector<Duration> times = {}; ///< one per round

  double rate(size_t round) const { return flops / times[round].wall; }
};

Expected<Entry> prepare(std::string name, double flops, Expected<Artifact> artifact,
                        const Options &options, const Dimensions &dims, const Inputs &inputs,
                        const std::vector<double> &expected) {
  if (!artifact)
    return artifact.takeError();
  auto contender = HEDDLE_TRY(
      Contender::create(std::move(*artifact), options.device, /*threads=*/0, dims, inputs));
  auto found = HEDDLE_TRY(contender.run());
  double error = relativeError(found, expected);
  return Entry{std::move(name), flops, std::move(contender), error};
}

/// Transposes [heads][length][head size] to [length][heads][head size], the layout of a model's
/// output.
std::vector<double> headsMerged(const std::vector<double> &separate) {
  std::vector<double> merged(separate.size());
  constexpr int64_t heads = Attention::heads, length = Attention::length,
                    size = Attention::headSize;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < length; ++row)
      for (int64_t i = 0; i < size; ++i)
        merged[(row * heads + head) * size + i] = separate[(head * length + row) * size + i];
  return merged;
}

/// Prepares Heddle's product, the witness's; Heddle's attention, the witness's.
Expected<std::vector<Entry>> prepareAll(const Options &options) {
  Product product;
  Attention attention;
  const std::string models = HEDDLE_BENCH_MODELS;
  std::vector<double> y = product.expected(), o = attention.expected();
  Inputs x = {{"x", product.x}}, qkv = {{"q", attention.q}, {"k", attention.k}, {"v", attention.v}};
  Inputs packed = qkv;
  packed["k"] = panelsOf(attention.k, Attention::headSize);
  constexpr int64_t n = Product::size, length = Attention::length;
  Expected<Entry> made[] = {
      prepare("product, Heddle", Product::flops,
              compileKernel(models + "/product.mlir", "vulkan",
                            {{"weight", {n, n}, product.weight}, {"bias", {n}, product.bias}}),
              options, {{"M", n}}, x, y),
      prepare("product, GLSL", Product::flops, packWitness(handWrittenProduct(product)), options,
              {}, x, y),
      prepare("attention, Heddle", Attention::flops,
              compileKernel(models + "/attention.mlir", "vulkan", {}), options,
              {{"B", 1}, {"T", length}, {"S", length}}, qkv, headsMerged(o)),
      prepare("attention, GLSL", Attention::flops, packWitness(handWrittenAttention()), options, {},
              packed, o)};
  std::vector<Entry> entries;
  for (Expected<Entry> &entry : made) {
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  return entries;
}

//===- Measuring ---------------------------------------------------------===//

/// Fills the entries' seconds and returns the peak of each round.
Expected<std::vector<double>> measure(std::vector<Entry> &entries, const Options &options) {
  std::vector<double> peaks;
  for (int round = 0; round < options.rounds; ++round) {
    peaks.push_back(measureRate(Arithmetic::F32, kThreads));
    for (Entry &entry : entries) {
      auto duration = HEDDLE_TRY(entry.contender.time(options.repeat));
      entry.times.push_back(duration);
    }
  }
  return peaks;
}

/// Median over the rounds of the values of `of`.
double over(size_t rounds, const std::function<double(size_t)> &of) {
  std::vector<double> values;
  for (size_t round = 0; round < rounds; ++round)
    values.push_back(of(round));
  return median(values);
}

/// Rate of the best round over the peak of the best round: the share without other load.
double shareOfPeak(const Entry &entry, const std::vector<double> &peaks) {
  double best = 0;
  for (size_t round = 0; round < peaks.size(); ++round)
    best = std::max(best, entry.rate(round));
  return best / *std::ranges::max_element(peaks);
}

/// Prints a line and returns whether the gate passes.
bool gate(const char *what, double found, double least) {
  bool holds = found >= least;
  std::printf("%-62s %6.3f  >= %.3f  %s\n", what, found, least, holds ? "pass" : "FAIL");
  return holds;
}

/// Prints the table and the gates. Returns whether all gates pass.
bool report(const std::vector<Entry> &entries, const std::vector<double> &peaks) {
  size_t rounds = peaks.size();
  bool passed = true;
  std::printf("%-20s %9s %9s %9s %8s %9s\n", "kernel", "ms", "cpu ms", "GFLOP/s", "of peak",
              "error");
  for (const Entry &entry : entries) {
    double share = shareOfPeak(entry, peaks);
    double seconds = over(rounds, [&](size_t i) { return entry.times[i].wall; });
    double processor = over(rounds, [&](size_t i) { return entry.times[i].processor; });
    std::printf("%-20s %9.3f %9.3f %9.2f %7.2f%% %9.1e\n", entry.name.c_str(), seconds * 1e3,
                processor * 1e3, entry.flops / seconds * 1e-9, share * 100, entry.error);
    if (!(entry.error <= kTolerance)) {
      std::printf("FAIL: expected an error of at most %.0e\n", kTolerance);
      passed = false;
    }
  }
  const Entry &product = entries[0], &linear = entries[1], &attend = entries[2],
              &attention = entries[3];
  std::printf("\n");
  auto against = [&](const Entry &a, const Entry &b) {
    return over(rounds, [&](size_t i) { return a.rate(i) / b.rate(i); });
  };
  auto ofProcessor = [&](const char *what, const Entry &a, const Entry &b) {
    double found =
        over(rounds, [&](size_t i) { return b.times[i].processor / a.times[i].processor; });
    std::printf("%-62s %6.3f\n", what, found);
  };
  passed &= gate("product: Heddle / GLSL", against(product, linear), 0.9);
  ofProcessor("  the same by processor time", product, linear);
  passed &= gate("attention: Heddle / GLSL", against(attend, attention), 0.9);
  ofProcessor("  the same by processor time", attend, attention);
  passed &= gate("product: Heddle / two-thread FMA peak", shareOfPeak(product, peaks), 0.03);
  passed &= gate("Heddle: attention's rate / product's rate", against(attend, product), 1.0 / 3);
  return passed;
}

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return exitStatusOf(error.kind);
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("compare compiled kernels with hand-written ones on Vulkan");
  app.add_option("--device", options.device, "vulkan (default) or vulkan:N");
  app.add_option("--rounds", options.rounds, "rounds of all kernels in turn (default: 21)")
      ->check(CLI::Range(15, 10000));
  app.add_option("--repeat", options.repeat, "launches a measurement (default: 4)")
      ->check(CLI::Range(1, 10000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  if (rateInstruction(Arithmetic::F32).empty())
    return fail(inputError("expected a processor with fused multiply-add"));
  auto entries = prepareAll(options);
  if (!entries)
    return fail(entries.error());
  auto peaks = measure(*entries, options);
  if (!peaks)
    return fail(peaks.error());
  std::printf("device  %s\npeak    %.1f GFLOP/s, %d threads of %s\nrounds  %d of %d launches\n\n",
              entries->front().contender.describe().c_str(),
              *std::ranges::max_element(*peaks) * 1e-9, kThreads,
              rateInstruction(Arithmetic::F32).c_str(), options.rounds, options.repeat);
  return report(*entries, *peaks) ? 0 : 1;
}
