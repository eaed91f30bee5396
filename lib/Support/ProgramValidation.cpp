//===- ProgramValidation.cpp - Validation of programs ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Validation of a program from a file or from the compiler, before the runtime relies on its
// indices. Sizes with dimensions are known, and checked, only in a call.

#include "heddle/Support/Program.h"

#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanLevels.h"

#include <algorithm>
#include <set>

namespace heddle {

namespace {

/// Limit of elements, bytes and tiles. A file that exceeds it must be damaged. It is small enough
/// that sizes in bytes do not overflow.
constexpr int64_t largest = int64_t(1) << 46;

std::string at(const std::string &what, const std::string &name) {
  return what + " '" + name + "': ";
}
std::string at(const std::string &what, size_t index) {
  return what + " " + std::to_string(index) + ": ";
}

/// Error in the format of this file: "kernel 'attend': expected a tile of at least 1, found 0".
Error expected(const std::string &place, const std::string &what, const std::string &found) {
  return inputError(place + "expected " + what + ", found " + found);
}
Error expected(const std::string &place, const std::string &what, int64_t found) {
  return expected(place, what, std::to_string(found));
}

template <typename List>
Status checkIndex(const std::string &place, const std::string &what, int64_t index,
                  const List &list) {
  if (index >= 0 && index < static_cast<int64_t>(list.size()))
    return {};
  return expected(place, what + " below " + std::to_string(list.size()), index);
}

/// Checks that names are unique, since lookup is by name.
template <typename List, typename Name>
Status checkNames(const std::string &what, const List &list, Name name) {
  std::set<std::string_view> seen;
  for (const auto &element : list) {
    const std::string &text = name(element);
    if (text.empty())
      return expected(what + ": ", "a name", "none");
    if (!seen.insert(text).second)
      return expected(what + ": ", "each name once", "'" + text + "' twice");
  }
  return {};
}
template <typename List>
Status checkNames(const std::string &what, const List &list) {
  return checkNames(what, list, [](const auto &e) -> const std::string & { return e.name; });
}

//===- Weights -----------------------------------------------------------===//

/// Compares with `largest` first, so that `elements * 4` cannot overflow.
Status checkWeight(const Weight &weight, int64_t bytes) {
  std::string place = at("weight", weight.name);
  if (weight.offset < 0 || weight.offset % 256 != 0)
    return expected(place, "an offset that is a multiple of 256", weight.offset);
  if (weight.elements < 0 || weight.elements > largest ||
      weight.offset > bytes - weight.elements * 4)
    return expected(place, "an end within " + std::to_string(bytes) + " bytes",
                    std::to_string(weight.elements) + " elements at " +
                        std::to_string(weight.offset));
  return {};
}

/// Checks that the weight has the size that packing writes, packedElements(entry).
Status checkPackEntry(const PackEntry &entry, const std::vector<Weight> &weights) {
  std::string place = at("packing of", entry.tensor);
  int64_t elements = 1;
  for (int64_t size : entry.shape) {
    if (size < 1 || size > largest / elements)
      return expected(place, "a shape of 1 to 2^46 elements",
                      "a dimension of " + std::to_string(size));
    elements *= size;
  }
  if (entry.rows < 0 || (entry.rows > 0 && elements % entry.rows != 0))
    return expected(place, "rows that divide the tensor", entry.rows);
  for (int64_t group : {entry.rowGroup, entry.columnGroup})
    if (group < 0 || group > elements)
      return expected(place, "a group within the tensor", group);
  HEDDLE_TRY(checkIndex(place, "a weight", entry.weight, weights));
  const ElementFormat &format = formatOf(entry.type);
  bool isPanels = entry.layout == PackEntry::Layout::Panels;
  if (entry.type != DType::F32 && !(format.isNarrow() && isPanels))
    return expected(place, "f32, or a narrower type in panels", toString(entry.type));
  if (format.holdsScales() && entry.columnGroup % 16 != 0)
    return expected(place, "groups of columns without padding", entry.columnGroup);
  // Padding enlarges a tensor at most 256-fold: a group of one element becomes 16 by 16.
  if (elements > largest / 256 || packedElements(entry) != weights[entry.weight].elements)
    return expected(place, "a weight of its packed size", weights[entry.weight].elements);
  return {};
}

/// Rejects weights that two entries write. A weight without an entry is zero.
Status checkWeights(const Program &program) {
  if (program.weightBytes < 0 || program.weightBytes > largest)
    return expected("", "0 to 2^46 bytes of weights", program.weightBytes);
  for (const Weight &weight : program.weights)
    HEDDLE_TRY(checkWeight(weight, program.weightBytes));
  std::set<int> packed;
  for (const PackEntry &entry : program.pack) {
    HEDDLE_TRY(checkPackEntry(entry, program.weights));
    if (!packed.insert(entry.weight).second)
      return expected(at("packing of", entry.tensor), "a weight of its own",
                      "one that is packed already");
  }
  return {};
}

//===- Kernels -----------------------------------------------------------===//

/// Checks that an axis has the extent of a scalar divided by its tile, or a fixed count (scalar
/// -1).
Status checkGrid(const std::string &place, const KernelCode &code, size_t scalars) {
  for (const GridAxis &axis : code.grid) {
    if (axis.scalar < -1 || axis.scalar >= static_cast<int64_t>(scalars))
      return expected(place, "a grid axis over one of its scalars", axis.scalar);
    if (axis.tile < 1 || axis.tile > largest)
      return expected(place, "a tile of at least 1", axis.tile);
    if (axis.count < 0 || axis.count > largest)
      return expected(place, "a grid extent of 0 to 2^46", axis.count);
  }
  return {};
}

/// Checks the limits of all Vulkan devices. The limits of the actual device are checked when the
/// code is loaded.
Status checkVariant(const std::string &place, const VulkanVariant &variant) {
  int64_t invocations = 1;
  for (int32_t size : variant.workgroup) {
    if (size < 1 || size > 1024)
      return expected(place, "a workgroup of at least 1 and at most 1024", size);
    invocations *= size;
  }
  if (invocations > 1024)
    return expected(place, "a workgroup of at most 1024 invocations", invocations);
  if (variant.member.empty())
    return expected(place, "the name of a SPIR-V member", "none");
  if (variant.level < 0)
    return expected(place, "a level of at least 0", variant.level);
  if (variant.subgroup < 0 || variant.subgroup > 128)
    return expected(place, "a subgroup of at most 128 invocations", variant.subgroup);
  for (const MatrixShape &shape : variant.matrices)
    for (int64_t size : {shape.m, shape.n, shape.k})
      if (size < 1 || size > 1024)
        return expected(place, "matrices of 1 to 1024 rows and columns", size);
  return {};
}

Status checkVulkan(const std::string &place, const Kernel &kernel) {
  const size_t words = kernel.scalars.size() + kernel.arguments.size();
  using Needs = std::pair<std::vector<std::string>, std::string>;
  std::set<std::tuple<int, bool, Needs>> levels;
  for (const VulkanVariant &variant : kernel.vulkan) {
    HEDDLE_TRY(checkGrid(place, variant, kernel.scalars.size()));
    HEDDLE_TRY(checkVariant(place, variant));
    if (const size_t most = vulkanBlockWords - (variant.gathers() ? vulkanWindowWords : 0);
        words > most)
      return expected(place, "at most " + std::to_string(most) + " scalars and arguments",
                      static_cast<int64_t>(words));
    if (variant.windowed < -1 || variant.windowed >= std::ssize(kernel.arguments) ||
        variant.windowAxis < -1 || variant.windowAxis > 2)
      return expected(place, "a window of an argument along an axis of the grid",
                      std::to_string(variant.windowed) + " along " +
                          std::to_string(variant.windowAxis));
    if (const auto &rounding = variant.rounding) {
      HEDDLE_TRY(checkGrid(place, *rounding, kernel.scalars.size()));
      if (rounding->member.empty())
        return expected(place, "the name of a SPIR-V member of its rounding", "none");
      if (rounding->argument < 0 || rounding->argument >= std::ssize(kernel.arguments))
        return expected(place, "one of its arguments as rows that are rounded", rounding->argument);
    }
    if (variant.rows < -1 || variant.rows >= std::ssize(kernel.scalars))
      return expected(place, "one of its scalars as rows", variant.rows);
    // Of two variants with equal requirements, the first would never run.
    std::string others = std::to_string(variant.subgroup);
    for (const MatrixShape &shape : variant.matrices)
      others += ", " + matrixText(shape) + " into " + toString(shape.sums);
    if (!levels.insert({variant.level, variant.isForFew(), {variant.features, others}}).second)
      return expected(place, "variants of different levels or needs", variant.level);
  }
  return {};
}

/// Rejects kernels that write to weights, whose mapping is read-only.
Status checkKernel(const Kernel &kernel) {
  std::string place = at("kernel", kernel.name);
  for (const KernelArgument &argument : kernel.arguments)
    if (argument.written && argument.storage == KernelArgument::Storage::Weight)
      return expected(place, "weights that are only read", "one that is written");
  if (kernel.cpu)
    HEDDLE_TRY(checkGrid(place, *kernel.cpu, kernel.scalars.size()));
  return checkVulkan(place, kernel);
}

//===- Functions ---------------------------------------------------------===//

/// Checks one function; `known` are the names that its sizes may use.
class FunctionCheck {
public:
  FunctionCheck(const Program &program, const Function &function)
      : program(program), function(function), place(at("function", function.name)) {
    known.insert(function.dims.begin(), function.dims.end());
    known.insert(function.stateDims.begin(), function.stateDims.end());
  }

