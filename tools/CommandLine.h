//===- CommandLine.h - Command-line flags of both drivers -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags and commands that `heddle` and `heddle-run` share.
#pragma once

#include "Options.h"
#include "Program.h"
#include "bench/Bench.h"

#include "heddle/Generation/Commands.h"
#include "heddle/Runtime/Commands.h"
#include "heddle/Support/Try.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

namespace heddle::driver {

/// Adds TEXT and the flags of all text commands.
inline void addTextFlags(CLI::App &app, TextCommand &command, const char *batchDefault = "1") {
  addInputFlags(app, command);
  addNumber(app, "--batch", command.batch, 1,
            std::string("maximum number of texts in a batch (default: ") + batchDefault + ")");
  app.add_flag("--truncate", command.truncate, "cut texts that are longer than the model allows");
}

/// Adds TEXT and the flags of all commands on encoders.
inline void addEncoderFlags(CLI::App &app, EncoderCommand &command) {
  addTextFlags(app, command.text, "no maximum but --batch-tokens");
  addNumber(app, "--batch-tokens", command.batchTokens, 1,
            "maximum number of tokens in a batch (default: " + std::to_string(command.batchTokens) +
                ")");
  command.progress = isatty(STDERR_FILENO) != 0;
}

/// Adds --prompt and --no-prompt; the latter is an empty name, which no prompt has.
inline void
addPromptFlags(CLI::App &app, std::optional<std::string> &prompt,
               const char *about = "prefix each text with the model's prompt of this name") {
  CLI::Option *named = app.add_option("--prompt", prompt, about)->type_name("NAME");
  app.add_flag_callback(
         "--no-prompt", [&prompt] { prompt = ""; },
         "add no prompt, even if the model has a default")
      ->excludes(named);
}

inline void addEmbedFlags(CLI::App &app, EmbedCommand &command) {
  addEncoderFlags(app, command.run);
  addOutput(app, command.output, "FILE.npy",
            "write the vectors as a table of f32 with one row per text");
  app.add_option("--format", command.format, "format of lines: text (default) or jsonl");
  app.add_option("--vectors", command.vectors,
                 "kind of vectors: dense, sparse for the numbers that are not 0, or tokens for a "
                 "vector of each token (default: as the model makes them)")
      ->type_name("dense|sparse|tokens");
  app.add_flag("--images", command.run.images,
               "texts are paths of image files, for a model of texts and images such as CLIP");
  addPromptFlags(app, command.prompt);
  addNumber(app, "--dimensions", command.dimensions, 1,
            "keep the first N numbers of each vector, scaled to the length of the whole vector");
  CLI::Option *divide = app.add_flag_callback(
      "--normalize", [&command] { command.normalize = true; },
      "scale vectors to length 1 (default: the model decides)");
  app.add_flag_callback(
         "--no-normalize", [&command] { command.normalize = false; },
         "do not scale vectors, not even after --dimensions")
      ->excludes(divide);
}

inline void addSimilarityFlags(CLI::App &app, SimilarityCommand &command) {
  addEncoderFlags(app, command.run);
  addPromptFlags(app, command.prompt);
}

inline void addClassifyFlags(CLI::App &app, ClassifyCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_flag("--all", command.all, "print all labels, the most probable first");
  app.add_option("--pair", command.pair, "second text of each pair, for models of pairs")
      ->type_name("TEXT");
  app.add_option(
         "--labels", command.labels,
         "your own classes, for a model of natural language inference, or of texts and images")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->transform([](const std::string &label) { return CLI::detail::trim_copy(label); })
      ->allow_extra_args(false);
  app.add_option("--hypothesis", command.hypothesis,
                 "with --labels: hypothesis in which {} is replaced by a label (default: \"This "
                 "example is {}.\")")
      ->type_name("TEXT");
  app.add_flag("--many", command.manyLabels,
               "with --labels: score each label by itself, so that several can apply");
}

inline void addDetectFlags(CLI::App &app, DetectCommand &command) {
  app.add_option("IMAGE", command.images.texts,
                 "PNG or JPEG files (default: lines of --input with their paths)");
  app.add_option("--input", command.images.input,
                 "file with one path per line; - is standard input (default)")
      ->type_name("FILE");
  app.add_option("--threshold", command.threshold,
                 "print objects with a score above X (default: 0.5)")
      ->type_name("X");
  app.add_option("--draw", command.draw, "write a copy of the image with the boxes of its objects")
      ->type_name("FILE.png");
  app.add_flag("--json", command.images.json, "write one JSON object per image, each in a line");
  app.add_option("--on-error", command.images.onError,
                 "stop (default) at an image that cannot be read, or skip it")
      ->type_name("stop|skip");
}

inline void addRerankFlags(CLI::App &app, RerankCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_option("--query", command.query, "query that the texts are compared with")
      ->type_name("TEXT")
      ->required();
  addPromptFlags(
      app, command.prompt,
      "prefix the query (for a language model the pair) with the model's prompt of this name "
      "(default: the model's)");
  addNumber(app, "--top", command.top, 1, "print the N best texts, the best first");
  app.add_option("--by", command.by,
                 "what scores a text: its vector (dense), the vectors of its tokens (late), or the "
                 "model that reads it with the query (cross); default: what the model is for")
      ->type_name("dense|late|cross");
}

inline void addFillMaskFlags(CLI::App &app, FillMaskCommand &command) {
  addEncoderFlags(app, command.run);
  addNumber(app, "--top", command.top, 1, "number of tokens for each mask (default: 5)");
  app.add_flag("--ids", command.ids, "texts are ids, as `tokenize` prints them");
}

inline void addAnswerFlags(CLI::App &app, AnswerCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_option("--question", command.question, "question about each text")
      ->type_name("TEXT")
      ->required();
}

inline void addWritingFlags(CLI::App &app, WritingOptions &writing) {
  addNumber(app, "--limit", writing.limit, 1,
            "maximum number of tokens of an answer (default: the model's)");
  CLI::Option *sample = app.add_flag_callback(
      "--sample", [&writing] { writing.sample = true; },
      "sample tokens by their probabilities (default if --temperature, --top-k, --top-p or --min-p "
      "is given)");
  app.add_flag_callback(
         "--greedy", [&writing] { writing.sample = false; },
         "take the most probable token, even if the model's settings say otherwise")
      ->excludes(sample);
  app.add_option("--temperature", writing.temperature,
                 "divisor of scores before sampling (default: 1)")
      ->type_name("X");
  addNumber(app, "--top-k", writing.topK, 0,
            "sample among the N most probable tokens (default: 0, all)");
  app.add_option("--top-p", writing.topP,
                 "sample among the most probable tokens whose probabilities sum to X (default: 1)")
      ->type_name("X");
  app.add_option(
         "--min-p", writing.minP,
         "sample among tokens at least X times as probable as the most probable one (default: 0)")
      ->type_name("X");
  addNumber(app, "--seed", writing.seed, 0, "seed of sampling (default: 0)");
  app.add_option("--repetition-penalty", writing.repetitionPenalty,
                 "divisor of the scores of tokens that the text already contains (default: 1)")
      ->type_name("X");
  app.add_option("--stop", writing.stops, "text that ends an answer; repeatable")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_flag("--ignore-end", writing.ignoreEnd, "continue after tokens that end a text");
  writing.rate = isatty(STDERR_FILENO) != 0;
}

/// Adds TEXT and the flags of decoding.
inline void addDecodingFlags(CLI::App &app, TranslateCommand &command) {
  addTextFlags(app, command.text);
  addWritingFlags(app, command.writing);
  addNumber(app, "--beam", command.writing.beam, 1,
            "number of beams per text (default: the model's, else 1, which is greedy)");
  app.add_option(
         "--length-penalty", command.writing.lengthPenalty,
         "exponent of the length by which the score of a beam is divided: tokens^X for a model "
         "of a folder, else ((5 + tokens) / 6)^X (default: the model's, else 0.6)")
      ->type_name("X");
  app.add_flag("--stream", command.stream, "write text as soon as its tokens are known");
}

inline void addChatTemplate(CLI::App &app, std::optional<std::string> &name) {
  app.add_option("--chat-template", name,
                 "name of the chat template, if the model has several (default: tool_use if tools "
                 "are given and it exists, else default)")
      ->type_name("NAME");
}

/// Adds --special, for commands that apply a chat template.
inline void addSpecial(CLI::App &app, std::optional<std::string> &special) {
  app.add_option("--special", special,
                 "where special tokens are recognized: template (default) for text of the chat "
                 "template only, all for messages too")
      ->type_name("WHERE");
}

/// Adds TEXT and the flags of `generate`.
inline void addGenerateFlags(CLI::App &app, TranslateCommand &command) {
  addDecodingFlags(app, command);
  app.add_option(
         "--prompts", command.prompts,
         "file with one prompt per line; a line of FILE.jsonl is a JSON string or a list of "
         "messages for the chat template, and answers are JSON strings")
      ->type_name("FILE");
  addChatTemplate(app, command.chatTemplate);
  addSpecial(app, command.special);
}

/// Adds TEXT and the flags of `translate`.
inline void addTranslateFlags(CLI::App &app, TranslateCommand &command) {
  addDecodingFlags(app, command);
  app.add_option("--from", command.from, "language of the texts, as the model names it")
      ->type_name("LANG");
  app.add_option("--to", command.to, "language of the translation, as the model names it")
      ->type_name("LANG");
  app.add_option("--task", command.task, "one of the tasks that the model's folder names")
      ->type_name("NAME");
  app.add_option("--attention", command.attention,
                 "draw the attention weights: FILE.html (a page) or FILE.svg")
      ->type_name("FILE");
}

/// Parses one value of `--dim`, NAME=NUMBER with at most 18 digits.
inline Expected<std::pair<std::string, int64_t>> parseDimension(const std::string &text) {
  size_t equals = text.find('=');
  std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool number = !digits.empty() && digits.size() <= 18 &&
                digits.find_first_not_of("0123456789") == std::string::npos;
  if (equals == 0 || !number)
    return usageError("--dim: expected NAME=NUMBER, found " + quotedText(text));
  return std::pair{text.substr(0, equals), static_cast<int64_t>(std::stoll(digits))};
}

/// Parses the values of `--dim`; usage error for a name that occurs twice.
inline Expected<Dimensions> parseDimensions(const std::vector<std::string> &texts) {
  Dimensions dims;
  for (const std::string &text : texts) {
    auto dim = HEDDLE_TRY(parseDimension(text));
    if (!dims.emplace(dim.first, dim.second).second)
      return usageError("--dim: expected each name once, found " + quotedText(dim.first) +
                        " twice");
  }
  return dims;
}

/// Adds the flags of `run`, except for the model and the device.
inline void addRunFlags(CLI::App &app, RunCommand &command) {
  app.add_option(
         "--function", command.function,
         "function to run, optional if there is only one; several, separated by commas, share "
         "a session")
      ->type_name("NAME");
  app.add_option("--input", command.inputs, "input of the function; repeatable")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--output-dir", command.outputDir,
                 "write results as DIR/NAME.npy instead of printing them")
      ->type_name("DIR");
}

