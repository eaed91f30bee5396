//===- Training.cpp - The commands of training ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Driver.h"

#include "../TrainCommandLine.h"

#include <filesystem>
#include <memory>

namespace heddle::driver {

namespace {

struct TrainFlags {
  std::string model;
  JitOptions jit;
  TrainCommand train;
};

Status run(TrainFlags &flags) {
  flags.jit.training = true;
  Session session = HEDDLE_TRY(openModel(flags.model, flags.jit));
  flags.train.inputs = {flags.model};
  for (const char *file : {"model.json", "config.json", "model.safetensors"})
    flags.train.inputs.push_back((std::filesystem::path(flags.model) / file).string());
  return train(std::move(session), flags.train);
}

void addTrain(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App *command =
      app.add_subcommand("train", "train the weights of a model on files of examples");
  addModel(*command, flags->model);
  addTrainFlags(*command, flags->train);
  addTrainingChoices(*command, flags->jit);
  addDeviceFlags(*command, flags->jit);
  command->footer(
      "Options replace values of the section training of the description. An interrupt ends the "
      "run after its step; --resume goes on.\n"
      "Examples:\n"
      "  heddle train examples/translate --data=train.tsv --valid=held-out.tsv -o trained\n"
      "  heddle train examples/translate --data=train.tsv --valid=held-out.tsv -o trained "
      "--resume\n"
      "  heddle train bert-folder --labels=good,bad --data=train.tsv --valid=held-out.tsv -o "
      "tuned");
  command->callback([flags, &outcome] { outcome = run(*flags); });
}

} // namespace

void addTraining(CLI::App &app, Status &outcome) {
  addTrain(app, outcome);
  auto flags = std::make_shared<VocabularyCommand>();
  CLI::App *command = app.add_subcommand(
      "vocabulary", "list the words of texts by frequency, as the vocabulary of a description");
  command->add_option("FILE", flags->files, "files with one text per line, or columns between tabs")
      ->required();
  addNumber(*command, "--column", flags->column, 1, "column of the texts (default: 1)");
  command->add_option("--split", flags->split, "split texts by space (default) or character")
      ->type_name("space|character");
  command->add_flag("--blank", flags->blank, "with --split=character: white space is a word too");
  addNumber(*command, "--least", flags->least, 1,
            "leave out words with fewer occurrences (default: 1)");
  addNumber(*command, "--most", flags->most, 1,
            "maximum number of lines, special words included (default: no maximum)");
  addOutput(*command, flags->output, "FILE.txt", "file to write (default: standard output)");
  command->footer("The first lines are <pad>, <unk>, <s> and <e>, with the ids that a description "
                  "has by default.\nExamples:\n"
                  "  heddle vocabulary train.tsv --column=1 --least=20 -o source.txt\n"
                  "  heddle vocabulary couplets.tsv --split=character --most=9000 -o "
                  "characters.txt");
  command->callback([&outcome, flags] { outcome = vocabularyCommand(*flags, std::cerr); });
}

} // namespace heddle::driver
