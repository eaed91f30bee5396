//===- Commands.cpp - Requests of the benchmark harness -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handling of requests. Each request is a call of a public header; only this call is timed.
#include "Commands.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>

namespace heddle::bench {

constexpr int64_t kLargeProbe = int64_t{128} << 20; ///< bytes; only one larger buffer is kept

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Expected<NamedInputs> Worker::Row::named(const std::string &function) const {
  auto ports = HEDDLE_TRY(session.inputs(function));
  NamedInputs result;
  for (const auto &[key, tensor] : inputs) {
    std::string_view name = key; // of the tensor, which outlives the call
    if (size_t colon = name.find(':'); colon != name.npos) {
      if (name.substr(0, colon) != function)
        continue;
      name.remove_prefix(colon + 1);
    } else if (inputs.find(function + ":" + key)) {
      continue;
    }
    if (std::ranges::find(ports, name, &PortInfo::name) != ports.end())
      result.emplace_back(name, tensor);
  }
  return result;
}

Status Worker::Row::runAll(const Json &functions) {
  for (const std::string function : functions) {
    auto given = HEDDLE_TRY(named(function));
    NamedTensors nothing;
    HEDDLE_TRY(session.run(function, given, nothing));
  }
  return {};
}

Status Worker::Row::prepare(const Json &request) {
  HEDDLE_TRY(runAll(request.value("before", Json::array())));
  if (auto rows = request.value("keep", std::vector<int64_t>()); !rows.empty())
    HEDDLE_TRY(session.keepRows(rows));
  return {};
}

Expected<double> Worker::Row::timeOne(const std::string &function, const NamedInputs &given,
                                      const std::string &part) {
  auto start = std::chrono::steady_clock::now();
  bool whole = part == "call";
  Status status = whole ? session.run(function, given, outputs)
                        : session.runTimed(function, given, outputs, times);
  if (!status)
    return status.takeError();
  if (whole)
    return secondsSince(start);
  if (part == "last")
    return times.back().seconds;
  double sum = 0;
  for (const LaunchTime &time : times)
    sum += time.seconds;
  return sum;
}

Expected<Worker::Row *> Worker::find(const Json &request) {
  auto row = rows.find(request.at("row").get<std::string>());
  if (row == rows.end())
    return inputError("expected a row that is open, found " + request.at("row").dump());
  return &row->second;
}

static Expected<NamedTensors> readInputs(const Json &request) {
  NamedTensors inputs;
  for (const auto &[name, file] : request.at("inputs").items()) {
    auto tensor = HEDDLE_TRY(readNpy(file.get<std::string>()));
    inputs.set(name, std::move(tensor));
  }
  return inputs;
}

Expected<Json> Worker::open(const Json &request) {
  NamedTensors inputs = HEDDLE_TRY(readInputs(request));
  JitOptions options;
  options.threads = request.at("threads");
  options.dtype = request.at("dtype");
  options.weights = request.value("weights", "");
  auto start = std::chrono::steady_clock::now();
  auto session = HEDDLE_TRY(jit(request.at("model"), options));
  Json answer = {{"device", session.deviceText()}, {"seconds", secondsSince(start)}};
  Row row{std::move(session), std::move(inputs), {}, {}, {}};
  HEDDLE_TRY(row.runAll(request.value("fill", Json::array())));
  rows.erase(request.at("row"));
  rows.emplace(request.at("row"), std::move(row));
  return answer;
}

Expected<Json> Worker::train(const Json &request) {
  NamedTensors inputs = HEDDLE_TRY(readInputs(request));
  JitOptions options;
  options.threads = request.at("threads");
  options.training = true;
  auto start = std::chrono::steady_clock::now();
  auto session = HEDDLE_TRY(TrainingSession::from(HEDDLE_TRY(jit(request.at("model"), options))));
  Json answer = {{"device", session.session().deviceText()}, {"seconds", secondsSince(start)}};
  const TextModel model = HEDDLE_TRY(textModelOf(session.session()));
  constexpr int64_t manySteps = 1'000'000;
  auto rate = HEDDLE_TRY(Rate::create(HEDDLE_TRY(recipeFromJson(model.training, "training")),
                                      model.size, manySteps, "training"));
  trained.erase(request.at("row"));
  trained.emplace(request.at("row"),
                  Trained{std::move(session), std::move(rate), std::move(inputs)});
  return answer;
}

Expected<Json> Worker::step(const Json &request) {
  auto found = trained.find(request.at("row").get<std::string>());
  if (found == trained.end())
    return inputError("expected a row that is trained, found " + request.at("row").dump());
  Trained &row = found->second;
  NamedInputs inputs;
  for (const auto &[name, tensor] : row.inputs)
    inputs.emplace_back(name, tensor);
  const int calls = request.at("calls");
  double loss = 0;
  auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) {
    row.session.setDropout({.seed = 0, .step = ++row.step});
    const LossSum sum = HEDDLE_TRY(row.session.add(inputs));
    HEDDLE_TRY(row.session.update(row.rate.scalars(row.step, sum.tokens)));
    loss = sum.loss / static_cast<double>(sum.tokens);
  }
  return Json{{"seconds", secondsSince(start) / calls}, {"loss", loss}};
}

