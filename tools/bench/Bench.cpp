//===- Bench.cpp - Benchmark of a model's kernels ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every figure is a median over the rounds; peaks are measured in the same rounds.
// Costs (operations, bytes) come from the program's launches, which count every
// argument as read or written once.
#include "Bench.h"
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

constexpr int64_t kDefaultSize = 128; ///< of all dimensions but the batch

/// Sizes of a call.
struct Sizes {
  Dimensions dims;
  std::set<std::string> limited; ///< dimensions below the default, as the functions require
};

/// Sets the dimensions of broadcast inputs to 1.
void addShared(const Function &function, Dimensions &dims) {
  for (const Port &port : function.inputs)
    for (size_t axis = 0; axis < port.broadcast.size(); ++axis)
      if (std::string name = port.shape[axis].dimName();
          !name.empty() && port.shape[axis] != port.broadcast[axis] &&
          (port.broadcast[axis].isConstant() || !port.broadcast[axis].dimName().empty()))
        dims.try_emplace(name, 1);
}

/// Whether the function's upper bounds on `name` hold in a first call, with empty caches.
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

/// Given sizes, and for the others the default, or the largest size that the functions allow, such
/// as the rows of a table of positions.
Sizes completed(std::span<const Function *const> functions, const Dimensions &given) {
  Sizes sizes{given, {}};
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
  // Lengths have an upper bound with a dimension and get their maximum. Ids have a constant one and
  // get random values above the lowest, which is usually padding.
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

/// Random numbers for f32, true for bool, and integers by fillIntegers.
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

/// Launches of one kernel in a call.
struct KernelFigures {
  std::string name;
  DType products = DType::F32; ///< type of its operands, which decides its peak
  int launches = 0;
  int64_t flops = 0, bytes = 0;
  std::vector<double> seconds; ///< sum over all launches, by round
};

struct Figures {
  std::vector<KernelFigures> kernels;         ///< in the order of their first launch
  std::vector<double> calls, launches, reads; ///< reads: on Vulkan those of a copy, and its writes
  /// Peaks of f32 and of other types that kernels multiply, by round. What Vulkan's levels multiply as
  /// f32, level 0 all types, has none of its own.
  std::map<DType, std::vector<double>> peaks;
  std::map<DType, std::string> ways; ///< on Vulkan: how a peak's operations are done
  int64_t leastBytes = 0;            ///< bytes of inputs, weights and results, counted once

  /// Median peak for products of this type; 0 if none was measured.
  double peakOf(DType products) const {
    auto at = peaks.find(peaks.contains(products) ? products : DType::F32);
    return at == peaks.end() ? 0 : medianOf(at->second);
  }
};

/// Type of a kernel's operands. Products of f32 and f16 are of f32, but matrix units of Vulkan
/// devices multiply two f16.
DType productsOf(const Kernel &kernel, bool onVulkan) {
  if (onVulkan && kernel.products == DType::F32)
    for (const VulkanVariant &variant : kernel.vulkan)
      if (!variant.matrices.empty())
        return variant.matrices.front().operands;
  return kernel.products;
}

/// Types other than f32 that kernels multiply.
std::set<DType> otherProducts(const Program &program, bool onVulkan) {
  std::set<DType> types;
  for (const Kernel &kernel : program.kernels)
    types.insert(productsOf(kernel, onVulkan));
  types.erase(DType::F32);
  return types;
}

void addRound(const std::vector<LaunchTime> &times, size_t round, const Program &program,
              bool onVulkan, Figures &figures) {
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

/// Bytes that a call must move at least. A weight counts whole, but at most with the bytes that its
/// launch moves: of an embedding table, only some rows are read.
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

/// Runs the functions; all but the last prepare caches and inputs for the last one, which is timed.
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

  /// Seconds of a call of the last function; appends the times of its launches to `times`.
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

  const Function &last() const { return *functions.back(); }
  NamedInputs lastInputs() const { return inputsFrom(last(), given.back(), results); }
  const NamedTensors &lastOutputs() const { return outputs; }

private:
  Session &session;
  std::vector<const Function *> functions;
  std::vector<NamedTensors> given;
  NamedTensors results, outputs;
};

int threadsOf(const BenchCommand &command) {
  return command.threads > 0 ? command.threads : processorCount();
}

/// Measures the peaks. For a narrow type it is the faster of its own instruction and of f32
/// multiply-adds on widened elements, since kernels are compiled for either.
void addPeaks(const Program &program, int threads, Figures &figures) {
  double peak = measureRate(Arithmetic::F32, threads);
  figures.peaks[DType::F32].push_back(peak);
  for (DType products : otherProducts(program, /*onVulkan=*/false))
    figures.peaks[products].push_back(
        std::max(peak, measureRate(formatOfRows(products).peak, threads)));
}

/// What measures the rates of a device.
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
  Status measure(const Program &program, Figures &figures) {
    if (vulkan)
      return measureVulkan(figures);
    addPeaks(program, threads, figures);
    figures.reads.push_back(memory->measure());
    return {};
  }
  bool isVulkan() const { return vulkan.has_value(); }

private:
  /// A type's peak is the faster of its own way and f32 multiply-adds, as on the CPU.
  Status measureVulkan(Figures &figures) {
    double plain = HEDDLE_TRY(vulkan->multiplyAdd(DType::F32));
    figures.peaks[DType::F32].push_back(plain);
    figures.ways[DType::F32] = vulkan->wayOf(DType::F32);
    for (DType type : vulkan->ownTypes()) {
      double own = HEDDLE_TRY(vulkan->multiplyAdd(type));
      figures.peaks[type].push_back(std::max(plain, own));
      figures.ways[type] = vulkan->wayOf(own > plain ? type : DType::F32);
    }
    figures.reads.push_back(HEDDLE_TRY(vulkan->copy()));
    return {};
  }

  int threads = 0;
  std::optional<VulkanProbe> vulkan;
  std::optional<ReadProbe> memory;
};

