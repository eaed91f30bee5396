//===- Bench.cpp - The command `bench` ------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a session, after compilation if needed, and benchmarks it.

#include "Driver.h"

#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include <iostream>
#include <memory>

namespace heddle::driver {

namespace {

struct BenchFlags {
  std::string model;
  JitOptions jit;
  BenchCommand bench;
  std::vector<std::string> dims;
};

Status bench(BenchFlags &flags) {
  flags.bench.dims = HEDDLE_TRY(parseDimensions(flags.dims));
  Session session = HEDDLE_TRY(openModel(flags.model, flags.jit));
  flags.bench.threads = flags.jit.threads;
  flags.bench.vulkanLevel = flags.jit.vulkanLevel;
  if (!flags.jit.training || !flags.bench.function.empty())
    return benchCommand(session, flags.bench, flags.jit.device, std::cout);
  // Functions of a step share few dimensions, so each gets the sizes that it has. Packed examples
  // have a number of their own.
  const Dimensions dims = flags.bench.dims;
  const std::string gradients = dims.contains("N") ? packedGradientsFunction : gradientsFunction;
  for (const std::string &function :
       {gradients, std::string("gradient_norm"), std::string("update")}) {
    flags.bench.function = function;
    flags.bench.dims = function == gradients ? dims : Dimensions();
    HEDDLE_TRY(benchCommand(session, flags.bench, flags.jit.device, std::cout));
    std::cout << (flags.bench.json ? "" : "\n");
  }
  return {};
}

} // namespace

void addBench(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App *command = app.add_subcommand("bench", "time a function, kernel by kernel");
  addModel(*command, flags->model);
  addDeviceFlags(*command, flags->jit);
  addBenchFlags(*command, flags->bench, flags->dims);
  addModelFlags(*command, flags->jit);
  addTrainingFlag(*command, flags->jit);
  addTrainingChoices(*command, flags->jit);
  command->footer(
      "Inputs are synthetic; shares are of rates measured in the same rounds, each kernel's of "
      "its type's.\n"
      "Examples:\n"
      "  heddle bench model.heddle --dim B=8 --dim S=128 --threads=1\n"
      "  heddle bench examples/translate --training --dim B=128 --dim S=6 --dim T=7 --threads=1\n"
      "  heddle bench translate.heddle --function=encode,decode_start,decode_step");
  command->callback([flags, &outcome] { outcome = bench(*flags); });
}

} // namespace heddle::driver