Expected<Json> Worker::time(const Json &request) {
  auto row = HEDDLE_TRY(find(request));
  std::string function = request.at("function");
  std::string part = request.at("part");
  int calls = request.at("calls"), every = request.value("every", calls);
  auto inputs = HEDDLE_TRY((row)->named(function));
  double sum = 0;
  for (int call = 0; call < calls; ++call) {
    if (call % every == 0)
      HEDDLE_TRY((row)->prepare(request));
    auto seconds = HEDDLE_TRY((row)->timeOne(function, inputs, part));
    sum += seconds;
  }
  return Json{{"seconds", sum / calls}};
}

Expected<Json> Worker::launches(const Json &request) {
  auto row = HEDDLE_TRY(find(request));
  std::string function = request.at("function");
  auto inputs = HEDDLE_TRY((row)->named(function));
  Json seconds = Json::array(), kernels = Json::array();
  for (int call = 0; call < request.at("calls"); ++call) {
    HEDDLE_TRY((row)->session.runTimed(function, inputs, (row)->outputs, (row)->times));
    Json times = Json::array();
    for (const LaunchTime &time : (row)->times)
      times.push_back(time.seconds);
    seconds.push_back(std::move(times));
  }
  for (const LaunchTime &time : (row)->times)
    kernels.push_back({{"kernel", time.kernel}, {"flops", time.flops}});
  return Json{{"kernels", std::move(kernels)}, {"seconds", std::move(seconds)}};
}

Expected<Json> Worker::result(const Json &request) {
  auto row = HEDDLE_TRY(find(request));
  HEDDLE_TRY((row)->prepare(request));
  std::string function = request.at("function");
  auto inputs = HEDDLE_TRY((row)->named(function));
  auto outputs = HEDDLE_TRY((row)->session.run(function, inputs));
  for (const auto &[name, tensor] : outputs)
    HEDDLE_TRY(writeNpy(request.at("folder").get<std::string>() + "/" + name + ".npy", tensor));
  return Json::object();
}

/// The tokens that a decoder generates for a request.
static Expected<std::vector<TokenIds>> written(TextDecoder &decoder, const Json &request,
                                               const NamedTensors &inputs) {
  DecodingOptions options = decoder.defaults();
  options.limit = options.least = request.at("tokens");
  options.beams = request.at("beam");
  options.beamRule = BeamRule::Full;
  options.lengthPenalty = 1;
  if (!request.contains("heard"))
    return decoder.decode(request.at("texts"), options);
  const Tensor *frames = inputs.find(request.at("heard").get<std::string>());
  if (!frames)
    return inputError("expected an input that is heard, found " + request.at("heard").dump());
  HEDDLE_TRY(decoder.encodeAudio(*frames));
  auto said = HEDDLE_TRY(decoder.generateFromAudio(request.at("prompt"), options));
  return std::vector<TokenIds>{std::move(said)};
}

static Status writeTokens(const std::vector<TokenIds> &texts, const std::string &path) {
  size_t length = texts.front().size();
  TokenIds all;
  for (const TokenIds &text : texts) {
    if (text.size() != length)
      return inputError("expected texts of " + std::to_string(length) + " tokens, found one of " +
                        std::to_string(text.size()));
    all.insert(all.end(), text.begin(), text.end());
  }
  return writeNpy(
      path, Tensor::i32({static_cast<int64_t>(texts.size()), static_cast<int64_t>(length)}, all));
}

