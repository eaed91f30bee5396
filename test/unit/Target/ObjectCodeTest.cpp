//===- ObjectCodeTest.cpp - Object code and its linking -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the compiler's output for CPUs: vectors of the right width, equal bytes
// for equal modules, and no imports from libraries.

#include "heddle/Target/ObjectCode.h"

#include "TemporaryFolder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace heddle;

/// x * round(x) + x on 16 lanes.
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

/// Whether linking gives equal bytes on a system without files in memory, and leaves no file in the
/// temporary folder.
static bool linksWithoutMemory(const std::string &object, const std::vector<char> &expected) {
  const test::TemporaryFolder folder;
  setenv("TMPDIR", folder.path().c_str(), 1);
  sock_filter refusal[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(refusal), refusal};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return false;
  auto linked = linkSharedObject({object});
  return linked && *linked == expected && std::filesystem::is_empty(folder.path());
}

TEST(ObjectCode, LinksInAFolderWhereMemoryHasNoFiles) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe"; // inherits no lock of another thread
  Parsed parsed(square);
  auto object = emitCpuObject(*parsed.module, *findCpuTarget("x86-64-v3"));
  ASSERT_TRUE(static_cast<bool>(object)) << object.error().message;
  auto expected = linkSharedObject({*object});
  ASSERT_TRUE(static_cast<bool>(expected)) << expected.error().message;
  EXPECT_EXIT(_exit(linksWithoutMemory(*object, *expected) ? 0 : 1), testing::ExitedWithCode(0),
              "");
}

/// Without fused multiply-add LLVM would call fmaf, which the linker rejects.
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
      "x86-64-v4-bf16, x86-64-v4-amx-bf16, x86-64-v4-fp16, x86-64-v4, x86-64-v3-vnni, x86-64-v3, "
      "x86-64-v2, native as "
      "instruction set, "
      "found 'z80'");
}
