//===- Run.cpp - The command `run` ----------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a session, after compilation if needed, and runs the command that both drivers share.

#include "Driver.h"

#include "heddle/ExecutionEngine/Verify.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/TrainingSession.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

namespace heddle::driver {

namespace {

struct RunFlags {
  std::string model;
  JitOptions jit;
  RunCommand run;
  bool verify = false;
  std::optional<int64_t> seed, step; ///< of dropout
};

/// Runs functions of a model that trains. The function `gradients` drops numbers only with a seed and
/// a step, and writes the gradients of all weights.
Status runTraining(RunFlags &flags) {
  auto training = HEDDLE_TRY(TrainingSession::from(HEDDLE_TRY(openModel(flags.model, flags.jit))));
  training.setDropout({flags.seed.value_or(0), flags.step.value_or(0),
                       flags.seed.has_value() || flags.step.has_value()});
  std::optional<Verifier> verifier;
  if (flags.verify)
    verifier.emplace(HEDDLE_TRY(Verifier::make(training.session())));
  VerifyReport report;
  const TrainingSession::Call call = [&](const std::string &function, const NamedInputs &inputs) {
    return verifier ? verifier->run(function, inputs, report)
                    : training.session().run(function, inputs);
  };
  HEDDLE_TRY(runFunctions(
      training.session().program(), flags.run,
      [&](const std::string &function, const NamedInputs &inputs) {
        return training.run(function, inputs, call);
      },
      std::cout));
  if (verifier)
    printVerified(report, std::cout);
  if (!flags.run.outputDir)
    return {};
  const std::filesystem::path folder(*flags.run.outputDir);
  return training.saveGradients((folder / "gradients.safetensors").string());
}

Status run(RunFlags &flags) {
  HEDDLE_TRY(checkOutputDir(flags.run.outputDir));
  if (!flags.jit.training && (flags.seed || flags.step))
    return usageError("--seed, --step: expected --training with them, found none");
  if (flags.jit.training)
    return runTraining(flags);
  Session session = HEDDLE_TRY(openModel(flags.model, flags.jit));
  return flags.verify ? verifyCommand(session, flags.run, std::cout)
                      : runCommand(session, flags.run, std::cout);
}

} // namespace

Expected<Session> openModel(const std::string &model, JitOptions &options) {
  HEDDLE_TRY(checkThreads(options.device, options.threads));
  HEDDLE_TRY(checkCpu(options.device, options.cpu));
  HEDDLE_TRY(checkLevel(options.device, options.vulkanLevel));
  options.progress = showPhases();
  std::vector<std::string> warnings, notes;
  options.warning = [&](const std::string &text) { warnings.push_back(text); };
  options.note = [&](const std::string &text) { notes.push_back(text); };
  Expected<Session> session = jit(model, options);
  options.progress("");
  printWarnings(warnings);
  printNotes(notes);
  return session;
}

void addModel(CLI::App &command, std::string &model) {
  command.add_option("model", model, "description, folder, or .gguf, .mlir or .heddle file")
      ->required();
}

void addDeviceFlags(CLI::App &command, JitOptions &options) {
  const OptionGroup group(command, modelOptions);
  command.add_option("--device", options.device, "device: cpu (default), vulkan or vulkan:N");
  addNumber(command, "--threads", options.threads, 0,
            "number of CPU threads (default: one per processor)");
  command.add_option(
      "--cpu", options.cpu,
      "instruction set of the CPU to compile for; of a .heddle file, one that it has "
      "(default: the best one here)");
  addNumber(command, "--vulkan-level", options.vulkanLevel, 0,
            "level of the Vulkan device to use (default: its highest; 0 if it is a processor)");
}

void addRun(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *command = app.add_subcommand("run", "run a function of a model on .npy files");
  addModel(*command, flags->model);
  addDeviceFlags(*command, flags->jit);
  addRunFlags(*command, flags->run);
  command->add_flag("--verify", flags->verify, "compare the device with the reference interpreter");
  addModelFlags(*command, flags->jit);
  addTrainingFlag(*command, flags->jit);
  addNumber(*command, "--seed", flags->seed, 0, "with --training: seed of dropout (default: none)");
  addNumber(*command, "--step", flags->step, 0, "with --training: step of dropout (default: none)");
  command->footer(
      "With --training and --output-dir, the function gradients writes gradients.safetensors: the "
      "gradients of the sum of the losses.\n"
      "Examples:\n"
      "  heddle run model.json --function=encode --input source=ids.npy --output-dir out\n"
      "  heddle run model.heddle --device=vulkan --input source=ids.npy --verify\n"
      "  heddle run model.heddle --function=encode,decode_start,decode_step --input source=ids.npy "
      "--input target=next.npy");
  command->callback([flags, &outcome] { outcome = run(*flags); });
}

} // namespace heddle::driver
