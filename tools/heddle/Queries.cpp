//===- Queries.cpp - Reports on models and machines -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands explain, inspect, cache, devices and schema, which do not run a model.

#include "Driver.h"

#include "heddle/Report/Explain.h"
#include "heddle/Report/Inspect.h"
#include "heddle/Report/KeptValues.h"
#include "heddle/Report/Plans.h"
#include "heddle/Report/Positions.h"
#include "heddle/Report/Tiles.h"
#include "heddle/Runtime/Commands.h"
#include "heddle/Runtime/Device.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <iostream>
#include <memory>

namespace heddle::driver {

namespace {

struct ExplainFlags {
  std::string model, html, svg, layer, positions;
  std::vector<std::string> dims;
  bool tiles = false, all = false, plans = false;
  CompileOptions options;
};

struct InspectFlags {
  std::string model, graph, device;
  std::vector<std::string> dims;
  InspectOptions inspect;
  CompileOptions options;
};

/// Writes a picture to the file of --svg or --html, or prints it as text.
template <typename Picture>
Status draw(const ExplainFlags &flags, Expected<Picture> drawn) {
  Picture picture = HEDDLE_TRY(drawn);
  if (!flags.svg.empty())
    return writeOutput(flags.svg, pictureSvg(picture));
  return writeOutput(flags.html,
                     flags.html.empty() ? pictureText(picture) : pictureHtml(picture, flags.model));
}

/// Handles `--positions=FILE.svg`, short for `--positions --svg=FILE.svg`.
Status takePositionsFile(ExplainFlags &flags) {
  if (flags.positions.empty() || flags.positions == "-")
    return {};
  std::string &file = flags.positions.ends_with(".svg") ? flags.svg : flags.html;
  if (!flags.positions.ends_with(".svg") && !flags.positions.ends_with(".html"))
    return usageError("--positions: expected FILE.html or FILE.svg, found " +
                      quotedText(flags.positions));
  if (!file.empty())
    return usageError("explain: expected one file for --positions, found two");
  file = flags.positions;
  return {};
}

/// Checks that no option of another report accompanies `report`.
Status refuseOthers(const ExplainFlags &flags, const std::string &report) {
  for (auto [name, given] : {std::pair{"--tiles", flags.tiles},
                             {"--positions", !flags.positions.empty()},
                             {"--html", !flags.html.empty()},
                             {"--svg", !flags.svg.empty()},
                             {"--layer", !flags.layer.empty()},
                             {"--dim", !flags.dims.empty()}})
    if (given)
      return usageError("explain: " + report + ": expected no " + name + " with it");
  return {};
}

/// Prints plans; no other report goes with them.
Status explainPlans(const ExplainFlags &flags) {
  HEDDLE_TRY(refuseOthers(flags, "--plans"));
  if (flags.all)
    return usageError("explain: --plans: expected no --all with it");
  return writeOutput("", plansText(HEDDLE_TRY(heddle::explainPlans(flags.model, flags.options))));
}

/// Prints the values that the backward pass reads, or all ops that prevent it; no other report goes
/// with them.
Status explainKept(ExplainFlags &flags) {
  HEDDLE_TRY(refuseOthers(flags, "--training"));
  std::string errors;
  flags.options.error = [&](const std::string &text) { errors += "  " + text + "\n"; };
  Expected<std::string> text = heddle::explainKept(flags.model, flags.options, flags.all);
  if (text)
    return writeOutput("", *text);
  if (!errors.empty())
    HEDDLE_TRY(writeOutput("", "what prevents training\n" + errors));
  return text.takeError();
}

/// Checks exclusive options and the output path before opening the model.
Status explain(ExplainFlags &flags) {
  HEDDLE_TRY(takePositionsFile(flags));
  flags.options.outputs = {flags.html, flags.svg};
  if (!flags.html.empty() && !flags.svg.empty())
    return usageError("explain: expected one of --html and --svg, found both");
  if (flags.tiles && !flags.positions.empty())
    return usageError("explain: expected one of --tiles and --positions, found both");
  for (const std::string *file : {&flags.html, &flags.svg})
    HEDDLE_TRY(checkOutput(*file));
  if (flags.all && (flags.tiles || !flags.positions.empty()))
    return usageError("explain: --all: expected no --tiles and no --positions with it");
  auto dims = HEDDLE_TRY(parseDimensions(flags.dims));
  if (flags.plans)
    return explainPlans(flags);
  if (flags.options.training)
    return explainKept(flags);
  if (flags.tiles)
    return draw(flags, explainTiles(flags.model, {flags.layer, dims}, flags.options));
  if (!flags.layer.empty())
    return usageError("explain: --layer: expected --tiles with it");
  if (!flags.positions.empty())
    return draw(flags, explainPositions(flags.model, dims, flags.options));
  for (auto [name, given] :
       {std::pair{"--dim", !flags.dims.empty()}, {"--svg", !flags.svg.empty()}})
    if (given)
      return usageError(std::string("explain: ") + name +
                        ": expected --tiles or --positions with it");
  Explanation explanation = HEDDLE_TRY(explainModel(flags.model, flags.options));
  return writeOutput(flags.html, flags.html.empty()
                                     ? explanationText(explanation, flags.all)
                                     : explanationHtml(explanation, flags.model, flags.all));
}

Status drawGraph(const InspectFlags &flags, const Dimensions &dims) {
  if (!flags.graph.ends_with(".svg"))
    return usageError("--graph: expected FILE.svg, found " + quotedText(flags.graph));
  if (flags.inspect.check || flags.inspect.weightsList)
    return usageError("inspect: expected one of --check, --weights-list and --graph, found two");
  HEDDLE_TRY(checkOutput(flags.graph));
  return writeOutput(flags.graph, HEDDLE_TRY(drawModel(flags.model, dims, flags.options)));
}

/// Checks that --device and --vulkan-level accompany --pipelines.
Status takeDevice(InspectFlags &flags) {
  InspectOptions &inspect = flags.inspect;
  if (!inspect.pipelines && (!flags.device.empty() || inspect.vulkanLevel))
    return usageError(std::string("inspect: ") +
                      (flags.device.empty() ? "--vulkan-level" : "--device") +
                      ": expected --pipelines with it");
  if (!inspect.pipelines)
    return {};
  if (inspect.check || inspect.weightsList || !flags.graph.empty())
    return usageError(
        "inspect: expected one of --check, --weights-list, --graph and --pipelines, found two");
  auto number = vulkanNumber(flags.device.empty() ? "vulkan" : flags.device);
  if (!number)
    return usageError("--device: expected vulkan or vulkan:N with --pipelines, found " +
                      quotedText(flags.device));
  inspect.device = *number;
  return {};
}

/// Checks that --json is not combined with options that replace the report.
Status checkJson(const InspectFlags &flags) {
  const InspectOptions &inspect = flags.inspect;
  for (auto [given, name] : {std::pair(inspect.check, "--check"),
                             {inspect.weightsList, "--weights-list"},
                             {inspect.pipelines, "--pipelines"},
                             {inspect.all, "--all"},
                             {!flags.graph.empty(), "--graph"}})
    if (inspect.json && given)
      return usageError(std::string("inspect: --json: expected no ") + name + " with it");
  return {};
}

Status inspect(InspectFlags &flags) {
  HEDDLE_TRY(checkJson(flags));
  HEDDLE_TRY(takeDevice(flags));
  flags.options.outputs = {flags.graph};
  flags.options.warning = [](const std::string &text) { printWarnings({text}); };
  auto dims = HEDDLE_TRY(parseDimensions(flags.dims));
  if (!flags.graph.empty())
    return drawGraph(flags, dims);
  flags.inspect.dims = std::move(dims);
  return writeOutput("", HEDDLE_TRY(inspectModel(flags.model, flags.inspect, flags.options)));
}

void addExplain(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *command =
      app.add_subcommand("explain", "show which ops were fused, and why others were not");
  addModel(*command, flags->model);
  command->add_option("--html", flags->html, "write a page instead of text");
  command->add_option("--svg", flags->svg, "draw tiles or positions into a file");
  command->add_flag("--all", flags->all, "print every layer, including equal ones");
  command->add_flag(
      "--plans", flags->plans,
      "show the plan of each kernel on each target (mapping, tile, threads) and its reason");
  command->add_flag("--tiles", flags->tiles,
                    "show which tiles of an attention are empty, partial and full under its mask");
  command->add_option("--layer", flags->layer,
                      "layer for --tiles: encoder.3, decoder.3 or decoder.3.cross");
  command->add_flag("--positions{-}", flags->positions,
                    "show sinusoidal positions; --positions=FILE.html or FILE.svg draws them");
  command
      ->add_option("--dim", flags->dims,
                   "sizes for --tiles, NAME=N (default: 512), and --positions (default: 100)")
      ->allow_extra_args(false);
  addModelFlags(*command, flags->options);
  command
      ->add_flag(choiceFlag("training"), flags->options.training,
                 "show the values that the backward pass reads, and their sizes")
      ->group(modelOptions);
  addTrainingChoices(*command, flags->options);
  command
      ->add_option("--target", flags->options.targets,
                   "targets of --plans: cpu, vulkan (default: both)")
      ->delimiter(',');
  addNumber(*command, "--vulkan-level", flags->options.vulkanLevel, 0,
            "highest level of Vulkan devices for --plans");
  command->footer(
      "Examples:\n  heddle explain examples/translate\n  heddle explain model.json "
      "--html=fusion.html\n  heddle explain model.json --tiles --layer=decoder.3 --dim T=4096 "
      "--svg=tiles.svg\n"
      "  heddle explain examples/translate --positions=positions.html\n"
      "  heddle explain examples/translate --plans --target=vulkan\n"
      "  heddle explain examples/translate --training --keep=layers");
  command->callback([flags, &outcome] { outcome = explain(*flags); });
}

void addInspect(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *command =
      app.add_subcommand("inspect", "show functions, kernels, weights and members of a model");
  addModel(*command, flags->model);
  command->add_flag("--weights-list", flags->inspect.weightsList,
                    "print the name, type and shape of every tensor that the model expects; "
                    "for a file whose codes are kept, also its stored types and bytes");
  command->add_flag("--all", flags->inspect.all,
                    "print every layer and buffer, including equal ones");
  addJson(*command, flags->inspect.json);
  command->add_flag("--check", flags->inspect.check, "check all checksums of a .heddle file");
  command
      ->add_option("--dim", flags->dims,
                   "value of a dynamic dimension, NAME=N, for sizes and costs of every layer")
      ->allow_extra_args(false);
  command->add_option("--graph", flags->graph, "draw the model into FILE.svg");
  command->add_flag("--pipelines", flags->inspect.pipelines,
                    "print what a Vulkan driver reports about each kernel of a .heddle file");
  command->add_option("--device", flags->device,
                      "device for --pipelines: vulkan (default) or vulkan:N");
  addNumber(*command, "--vulkan-level", flags->inspect.vulkanLevel, 0,
            "level of the device for --pipelines (default: its highest; 0 if it is a processor)");
  addImportFlags(*command, flags->options);
  command->footer("Examples:\n"
                  "  heddle inspect model.heddle --check\n"
                  "  heddle inspect model.json --weights-list\n"
                  "  heddle inspect model.json --dim B=1 --dim S=512\n"
                  "  heddle inspect model.heddle --json\n"
                  "  heddle inspect examples/translate --graph=model.svg\n"
                  "  heddle inspect model.heddle --pipelines --device=vulkan:1");
  command->callback([flags, &outcome] { outcome = inspect(*flags); });
}

void addCache(CLI::App &app, Status &outcome) {
  auto clear = std::make_shared<bool>(false);
  CLI::App *command =
      app.add_subcommand("cache", "list the contents of the cache folder, or delete them");
  command->add_flag("--clear", *clear, "delete all contents");
  command->footer(
      "A Hugging Face folder is compiled when it is first used, and the result is kept here. The "
      "least recently used results are deleted first.\n"
      "Examples:\n  heddle cache\n  heddle cache --clear");
  command->callback([clear, &outcome] {
    if (!*clear) {
      outcome = writeOutput("", cacheText());
      return;
    }
    const auto [files, bytes] = clearCache();
    outcome = writeOutput(
        "", formatted("%zu files deleted, %.1f MB\n", files, static_cast<double>(bytes) / 1e6));
  });
}

} // namespace

void addQueries(CLI::App &app, Status &outcome) {
  addExplain(app, outcome);
  addInspect(app, outcome);
  addCache(app, outcome);
  CLI::App *devices = app.add_subcommand("devices", "list the devices of this machine");
  devices->footer("Examples:\n  heddle devices\n  heddle devices --json");
  auto json = std::make_shared<bool>(false);
  addJson(*devices, *json);
  devices->callback([&outcome, json] { outcome = devicesCommand(std::cout, *json); });
  CLI::App *schema = app.add_subcommand("schema", "print the JSON Schema of model descriptions");
  schema->footer("Examples:\n  heddle schema > model-description.schema.json");
  schema->callback([&outcome] { outcome = writeOutput("", descriptionSchema()); });
}

} // namespace heddle::driver
