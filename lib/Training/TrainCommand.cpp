//===- TrainCommand.cpp - The command train ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the data, prepares the folder and reports the steps of a run.
#include "heddle/Training/Commands.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/Checkpoint.h"
#include "heddle/Training/StoredTensors.h"

#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace heddle {

/// Rejects measures that the model lacks.
static Status checkSupported(const Recipe &recipe, const TextModel &model) {
  auto refuse = [](const std::string &key, const std::string &expected, const std::string &found) {
    return inputError("training." + key + ": expected " + expected + ", found " + found);
  };
  if (recipe.measure.kind == MeasureRecipe::Kind::Accuracy && (model.target || model.classes == 0))
    return refuse("measure.kind", "loss or exact for a model that writes text", "accuracy");
  if (recipe.measure.kind == MeasureRecipe::Kind::Exact && !(model.source && model.target))
    return refuse("measure.kind", "loss or accuracy for a model without a source and a target",
                  "exact");
  return {};
}

/// The recipe of the model with the values of the command line.
static Expected<Recipe> recipeOf(const TextModel &model, const TrainCommand &command) {
  Recipe recipe = HEDDLE_TRY(recipeFromJson(model.training, "training"));
  if (command.epochs && command.steps)
    return usageError("--epochs, --steps: expected one of them, found both");
  if (command.epochs) {
    recipe.epochs = command.epochs;
    recipe.steps.reset();
  }
  if (command.steps) {
    recipe.steps = command.steps;
    recipe.epochs.reset();
  }
  if (command.batch) {
    recipe.batch.rows = command.batch;
    recipe.batch.tokens.reset();
  }
  if (command.seed)
    recipe.seed = *command.seed;
  if (command.fromWeights)
    recipe.initial.from = InitialRecipe::From::Weights;
  if (command.rate)
    (recipe.rate.kind == RateRecipe::Kind::Noam ? recipe.rate.factor : recipe.rate.peak) =
        command.rate;
  if (auto problem = problemOf(recipe))
    return usageError("training." + problem->key + ": expected " + problem->expected + ", found " +
                      problem->found);
  HEDDLE_TRY(checkSupported(recipe, model));
  return recipe;
}

static Expected<Data> readData(const std::vector<std::string> &names, const TextModel &model,
                               const std::string &option) {
  std::vector<DataFile> files;
  for (const std::string &name : names)
    files.push_back(HEDDLE_TRY(parseDataFile(name)));
  return Data::read(files, model, option);
}

/// Files of the trained folder, apart from weights: those of a Hugging Face folder, or a description
/// with its vocabularies.
static std::vector<TextMember> filesOf(const Artifact &artifact) {
  std::vector<TextMember> files;
  const std::string prefix = folderMember("");
  for (const TextMember &member : artifact.texts())
    if (member.name.starts_with(prefix))
      files.push_back({member.name.substr(prefix.size()), member.text});
  return files.empty() ? artifact.texts() : files;
}

/// The configuration of a Hugging Face folder, or a description; empty if there is neither.
static std::string_view modelText(const Artifact &artifact) {
  const auto config = artifact.text(folderMember("config.json"));
  return config ? *config : artifact.text("model.json").value_or("");
}

/// Checks that a new run replaces no file that it did not write itself: a run that ended before its
/// first state leaves files with the same content, and no weights.
static Status checkNothingIsLost(const std::vector<TextMember> &files, const fs::path &folder) {
  std::error_code ignored;
  const fs::path weights = folder / "model.safetensors";
  std::optional<fs::path> found;
  if (fs::exists(weights, ignored))
    found = weights;
  for (const TextMember &member : files) {
    const fs::path file = folder / member.name;
    const auto size = static_cast<int64_t>(member.text.size());
    if (!fs::exists(file, ignored))
      continue;
    const auto text = readTextFile(file.string(), size);
    if (!text || *text != member.text)
      found = found.value_or(file);
  }
  return found ? inputError(found->string() +
                            ": expected no such file in the folder of a new run, found one")
               : Status();
}

/// Checks that the folder can receive the run, and changes nothing. `files` are those apart from
/// weights.
static Status checkFolder(const Artifact &artifact, const std::vector<TextMember> &files,
                          const TrainCommand &command) {
  const fs::path folder = command.output, state = folder / "training" / "last.safetensors";
  std::error_code failure;
  const bool hasState = fs::exists(state, failure);
  if (command.resume)
    return hasState ? Status()
                    : inputError(command.output +
                                 ": --resume: expected a folder with training/last.safetensors, "
                                 "found none");
  if (hasState)
    return inputError(command.output + ": expected a folder without a run, or --resume, found "
                                       "training/last.safetensors");
  if (modelText(artifact).empty())
    return inputError(artifact.name() + ": expected a model with its description, found none");
  for (const TextMember &member : files)
    HEDDLE_TRY(checkNotAnInput((folder / member.name).string(), command.inputs));
  HEDDLE_TRY(checkNotAnInput((folder / "model.safetensors").string(), command.inputs));
  return checkNothingIsLost(files, folder);
}

