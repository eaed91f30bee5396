//===- KernelRunner.cpp - Compiles a body and runs it ---------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way from text to code is the product's own: the pass, the object emission,
// the linker.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"
#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Target/ObjectCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

std::string test::readBody(const std::string &name,
                           const std::vector<std::pair<std::string, std::string>> &replacements) {
  std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/test/Conversion/bodies/" + name);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  for (const auto &[from, to] : replacements)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

static Expected<std::shared_ptr<void>> load(const std::vector<char> &bytes) {
  int file = memfd_create("kernels", 0);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return deviceError("the shared object cannot be stored");
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  if (!handle)
    return deviceError(dlerror());
  return std::shared_ptr<void>(handle, dlclose);
}

CompiledKernel::Axis CompiledKernel::axisOf(kernel::FuncOp func, kernel::Size size, int64_t tile) {
  if (size.isStatic())
    return {-1, tile, (size.value + tile - 1) / tile};
  return {static_cast<int>(func.getScalarIndex(size.name)), tile, 1};
}

/// The tiles of all parts are the last axis; the parts of these tests have static sizes.
void CompiledKernel::setGrid(kernel::FuncOp func) {
  int64_t axes = func.getNumAxes();
  for (int64_t axis = 0; axis < axes; ++axis)
    grid[axis] = axisOf(func, func.getGridSize(axis), func.getGridTiles()[axis]);
  int64_t tiles = 0;
  for (auto part : func.getBody().getOps<kernel::PartOp>())
    tiles += axisOf(func, part.getExtent(), part.getTile()).count;
  if (func.hasParts())
    grid[axes] = {-1, 1, tiles};
}

Expected<CompiledKernel> CompiledKernel::create(const std::string &text, const std::string &isa) {
  mlir::DialectRegistry registry;
  registry.insert<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  registerLlvmTranslation(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return deviceError("the body does not parse");
  CompiledKernel result;
  auto func = *module->getOps<kernel::FuncOp>().begin();
  std::string name = func.getSymName().str();
  result.setGrid(func);
  mlir::PassManager manager(&context);
  manager.addPass(createConvertKernelToCpu({isa}));
  if (mlir::failed(manager.run(*module)))
    return deviceError("the conversion failed");
  auto target = findCpuTarget(isa);
  auto object = emitCpuObject(*module, *target);
  if (!object)
    return object.takeError();
  auto bytes = linkSharedObject({*object});
  if (!bytes)
    return bytes.takeError();
  result.bytes = std::move(*bytes);
  auto library = load(result.bytes);
  if (!library)
    return library.takeError();
  result.library = *library;
  result.function = reinterpret_cast<Function>(dlsym(result.library.get(), name.c_str()));
  if (!result.function)
    return deviceError("the shared object has no " + name);
  return result;
}

void CompiledKernel::run(const std::vector<void *> &arguments,
                         const std::vector<int64_t> &scalars) const {
  int64_t extent[3];
  for (int axis = 0; axis < 3; ++axis) {
    const Axis &a = grid[axis];
    extent[axis] = a.scalar < 0 ? a.count : (scalars[a.scalar] + a.tile - 1) / a.tile;
  }
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t k = 0; k < extent[2]; ++k)
        function(arguments.data(), scalars.data(), i, j, k);
}

Floats::Floats(int64_t count, float value, int64_t slack)
    : count(count), lines((count + slack) / 16 + 1) {
  for (Line &line : lines)
    std::fill(std::begin(line.values), std::end(line.values), value);
}

void test::fill(Floats &values, uint32_t seed) {
  for (int64_t i = 0; i < values.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(static_cast<int32_t>(seed >> 8) % 2001 - 1000) * 1e-3f;
  }
}