  /// Checks buffers before ports, launches and states, which refer to them by index.
  Status run() {
    auto self = [](const std::string &name) -> const std::string & { return name; };
    HEDDLE_TRY(checkNames(place + "dimensions", function.dims, self));
    HEDDLE_TRY(checkNames(place + "state dimensions", function.stateDims, self));
    HEDDLE_TRY(checkNames(place + "inputs", function.inputs));
    HEDDLE_TRY(checkNames(place + "outputs", function.outputs));
    HEDDLE_TRY(checkEach("buffer", function.buffers, &FunctionCheck::checkBuffer));
    HEDDLE_TRY(checkEach("input", function.inputs, &FunctionCheck::checkInput));
    HEDDLE_TRY(checkEach("output", function.outputs, &FunctionCheck::checkPort));
    HEDDLE_TRY(checkEach("launch", function.launches, &FunctionCheck::checkLaunch));
    HEDDLE_TRY(checkEach("check", function.checks, &FunctionCheck::checkCheck));
    HEDDLE_TRY(checkEach("state", function.states, &FunctionCheck::checkState));
    HEDDLE_TRY(checkUpdates());
    HEDDLE_TRY(checkAppends());
    return checkReorder();
  }

private:
  template <typename T>
  Status checkEach(const char *what, const std::vector<T> &list,
                   Status (FunctionCheck::*check)(const std::string &, const T &)) {
    for (size_t i = 0; i < list.size(); ++i)
      HEDDLE_TRY((this->*check)(place + at(what, i), list[i]));
    return {};
  }