Expected<Json> Worker::decode(const Json &request) {
  auto row = HEDDLE_TRY(find(request));
  if (!(row)->texts) {
    auto model = HEDDLE_TRY(textModelOf((row)->session));
    (row)->texts = std::make_unique<TextModel>(std::move(model));
  }
  auto decoder = HEDDLE_TRY(TextDecoder::create((row)->session, *(row)->texts));
  int calls = request.value("calls", 1);
  std::vector<TokenIds> texts;
  auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) {
    auto found = HEDDLE_TRY(written(decoder, request, (row)->inputs));
    texts = std::move(found);
  }
  double seconds = secondsSince(start) / calls;
  if (request.contains("folder"))
    HEDDLE_TRY(writeTokens(texts, request.at("folder").get<std::string>() + "/tokens.npy"));
  return Json{{"seconds", seconds}};
}

Expected<Json> Worker::close(const Json &request) {
  rows.erase(request.at("row"));
  trained.erase(request.at("row"));
  return Json::object();
}

Expected<Json> Worker::compile(const Json &request) {
  CompileOptions options;
  options.targets = {"cpu"};
  options.dtype = request.at("dtype");
  if (std::string cpu = request.at("cpu"); !cpu.empty()) // otherwise the default instruction sets
    options.cpus = {cpu};
  auto start = std::chrono::steady_clock::now();
  auto report = HEDDLE_TRY(compileModel(request.at("model"), request.at("output"), options));
  return Json{{"kernels", report.kernels},
              {"code", report.codeSeconds},
              {"pack", report.packSeconds},
              {"seconds", secondsSince(start)}};
}

/// The arithmetic named `name` in a request.
static Expected<Arithmetic> arithmeticOf(const std::string &name) {
  std::string known;
  for (auto arithmetic : {Arithmetic::F32, Arithmetic::BF16, Arithmetic::Int8, Arithmetic::F16}) {
    if (name == toString(arithmetic))
      return arithmetic;
    known += std::string(known.empty() ? "" : ", ") + toString(arithmetic);
  }
  return inputError("rates: expected an arithmetic of " + known + ", found " + quotedText(name));
}

/// The processor's matrix unit for an arithmetic; empty without one. Its rate is not measured,
/// since no gate is a share of it.
static std::string matrixUnitOf(Arithmetic arithmetic) {
  const std::string unit = arithmetic == Arithmetic::Int8   ? "amx-int8"
                           : arithmetic == Arithmetic::BF16 ? "amx-bf16"
                                                            : "";
  return std::ranges::count(cpuFeatures(), unit) ? unit : "";
}

Expected<Json> Worker::rates(const Json &request) {
  Json answer;
  for (const std::string name : request.at("of")) {
    Arithmetic arithmetic = HEDDLE_TRY(arithmeticOf(name));
    answer[name] = {{"rate", measureRate(arithmetic, request.at("threads"))},
                    {"instruction", rateInstruction(arithmetic)},
                    {"unit", matrixUnitOf(arithmetic)}};
  }
  return answer;
}

Expected<Json> Worker::read(const Json &request) {
  int64_t bytes = request.at("bytes");
  int threads = request.at("threads");
  auto probe = probes.find({bytes, threads});
  if (probe == probes.end()) {
    if (bytes >= kLargeProbe)
      std::erase_if(probes, [](const auto &other) { return other.first.first >= kLargeProbe; });
    auto made = HEDDLE_TRY(ReadProbe::create(bytes, threads));
    probe = probes.emplace(std::pair(bytes, threads), std::move(made)).first;
  }
  return Json{{"rate", probe->second.measure()}};
}

Json Worker::answer(const Json &request) {
  using Handler = Expected<Json> (Worker::*)(const Json &);
  static const std::map<std::string, Handler> handlers = {
      {"open", &Worker::open},         {"time", &Worker::time},       {"result", &Worker::result},
      {"launches", &Worker::launches}, {"close", &Worker::close},     {"rates", &Worker::rates},
      {"read", &Worker::read},         {"compile", &Worker::compile}, {"decode", &Worker::decode},
      {"train", &Worker::train},       {"step", &Worker::step},
  };
  auto handler = handlers.find(request.value("do", ""));
  if (handler == handlers.end())
    return {{"error", "expected a request of the list, found " + request.dump()}, {"kind", 3}};
  auto result = (this->*handler->second)(request);
  if (result)
    return *result;
  return {{"error", result.error().message}, {"kind", exitStatusOf(result.error().kind)}};
}

} // namespace heddle::bench