/// Writes the files apart from weights. A resumed run has them already.
static Status prepareFolder(const std::vector<TextMember> &files, const TrainCommand &command) {
  if (command.resume)
    return {};
  const fs::path folder = command.output;
  std::error_code failure;
  fs::create_directories(folder / "training", failure);
  if (failure)
    return inputError(command.output +
                      ": expected a folder that can be made, found: " + failure.message());
  for (const TextMember &member : files)
    HEDDLE_TRY(replaceFile((folder / member.name).string(), member.text));
  return {};
}

/// Hash of the description without its weights and its recipe, which the state of a run has.
static std::string hashOfModel(const Artifact &artifact) {
  auto document = nlohmann::ordered_json::parse(modelText(artifact),
                                                /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (document.is_object())
    for (const char *key : {"weights", "training"})
      document.erase(key);
  return hashText(
      hashOfBytes(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

static void noteData(const Data &data, const std::string &name, std::ostream &notes) {
  const DataCounts &counts = data.counts();
  notes << name << ": " << data.size() << " examples, " << counts.tokens << " tokens";
  if (counts.unknown)
    notes << ", " << counts.unknown << " unknown words";
  if (counts.cut)
    notes << ", " << counts.cut << " tokens cut";
  notes << '\n';
}

namespace {
/// Writes the log, its picture, and the progress.
class RunReport {
public:
  RunReport(TrainingLog log, const TrainCommand &command, const Recipe &recipe, std::ostream &notes,
            bool isTerminal)
      : log(std::move(log)), folder(fs::path(command.output) / "training"),
        measure(wordOf(recipe.measure.kind)), notes(notes), isTerminal(isTerminal) {}

  Status add(const RunProgress &progress, const LogRow *row) {
    constexpr size_t columns = 110;
    if (isTerminal)
      notes << '\r' << progressLine(progress, columns) << "\x1b[K" << std::flush;
    if (!row)
      return {};
    if (!isTerminal)
      notes << progressLine(progress, columns) << '\n' << std::flush;
    HEDDLE_TRY(log.add(*row));
    return replaceFile((folder / "curve.svg").string(), curveOf(log.rows(), measure));
  }
  void end() {
    if (isTerminal)
      notes << '\n';
  }

private:
  TrainingLog log;
  fs::path folder;
  std::string measure;
  std::ostream &notes;
  bool isTerminal;
};
} // namespace

Expected<RunEnd> trainCommand(Session session, const TrainCommand &command, std::ostream &notes,
                              bool isTerminal, const std::function<bool()> &isInterrupted) {
  auto training = HEDDLE_TRY(TrainingSession::from(std::move(session)));
  const TextModel model = HEDDLE_TRY(textModelOf(training.session()));
  const Recipe recipe = HEDDLE_TRY(recipeOf(model, command));
  const Artifact &artifact = training.session().artifact();
  const std::vector<TextMember> files = filesOf(artifact);
  HEDDLE_TRY(checkFolder(artifact, files, command));
  const Data data = HEDDLE_TRY(readData(command.data, model, "--data"));
  noteData(data, "data", notes);
  std::optional<Data> validation;
  if (!command.validation.empty()) {
    validation = HEDDLE_TRY(readData(command.validation, model, "--valid"));
    noteData(*validation, "validation", notes);
  }
  RunOptions options{.recipe = recipe,
                     .folder = command.output,
                     .microRows = command.microBatch,
                     .saveEvery = command.saveEvery,
                     .resume = command.resume,
                     .pads = command.pads,
                     .model = hashOfModel(artifact),
                     .progress = {},
                     .isInterrupted = isInterrupted};
  std::optional<RunReport> report;
  options.progress = [&](const RunProgress &progress, const LogRow *row) {
    return report->add(progress, row);
  };
  auto trainer = HEDDLE_TRY(Trainer::create(
      training, model, data, validation ? &*validation : nullptr, std::move(options)));
  HEDDLE_TRY(prepareFolder(files, command));
  HEDDLE_TRY(trainer.begin());
  const fs::path log = fs::path(command.output) / "training" / "log.tsv";
  const int64_t first = trainer.state().step;
  report.emplace(HEDDLE_TRY(TrainingLog::open(log.string(), first)), command, recipe, notes,
                 isTerminal);
  Expected<RunEnd> end = trainer.run();
  report->end();
  if (end && *end == RunEnd::Finished && trainer.state().step == first)
    notes << command.output << ": the run ended before, in step " << first << '\n';
  return end;
}

} // namespace heddle
