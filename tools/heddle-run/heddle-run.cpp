//===- heddle-run.cpp - Runs compiled models ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of heddle-run, which needs no LLVM; the libraries implement the commands.
#include "../Progress.h"
#include "../TextCommandLine.h"
#include "../TrainCommandLine.h"

#include "heddle/Version.h"

using namespace heddle;

namespace {

struct Flags {
  std::string file;
  SessionOptions session;
  RunCommand run;
  TranslateCommand translate;
  BenchCommand bench;
  TrainCommand train;
  std::vector<std::string> dims;
  bool verify = false;
};

void addSessionFlags(CLI::App &command, Flags &flags) {
  command.add_option("FILE", flags.file, "compiled model (.heddle)")->required();
  const driver::OptionGroup group(command, driver::modelOptions);
  command.add_option("--device", flags.session.device, "cpu, vulkan or vulkan:N")
      ->type_name("DEVICE");
  driver::addNumber(command, "--threads", flags.session.threads, 0,
                    "number of CPU threads (default: one per processor)");
  command.add_option("--cpu", flags.session.cpu,
                     "instruction set of the file's code to run (default: the best one here)");
  driver::addNumber(
      command, "--vulkan-level", flags.session.vulkanLevel, 0,
      "level of the Vulkan device to use (default: its highest; 0 if it is a processor)");
}

Expected<Session> openSession(const Flags &flags) {
  HEDDLE_TRY(driver::checkThreads(flags.session.device, flags.session.threads));
  HEDDLE_TRY(driver::checkCpu(flags.session.device, flags.session.cpu));
  HEDDLE_TRY(driver::checkLevel(flags.session.device, flags.session.vulkanLevel));
  SessionOptions options = flags.session;
  options.progress = driver::showPhases();
  return Session::open(flags.file, options);
}

Status run(const Flags &flags) {
  if (flags.verify)
    return usageError("--verify: expected heddle run --verify, found heddle-run, which has no "
                      "reference");
  auto session = HEDDLE_TRY(openSession(flags));
  return runCommand(session, flags.run, std::cout);
}

Status bench(Flags &flags) {
  flags.bench.dims = HEDDLE_TRY(driver::parseDimensions(flags.dims));
  auto session = HEDDLE_TRY(openSession(flags));
  flags.bench.threads = flags.session.threads;
  flags.bench.vulkanLevel = flags.session.vulkanLevel;
  return benchCommand(session, flags.bench, flags.session.device, std::cout);
}

void addRun(CLI::App &app, Flags &flags, Status &outcome) {
  CLI::App *command = app.add_subcommand("run", "run a function on .npy files");
  addSessionFlags(*command, flags);
  driver::addRunFlags(*command, flags.run);
  command->add_flag("--verify", flags.verify, "compare with the reference (heddle only)");
  command->footer(
      "Examples:\n  heddle-run run encoder.heddle --input source=ids.npy --output-dir out\n"
      "  heddle-run run encoder.heddle --device=vulkan --function=encode --input source=ids.npy");
  command->callback([&] { outcome = run(flags); });
}

void addBench(CLI::App &app, Flags &flags, Status &outcome) {
  CLI::App *command = app.add_subcommand("bench", "time a function, kernel by kernel");
  addSessionFlags(*command, flags);
  driver::addBenchFlags(*command, flags.bench, flags.dims);
  command->footer(
      "Inputs are synthetic; shares are of rates measured in the same rounds, each kernel's of "
      "its type's.\n"
      "Examples:\n  heddle-run bench model.heddle --dim B=8 --dim S=128 --threads=1");
  command->callback([&] { outcome = bench(flags); });
}

void addTrain(CLI::App &app, Flags &flags, Status &outcome) {
  CLI::App *command =
      app.add_subcommand("train", "train the weights of a model that was compiled with --training");
  addSessionFlags(*command, flags);
  driver::addTrainFlags(*command, flags.train);
  command->footer(
      "An interrupt ends the run after its step; --resume goes on.\n"
      "Examples:\n"
      "  heddle-run train model.heddle --data=train.tsv --valid=held-out.tsv -o trained");
  command->callback([&] {
    auto session = openSession(flags);
    flags.train.inputs = {flags.file};
    outcome =
        session ? driver::train(std::move(*session), flags.train) : Status(session.takeError());
  });
}

/// Parses the command line and runs the chosen command.
Status runTool(int argc, char **argv) {
  CLI::App app("Runs compiled models.", "heddle-run");
  app.set_version_flag("--version", "heddle-run " HEDDLE_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<driver::HelpFormatter>());
  app.set_help_flag("-h,--help", "print this text");
  app.footer(
      "Examples:\n  heddle-run run encoder.heddle --input source=ids.npy\n  heddle-run devices");
  Flags flags;
  Status outcome;
  addRun(app, flags, outcome);
  driver::addTextCommands(app,
                          {flags.translate, [&](CLI::App &own) { addSessionFlags(own, flags); },
                           [&] { return openSession(flags); }, "heddle-run", flags.file},
                          outcome);
  driver::addTokenize(app, "heddle-run", outcome);
  addBench(app, flags, outcome);
  addTrain(app, flags, outcome);
  CLI::App *devices = app.add_subcommand("devices", "list the devices that models can run on");
  devices->footer("Examples:\n  heddle-run devices\n  heddle-run devices --json");
  auto json = std::make_shared<bool>(false);
  driver::addJson(*devices, *json);
  devices->callback([&, json] { outcome = devicesCommand(std::cout, *json); });
  HEDDLE_TRY(driver::parse(app, argc, argv));
  return outcome;
}

} // namespace

int main(int argc, char **argv) {
  return driver::runProgram([&] { return runTool(argc, argv); });
}
