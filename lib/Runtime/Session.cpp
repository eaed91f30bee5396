//===- Session.cpp - Runs the functions of a model --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens models and answers queries about them. SessionRun.cpp has the steps of a call,
// SessionStates.cpp states and tables.
#include "SessionImpl.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <cstdlib>

namespace heddle {

Expected<std::shared_ptr<const Model>> Model::load(Artifact artifact,
                                                   const SessionOptions &options) {
  auto model = std::make_shared<Model>(std::move(artifact));
  model->code = HEDDLE_TRY(loadCode(model->artifact, options.device, options.cpu,
                                    options.vulkanLevel, options.progress));
  for (const Function &function : model->program().functions) {
    auto layout = FunctionLayout::create(model->program(), function, *model->code);
    if (!layout)
      return Error{layout.error().kind, model->artifact.name() + ": " + layout.error().message};
    model->layouts.push_back(std::move(*layout));
  }
  return std::shared_ptr<const Model>(std::move(model));
}

Expected<const FunctionLayout *> Model::find(std::string_view function) const {
  for (const FunctionLayout &layout : layouts)
    if (layout.function->name == function)
      return &layout;
  return inputError("expected a function of the model (" + namesOf(program().functions) +
                    "), found " + quotedText(function));
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::Session(Session &&) noexcept = default;
Session &Session::operator=(Session &&) noexcept = default;
Session::~Session() = default;

Expected<Session> Session::open(const std::string &path, const SessionOptions &options) {
  return withinMemory(
      [&]() -> Expected<Session> { return fromArtifact(HEDDLE_TRY(readArtifact(path)), options); });
}

Expected<Session> Session::fromArtifact(Artifact artifact, const SessionOptions &options) {
  return withinMemory([&]() -> Expected<Session> {
    auto model = HEDDLE_TRY(Model::load(std::move(artifact), options));
    SessionOptions chosen = options;
    if (const char *poison = std::getenv("HEDDLE_POISON"))
      chosen.poison |= std::string_view(poison) == "1";
    return Session(HEDDLE_TRY(Impl::create(std::move(model), chosen)));
  });
}

Expected<Session> Session::clone() const {
  return withinMemory([&]() -> Expected<Session> {
    return Session(HEDDLE_TRY(Impl::create(impl->model, impl->options)));
  });
}

const Program &Session::program() const { return impl->model->program(); }
const Artifact &Session::artifact() const { return impl->model->artifact; }
std::string Session::deviceText() const { return impl->model->code->describe(); }
double Session::preparationSeconds() const { return impl->preparationSeconds(); }

std::vector<std::string> Session::functions() const {
  std::vector<std::string> names;
  for (const Function &function : program().functions)
    names.push_back(function.name);
  return names;
}

static std::vector<PortInfo> infoOf(const std::vector<Port> &ports) {
  std::vector<PortInfo> infos;
  for (const Port &port : ports) {
    PortInfo &info = infos.emplace_back(PortInfo{port.name, port.type, {}, true});
    for (const SizeExpr &dim : port.shape)
      info.shape.push_back(dim.str());
    info.required = port.fallback.kind == DefaultInput::Kind::None;
  }
  return infos;
}

Expected<std::vector<PortInfo>> Session::inputs(std::string_view function) const {
  return infoOf(givenInputs(*HEDDLE_TRY(impl->model->find(function))->function));
}

Expected<std::vector<PortInfo>> Session::outputs(std::string_view function) const {
  return infoOf(HEDDLE_TRY(impl->model->find(function))->function->outputs);
}

Expected<NamedTensors> Session::run(std::string_view function, const NamedInputs &inputs) {
  NamedTensors outputs;
  HEDDLE_TRY(run(function, inputs, outputs));
  return outputs;
}

Status Session::run(std::string_view function, const NamedInputs &inputs, NamedTensors &outputs) {
  return withinMemory([&] { return impl->run(function, inputs, outputs); });
}

Status Session::runTimed(std::string_view function, const NamedInputs &inputs,
                         NamedTensors &outputs, std::vector<LaunchTime> &times) {
  times.clear();
  return withinMemory([&] { return impl->run(function, inputs, outputs, {.times = &times}); });
}

Expected<NamedTensors> Session::runObserved(std::string_view function, const NamedInputs &inputs,
                                            const LaunchObserver &observer) {
  NamedTensors outputs;
  HEDDLE_TRY(
      withinMemory([&] { return impl->run(function, inputs, outputs, {.observer = &observer}); }));
  return outputs;
}

Expected<std::vector<int64_t>> Session::keepRows(std::span<const int64_t> rows) {
  const auto &functions = program().functions;
  auto appends = std::ranges::find_if( // all functions that append share it
      functions, [](const Function &function) { return function.keptRows > 0; });
  const bool keeps = appends != functions.end();
  return withinMemory([&] {
    return impl->rows.keep(rows, keeps ? appends->keptRows : 0, keeps ? appends->spareRows : 0);
  });
}

std::optional<CallTime> Session::callTime() const { return impl->callTime(); }

std::optional<int64_t> Session::stateDim(std::string_view name) const {
  auto it = impl->sessionDims.find(name);
  return it == impl->sessionDims.end() ? std::nullopt : std::optional(it->second);
}

} // namespace heddle