/// Callbacks and names that a driver passes to the text commands.
struct TextDriver {
  TranslateCommand &command;
  std::function<void(CLI::App &)> addModel; ///< adds flags of model and device
  std::function<Expected<Session>()> open;
  std::string tool;         ///< name in the examples of --help
  const std::string &model; ///< as the user named it
};

/// Adds a text command, which leaves the status of `run` in `outcome`.
template <typename AddFlags, typename Run>
CLI::App *addTextCommand(CLI::App &app, const TextDriver &driver, Status &outcome,
                         const std::string &name, const std::string &about, AddFlags addFlags,
                         Run run) {
  CLI::App *command = app.add_subcommand(name, about);
  driver.addModel(*command);
  addFlags(*command);
  command->callback([&outcome, run] { outcome = run(); });
  return command;
}

/// Adds the commands on models that generate text.
inline void addWriters(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto addDecoding = [&](const std::string &name, const std::string &about, auto addFlags,
                         auto decode) {
    return addTextCommand(
        app, driver, outcome, name, about, [&](CLI::App &own) { addFlags(own, driver.command); },
        [driver, decode]() -> Status {
          HEDDLE_TRY(checkTranslate(driver.command));
          Session session = HEDDLE_TRY(driver.open());
          return decode(session, driver.command, std::cin, std::cout, std::cerr);
        });
  };
  const std::string start = "  " + driver.tool + " ";
  addDecoding("translate", "translate texts or lines of standard input", addTranslateFlags,
              translateCommand)
      ->footer("Examples:\n" + start + "translate translate.heddle \"我 是 谁\"\n" + start +
               "translate translate.heddle --device=vulkan --batch=8 < sentences.txt\n" + start +
               "translate translate.heddle --beam=4 \"我 是 谁\"\n" + start +
               "translate nllb.heddle --from=eng_Latn --to=fra_Latn < sentences.txt\n" + start +
               "translate translate.heddle --sample --top-p=0.9 --seed=7 --stream \"我 是 谁\"\n" +
               start + "translate translate.heddle --attention=attention.html \"我 是 谁\"");
  addDecoding("generate", "continue texts or lines of standard input", addGenerateFlags,
              generateCommand)
      ->footer("Examples:\n" + start + "generate model.heddle \"once upon a\" --limit=20\n" +
               start + "generate model.heddle --sample --top-k=40 --seed=7 --stream \"once\"");
}

