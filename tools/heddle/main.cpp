//===- main.cpp - Entry point of heddle -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares all commands and runs one. An error is one line. The exit status (ErrorKind) is 0 for
// success, 1 for bad input, 2 for wrong usage, and 3 for a failed device, differing results or a
// defect of Heddle.

#include "Driver.h"

#include "heddle/Support/Try.h"
#include "heddle/Version.h"

#include "llvm/Support/ErrorHandling.h"

#include <iostream>

namespace heddle::driver {

void printWarnings(const std::vector<std::string> &warnings) {
  for (const std::string &warning : warnings)
    std::cerr << "warning: " << printable(warning) << "\n";
}

void printNotes(const std::vector<std::string> &notes) {
  for (const std::string &note : notes)
    std::cerr << "note: " << printable(note) << "\n";
}

/// Parses the command line and runs the chosen command.
static Status run(int argc, char **argv) {
  CLI::App app("Heddle compiles Transformers to CPU and Vulkan kernels and runs them.\n");
  app.name("heddle");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "print this text");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  app.require_subcommand(1);
  app.footer("MODEL is a .json description, a folder with model.json, a Hugging Face folder, a "
             ".gguf, a .mlir or a .heddle file.\n"
             "Examples:\n"
             "  heddle compile examples/translate -o translate.heddle --target=cpu,vulkan\n"
             "  heddle translate examples/translate \"我 是 谁\"\n"
             "  heddle COMMAND --help");
  Status outcome;
  addCompile(app, outcome);
  addRun(app, outcome);
  addText(app, outcome);
  addTraining(app, outcome);
  addBench(app, outcome);
  addQueries(app, outcome);
  HEDDLE_TRY(parse(app, argc, argv));
  return outcome;
}

} // namespace heddle::driver

int main(int argc, char **argv) {
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { heddle::driver::endWithoutMemory(); });
  return heddle::driver::runProgram([&] { return heddle::driver::run(argc, argv); });
}
