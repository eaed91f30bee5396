//===- TrainingBitsTest.cpp - Training on all instruction sets ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the kernels of training of whole models on two instruction sets and
// compares the bits of their results.

#include "KernelRunner.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <bit>
#include <cstring>
#include <map>

using namespace heddle;
using namespace heddle::test;

namespace {

/// A description in test/data/goldens/training, and the instruction set whose code is
/// compared with that of x86-64-v3.
struct Case {
  const char *model, *isa;
};

/// Memory of the buffers and weights of a program.
using Memory = llvm::MapVector<mlir::Value, Floats>;

class TrainingBits : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    for (const char *isa : {"x86-64-v3", GetParam().isa})
      if (!CompiledKernel::runsHere(isa))
        GTEST_SKIP() << isa << " does not run here";
    context
        .loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                     mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    context.allowUnregisteredDialects();
    CompileOptions options;
    options.targets = {"cpu"};
    options.cpus = {"x86-64-v3"};
    options.training = true;
    auto text =
        emitStage(std::string(HEDDLE_SOURCE_DIR "/test/data/goldens/training/") + GetParam().model,
                  Stage::Tiled, options);
    ASSERT_TRUE(text) << text.error().message;
    module = mlir::parseSourceString<mlir::ModuleOp>(*text, &context);
    ASSERT_TRUE(module);
  }

  /// The first dimension of a program is 2, every other one is 20. An update has the weights' rows.
  static Dimensions dimensionsOf(kernel::ProgramOp program) {
    Dimensions dims;
    for (const std::string &name : program.getInfo().getValue().dims)
      dims[name] = dims.empty() ? 2 : 20;
    dims["twin_matrices"] = dims["twin_vectors"] = 20;
    return dims;
  }

  /// Memory before the first launch: ids and lengths are 1, numbers are above zero, so that no
  /// root gives a NaN, whose sign depends on the processor.
  Memory memoryOf(kernel::ProgramOp program) {
    Memory memory;
    program.walk([&](kernel::LaunchOp launch) {
      auto func = module->lookupSymbol<kernel::FuncOp>(launch.getKernel());
      for (auto [i, buffer] : llvm::enumerate(launch.getArguments())) {
        auto [place, isNew] = memory.try_emplace(buffer, Floats(1 << 15));
        if (!isNew)
          continue;
        Floats &values = place->second;
        fill(values, static_cast<uint32_t>(memory.size()));
        const bool holdsIndices =
            llvm::cast<kernel::ViewType>(func.getView(i).getType()).holdsIndices();
        for (int64_t at = 0; at < values.size(); ++at)
          values[at] = holdsIndices ? std::bit_cast<float>(1) : std::abs(values[at]);
      }
    });
    return memory;
  }

  const CompiledKernel &codeOf(llvm::StringRef name, const std::string &isa) {
    auto [place, isNew] = code.try_emplace({name.str(), isa});
    if (isNew) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      module->lookupSymbol(name)->print(stream);
      auto kernel = CompiledKernel::create(text, isa);
      EXPECT_TRUE(kernel) << name.str() << ": " << kernel.error().message;
      place->second = std::move(*kernel);
    }
    return place->second;
  }

  /// Runs the launches of a program in order, each on its own memory of `isa`.
  Memory run(kernel::ProgramOp program, const std::string &isa) {
    Memory memory = memoryOf(program);
    const Dimensions dims = dimensionsOf(program);
    program.walk([&](kernel::LaunchOp launch) {
      std::vector<std::span<std::byte>> arguments;
      for (auto [buffer, offset] :
           llvm::zip_equal(launch.getArguments(), launch.getOffsets().getValue()))
        arguments.push_back(
            memory.find(buffer)->second.bytes().subspan(4 * *offset.evaluate(dims)));
      std::vector<int64_t> scalars;
      for (const SizeExpr &size : launch.getScalars().getValue())
        scalars.push_back(*size.evaluate(dims));
      codeOf(launch.getKernel(), isa).run(arguments, scalars);
    });
    return memory;
  }

  static std::string nameOf(mlir::Value buffer) {
    std::string text;
    llvm::raw_string_ostream(text) << buffer;
    return text;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::pair<std::string, std::string>, CompiledKernel> code;
};

TEST_P(TrainingBits, ProgramsGiveEqualBits) {
  for (const char *name : {"gradients", "gradient_norm", "update"}) {
    SCOPED_TRACE(name);
    auto program = module->lookupSymbol<kernel::ProgramOp>(name);
    Memory before = memoryOf(program), first = run(program, "x86-64-v3"),
           second = run(program, GetParam().isa);
    size_t changed = 0;
    for (auto &[buffer, values] : first) {
      const size_t size = values.bytes().size();
      changed += std::memcmp(values.data(), before.find(buffer)->second.data(), size) != 0;
      EXPECT_EQ(std::memcmp(values.data(), second.find(buffer)->second.data(), size), 0)
          << nameOf(buffer);
    }
    EXPECT_GE(changed, 1u) << "the launches stored nothing";
  }
  EXPECT_GE(code.size(), 40u);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingBits,
                         testing::Values(Case{"annotated", "x86-64-v4"},
                                         Case{"annotated", "aarch64"}, Case{"causal", "aarch64"}),
                         [](const auto &info) {
                           std::string name = std::string(info.param.model) + "_" + info.param.isa;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

} // namespace