Expected<Figures> measure(Rounds &rounds, const Program &program, const BenchCommand &command,
                          const std::string &device) {
  Figures figures;
  auto probe = HEDDLE_TRY(Probe::create(device, command, program));
  std::vector<LaunchTime> times;
  HEDDLE_TRY(rounds.run(&times));
  figures.leastBytes =
      leastBytes(program, rounds.last(), times, rounds.lastInputs(), rounds.lastOutputs());
  for (int round = 0; round < command.rounds; ++round) {
    HEDDLE_TRY(probe.measure(program, figures));
    figures.calls.push_back(HEDDLE_TRY(rounds.run(nullptr)));
    HEDDLE_TRY(rounds.run(&times));
    addRound(times, static_cast<size_t>(round), program, probe.isVulkan(), figures);
  }
  return figures;
}

//===- Table -------------------------------------------------------------===//

/// Line of the table. `atPeak` are the seconds of the operations at the peak; 0: no peak.
std::string row(const char *name, int launches, double seconds, double all, double flops,
                double bytes, double atPeak) {
  std::string share = atPeak > 0 ? formatted("%.3f", atPeak / seconds) : "-";
  auto a = [&](double value) { return seconds > 0 ? value / seconds : 0; }; // 0 without kernels
  return formatted("%-36s %8d %10.4f %7.1f%% %9.1f %8s %8.1f %9.2f\n", name, launches,
                   seconds * 1e3, all > 0 ? seconds / all * 100 : 0, a(flops) * 1e-9, share.c_str(),
                   a(bytes) * 1e-9, bytes * 1e-6);
}

