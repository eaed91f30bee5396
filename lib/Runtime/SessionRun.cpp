//===- SessionRun.cpp - The steps of a call ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a call: binds and checks its inputs, evaluates the function at this shape, places
// every buffer, uploads, launches, downloads. The session changes only after all checks have
// passed.
#include "Boundary.h"
#include "SessionImpl.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace heddle {

/// A quiet NaN. As an integer, it is far outside any range of ids or lengths.
static constexpr uint32_t poisonBits = 0x7fc00000;
/// Plans kept for each function, so that a caller may alternate between a few shapes.
static constexpr size_t plansKept = 4;

Session::Impl::Impl(std::shared_ptr<const Model> model, SessionOptions options,
                    std::unique_ptr<Device> device)
    : model(std::move(model)), options(std::move(options)), device(std::move(device)) {
  plans.resize(this->model->layouts.size());
  calls.resize(plans.size());
}

void Session::Impl::CallData::clear() {
  plan = nullptr;
  staging = scratch = spareBytes = 0;
  places.assign(function.buffers.size(), 0);
  fresh.clear();
  untouched.clear();
  parents.clear();
  rowMoves.clear();
  emptied.clear();
  replaced.clear();
  staged.clear();
  heldRows = heldLength = nextLength = 0;
}

Session::Impl::CallData &Session::Impl::callOf(const FunctionLayout &layout) {
  auto &call = calls[&layout - model->layouts.data()];
  if (!call)
    call = std::make_unique<CallData>(layout);
  call->clear();
  return *call;
}

Expected<std::unique_ptr<Session::Impl>> Session::Impl::create(std::shared_ptr<const Model> model,
                                                               const SessionOptions &options) {
  if (options.threads < 0 || options.threads > 4096)
    return usageError("threads: expected 0 (all processors) to 4096, found " +
                      std::to_string(options.threads));
  auto device = HEDDLE_TRY(model->code->createDevice(options.threads));
  device->observe(options.progress);
  auto impl = std::make_unique<Impl>(std::move(model), options, std::move(device));
  HEDDLE_TRY(impl->createTwins());
  return impl;
}

Status Session::Impl::run(std::string_view name, const NamedInputs &inputs, NamedTensors &outputs,
                          CallWitness witness) {
  auto layout = HEDDLE_TRY(model->find(name));
  const Function &function = *(layout)->function;
  HEDDLE_TRY(requireDims(function));
  CallData &call = callOf(*layout);
  HEDDLE_TRY(call.inputs.bind(inputs, sessionDims, rows));
  call.plan = HEDDLE_TRY(planFor(*layout, call.inputs.dims(), witness.observer == nullptr));
  for (auto step : {&Impl::checkCall, &Impl::placePersistent, &Impl::placeBuffers, &Impl::upload})
    HEDDLE_TRY((this->*step)(call));
  HEDDLE_TRY(launchAll(call, witness));
  HEDDLE_TRY(collect(call, outputs));
  if (witness.times && witness.times->empty()) // the first interval precedes the launches
    for (size_t i = 0; i < call.plan->launches().size(); ++i)
      addTime(call, i, device->intervals()[i + 1], *witness.times);
  if (call.inputs.replaced())
    HEDDLE_TRY(replaceRows(call));
  finishStates(call);
  return {};
}

static bool isBoundByInput(const Function &function, const std::string &dim) {
  return std::ranges::any_of(function.inputs, [&](const Port &port) {
    return std::ranges::any_of(port.shape,
                               [&](const SizeExpr &formula) { return formula.dimName() == dim; });
  });
}

Status Session::Impl::requireDims(const Function &function) const {
  for (const std::string &dim : function.stateDims) {
    if (sessionDims.contains(dim) || isBoundByInput(function, dim))
      continue;
    std::string starters;
    for (const Function &other : model->program().functions)
      if (other.startsStates)
        starters += (starters.empty() ? "" : " or ") + other.name;
    return inputError(function.name + ": expected a call of " +
                      (starters.empty() ? "a function that sets " + dim : starters) +
                      " before it, found none");
  }
  return {};
}

