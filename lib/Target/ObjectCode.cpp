//===- ObjectCode.cpp - LLVM IR, assembly, shared objects -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation with one LLVM module and context for each function, so that
// functions are compiled on all cores in parallel:
//
//   llvm dialect -> one LLVM module each -> a few passes of O2 -> object ->
//   one shared object
//
// Kernels call no library functions: idiom recognition is disabled, and the
// linker rejects undefined symbols.

#include "heddle/Target/ObjectCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

#include "heddle/Support/Try.h"

#include <functional>
#include <mutex>

using namespace heddle;

namespace {
/// A function with its LLVM module, target machine and output.
struct Unit {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string output;
  std::string failure; ///< empty: success
};

enum class Output { Text, Assembly, Object };
} // namespace

/// Whether this thread emits code of a kernel.
static thread_local bool emitsKernel = false;

/// Disables the machine combiner in x86 kernels. It turns ascending integer sums into trees, whose
/// partial sums need more registers than are available. The sums of a product are already many
/// short chains.
static void leaveOutCombiner(llvm::TargetMachine &machine, llvm::PassManagerBase &,
                             llvm::TargetPassConfig *config) {
  if (emitsKernel && machine.getTargetTriple().isX86())
    config->disablePass(&llvm::MachineCombinerID);
}

/// LLVM's target machine. The first call registers all targets.
static Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    static const llvm::RegisterTargetPassConfigCallback callback(leaveOutCombiner);
  });
  std::string error;
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return deviceError(target.name + ": " + error);
  llvm::TargetOptions options;
  // No contraction: products and sums stay separate unless the code says fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

//===- MLIR's side -------------------------------------------------------===//

/// Runs the conversions on a copy of the module. Returns MLIR's first error.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowerCopy(mlir::ModuleOp module) {
  std::string message;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::PassManager manager(module.getContext());
  addLowerToLlvmPasses(manager);
  if (mlir::failed(manager.run(*copy)))
    return deviceError("lowering to the llvm dialect failed: " + message);
  return copy;
}

/// Sets the target of each function. `no-builtins` keeps LLVM from replacing loops by library
/// calls.
static void setAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    if (!target.tune.empty())
      function.addFnAttr("tune-cpu", target.tune);
    std::string bits = std::to_string(target.lanes * 32);
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Translates a module with one function.
static Expected<std::unique_ptr<Unit>> translateOne(mlir::ModuleOp single, llvm::StringRef name,
                                                    const CpuTarget &target) {
  auto unit = std::make_unique<Unit>();
  unit->module = mlir::translateModuleToLLVMIR(single, unit->context, name);
  if (!unit->module)
    return deviceError(name.str() + ": the translation to LLVM IR failed");
  unit->machine = HEDDLE_TRY(createMachine(target));
  unit->module->setSourceFileName("");
  unit->module->setTargetTriple(unit->machine->getTargetTriple());
  unit->module->setDataLayout(unit->machine->createDataLayout());
  setAttributes(*unit->module, target);
  return unit;
}

/// Translates each function to a separate module.
static Expected<std::vector<std::unique_ptr<Unit>>> translate(mlir::ModuleOp lowered,
                                                              const CpuTarget &target) {
  std::vector<std::unique_ptr<Unit>> units;
  auto functions = llvm::to_vector(lowered.getOps<mlir::LLVM::LLVMFuncOp>());
  for (mlir::LLVM::LLVMFuncOp function : functions) {
    mlir::OwningOpRef<mlir::ModuleOp> single;
    if (functions.size() > 1) {
      single = mlir::ModuleOp::create(function.getLoc());
      single->push_back(function.clone());
    }
    auto unit = HEDDLE_TRY(translateOne(single ? *single : lowered, function.getName(), target));
    units.push_back(std::move(unit));
  }
  return units;
}

//===- LLVM's side -------------------------------------------------------===//

/// Clean-up of code that is already vectorized, unrolled and mostly simplified. All of O2 takes 0.8
/// s longer for a Transformer and yields kernels of equal speed.
static constexpr llvm::StringLiteral cleanup =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,"
    "lcssa,loop-mssa(loop-rotate,licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg)";

static llvm::Error optimize(Unit &unit) {
  llvm::PassBuilder builder(unit.machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(unit.machine->getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, cleanup))
    return error;
  passes.run(*unit.module, modules);
  return llvm::Error::success();
}

/// Disables loop strength reduction, which took two fifths of the time of LLVM's back end. The
/// addresses of kernels are already pointers that advance, and the pass causes more spills: 6,370
/// instead of 5,237 in the kernels of a bf16 decoder.
class WithoutStrengthReduction : public llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return pass != "Loop Strength Reduction";
  }
};

/// Optimizes a unit and emits its code. Errors are stored in `failure`, because units run on a
/// thread pool.
static void generate(Unit &unit, Output kind) {
  if (llvm::Error error = optimize(unit)) {
    unit.failure = llvm::toString(std::move(error));
    return;
  }
  static WithoutStrengthReduction gate;
  unit.context.setOptPassGate(gate);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (kind == Output::Text) {
    unit.module->print(stream, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    const llvm::SaveAndRestore emits(emitsKernel, true);
    auto file = kind == Output::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
    if (unit.machine->addPassesToEmitFile(passes, stream, nullptr, file)) {
      unit.failure = "LLVM emits no object code for it";
      return;
    }
    passes.run(*unit.module);
  }
  unit.output = bytes.str().str();
}

/// The output of each function. Several functions are compiled in parallel.
static Expected<std::vector<std::string>> compile(mlir::ModuleOp module, const CpuTarget &target,
                                                  Output kind) {
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  if (!module.getOps<mlir::func::FuncOp>().empty()) {
    copy = HEDDLE_TRY(lowerCopy(module));
  }
  auto units = HEDDLE_TRY(translate(copy ? *copy : module, target));
  if (units.size() == 1) // the caller may be one of many threads
    generate(*units.front(), kind);
  else
    mlir::parallelForEach(module.getContext(), units,
                          [&](std::unique_ptr<Unit> &unit) { generate(*unit, kind); });
  std::vector<std::string> outputs;
  for (std::unique_ptr<Unit> &unit : units) {
    if (!unit->failure.empty())
      return deviceError(target.name + ": " + unit->failure);
    outputs.push_back(std::move(unit->output));
  }
  return outputs;
}

static Expected<std::string> joined(Expected<std::vector<std::string>> texts) {
  if (!texts)
    return texts.takeError();
  std::string result;
  for (const std::string &text : *texts)
    result += text;
  return result;
}

Expected<std::string> heddle::emitLlvmText(mlir::ModuleOp module, const CpuTarget &target) {
  return joined(compile(module, target, Output::Text));
}

Expected<std::string> heddle::emitAssembly(mlir::ModuleOp module, const CpuTarget &target) {
  return joined(compile(module, target, Output::Assembly));
}

Expected<std::string> heddle::emitCpuObject(mlir::ModuleOp module, const CpuTarget &target) {
  assert(llvm::hasSingleElement(module.getOps()) && "one kernel an object");
  auto objects = HEDDLE_TRY(compile(module, target, Output::Object));
  return std::move(objects.front());
}