inline void addTranscribeFlags(CLI::App &app, TranscribeCommand &command) {
  app.add_option("AUDIO", command.audio, "WAV or FLAC files")->required();
  app.add_option("--language", command.options.language,
                 "spoken language, by code or English name (default: detected)")
      ->type_name("LANG");
  app.add_option("--task", command.options.task,
                 "transcribe, or translate into English (default: the folder's, else transcribe)")
      ->type_name("NAME");
  app.add_flag("--timestamps", command.options.timestamps,
               "print one line per segment, with its times");
  app.add_option("--format", command.format, "text (default), srt (subtitles) or json");
  addOutput(app, command.output, "FILE", "write FILE.txt, FILE.srt or FILE.json");
  addNumber(app, "--beam", command.options.beam, 1,
            "number of beams at temperature 0 (default: the folder's, else 1)");
  app.add_option(
         "--temperature", command.options.temperature,
         "decode each window once, with sampling if X is above 0 (default: 0, then 0.2 to 1 if "
         "the text repeats itself or is improbable)")
      ->type_name("X");
  addNumber(app, "--seed", command.options.seed, 0, "seed of sampling (default: 0)");
  command.progress = isatty(STDERR_FILENO) != 0;
}

inline void addTranscribe(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto own = std::make_shared<TranscribeCommand>();
  const std::string start = "  " + driver.tool + " transcribe ";
  addTextCommand(
      app, driver, outcome, "transcribe", "transcribe audio files",
      [own](CLI::App &command) { addTranscribeFlags(command, *own); },
      [driver, own]() -> Status {
        HEDDLE_TRY(checkTranscribe(*own));
        Session session = HEDDLE_TRY(driver.open());
        return transcribeCommand(session, *own, std::cout, std::cerr);
      })
      ->footer("Examples:\n" + start + "whisper.heddle talk.wav\n" + start +
               "whisper.heddle talk.flac --language=de --task=translate\n" + start +
               "whisper.heddle talk.wav --output=talk.srt");
}

