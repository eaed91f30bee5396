//===- Bench.cpp - Benchmark of a model's kernels ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each figure is a median over rounds; peaks are measured in the same rounds. Operations and bytes
// come from the program's launches, which count each argument as read or written once.
#include "Bench.h"
#include "BenchReport.h"
#include "ReadProbe.h"
#include "VulkanProbe.h"

#include "heddle/Runtime/Commands.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <random>
#include <set>

namespace heddle {

namespace {

constexpr int64_t kMemoryProbe = int64_t{256} << 20; ///< bytes, more than caches hold

//===- Inputs ------------------------------------------------------------===//

constexpr int64_t kDefaultSize = 128; ///< of all dimensions except the batch

/// Sets the dimensions of broadcast inputs to 1.
void addShared(const Function &function, Dimensions &dims) {
  for (const Port &port : function.inputs)
    for (size_t axis = 0; axis < port.broadcast.size(); ++axis)
      if (std::string name = port.shape[axis].dimName();
          !name.empty() && port.shape[axis] != port.broadcast[axis] &&
          (port.broadcast[axis].isConstant() || !port.broadcast[axis].dimName().empty()))
        dims.try_emplace(name, 1);
}

/// Returns whether the function's upper bounds on `name` hold in a first call, with empty caches.
bool allows(const Function &function, const std::string &name, Dimensions dims) {
  for (const std::string &kept : function.stateDims)
    dims.try_emplace(kept, 0);
  return std::ranges::all_of(function.checks, [&](const Check &check) {
    std::vector<std::string> names;
    check.left.collectDims(names);
    auto left = check.left.evaluate(dims), right = check.right.evaluate(dims);
    bool concerns =
        check.kind == Check::Kind::AtMost && std::ranges::find(names, name) != names.end();
    return !concerns || !left || !right || *left <= *right;
  });
}

/// Completes the given sizes with the default, or with the largest size that the functions allow,
/// for example the rows of a position table.
BenchSizes completed(std::span<const Function *const> functions, const Dimensions &given) {
  BenchSizes sizes{given, {}};
  for (const Function *function : functions) {
    addShared(*function, sizes.dims);
    for (const std::string &name : function->dims)
      sizes.dims.try_emplace(name, name == "B" ? 1 : kDefaultSize);
  }
  for (auto &[name, value] : sizes.dims)
    while (!given.contains(name) && value > 1 &&
           !std::ranges::all_of(functions, [&](const Function *function) {
             return allows(*function, name, sizes.dims);
           })) {
      --value;
      sizes.limited.insert(name);
    }
  if (sizes.dims.contains("N") &&
      sizes.dims.contains("documents.starts")) // packed documents: N + 1 starts
    sizes.dims["documents.starts"] = sizes.dims["N"] + 1;
  return sizes;
}

void fillIntegers(const Port &port, int64_t low, int64_t high, std::mt19937 &random,
                  Tensor &tensor) {
  // Lengths, whose upper bound is a dimension, get their maximum. Ids, whose bound is constant, get
  // random values above the lowest, which is usually padding.
  bool lengths = port.range && !port.range->second.isConstant();
  std::uniform_int_distribution<int64_t> any(std::min(low + 1, high - 1), high - 1);
  int64_t last = std::max<int64_t>(1, tensor.size() - 1);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t value = port.starts ? low + (high - 1 - low) * i / last
                    : lengths   ? high - 1
                                : any(random);
    if (tensor.dtype() == DType::I64)
      tensor.values<int64_t>()[i] = value;
    else
      tensor.values<int32_t>()[i] = static_cast<int32_t>(value);
  }
}

/// Random numbers for f32, true for bool, integers by fillIntegers.
Expected<Tensor> syntheticInput(const Port &port, const Dimensions &dims, std::mt19937 &random) {
  std::vector<int64_t> shape;
  for (const SizeExpr &dim : port.shape) {
    shape.push_back(HEDDLE_TRY(dim.evaluate(dims)));
  }
  HEDDLE_TRY(elementCount(shape, port.type));
  Tensor tensor(port.type, shape);
  if (port.type == DType::F32) {
    std::normal_distribution<float> normal;
    for (float &value : tensor.values<float>())
      value = normal(random);
    return tensor;
  }
  if (port.type == DType::Bool) {
    std::ranges::fill(tensor.values<bool>(), true);
    return tensor;
  }
  if (port.type != DType::I32 && port.type != DType::I64)
    return inputError(port.name + ": expected f32, i32, i64 or bool, found " + toString(port.type));
  int64_t low = port.range ? HEDDLE_TRY(port.range->first.evaluate(dims)) : 0,
          high = port.range ? HEDDLE_TRY(port.range->second.evaluate(dims)) : 16;
  fillIntegers(port, low, high, random, tensor);
  return tensor;
}

//===- Measurement -------------------------------------------------------===//

/// Type of a kernel's operands. It is f32 for f32 and f16 kernels, except on matrix units of Vulkan
/// devices, which multiply f16.
DType productsOf(const Kernel &kernel, bool onVulkan) {
  if (onVulkan && kernel.products == DType::F32)
    for (const VulkanVariant &variant : kernel.vulkan)
      if (!variant.matrices.empty())
        return variant.matrices.front().operands;
  return kernel.products;
}

/// Types of operands other than f32.
std::set<DType> otherProducts(const Program &program, bool onVulkan) {
  std::set<DType> types;
  for (const Kernel &kernel : program.kernels)
    types.insert(productsOf(kernel, onVulkan));
  types.erase(DType::F32);
  return types;
}

void addRound(const std::vector<LaunchTime> &times, size_t round, const Program &program,
              bool onVulkan, BenchFigures &figures) {
  auto typeOf = [&](std::string_view name) {
    auto at = std::ranges::find(program.kernels, name, &Kernel::name);
    return at == program.kernels.end() ? DType::F32 : productsOf(*at, onVulkan);
  };
  double total = 0;
  for (const LaunchTime &time : times) {
    auto &kernels = figures.kernels;
    auto at = std::ranges::find(kernels, time.kernel, &KernelFigures::name);
    if (at == kernels.end())
      at = kernels.insert(at, KernelFigures{std::string(time.kernel), typeOf(time.kernel)});
    if (round == 0) {
      ++at->launches;
      at->flops += time.flops;
      at->bytes += time.bytes;
    }
    at->seconds.resize(round + 1);
    at->seconds.back() += time.seconds;
    total += time.seconds;
  }
  figures.launches.push_back(total);
}

/// Least number of bytes that a call must move. A weight counts at most the bytes of its launch,
/// because only some rows of an embedding table are read.
int64_t leastBytes(const Program &program, const Function &function,
                   const std::vector<LaunchTime> &times, const NamedInputs &inputs,
                   const NamedTensors &outputs) {
  std::map<std::string_view, int64_t> moved;
  for (const LaunchTime &time : times)
    moved[time.kernel] = std::max(moved[time.kernel], time.bytes);
  std::map<int, int64_t> weights;
  for (const Launch &launch : function.launches)
    for (const LaunchArgument &argument : launch.arguments)
      if (argument.kind == LaunchArgument::Kind::Weight) {
        int64_t whole = program.weights[argument.index].elements * 4;
        int64_t read = moved[launch.kernel];
        int64_t &counted = weights[argument.index];
        counted = std::max(counted, std::min(whole, read));
      }
  int64_t bytes = 0;
  for (auto [weight, read] : weights)
    bytes += read;
  for (const NamedInput &input : inputs)
    bytes += static_cast<int64_t>(input.tensor().bytes().size());
  for (const auto &[name, tensor] : outputs)
    bytes += static_cast<int64_t>(tensor.bytes().size());
  return bytes;
}

/// Runs the functions in rounds; all but the last prepare caches and inputs for the last one, which
/// is timed.
class Rounds {
public:
  /// `given`: synthetic inputs of each function.
  Rounds(Session &session, std::vector<const Function *> functions, std::vector<NamedTensors> given)
      : session(session), functions(std::move(functions)), given(std::move(given)) {}

