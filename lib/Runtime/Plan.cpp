//===- Plan.cpp - A function at one shape ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of sizes, placement of buffers and address arithmetic. If a damaged program has sizes
// or offsets outside its memory, it fails here.
#include "Plan.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <limits>

namespace heddle {

static std::vector<std::string> namesOf(const Function &function) {
  std::vector<std::string> names = function.dims;
  names.insert(names.end(), function.stateDims.begin(), function.stateDims.end());
  return names;
}

static std::vector<FunctionLayout::PortLayout> layoutPorts(const std::vector<Port> &ports,
                                                           Formulas &formulas) {
  std::vector<FunctionLayout::PortLayout> layouts;
  for (const Port &port : ports) {
    FunctionLayout::PortLayout &layout = layouts.emplace_back();
    for (const SizeExpr &dim : port.shape) {
      layout.shape.push_back(formulas.add(dim));
      layout.dims.push_back(dim.dimName());
    }
    for (size_t axis = 0; axis < port.broadcast.size(); ++axis) {
      const SizeExpr &full = port.broadcast[axis];
      bool isFormula = full.dimName().empty() && !full.isConstant();
      layout.repeated.push_back(isFormula || port.shape[axis] == full);
    }
    if (port.range) {
      layout.low = formulas.add(port.range->first);
      layout.high = formulas.add(port.range->second);
    }
  }
  return layouts;
}

FunctionLayout::FunctionLayout(const Function &function)
    : function(&function), formulas(namesOf(function)) {
  for (const Buffer &buffer : function.buffers) {
    elements.push_back(formulas.add(buffer.elements));
    blocks.push_back(buffer.kind == Buffer::Kind::Table
                         ? std::string(tablePrefix) + buffer.generator
                         : std::string());
  }
  for (const StateUse &use : function.states)
    blocks[use.buffer] = std::string(statePrefix) + use.name;
  inputs = layoutPorts(function.inputs, formulas);
  outputs = layoutPorts(function.outputs, formulas);
  for (const Check &check : function.checks)
    checks.emplace_back(formulas.add(check.left), formulas.add(check.right));
  for (const auto &[name, value] : function.updates)
    updates.push_back(formulas.add(value));
  findReorder();
}

void FunctionLayout::findReorder() {
  for (size_t i = 0; i < inputs.size() && rowDim.empty() && !function->reorderBy.empty(); ++i)
    if (function->inputs[i].name == function->reorderBy && !inputs[i].dims.empty()) {
      parents = i;
      rowDim = inputs[i].dims[0];
    }
  for (const StateUse &use : function->states) {
    std::vector<std::string> names;
    function->buffers[use.buffer].elements.collectDims(names);
    movesRows.push_back(!rowDim.empty() && std::ranges::find(names, rowDim) != names.end());
  }
}

/// Whether a launch of the function writes to the state named `state`.
static bool writesTo(const Program &program, const Function &function, const std::string &state) {
  auto use = std::ranges::find(function.states, state, &StateUse::name);
  if (use == function.states.end())
    return false;
  return std::ranges::any_of(function.launches, [&](const Launch &launch) {
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const LaunchArgument &argument = launch.arguments[i];
      if (argument.kind != LaunchArgument::Kind::Buffer || argument.index != use->buffer)
        continue;
      auto kernel = std::ranges::find(program.kernels, launch.kernel, &Kernel::name);
      if (kernel == program.kernels.end() || kernel->arguments[i].written)
        return true;
    }
    return false;
  });
}

/// Finds the memory for rounded rows that no launch needs. Launches may share a buffer, which is used
/// if one of them rounds rows or reads rounded ones.
void FunctionLayout::findUnused() {
  unused.assign(function->buffers.size(), false);
  for (bool rounds : {false, true})
    for (size_t i = 0; i < launches.size(); ++i)
      if (bool(launches[i].rounding) == rounds)
        for (const LaunchArgument &argument : function->launches[i].rounded)
          unused[argument.index] = !rounds;
}