Expected<Plan *> Session::Impl::planFor(const FunctionLayout &layout, const Dimensions &dims,
                                        bool share) {
  auto &kept = plans[&layout - model->layouts.data()];
  layout.formulas.dimValues(dims, dimValues);
  auto found =
      std::ranges::find_if(kept, [&](const auto &plan) { return plan->matches(dimValues, share); });
  if (found == kept.end() && kept.size() < plansKept)
    found = kept.insert(kept.end(), std::make_unique<Plan>());
  else if (found == kept.end())
    found = kept.end() - 1; // least recently used
  std::rotate(kept.begin(), found, found + 1);
  Plan &plan = *kept.front();
  if (!plan.matches(dimValues, share))
    HEDDLE_TRY(plan.update(layout, dims, dimValues, share));
  return &plan;
}

static std::string replaced(std::string text, std::string_view what, int64_t value) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), std::to_string(value));
  return text;
}

Status Session::Impl::checkCall(CallData &call) {
  for (size_t i = 0; i < call.function.checks.size(); ++i) {
    const Check &check = call.function.checks[i];
    int64_t left = call.plan->value(call.layout.checks[i].first),
            right = call.plan->value(call.layout.checks[i].second);
    if (check.kind == Check::Kind::Equal ? left != right : left > right)
      return inputError(replaced(replaced(check.message, "{left}", left), "{right}", right));
  }
  return call.inputs.check(*call.plan);
}

/// Layout of a port in its buffer; an error if the buffer is too small.
static Expected<RowForm> formIn(const Port &port, std::span<const int64_t> shape,
                                const Plan &plan) {
  auto form = rowForm(port, shape);
  if (form && form->elements() * 4 > plan.bufferBytes(port.buffer))
    return inputError(port.name + ": expected a buffer of " + std::to_string(form->elements() * 4) +
                      " bytes, found " + std::to_string(plan.bufferBytes(port.buffer)));
  return form;
}

/// Evaluates output shapes, and the offsets of scratch buffers after the session's blocks.
Status Session::Impl::placeBuffers(CallData &call) {
  for (size_t i = 0; i < call.function.outputs.size(); ++i) {
    OutputForm &output = call.outputs[i];
    output.shape.clear();
    for (int dim : call.layout.outputs[i].shape)
      output.shape.push_back(call.plan->value(dim));
    HEDDLE_TRY(elementCount(output.shape, call.function.outputs[i].type));
    output.rows = HEDDLE_TRY(formIn(call.function.outputs[i], output.shape, *call.plan));
  }
  const std::vector<Buffer> &buffers = call.function.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    bool scratch =
        buffers[i].kind == Buffer::Kind::Temporary || buffers[i].kind == Buffer::Kind::Argument;
    if (scratch)
      call.places[i] = call.scratch + call.plan->scratchOffset(static_cast<int>(i));
    else if (buffers[i].kind == Buffer::Kind::Twin)
      call.places[i] = findTwin(buffers[i].name)->range.offset;
  }
  const Twin *weights = findTwin(weightTwin);
  return call.plan->resolve(call.layout, model->program(), call.places,
                            weights ? std::optional(weights->range.offset) : std::nullopt);
}

Status Session::Impl::upload(CallData &call) {
  HEDDLE_TRY(device->begin());
  HEDDLE_TRY(prepareStates(call));
  if (options.poison)
    HEDDLE_TRY(device->fill(
        {call.staging, call.scratch - call.staging + call.plan->scratchBytes() + memorySlack},
        poisonBits));
  for (size_t i = 0; i < call.function.inputs.size(); ++i) {
    const Port &port = call.function.inputs[i];
    auto form = HEDDLE_TRY(formIn(port, call.inputs.tensor(i).shape(), *call.plan));
    if (form.elements() == 0)
      continue;
    auto to = HEDDLE_TRY(device->upload({call.places[port.buffer], form.elements() * 4}));
    packTensor(call.inputs.stored(i), form, reinterpret_cast<uint32_t *>(to));
  }
  return {};
}