  Status prepare() {
    for (size_t i = 0; i + 1 < functions.size(); ++i) {
      auto outputs =
          HEDDLE_TRY(session.run(functions[i]->name, inputsFrom(*functions[i], given[i], results)));
      for (auto &[name, tensor] : outputs)
        results.set(name, std::move(tensor));
    }
    return {};
  }

  /// Runs a round and returns the seconds of the last function; appends the times of its launches
  /// to `times`.
  Expected<double> run(std::vector<LaunchTime> *times) {
    HEDDLE_TRY(prepare());
    NamedInputs inputs = lastInputs();
    auto start = std::chrono::steady_clock::now();
    Status status = times ? session.runTimed(last().name, inputs, outputs, *times)
                          : session.run(last().name, inputs, outputs);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (!status)
      return status.takeError();
    return passed.count();
  }

  /// Times of the last call, from the second round of a device with a clock on.
  std::optional<CallTime> callTime() const { return session.callTime(); }
  const Function &last() const { return *functions.back(); }
  NamedInputs lastInputs() const { return inputsFrom(last(), given.back(), results); }
  const NamedTensors &lastOutputs() const { return outputs; }

private:
  Session &session;
  std::vector<const Function *> functions;
  std::vector<NamedTensors> given;
  NamedTensors results, outputs;
};

/// Measures the peaks. The peak of a narrow type is the faster of its own instruction and f32
/// multiply-adds on widened elements, because kernels are compiled for either.
void addPeaks(const Program &program, int threads, BenchFigures &figures) {
  double peak = measureRate(Arithmetic::F32, threads);
  figures.peaks[DType::F32].push_back(peak);
  for (DType products : otherProducts(program, /*onVulkan=*/false))
    figures.peaks[products].push_back(
        std::max(peak, measureRate(formatOfRows(products).peak, threads)));
}

/// Measures the peak rates of a device.
class Probe {
public:
  static Expected<Probe> create(const std::string &device, const BenchCommand &command,
                                const Program &program) {
    Probe probe;
    probe.threads = threadsOf(command);
    if (std::optional<int> number = vulkanNumber(device))
      probe.vulkan = HEDDLE_TRY(VulkanProbe::create(*number, command.vulkanLevel,
                                                    otherProducts(program, /*onVulkan=*/true)));
    else
      probe.memory = HEDDLE_TRY(ReadProbe::create(kMemoryProbe, probe.threads));
    return probe;
  }
  Status measure(const Program &program, BenchFigures &figures) {
    if (vulkan)
      return measureVulkan(figures);
    addPeaks(program, threads, figures);
    figures.reads.push_back(memory->measure());
    return {};
  }
  bool isVulkan() const { return vulkan.has_value(); }

private:
  /// Measures as on the CPU: a type's peak is the faster of its own way and f32 multiply-adds.
  Status measureVulkan(BenchFigures &figures) {
    double plain = HEDDLE_TRY(vulkan->multiplyAdd(DType::F32));
    figures.peaks[DType::F32].push_back(plain);
    figures.ways[DType::F32] = vulkan->wayOf(DType::F32);
    for (DType type : vulkan->ownTypes()) {
      double own = HEDDLE_TRY(vulkan->multiplyAdd(type));
      figures.peaks[type].push_back(std::max(plain, own));
      figures.ways[type] = vulkan->wayOf(own > plain ? type : DType::F32);
    }
    figures.copies.push_back(HEDDLE_TRY(vulkan->copy()));
    figures.reads.push_back(HEDDLE_TRY(vulkan->read()));
    return {};
  }

