//===- ObjectCodeTest.cpp - Object code and its linking -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What leaves the compiler for a CPU: vectors of the right width, equal bytes
// for equal modules, and nothing that a library would have to supply.

#include "heddle/Target/ObjectCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace heddle;

/// x * x + x on 16 lanes.
static const char *square = R"(
func.func @square(%p: !llvm.ptr) {
  %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
  %r = math.roundeven %x : vector<16xf32>
  %y = math.fma %x, %r, %x : vector<16xf32>
  llvm.store %y, %p {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
  return
})";

namespace {
struct Parsed {
  explicit Parsed(const char *text) {
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                    mlir::vector::VectorDialect>();
    registerLlvmTranslation(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
Expected<std::vector<char>> sharedObject(mlir::ModuleOp module, const CpuTarget &target) {
  auto object = emitCpuObject(module, target);
  if (!object)
    return object.takeError();
  return linkSharedObject({*object});
}
} // namespace

TEST(ObjectCode, UsesTheVectorsOfTheInstructionSet) {
  Parsed parsed(square);
  auto narrow = emitAssembly(*parsed.module, *findCpuTarget("x86-64-v3"));
  auto wide = emitAssembly(*parsed.module, *findCpuTarget("x86-64-v4"));
  ASSERT_TRUE(static_cast<bool>(narrow)) << narrow.error().message;
  ASSERT_TRUE(static_cast<bool>(wide)) << wide.error().message;
  EXPECT_EQ(narrow->find("zmm"), std::string::npos);
  EXPECT_NE(narrow->find("vroundps"), std::string::npos);
  EXPECT_NE(wide->find("zmm"), std::string::npos);
  auto text = emitLlvmText(*parsed.module, *findCpuTarget("x86-64-v4"));
  ASSERT_TRUE(static_cast<bool>(text)) << text.error().message;
  EXPECT_NE(text->find("define void @square"), std::string::npos);
}

TEST(ObjectCode, EqualModulesGiveEqualBytes) {
  Parsed first(square), second(square);
  auto a = sharedObject(*first.module, *findCpuTarget("x86-64-v3"));
  auto b = sharedObject(*second.module, *findCpuTarget("x86-64-v3"));
  ASSERT_TRUE(static_cast<bool>(a)) << a.error().message;
  ASSERT_TRUE(static_cast<bool>(b)) << b.error().message;
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(std::string(a->data() + 1, 3), "ELF");
}

/// Without fused multiply-add LLVM would call fmaf: the linker refuses.
TEST(ObjectCode, RefusesFunctionsOfALibrary) {
  Parsed parsed(square);
  auto object = sharedObject(*parsed.module, *findCpuTarget("x86-64-v2"));
  ASSERT_FALSE(static_cast<bool>(object));
  EXPECT_NE(object.error().message.find("fmaf"), std::string::npos) << object.error().message;
}

TEST(CpuTargets, AreDescribed) {
  for (const std::string &name : cpuTargetNames()) {
    auto target = findCpuTarget(name);
    ASSERT_TRUE(static_cast<bool>(target));
    EXPECT_FALSE(target->required.empty());
    for (CpuFragment fragment : target->fragments)
      EXPECT_EQ(fragment.columns % std::max<int64_t>(target->lanes, 16), 0) << name;
  }
  EXPECT_EQ(findCpuTarget("x86-64-v4")->lanes, 16);
  EXPECT_FALSE(findCpuTarget("x86-64-v2")->fusedMultiplyAdd);
  EXPECT_EQ(
      findCpuTarget("z80").error().message,
      "expected one of aarch64-fp16, aarch64, x86-64-v4-vnni-bf16, x86-64-v4-amx, x86-64-v4-vnni, "
      "x86-64-v4-bf16, x86-64-v4-fp16, x86-64-v4, x86-64-v3-vnni, x86-64-v3, x86-64-v2, native as "
      "instruction set, "
      "found 'z80'");
}