Status Session::Impl::launchAll(CallData &call, CallWitness witness) {
  std::span<const LaunchCall> launches = call.plan->launches();
  const bool stamps = witness.times && device->keepTimes();
  if (stamps)
    device->stamp();
  for (size_t i = 0; i < launches.size(); ++i) {
    if (witness.times && !stamps)
      HEDDLE_TRY(launchAlone(call, i, *witness.times));
    else if (launches[i].points() > 0)
      HEDDLE_TRY(device->launch(launches[i], launches.subspan(i + 1)));
    if (stamps)
      device->stamp();
    if (witness.observer)
      HEDDLE_TRY(observe(call, static_cast<int>(i), *witness.observer));
  }
  return {};
}

void Session::Impl::addTime(CallData &call, size_t launch, double seconds,
                            std::vector<LaunchTime> &times) {
  const FunctionLayout::LaunchLayout &form = call.layout.launches[launch];
  times.push_back({model->program().kernels[call.plan->launches()[launch].kernel].name, seconds,
                   call.plan->value(form.flops), call.plan->value(form.bytes)});
}

/// Times a launch by the host's clock, which counts submitting and waiting too. Finishes recorded
/// work first, so that the time is this launch's alone.
Status Session::Impl::launchAlone(CallData &call, size_t launch, std::vector<LaunchTime> &times) {
  std::span<const LaunchCall> launches = call.plan->launches();
  const LaunchCall &timed = launches[launch];
  HEDDLE_TRY(device->finish());
  HEDDLE_TRY(device->begin());
  auto start = std::chrono::steady_clock::now();
  if (timed.points() > 0)
    HEDDLE_TRY(device->launch(timed, launches.subspan(launch + 1)));
  HEDDLE_TRY(device->finish());
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  addTime(call, launch, passed.count(), times);
  return device->begin();
}

/// Gives the observer a function that reads any buffer; each read is a separate call on the
/// device.
Status Session::Impl::observe(CallData &call, int launch, const LaunchObserver &observer) {
  HEDDLE_TRY(device->finish());
  BufferReader reader = [&](int buffer) -> Expected<std::vector<uint32_t>> {
    if (buffer < 0 || buffer >= std::ssize(call.function.buffers))
      return inputError(call.function.name + ": expected a buffer below " +
                        std::to_string(call.function.buffers.size()) + ", found " +
                        std::to_string(buffer));
    MemoryRange range{call.places[buffer], call.plan->bufferBytes(buffer)};
    std::vector<uint32_t> words(static_cast<size_t>(range.bytes / 4));
    if (words.empty())
      return words;
    HEDDLE_TRY(device->begin());
    HEDDLE_TRY(device->download(range));
    HEDDLE_TRY(device->finish());
    std::memcpy(words.data(), device->downloaded(range).data(), static_cast<size_t>(range.bytes));
    return words;
  };
  HEDDLE_TRY(observer(launch, call.inputs.dims(), reader));
  return device->begin();
}

/// Requests all outputs, waits for the device once, then unpacks each to the caller's tensor.
Status Session::Impl::collect(CallData &call, NamedTensors &outputs) {
  auto rangeOf = [&](size_t i) {
    int buffer = call.function.outputs[i].buffer;
    return MemoryRange{call.places[buffer], call.outputs[i].rows.elements() * 4};
  };
  for (size_t i = 0; i < call.outputs.size(); ++i)
    if (rangeOf(i).bytes > 0)
      HEDDLE_TRY(device->download(rangeOf(i)));
  HEDDLE_TRY(device->finish());
  outputs.resize(call.outputs.size());
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const Port &port = call.function.outputs[i];
    Tensor &tensor = outputs.slot(i, port.name);
    tensor.reset(port.type, call.outputs[i].shape);
    if (rangeOf(i).bytes == 0)
      continue;
    auto *memory = reinterpret_cast<const uint32_t *>(device->downloaded(rangeOf(i)).data());
    if (!port.transposed) {
      unpackTensor(memory, call.outputs[i].rows, tensor);
      call.inputs.clearIdle(tensor);
      continue;
    }
    Tensor &ours = call.turned.shapedFor(port.type, call.outputs[i].shape);
    unpackTensor(memory, call.outputs[i].rows, ours);
    transposeFirstTwo(ours, tensor);
  }
  return {};
}

} // namespace heddle