  int threads = 0;
  std::optional<VulkanProbe> vulkan;
  std::optional<ReadProbe> memory;
};

Expected<BenchFigures> measure(Rounds &rounds, const Program &program, const BenchCommand &command,
                               const std::string &device) {
  BenchFigures figures;
  auto probe = HEDDLE_TRY(Probe::create(device, command, program));
  std::vector<LaunchTime> times;
  HEDDLE_TRY(rounds.run(&times));
  figures.leastBytes =
      leastBytes(program, rounds.last(), times, rounds.lastInputs(), rounds.lastOutputs());
  for (int round = 0; round < command.rounds; ++round) {
    HEDDLE_TRY(probe.measure(program, figures));
    figures.calls.push_back(HEDDLE_TRY(rounds.run(nullptr)));
    if (std::optional<CallTime> time = rounds.callTime())
      figures.callTimes.push_back(*time);
    HEDDLE_TRY(rounds.run(&times));
    addRound(times, static_cast<size_t>(round), program, probe.isVulkan(), figures);
  }
  return figures;
}

} // namespace

Expected<double> timeLaunch(Device &device, const LaunchCall &call, int rounds, int repeat) {
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    HEDDLE_TRY(device.begin());
    for (int i = 0; i < repeat; ++i)
      HEDDLE_TRY(device.launch(call, {}));
    HEDDLE_TRY(device.finish());
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (round > 0) // the first round is a warm-up
      seconds.push_back(passed.count() / repeat);
  }
  return medianOf(std::move(seconds));
}