inline void addPerplexity(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto own = std::make_shared<PerplexityCommand>();
  auto addFlags = [own](CLI::App &command) {
    command.add_option("file", own->file, "file with the text")->required();
    addNumber(command, "--window", own->window, 2,
              "number of tokens in a window (default: 512, or the context if it is shorter)");
    addNumber(command, "--stride", own->stride, 1,
              "number of tokens between the starts of two windows (default: half a window)");
  };
  const std::string start = "  " + driver.tool + " perplexity ";
  addTextCommand(app, driver, outcome, "perplexity",
                 "measure how well a model predicts a text, for instance with another --dtype",
                 addFlags,
                 [driver, own]() -> Status {
                   HEDDLE_TRY(checkPerplexity(*own));
                   Session session = HEDDLE_TRY(driver.open());
                   return perplexityCommand(session, *own, std::cout);
                 })
      ->footer("Examples:\n" + start + "model.heddle text.txt\n" + start +
               "model.heddle text.txt --window=1024 --stride=256");
}

inline void addReaders(CLI::App &app, const TextDriver &driver, Status &outcome) {
  const std::string start = "  " + driver.tool + " ";
  auto addEncoder = [&]<typename Command>(const std::string &name, const std::string &about,
                                          Command command, void (*addFlags)(CLI::App &, Command &),
                                          auto check, auto run, const std::string &examples) {
    auto own = std::make_shared<Command>(std::move(command));
    addTextCommand(
        app, driver, outcome, name, about, [&](CLI::App &command) { addFlags(command, *own); },
        [driver, own, check, run]() -> Status {
          HEDDLE_TRY(check(*own));
          Session session = HEDDLE_TRY(driver.open());
          return run(session, *own, std::cin, std::cout, std::cerr);
        })
        ->footer("Examples:\n" + examples);
  };
  auto checkRun = [](const auto &command) { return checkEncoder(command.run); };
  const std::string lines = " or of lines of standard input";
  addEncoder("embed", "compute embeddings of texts" + lines, EmbedCommand(), addEmbedFlags,
             checkEmbed, embedCommand,
             start + "embed model.heddle \"a text\"\n" + start +
                 "embed model.heddle --prompt=query --format=jsonl --input=questions.txt\n" +
                 start + "embed model.heddle --output=vectors.npy --dimensions=256 < texts.txt");
  addEncoder("similarity",
             "compare two texts, or the two of each line, by the cosine of their embeddings",
             SimilarityCommand(), addSimilarityFlags, checkSimilarity, similarityCommand,
             start + "similarity model.heddle \"a text\" \"another text\"\n" + start +
                 "similarity model.heddle --input=pairs.tsv");
  addEncoder("rerank", "score texts by their relevance for a query", RerankCommand(),
             addRerankFlags, checkRun, rerankCommand,
             start + "rerank model.heddle --query=\"a question\" --top=3 < texts.txt");
  addEncoder("classify", "find the classes of texts or of their words", ClassifyCommand(),
             addClassifyFlags, checkClassify, classifyCommand,
             start + "classify model.heddle \"a text\"\n" + start +
                 "classify bart-large-mnli --labels=sports,politics \"a text\"\n" + start +
                 "classify clip-vit-base-patch32 --labels=cat,dog photo.jpg\n" + start +
                 "classify model.heddle --all --device=vulkan < texts.txt");
  addEncoder("detect", "find objects in images, and their boxes", DetectCommand(), addDetectFlags,
             checkDetect, detectCommand,
             start + "detect detr.heddle street.jpg\n" + start +
                 "detect detr.heddle street.jpg --threshold=0.9 --draw=boxes.png\n" + start +
                 "detect detr.heddle --json *.jpg");
  addEncoder("fill-mask", "predict the mask tokens of texts" + lines, FillMaskCommand(),
             addFillMaskFlags, checkRun, fillMaskCommand,
             start + "fill-mask model.heddle --top=3 \"a text with a [MASK] in it\"");
  addEncoder("answer", "find the answer to a question in texts" + lines, AnswerCommand(),
             addAnswerFlags, checkRun, answerCommand,
             start + "answer model.heddle --question=\"who?\" \"a text\"");
}