  /// Checks the names in an expression whose value may be negative: scalars, checks and ranges.
  Status checkNamed(const std::string &here, const SizeExpr &size) {
    std::vector<std::string> names;
    size.collectDims(names);
    for (const std::string &name : names)
      if (!known.count(name))
        return expected(here, "dimensions of the function", "'" + name + "'");
    return {};
  }
  Status checkSize(const std::string &here, const SizeExpr &size) {
    HEDDLE_TRY(checkNamed(here, size));
    if (size.isConstant() && size.constantValue() < 0)
      return expected(here, "a size of at least 0", size.constantValue());
    return {};
  }
  Status checkAllNamed(const std::string &here, const std::vector<SizeExpr> &sizes) {
    for (const SizeExpr &size : sizes)
      HEDDLE_TRY(checkNamed(here, size));
    return {};
  }

  /// Checks a buffer, in particular its lifetime, which decides whether it shares memory.
  Status checkBuffer(const std::string &here, const Buffer &buffer) {
    int64_t launches = static_cast<int64_t>(function.launches.size());
    bool temporary = buffer.kind == Buffer::Kind::Temporary;
    if (temporary && (buffer.first < 0 || buffer.last < buffer.first || buffer.last >= launches))
      return expected(here, "a lifetime within " + std::to_string(launches) + " launches",
                      std::to_string(buffer.first) + " to " + std::to_string(buffer.last));
    if (buffer.kind == Buffer::Kind::Table && buffer.generator.empty())
      return expected(here, "a generator of the table", "none");
    if (buffer.matrices < 1)
      return expected(here, "at least one matrix of a sequence", buffer.matrices);
    if (buffer.rows < 0)
      return expected(here, "at least 0 rows of a matrix", buffer.rows);
    return checkSize(here, buffer.elements);
  }

  Status checkPort(const std::string &here, const Port &port) {
    HEDDLE_TRY(checkIndex(here, "a buffer", port.buffer, function.buffers));
    if (formatOf(port.type).isCode())
      return expected(here, "a type of tensors", toString(port.type));
    if (port.group < 0 || port.group > largest)
      return expected(here, "a group of at least 0", port.group);
    for (const SizeExpr &size : port.shape)
      HEDDLE_TRY(checkSize(here, size));
    return {};
  }

