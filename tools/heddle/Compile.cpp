//===- Compile.cpp - The command `compile` --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an artifact, or the text of a stage with --emit.

#include "Driver.h"

#include "heddle/Report/Explain.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <iostream>
#include <memory>

namespace heddle::driver {

namespace {

struct CompileFlags {
  std::string model, output, emit, explain;
  CompileOptions options;
};

/// Prints warnings, notes, remarks and a line of statistics to standard error.
void printReport(const CompileFlags &flags, const CompileReport &report) {
  printWarnings(report.warnings);
  printNotes(report.notes);
  for (const std::string &remark : report.remarks)
    std::cerr << "remark: " << printable(remark) << "\n";
  std::string cached = report.cachedPieces > 0
                           ? " (" + std::to_string(report.cachedPieces) + " of " +
                                 std::to_string(report.pieces) + " pieces of code were cached)"
                           : "";
  char line[256];
  std::snprintf(line, sizeof line,
                "%d kernels, %.2f s%s; weights %.1f MB packed in %.2f s; file %.1f MB",
                report.kernels, report.codeSeconds, cached.c_str(),
                static_cast<double>(report.weightBytes) / 1e6, report.packSeconds,
                static_cast<double>(report.artifactBytes) / 1e6);
  std::cerr << flags.output << ": " << line << "\n";
}

Status emit(const CompileFlags &flags) {
  Stage stage = HEDDLE_TRY(parseStage(flags.emit));
  HEDDLE_TRY(checkOutput(flags.output));
  CompileOptions options = flags.options;
  options.outputs.push_back(flags.output);
  std::string text = HEDDLE_TRY(emitStage(flags.model, stage, options, !flags.output.empty()));
  return writeOutput(flags.output, text);
}

Status explainFirst(const CompileFlags &flags) {
  if (Status status = checkNotAnInput(flags.explain, {flags.output}); !status)
    return inputError("--explain: " + flags.explain +
                      ": expected another file than that of -o, found the same one");
  CompileOptions options = flags.options;
  options.outputs.push_back(flags.explain);
  Explanation explanation = HEDDLE_TRY(explainModel(flags.model, options));
  if (flags.explain == "-")
    return writeOutput("", explanationText(explanation));
  return writeOutput(flags.explain, explanationHtml(explanation, flags.model));
}

/// Usage error for --cpu without target cpu.
Status checkCpus(const CompileOptions &options) {
  if (options.cpus.empty() || std::ranges::find(options.targets, "cpu") != options.targets.end())
    return {};
  return usageError("--cpu: expected --target=cpu with it, found none");
}

/// Usage error for --vulkan-level without target vulkan.
Status checkVulkan(const CompileOptions &options) {
  if (!options.vulkanLevel || std::ranges::find(options.targets, "vulkan") != options.targets.end())
    return {};
  return usageError("--vulkan-level: expected --target=vulkan with it, found none");
}

Status compile(CompileFlags &flags) {
  HEDDLE_TRY(checkCpus(flags.options));
  HEDDLE_TRY(checkVulkan(flags.options));
  Progress progress;
  flags.options.progress = [&](const std::string &phase) { progress.show(phase); };
  if (!flags.explain.empty())
    HEDDLE_TRY(explainFirst(flags));
  if (!flags.emit.empty() && flags.emit != toString(Stage::Artifact))
    return emit(flags);
  if (flags.output.empty() && !isArtifactPath(flags.model)) // compileModel reports a compiled file
    return flags.explain.empty()
               ? Status(usageError("compile: expected -o FILE.heddle, found none"))
               : Status();
  Expected<CompileReport> report = compileModel(flags.model, flags.output, flags.options);
  progress.clear();
  if (!report)
    return report.takeError();
  printReport(flags, *report);
  return {};
}

} // namespace

static void addChoice(CLI::App &command, const std::string &flag, std::string &value,
                      const std::string &help) {
  command.add_option(flag, value, help);
}
static void addChoice(CLI::App &command, const std::string &flag, std::vector<std::string> &values,
                      const std::string &help) {
  command.add_option(flag, values, help)->allow_extra_args(false);
}
static void addChoice(CLI::App &command, const std::string &flag, std::optional<int64_t> &number,
                      const std::string &help) {
  addNumber(command, flag, number, 1, help);
}

/// Only commands that train have the flag of training.
static void addChoice(CLI::App &, const std::string &, bool &, const std::string &) {}

static void addChoices(CLI::App &command, ModelChoices &choices, bool withTypes) {
  const OptionGroup group(command, modelOptions);
  visitFields(choices, [&](const std::string &field, auto &value) {
    if (field != "labels" && field != "recipe" && field != "keep" &&
        (withTypes || !field.ends_with("dtype")))
      addChoice(command, choiceFlag(field), value, choiceHelp(field));
  });
}

void addTrainingFlag(CLI::App &command, ModelChoices &choices) {
  command.add_flag(choiceFlag("training"), choices.training, choiceHelp("training"))
      ->group(modelOptions);
}

void addTrainingChoices(CLI::App &command, ModelChoices &choices) {
  command.add_option(choiceFlag("recipe"), choices.recipe, choiceHelp("recipe"))
      ->type_name("FILE.json");
  command.add_option(choiceFlag("labels"), choices.labels, choiceHelp("labels"))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,NAME");
  command.add_option(choiceFlag("keep"), choices.keep, choiceHelp("keep"))
      ->type_name("all|layers|N");
}

void addImportFlags(CLI::App &command, ModelChoices &choices) {
  addChoices(command, choices, /*withTypes=*/false);
}

void addModelFlags(CLI::App &command, ModelChoices &choices) {
  addChoices(command, choices, /*withTypes=*/true);
}

void addCompile(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App *command = app.add_subcommand("compile", "compile a model into one file");
  addModel(*command, flags->model);
  addOutput(*command, flags->output, "FILE", "compiled file, or the text of a stage");
  CLI::Option *targets =
      command
          ->add_option(
              "--target", flags->options.targets,
              "targets, separated by commas: cpu, vulkan (default: both; cpu for training)")
          ->delimiter(',')
          ->allow_extra_args(false);
  command
      ->add_option(
          "--cpu", flags->options.cpus,
          "instruction sets, separated by commas: aarch64, native, or levels of x86-64 (default: "
          "x86-64-v2,x86-64-v3,x86-64-v4)")
      ->delimiter(',')
      ->allow_extra_args(false);
  addNumber(
      *command, "--vulkan-level", flags->options.vulkanLevel, 0,
      "highest level of Vulkan devices to compile for (default: all levels that have own kernels)");
  command->add_option(
      "--emit", flags->emit,
      "stage to stop at and print: transformer, fused, program, tiled, cpu, llvm, asm, gpu or "
      "spirv (default: artifact, the compiled file)");
  command->add_flag("--explain{-}", flags->explain,
                    "print which ops were fused and why others were not, or write a page with "
                    "--explain=FILE.html");
  addModelFlags(*command, flags->options);
  addTrainingChoices(*command, flags->options);
  addTrainingFlag(*command, flags->options);
  command->footer(
      "The stages tiled, cpu, llvm and asm are for the first instruction set of --cpu, tiled is "
      "for "
      "the first --target, and tiled, gpu and spirv are for --vulkan-level (default: 0).\n"
      "spirv prints modules as text; with -o, the module of a model with one kernel is written in "
      "binary form.\n"
      "Examples:\n"
      "  heddle compile examples/translate -o translate.heddle --target=cpu,vulkan --cpu=native\n"
      "  heddle compile examples/self-attention/self-attention.mlir --emit=fused\n"
      "  heddle compile examples/translate --training --emit=transformer\n"
      "  heddle compile model.json --emit=tiled --target=vulkan");
  command->callback([flags, targets, &outcome] {
    if (flags->options.training && !targets->count())
      flags->options.targets = {"cpu"};
    outcome = compile(*flags);
  });
}

} // namespace heddle::driver
