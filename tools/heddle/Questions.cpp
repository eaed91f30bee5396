//===- Questions.cpp - explain, inspect, devices, schema ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Commands that answer questions about a model or the machine and run nothing.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "heddle/Compiler/Inspect.h"
#include "heddle/Compiler/OutputFile.h"
#include "heddle/Runtime/Commands.h"

#include <iostream>
#include <memory>

namespace heddle::driver {

namespace {

struct ExplainFlags {
  std::string model, html, svg, layer;
  std::vector<std::string> dims;
  bool tiles = false, positions = false;
  CompileOptions options;
};

struct InspectFlags {
  std::string model, graph;
  std::vector<std::string> dims;
  InspectOptions inspect;
  CompileOptions options;
};

Status explain(const ExplainFlags &flags) {
  if (flags.tiles || flags.positions || !flags.svg.empty() || !flags.layer.empty())
    return usageError("explain: --tiles, --layer, --positions and --svg are not built yet");
  Expected<Explanation> explanation = explainModel(flags.model, flags.options);
  if (!explanation)
    return explanation.takeError();
  return writeOutput(flags.html, flags.html.empty() ? explanationText(*explanation)
                                                    : explanationHtml(*explanation, flags.model));
}

Status inspect(InspectFlags &flags) {
  if (!flags.graph.empty())
    return usageError("inspect: --graph is not built yet");
  for (const std::string &text : flags.dims) {
    auto dim = parseDimension(text);
    if (!dim)
      return dim.takeError();
    flags.inspect.dims[dim->first] = dim->second;
  }
  Expected<std::string> text = inspectModel(flags.model, flags.inspect, flags.options);
  return text ? writeOutput("", *text) : Status(text.takeError());
}

void addExplain(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *command = app.add_subcommand("explain", "say what became of each op, and why");
  command->add_option("model", flags->model, "MODEL")->required();
  command->add_option("--html", flags->html, "write a page instead of text");
  command->add_option("--svg", flags->svg, "not built yet");
  command->add_flag("--tiles", flags->tiles, "not built yet");
  command->add_option("--layer", flags->layer, "not built yet");
  command->add_flag("--positions", flags->positions, "not built yet");
  command->add_option("--dim", flags->dims, "NAME=N")->allow_extra_args(false);
  addModelFlags(*command, flags->options);
  command->footer("Examples:\n  heddle explain examples/translate\n  heddle explain model.json "
                  "--html=fusion.html");
  command->callback([flags, &outcome] { outcome.status = explain(*flags); });
}

void addInspect(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *command =
      app.add_subcommand("inspect", "show functions, kernels, weights and members of a model");
  command->add_option("model", flags->model, "MODEL")->required();
  command->add_flag("--weights-list", flags->inspect.weightsList,
                    "name, type and shape of every tensor the model expects");
  command->add_flag("--check", flags->inspect.check, "check every byte of a .heddle file");
  command
      ->add_option("--dim", flags->dims,
                   "value of a dynamic dimension, NAME=N: prints sizes and costs")
      ->allow_extra_args(false);
  command->add_option("--graph", flags->graph, "not built yet");
  addModelFlags(*command, flags->options);
  command->footer("Examples:\n"
                  "  heddle inspect model.heddle --check\n"
                  "  heddle inspect model.json --weights-list\n"
                  "  heddle inspect model.json --dim B=1 --dim S=512");
  command->callback([flags, &outcome] { outcome.status = inspect(*flags); });
}

} // namespace

void addQuestions(CLI::App &app, Outcome &outcome) {
  addExplain(app, outcome);
  addInspect(app, outcome);
  app.add_subcommand("devices", "list the devices of this machine")->callback([&outcome] {
    outcome.status = devicesCommand(std::cout);
  });
  app.add_subcommand("schema", "print the JSON Schema of model descriptions")->callback([&outcome] {
    outcome.status = writeOutput("", descriptionSchema());
  });
}

} // namespace heddle::driver