  static bool isIndex(const Port &port) {
    return port.type == DType::I32 || port.type == DType::I64;
  }

  /// Checks a port, and its references to other inputs: starts of documents and sources of
  /// defaults.
  Status checkInput(const std::string &here, const Port &port) {
    HEDDLE_TRY(checkPort(here, port));
    if (port.range) {
      if (!isIndex(port))
        return expected(here, "a range of integers", toString(port.type));
      HEDDLE_TRY(checkAllNamed(here, {port.range->first, port.range->second}));
    }
    if (port.starts && (!port.range || port.shape.size() != 1))
      return expected(here, "starts to be a vector with a range", "none");
    for (const std::string &starts : port.boundedBy) {
      auto isStarts = [&](const Port &other) { return other.name == starts && other.starts; };
      if (port.starts || !port.range || std::ranges::none_of(function.inputs, isStarts))
        return expected(here, "an input of starts that lengths stay within", quotedText(starts));
    }
    if (port.maxLength < 0 || (port.maxLength > 0 && !port.starts))
      return expected(here, "a maximal length with starts", port.maxLength);
    if (port.transposed && port.shape.size() < 2)
      return expected(here, "at least 2 dimensions to transpose",
                      static_cast<int64_t>(port.shape.size()));
    if (!port.broadcast.empty() && port.broadcast.size() != port.shape.size())
      return expected(here, std::to_string(port.shape.size()) + " sizes to broadcast to",
                      static_cast<int64_t>(port.broadcast.size()));
    HEDDLE_TRY(checkAllNamed(here, port.broadcast));
    return checkDefault(here, port);
  }

  Status checkDefault(const std::string &here, const Port &port) {
    const std::string &source = port.fallback.source;
    auto isSource = [&](const Port &other) { return other.name == source && source != port.name; };
    if (port.fallback.isKept()) {
      if (source.empty() || source != function.appendsTo || port.type != DType::I32 ||
          port.shape.size() != 1)
        return expected(here, "an i32 vector of the rows that the function appends to",
                        "'" + source + "'");
    } else if (port.fallback.kind != DefaultInput::Kind::None &&
               std::ranges::none_of(function.inputs, isSource)) {
      return expected(here, "a default taken from another input", "'" + source + "'");
    }
    return {};
  }

  /// Checks what a function appends to caches whose sequences have individual numbers of rows.
  Status checkAppends() {
    if (function.appendsTo.empty() && (!function.appendsBy.empty() || function.appends != 0))
      return expected(place, "the length that rows are appended to", "none");
    if (!function.appendsTo.empty() && !known.count(function.appendsTo))
      return expected(place, "a dimension of the function to append to",
                      "'" + function.appendsTo + "'");
    bool named = std::ranges::any_of(function.inputs, [&](const Port &port) {
      return port.name == function.appendsBy && isIndex(port) && port.shape.size() == 1 &&
             port.range && !port.fallback.isKept();
    });
    if (!function.appendsBy.empty() && !named)
      return expected(place, "an input of rank 1 with a range that counts appended rows",
                      "'" + function.appendsBy + "'");
    if (function.keptRows < 0 || function.spareRows < 0 || function.spareRows > function.keptRows)
      return expected(place, "rows that caches keep and at most as many spare ones",
                      std::to_string(function.keptRows) + " and " +
                          std::to_string(function.spareRows));
    return checkSize(place + "appended rows: ", function.appends);
  }

  /// Checks the numbers of arguments and scalars, which machine code reads by position.
  Status checkLaunch(const std::string &here, const Launch &launch) {
    auto kernel = std::ranges::find(program.kernels, launch.kernel, &Kernel::name);
    if (kernel == program.kernels.end())
      return expected(here, "a kernel of the program", "'" + launch.kernel + "'");
    if (launch.arguments.size() != kernel->arguments.size())
      return expected(here, std::to_string(kernel->arguments.size()) + " arguments",
                      static_cast<int64_t>(launch.arguments.size()));
    if (launch.scalars.size() != kernel->scalars.size())
      return expected(here, std::to_string(kernel->scalars.size()) + " scalars",
                      static_cast<int64_t>(launch.scalars.size()));
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      HEDDLE_TRY(
          checkArgument(here + at("argument", i), launch.arguments[i], kernel->arguments[i]));
    HEDDLE_TRY(checkRounded(here, launch, *kernel));
    for (const auto &sizes : {launch.scalars, {launch.flops, launch.bytes}})
      HEDDLE_TRY(checkAllNamed(here, sizes));
    return {};
  }