Expected<FunctionLayout> FunctionLayout::create(const Program &program, const Function &function,
                                                const DeviceCode &code) {
  FunctionLayout layout(function);
  for (const StateUse &use : function.states) {
    layout.isSet.push_back(std::ranges::any_of(program.functions, [&](const Function &other) {
      return !other.replaceBy.empty() &&
             std::ranges::find(other.states, use.name, &StateUse::name) != other.states.end();
    }));
    const bool moves = layout.movesRows[layout.isFixed.size()];
    layout.isFixed.push_back(moves &&
                             std::ranges::none_of(program.functions, [&](const Function &other) {
                               return !other.startsStates && writesTo(program, other, use.name);
                             }));
  }
  for (const Launch &launch : function.launches) {
    auto kernel = std::ranges::find(program.kernels, launch.kernel, &Kernel::name);
    if (kernel == program.kernels.end())
      return inputError(function.name + ": expected a kernel " + launch.kernel + ", found none");
    const KernelCode *form = code.codeOf(*kernel);
    if (!form)
      return inputError("expected code for " + code.describe() + ", found none for kernel " +
                        launch.kernel);
    LaunchLayout &entry = layout.launches.emplace_back();
    entry.kernel = static_cast<int>(kernel - program.kernels.begin());
    entry.code = form;
    entry.fewRows = code.fewRowsOf(*kernel);
    entry.rounding = code.roundingOf(*kernel);
    for (const std::vector<LaunchArgument> *list : {&launch.arguments, &launch.rounded})
      for (const LaunchArgument &argument : *list)
        entry.offsets.push_back(layout.formulas.add(argument.offset));
    for (const SizeExpr &scalar : launch.scalars)
      entry.scalars.push_back(layout.formulas.add(scalar));
    entry.flops = layout.formulas.add(launch.flops);
    entry.bytes = layout.formulas.add(launch.bytes);
  }
  layout.findUnused();
  return layout;
}

Status Plan::update(const FunctionLayout &layout, const Dimensions &dims,
                    std::span<const int64_t> dimValues, bool share) {
  std::span<const int64_t> before =
      valid ? std::span<const int64_t>(key) : std::span<const int64_t>();
  bool known = std::exchange(valid, false);
  HEDDLE_TRY(layout.formulas.evaluate(dims, before, dimValues, values));
  if (!known)
    bytes.clear();
  HEDDLE_TRY(measure(layout, share));
  shared = share;
  key.assign(dimValues.begin(), dimValues.end());
  valid = true;
  return {};
}

/// Evaluates the sizes of all buffers. Places them anew only if the size of a scratch buffer has
/// changed: in decoding steps, only the caches grow.
Status Plan::measure(const FunctionLayout &layout, bool share) {
  const std::vector<Buffer> &buffers = layout.function->buffers;
  bool moved = bytes.size() != buffers.size() || shared != share;
  bytes.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t elements = layout.unused[i] ? 0 : value(layout.elements[i]);
    if (elements < 0 || elements > int64_t{1} << 50)
      return inputError(layout.function->name + ": buffer " + buffers[i].name +
                        ": expected 0 to 2^50 elements, found " + std::to_string(elements));
    bool placed =
        buffers[i].kind == Buffer::Kind::Temporary || buffers[i].kind == Buffer::Kind::Argument;
    moved |= placed && bytes[i] != elements * 4;
    bytes[i] = elements * 4;
  }
  if (!moved)
    return {};
  std::vector<Lifetime> lifetimes(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == Buffer::Kind::Temporary)
      lifetimes[i] = {bytes[i], buffers[i].first, buffers[i].last};
    else if (buffers[i].kind == Buffer::Kind::Argument)
      lifetimes[i] = {bytes[i], -1, std::numeric_limits<int>::max()};
  scratch = placeBuffers(lifetimes, share);
  return {};
}