Expected<NamedTensors> syntheticInputs(const Function &function, const Dimensions &dims) {
  std::mt19937 random(1);
  const Function *functions[] = {&function};
  Dimensions all = completed(functions, dims).dims;
  NamedTensors inputs;
  for (const Port &port : function.inputs) {
    if (port.fallback.kind != DefaultInput::Kind::None)
      continue;
    inputs.set(port.name, HEDDLE_TRY(syntheticInput(port, all, random)));
  }
  return inputs;
}

/// Returns the tensor of the same name and shape that an earlier function is given, or `own`.
static Tensor sharedOr(Tensor own, const std::string &name,
                       const std::vector<NamedTensors> &earlier) {
  for (const NamedTensors &given : earlier)
    if (const Tensor *tensor = given.find(name); tensor && tensor->shape() == own.shape())
      return *tensor;
  return own;
}

Status benchCommand(Session &session, const BenchCommand &command, const std::string &device,
                    std::ostream &out) {
  const Program &program = session.program();
  auto functions = HEDDLE_TRY(chooseFunctions(program, command.function));
  std::vector<std::string> known;
  for (const Function *function : functions)
    known.insert(known.end(), function->dims.begin(), function->dims.end());
  HEDDLE_TRY(checkNames(command.dims, known));
  const BenchSizes sizes = completed(functions, command.dims);
  std::vector<NamedTensors> given;
  for (size_t i = 0; i < functions.size(); ++i) {
    auto inputs = HEDDLE_TRY(syntheticInputs(*functions[i], sizes.dims));
    // Results of earlier functions replace synthetic inputs. Functions share inputs with the same
    // name and shape.
    auto isResult = [&](const std::string &name) {
      return std::any_of(functions.begin(), functions.begin() + static_cast<ptrdiff_t>(i),
                         [&](const Function *earlier) {
                           return std::ranges::any_of(earlier->outputs, [&](const Port &port) {
                             return port.name == name;
                           });
                         });
    };
    NamedTensors own;
    for (auto &[name, tensor] : inputs)
      if (!isResult(name))
        own.set(name, sharedOr(std::move(tensor), name, given));
    given.push_back(std::move(own));
  }
  Rounds rounds(session, functions, std::move(given));
  auto figures = HEDDLE_TRY(measure(rounds, program, command, device));
  const Function &last = *functions.back();
  const BenchSubject subject{session, last, sizes, command, vulkanNumber(device).has_value()};
  out << (command.json ? benchJson(subject, figures) : benchText(subject, figures));
  return {};
}

} // namespace heddle