/// Adds `tokenize`, which needs no session.
inline void addTokenize(CLI::App &app, const std::string &tool, Status &outcome) {
  auto command = std::make_shared<TokenizeCommand>();
  CLI::App *own =
      app.add_subcommand("tokenize", "print the token ids of texts or of lines of input");
  own->add_option("MODEL", command->model,
                  "a compiled model, a folder with tokenizer.json, vocab.txt, vocab.json and "
                  "merges.txt or a SentencePiece model, or such a file")
      ->required();
  addInputFlags(*own, command->texts);
  own->add_option("--pair", command->pair, "second text of each pair, for models of pairs")
      ->type_name("TEXT");
  own->add_flag("--no-special", command->noSpecial, "omit the special tokens around a text");
  own->add_flag("--decode", command->decode, "convert ids to text, without special tokens");
  own->add_flag("--chat", command->chat,
                "texts are messages of a user: print the ids of the chat template's text");
  addChatTemplate(*own, command->chatTemplate);
  addSpecial(*own, command->special);
  own->add_option("--system", command->system, "with --chat: system message before them")
      ->type_name("TEXT");
  own->add_flag(
      "--messages", command->messages,
      "with --chat: lines of input are JSON, a list of messages or an object with the key messages "
      "and other variables of the template");
  const std::string start = "  " + tool + " tokenize model";
  own->footer("Examples:\n" + start + " \"a text\"\n" + start +
              " --pair=\"another text\" < texts.txt\n" + start + " --decode \"101 2023 102\"\n" +
              start + " --chat \"Hello\"");
  own->callback(
      [&outcome, command] { outcome = tokenizeCommand(*command, std::cin, std::cout, std::cerr); });
}

/// Adds the flags of `bench`, except for the model and the device; parseDimensions reads `dims`.
inline void addBenchFlags(CLI::App &app, BenchCommand &command, std::vector<std::string> &dims) {
  app.add_option(
      "--function", command.function,
      "function to time; of several, separated by commas, the last is timed after the others ran");
  app.add_option("--dim", dims, "size of an input, NAME=N (default: B=1, others 128)")
      ->allow_extra_args(false);
  addNumber(app, "--rounds", command.rounds, 1,
            "number of rounds, of which medians are taken (default: 15)");
  addJson(app, command.json);
}

} // namespace heddle::driver