std::string tableOf(const Figures &figures) {
  double all = medianOf(figures.launches);
  int launches = 0;
  double flops = 0, bytes = 0, atPeak = 0;
  std::string text = formatted("%-36s %8s %10s %8s %9s %8s %8s %9s\n", "kernel", "launches", "ms",
                               "of all", "GFLOP/s", "of peak", "GB/s", "MB");
  for (const KernelFigures &kernel : figures.kernels) {
    launches += kernel.launches;
    flops += static_cast<double>(kernel.flops);
    bytes += static_cast<double>(kernel.bytes);
    double peak = figures.peakOf(kernel.products);
    double least = peak > 0 ? static_cast<double>(kernel.flops) / peak : 0;
    atPeak += least;
    text += row(kernel.name.c_str(), kernel.launches, medianOf(kernel.seconds), all,
                static_cast<double>(kernel.flops), static_cast<double>(kernel.bytes), least);
  }
  text += row("all kernels", launches, all, all, flops, bytes, atPeak);
  double call = medianOf(figures.calls), least = static_cast<double>(figures.leastBytes);
  text += formatted("\ncall     %.4f ms with binding and the copies at the boundary\n", call * 1e3);
  text +=
      formatted("moved    %.2f MB by the kernels; inputs, weights and results once are %.2f MB: "
                "%.2f times\n",
                bytes * 1e-6, least * 1e-6, bytes / std::max(1.0, least));
  return text;
}

/// Instruction of the peak: the type's own, or f32 multiply-adds if there is none or it is slower.
std::string instructionOf(Arithmetic arithmetic) {
  std::string own = rateInstruction(arithmetic);
  bool isSlower = arithmetic == Arithmetic::BF16 && !cpuRates().dot2Pays();
  return own.empty() || isSlower ? rateInstruction(Arithmetic::F32) : own;
}

std::string headOf(const Session &session, const Function &function, const Sizes &sizes,
                   const BenchCommand &command, const std::string &device, const Figures &figures) {
  const int threads = threadsOf(command);
  const bool onVulkan = vulkanNumber(device).has_value();
  std::string text = "device   " + session.deviceText();
  if (!onVulkan)
    text += formatted(", %d %s", threads, threads == 1 ? "thread" : "threads");
  const char *separator = "\npeak     ", *unit = " GFLOP/s";
  for (auto &[products, rates] : figures.peaks) {
    Arithmetic arithmetic = formatOfRows(products).peak;
    text +=
        formatted("%s%.1f%s %s (", separator, medianOf(rates) * 1e-9, unit, toString(arithmetic)) +
        (onVulkan ? figures.ways.at(products) : instructionOf(arithmetic)) + ")";
    separator = ", ";
    unit = "";
  }
  text += formatted(", memory %s at %.1f GB/s", onVulkan ? "copied" : "read",
                    medianOf(figures.reads) * 1e-9);
  text += "\nfunction " + function.name;
  for (const std::string &name : function.dims)
    text += " " + name + "=" + std::to_string(sizes.dims.at(name)) +
            (sizes.limited.contains(name) ? " (its limit)" : "");
  return text + formatted(", medians of %d rounds\n\n", command.rounds);
}

} // namespace

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Expected<double> timeLaunch(Device &device, const LaunchCall &call, int rounds, int repeat) {
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    HEDDLE_TRY(device.begin());
    for (int i = 0; i < repeat; ++i)
      HEDDLE_TRY(device.launch(call, {}));
    HEDDLE_TRY(device.finish());
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (round > 0) // the first round warms up
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

/// The tensor of this name and shape that an earlier function is given, else `own`.
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
  const Sizes sizes = completed(functions, command.dims);
  std::vector<NamedTensors> given;
  for (size_t i = 0; i < functions.size(); ++i) {
    auto inputs = HEDDLE_TRY(syntheticInputs(*functions[i], sizes.dims));
    // Results of earlier functions are used instead of synthetic inputs, and functions share inputs
    // of one name and shape.
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
  out << headOf(session, last, sizes, command, device, figures) << tableOf(figures);
  return {};
}

} // namespace heddle