Status Plan::resolve(const FunctionLayout &layout, const Program &program,
                     std::span<const int64_t> places, std::optional<int64_t> liveWeights) {
  size_t count = layout.launches.size();
  calls.resize(count);
  addresses.resize(count);
  scalars.resize(count);
  rounded.assign(bytes.size(), false);
  for (size_t i = 0; i < count; ++i)
    HEDDLE_TRY(resolveLaunch(layout, program, places, liveWeights, i));
  return {};
}

/// Number of tiles along one axis of a grid.
static int64_t extentOf(const GridAxis &axis, std::span<const int64_t> scalars) {
  if (axis.scalar < 0)
    return axis.count;
  int64_t extent = scalars[axis.scalar];
  return extent <= 0 ? 0 : (extent + axis.tile - 1) / axis.tile;
}

/// Address of an argument of a launch; memory for rounded rows follows the arguments.
Expected<LaunchAddress> Plan::addressOf(const FunctionLayout &layout, const Program &program,
                                        std::span<const int64_t> places,
                                        std::optional<int64_t> liveWeights, size_t launch,
                                        size_t i) {
  const Launch &source = layout.function->launches[launch];
  const size_t own = source.arguments.size();
  const LaunchArgument &argument = i < own ? source.arguments[i] : source.rounded[i - own];
  bool weight = argument.kind == LaunchArgument::Kind::Weight;
  auto index = static_cast<size_t>(argument.index);
  int64_t size = weight ? program.weights[index].elements * 4 : bytes[index],
          offset = value(layout.launches[launch].offsets[i]) * 4;
  if (offset < 0 || offset > size || offset % 16 != 0)
    return inputError(layout.function->name + ": launch " + std::to_string(launch) + " of " +
                      source.kernel + ": argument " + std::to_string(i) +
                      ": expected an offset inside its " + std::to_string(size) + " bytes, found " +
                      std::to_string(offset));
  int64_t base = weight ? program.weights[index].offset + liveWeights.value_or(0) : places[index];
  return LaunchAddress{weight && !liveWeights, base + offset, size - offset};
}

/// Lets the first launch that reads rounded rows round them.
void Plan::addRounding(const FunctionLayout::LaunchLayout &form, const Launch &source,
                       LaunchCall &call) {
  const int buffer = source.rounded.front().index;
  call.rounds = !rounded[buffer];
  rounded[buffer] = true;
  for (size_t axis = 0; axis < 3; ++axis)
    call.roundingGrid[axis] = extentOf(form.rounding->grid[axis], call.scalars);
}

Status Plan::resolveLaunch(const FunctionLayout &layout, const Program &program,
                           std::span<const int64_t> places, std::optional<int64_t> liveWeights,
                           size_t launch) {
  const FunctionLayout::LaunchLayout &form = layout.launches[launch];
  const Launch &source = layout.function->launches[launch];
  addresses[launch].clear();
  scalars[launch].clear();
  for (int scalar : form.scalars)
    scalars[launch].push_back(value(scalar));
  const bool fewRows = form.fewRows.serves(scalars[launch]),
             readsRounded = form.rounding && !fewRows;
  const size_t count = source.arguments.size() + (readsRounded ? source.rounded.size() : 0);
  for (size_t i = 0; i < count; ++i)
    addresses[launch].push_back(
        HEDDLE_TRY(addressOf(layout, program, places, liveWeights, launch, i)));
  LaunchCall &call = calls[launch];
  call = {form.kernel, addresses[launch], scalars[launch], {1, 1, 1}};
  call.work = value(form.flops) + value(form.bytes);
  call.fewRows = fewRows;
  const KernelCode &code = call.fewRows ? *form.fewRows.code : *form.code;
  for (size_t axis = 0; axis < 3; ++axis)
    call.grid[axis] = extentOf(code.grid[axis], scalars[launch]);
  if (readsRounded)
    addRounding(form, source, call);
  return {};
}

} // namespace heddle