  /// Variants with a rounding need memory for rounded rows and for their scales.
  Status checkRounded(const std::string &here, const Launch &launch, const Kernel &kernel) {
    const bool rounds =
        std::ranges::any_of(kernel.vulkan, [](const VulkanVariant &v) { return bool(v.rounding); });
    const size_t count = rounds ? 2 : 0;
    if (launch.rounded.size() != count)
      return expected(here, std::to_string(count) + " arguments for rounded rows",
                      static_cast<int64_t>(launch.rounded.size()));
    for (const LaunchArgument &argument : launch.rounded)
      HEDDLE_TRY(checkArgument(here + "rounded: ", argument, KernelArgument{}));
    return {};
  }

  /// Weights and buffers must not be confused: on Vulkan they are separate bindings.
  Status checkArgument(const std::string &here, const LaunchArgument &argument,
                       const KernelArgument &parameter) {
    bool weight = argument.kind == LaunchArgument::Kind::Weight;
    if (weight != (parameter.storage == KernelArgument::Storage::Weight))
      return expected(here, weight ? "a buffer" : "a weight", weight ? "a weight" : "a buffer");
    Status index = weight ? checkIndex(here, "a weight", argument.index, program.weights)
                          : checkIndex(here, "a buffer", argument.index, function.buffers);
    if (!index)
      return index;
    if (argument.offset.isConstant() && argument.offset.constantValue() % 4 != 0)
      return expected(here, "an offset that is a multiple of 4", argument.offset.constantValue());
    return checkSize(here, argument.offset);
  }

  Status checkCheck(const std::string &here, const Check &check) {
    return checkAllNamed(here, {check.left, check.right});
  }

  /// Checks that a state names a buffer of kind State, where the session places it.
  Status checkState(const std::string &here, const StateUse &state) {
    if (state.name.empty())
      return expected(here, "a name", "none");
    HEDDLE_TRY(checkIndex(here, "a buffer", state.buffer, function.buffers));
    if (function.buffers[state.buffer].kind != Buffer::Kind::State)
      return expected(here, "a buffer of the session", "another kind");
    return {};
  }

  /// Checks the state dimensions that the call sets.
  Status checkUpdates() {
    for (const auto &[name, value] : function.updates) {
      if (name.empty())
        return expected(place + "updates: ", "a name", "none");
      HEDDLE_TRY(checkSize(place + at("update of", name), value));
    }
    return {};
  }

  /// Checks that every state buffer has a name in `states`, and that the input of parents is i32.
  Status checkReorder() {
    for (size_t i = 0; i < function.buffers.size(); ++i) {
      bool used = std::ranges::any_of(
          function.states, [&](const StateUse &s) { return s.buffer == static_cast<int>(i); });
      if (function.buffers[i].kind == Buffer::Kind::State && !used)
        return expected(place + at("buffer", i), "a name of the session's state", "none");
    }
    auto isVector = [&](const std::string &name) {
      return std::ranges::any_of(function.inputs, [&](const Port &port) {
        return port.name == name && port.type == DType::I32 && port.shape.size() == 1;
      });
    };
    if (!function.reorderBy.empty() && !isVector(function.reorderBy))
      return expected(place, "an i32 input of rank 1 to reorder by",
                      "'" + function.reorderBy + "'");
    if (!function.replaceBy.empty() && !(isVector(function.replaceBy) && function.startsStates))
      return expected(place, "an i32 input of rank 1 of a start to replace rows by",
                      "'" + function.replaceBy + "'");
    return {};
  }

  const Program &program;
  const Function &function;
  std::string place;
  std::set<std::string, std::less<>> known;
};

} // namespace

Status validate(const Program &program) {
  HEDDLE_TRY(checkNames("functions", program.functions));
  HEDDLE_TRY(checkNames("kernels", program.kernels));
  HEDDLE_TRY(checkWeights(program));
  for (const Kernel &kernel : program.kernels)
    HEDDLE_TRY(checkKernel(kernel));
  for (const Function &function : program.functions)
    HEDDLE_TRY(FunctionCheck(program, function).run());
  return {};
}

} // namespace heddle
