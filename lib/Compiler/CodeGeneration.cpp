//===- CodeGeneration.cpp - Code generation for all targets ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for all targets. Kernels are tiled once for all instruction sets of the CPU and
// once for each level of Vulkan. Each piece of code is then lowered from its own copy of the tiled
// kernel. Levels with equal kernels share their code (Variants.cpp).

#include "CodeGeneration.h"

#include "KernelCache.h"
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Pack/Pack.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"
#include "heddle/Target/GpuTarget.h"
#include "heddle/Target/ObjectCode.h"
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle {

/// Whether matrix units that multiply bytes support this format.
static bool isOfMatrices(const NumberFormat &format) { return format.rows == DType::I8; }

/// Instruction sets without --cpu: the levels of x86-64, and each x86-64 set with instructions for
/// the format's products that adds no features except the ones that the format uses.
static std::vector<std::string> defaultCpus(std::string_view dtype) {
  std::vector<std::string> cpus = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const NumberFormat *format = findFormat(dtype);
  if (!format) // Compilation::load reports the unknown dtype
    return cpus;
  Arithmetic other = formatOfWeights(format->others).peak;
  for (const std::string &name : cpuTargetNames()) {
    CpuTarget target = *findCpuTarget(name);
    bool isMore = llvm::any_of(narrowArithmetics, [&](Arithmetic arithmetic) {
      return arithmetic != format->peak && arithmetic != other && target.multiplies(arithmetic);
    });
    isMore |= target.int8Matrices && !isOfMatrices(*format);
    if (llvm::StringRef(name).starts_with("x86-64") && target.multiplies(format->peak) && !isMore)
      cpus.push_back(name);
  }
  return cpus;
}

/// The instruction set that `name` means for products of this format. `native` includes the matrix
/// unit of bf16 only for weights in bf16, as the default sets do.
static std::string_view cpuOf(std::string_view name, std::string_view dtype) {
  const NumberFormat *format = findFormat(dtype);
  const bool mayUseMatrices = name == "native" && format && format->peak == Arithmetic::BF16;
  return mayUseMatrices && findCpuTarget(nativeBf16Matrices) ? nativeBf16Matrices : name;
}

Expected<std::vector<std::string>> checkedCpus(const CompileOptions &options) {
  std::vector<std::string> cpus;
  for (const std::string &given :
       options.cpus.empty() ? defaultCpus(options.dtype) : options.cpus) {
    const std::string name(cpuOf(given, options.dtype));
    HEDDLE_TRY(findCpuTarget(name));
    if (!llvm::is_contained(cpus, name))
      cpus.push_back(name);
  }
  return cpus;
}

std::string targetText(const CpuTarget &cpu) {
  std::string text =
      std::string(toString(TargetKind::Cpu)) + (cpu.bf16Dot2 ? " bf16-dot2" : "") +
      (cpu.int8Dot4 ? " int8-dot4" : "") + (cpu.int8Matrices ? " int8-matrices" : "") +
      (cpu.bf16Matrices ? " bf16-matrices" : "") + (cpu.f16Accumulate ? " f16-accumulate" : "");
  for (const std::string *part : {&cpu.name, &cpu.triple, &cpu.cpu, &cpu.features, &cpu.tune})
    text += "\n" + *part;
  return text;
}

namespace {

/// Code generation of one kernel for one target. Kernels do not refer to each other, so units are
/// lowered independently and in parallel.
struct Unit {
  kernel::FuncOp kernel;
  const CpuTarget *cpu; ///< null for a shader
  const GpuTarget *gpu; ///< null for CPU code
  KernelCache::Key key = {};
  std::string code = {}; ///< bytes of an object file, or of a shader's words
  bool found = false;    ///< in the cache
  Status status = {};
};

StageOptions optionsOf(const Unit &unit) {
  return unit.cpu ? StageOptions{TargetKind::Cpu, unit.cpu->name}
                  : StageOptions{TargetKind::Vulkan, "", unit.gpu->name()};
}

OwningOpRef<ModuleOp> moduleOf(Operation *kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel->getLoc());
  module->push_back(kernel->clone());
  return module;
}

/// Runs the passes on an empty module: the first run of a pass loads its dependent dialects, which
/// is not allowed in parallel.
Status loadDialects(Compilation &compilation, Stage to, const StageOptions &options) {
  OwningOpRef<ModuleOp> nothing =
      ModuleOp::create(UnknownLoc::get(compilation.module().getContext()));
  HEDDLE_TRY(compilation.lowered(*nothing, Stage::Tiled, to, options));
  return {};
}

std::string targetText(const Unit &unit) {
  if (unit.cpu)
    return heddle::targetText(*unit.cpu);
  return std::string(toString(TargetKind::Vulkan)) + " level " + unit.gpu->name();
}

/// Text of a kernel for the cache key: all attributes, but no locations, which do not affect code.
std::string kernelText(kernel::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Without the local scope, the printer first numbers the values of the whole module.
  kernel->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

void lookUp(const KernelCache &cache, Unit &unit) {
  unit.key = cache.keyOf({targetText(unit), kernelText(unit.kernel)});
  if (std::optional<std::string> code = cache.find(unit.key)) {
    unit.code = std::move(*code);
    unit.found = true;
  }
}

Status generateObject(Compilation &compilation, Unit &unit) {
  auto module = HEDDLE_TRY(
      compilation.lowered(*moduleOf(unit.kernel), Stage::Tiled, Stage::Llvm, optionsOf(unit)));
  unit.code = HEDDLE_TRY(emitCpuObject(*module, *unit.cpu));
  return {};
}

Status generateShader(Compilation &compilation, Unit &unit) {
  auto module = HEDDLE_TRY(
      compilation.lowered(*moduleOf(unit.kernel), Stage::Tiled, Stage::Spirv, optionsOf(unit)));
  std::vector<uint32_t> words = HEDDLE_TRY(emitSpirv(*(*module).getOps<spirv::ModuleOp>().begin()));
  unit.code.assign(reinterpret_cast<const char *>(words.data()), words.size() * sizeof(uint32_t));
  return {};
}

/// Generates the code of all units in parallel; results are in the order of the units.
class CodeGenerator {
public:
  CodeGenerator(Compilation &compilation, KernelCache cache)
      : compilation(compilation), cache(std::move(cache)) {}

  /// Adds the module's kernels, tiled for the CPU's instruction sets or for a level of Vulkan.
  Status addCpus(std::vector<CpuTarget> cpus);
  Status addVulkan(const GpuTarget &gpu);
  /// Makes the program of all targets and checks that the checkpoint has the required tensors.
  Status makeProgram();
  Status run(const std::function<void(const std::string &)> &progress);
  Expected<GeneratedCode> collect();

private:
  Status generate(llvm::ArrayRef<Unit *> missing);

  Compilation &compilation;
  KernelCache cache;
  Program program;
  struct Tiled {
    OwningOpRef<ModuleOp> module;
    const GpuTarget *gpu;
  };
  Expected<std::vector<kernel::FuncOp>> tile(const StageOptions &options,
                                             const GpuTarget *gpu = nullptr);
  std::vector<Tiled> tiled; ///< for the CPU, and for each level of Vulkan
  std::vector<CpuTarget> instructionSets;
  std::vector<Unit> units;
};

bool hasOp(ModuleOp tiled, llvm::function_ref<bool(Operation *)> isOne) {
  return tiled
      .walk([&](Operation *op) {
        return isOne(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a kernel has products of this arithmetic, or rounds to bf16, for which the bf16
/// extension has an instruction.
bool uses(ModuleOp tiled, Arithmetic arithmetic) {
  return hasOp(tiled, [&](Operation *op) {
    auto product = dyn_cast<kernel::ProductOpInterface>(op);
    bool rounds = arithmetic == Arithmetic::BF16 && isa<arith::TruncFOp>(op) &&
                  getElementTypeOrSelf(op->getResult(0).getType()).isBF16();
    return rounds || (product && product.getFormat().peak == arithmetic);
  });
}

/// Whether a kernel has products that a matrix unit of bytes supports.
bool usesMatrices(ModuleOp tiled) {
  return hasOp(tiled, [](Operation *op) {
    auto product = dyn_cast<kernel::ProductOpInterface>(op);
    return product && isOfMatrices(product.getFormat());
  });
}

Expected<std::vector<kernel::FuncOp>> CodeGenerator::tile(const StageOptions &options,
                                                          const GpuTarget *gpu) {
  auto module = HEDDLE_TRY(compilation.lowered(Stage::Tiled, options));
  tiled.push_back({std::move(module), gpu});
  auto kernels = tiled.back().module->getOps<kernel::FuncOp>();
  return std::vector<kernel::FuncOp>(kernels.begin(), kernels.end());
}

Status CodeGenerator::addCpus(std::vector<CpuTarget> cpus) {
  auto kernels = HEDDLE_TRY(tile({TargetKind::Cpu, cpus.front().name}));
  instructionSets = std::move(cpus);
  // Removes unused features, so that the file requires only the features that its code uses.
  ModuleOp module = *tiled.back().module;
  for (Arithmetic arithmetic : narrowArithmetics)
    if (!uses(module, arithmetic))
      for (CpuTarget &cpu : instructionSets)
        cpu = without(std::move(cpu), arithmetic);
  if (!usesMatrices(module))
    for (CpuTarget &cpu : instructionSets)
      cpu = withoutMatrices(std::move(cpu));
  for (const CpuTarget &cpu : instructionSets)
    for (kernel::FuncOp kernel : kernels)
      units.push_back({kernel, &cpu, nullptr});
  return {};
}

Status CodeGenerator::addVulkan(const GpuTarget &gpu) {
  auto kernels = HEDDLE_TRY(tile({TargetKind::Vulkan, "", gpu.name()}, &gpu));
  for (kernel::FuncOp kernel : kernels)
    // Kernels that use no matrix unit are equal at level 1.
    if (gpu.matrices.empty() || kernel.getRounds() ||
        kernel::usesMatrixUnit(kernel.getPlanAttr().getMapping()))
      units.push_back({kernel, nullptr, &gpu});
  return {};
}

Status CodeGenerator::makeProgram() {
  llvm::SmallVector<TiledModule> modules;
  for (Tiled &one : tiled)
    modules.push_back({*one.module, one.gpu});
  program = HEDDLE_TRY(compilation.program(modules));
  return checkTensors(program.pack, *compilation.model().weights);
}

Status CodeGenerator::run(const std::function<void(const std::string &)> &progress) {
  if (cache.isOn())
    mlir::parallelFor(tiled.front().module->getContext(), 0, units.size(),
                      [&](size_t i) { lookUp(cache, units[i]); });
  std::vector<Unit *> missing;
  for (Unit &unit : units)
    if (!unit.found)
      missing.push_back(&unit);
  if (missing.empty())
    return {};
  if (progress)
    progress("code for " + std::to_string(missing.size()) + " kernels");
  return generate(missing);
}

/// Lowers the missing units in parallel and caches their code. Reports the first error in the order
/// of the units.
Status CodeGenerator::generate(llvm::ArrayRef<Unit *> missing) {
  for (bool isCpu : {true, false}) {
    auto one = llvm::find_if(missing, [&](Unit *unit) { return bool(unit->cpu) == isCpu; });
    if (one == missing.end())
      continue;
    HEDDLE_TRY(loadDialects(compilation, isCpu ? Stage::Llvm : Stage::Spirv, optionsOf(**one)));
  }
  mlir::parallelFor(tiled.front().module->getContext(), 0, missing.size(), [&](size_t i) {
    Unit &unit = *missing[i];
    unit.status = unit.cpu ? generateObject(compilation, unit) : generateShader(compilation, unit);
    if (unit.status)
      cache.keep(unit.key, unit.code);
  });
  for (Unit *unit : missing)
    if (!unit->status)
      return compilation.explained(unit->status.takeError());
  cache.limit();
  return {};
}

/// Words of a shader from its bytes.
std::vector<uint32_t> wordsOf(llvm::StringRef code) {
  std::vector<uint32_t> words(code.size() / sizeof(uint32_t));
  std::memcpy(words.data(), code.data(), words.size() * sizeof(uint32_t));
  return words;
}

Expected<GeneratedCode> CodeGenerator::collect() {
  GeneratedCode code;
  for (const CpuTarget &cpu : instructionSets) {
    if (program.kernels.empty()) // functions that return their inputs need no code
      break;
    std::vector<std::string> objects;
    for (Unit &unit : units)
      if (unit.cpu == &cpu)
        objects.push_back(std::move(unit.code));
    code.cpu.push_back({cpu.name, cpu.required, HEDDLE_TRY(linkSharedObject(objects))});
  }
  for (Unit &unit : units)
    if (!unit.cpu)
      code.shaders.push_back(
          {ArtifactWriter::vulkanMember(unit.kernel.getSymName(), unit.gpu->name()),
           wordsOf(unit.code)});
  HEDDLE_TRY(finishVariants(program, code.shaders));
  code.program = std::move(program);
  code.pieces = static_cast<int>(units.size());
  code.cachedPieces =
      static_cast<int>(llvm::count_if(units, [](Unit &unit) { return unit.found; }));
  return code;
}

} // namespace

Expected<GeneratedCode> generateCode(Compilation &compilation, const CompileOptions &options) {
  auto targets = HEDDLE_TRY(parseTargets(options.targets));
  auto names = HEDDLE_TRY(checkedCpus(options));
  std::vector<CpuTarget> cpus;
  for (const std::string &name : names)
    cpus.push_back(HEDDLE_TRY(findCpuTarget(name)));
  auto levels = HEDDLE_TRY(gpuTargetsUpTo(options.vulkanLevel));
  auto cache = HEDDLE_TRY(KernelCache::open());
  HEDDLE_TRY(compilation.advance(Stage::Program));
  CodeGenerator generator(compilation, std::move(cache));
  for (TargetKind target : targets) {
    if (target == TargetKind::Cpu) {
      HEDDLE_TRY(generator.addCpus(cpus));
      continue;
    }
    for (const GpuTarget *gpu : levels)
      HEDDLE_TRY(generator.addVulkan(*gpu));
  }
  HEDDLE_TRY(generator.makeProgram());
  HEDDLE_TRY(generator.run(options.progress));
  return generator.collect();
}

} // namespace heddle
