//===- KernelRunner.cpp - Compiles a body and runs it ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles bodies by the production path: the pass, the object emission and the linker.

#include "KernelRunner.h"

#include "AmxEmulator.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"
#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Target/ObjectCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <immintrin.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

std::string test::readBody(const std::string &name,
                           const std::vector<std::pair<std::string, std::string>> &replacements) {
  std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/test/data/bodies/" + name);
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
  if (!handle) {
    close(file);
    return deviceError(dlerror());
  }
  // The file stays open as long as the code is loaded. A second file with the same name would be
  // mistaken for it.
  return std::shared_ptr<void>(handle, [file](void *library) {
    dlclose(library);
    close(file);
  });
}

static bool isEmulated(const std::string &isa) { return isa.starts_with("aarch64"); }

CompiledKernel::Axis CompiledKernel::axisOf(kernel::FuncOp func, kernel::Size size, int64_t tile) {
  if (size.isStatic())
    return {-1, tile, (size.value + tile - 1) / tile};
  return {static_cast<int>(func.getScalarIndex(size.name)), tile, 1};
}

/// The last axis counts the tiles of all parts. Parts in these tests have static sizes.
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
  result.name = func.getSymName().str();
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
  if (isEmulated(isa))
    return result;
  auto library = load(result.bytes);
  if (!library)
    return library.takeError();
  result.library = *library;
  result.function = reinterpret_cast<Function>(dlsym(result.library.get(), result.name.c_str()));
  if (!result.function)
    return deviceError("the shared object has no " + result.name);
  return result;
}

void CompiledKernel::run(const std::vector<std::span<std::byte>> &arguments,
                         const std::vector<int64_t> &scalars) const {
  int64_t extent[3];
  for (int axis = 0; axis < 3; ++axis) {
    const Axis &a = grid[axis];
    extent[axis] = a.scalar < 0 ? a.count : (scalars[a.scalar] + a.tile - 1) / a.tile;
  }
  if (!function)
    return runEmulated(arguments, scalars, extent);
  std::vector<void *> pointers;
  for (std::span<std::byte> argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr); // no prefetch address
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t k = 0; k < extent[2]; ++k)
        function(pointers.data(), scalars.data(), i, j, k);
}

//===- Code of another architecture --------------------------------------===//

bool CompiledKernel::runsHere(const std::string &isa) {
  if (auto target = findCpuTarget(isa); target && !isEmulated(isa)) {
    const std::vector<std::string> missing = missingCpuFeatures(target->required);
    auto isOfAmx = [](const std::string &feature) { return feature.starts_with("amx"); };
    return missing.empty() || (std::ranges::all_of(missing, isOfAmx) && emulateAmx());
  }
#ifdef HEDDLE_CROSS_RUNNER
  return true;
#else
  return !isEmulated(isa);
#endif
}

#ifdef HEDDLE_CROSS_RUNNER

namespace {
/// A file that other processes can open by its path during its lifetime.
class SharedFile {
public:
  explicit SharedFile(size_t size) : file(memfd_create("call", 0)), size(size) {
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
      abort();
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
      abort();
  }
  ~SharedFile() {
    munmap(memory, size);
    close(file);
  }
  std::byte *data() { return static_cast<std::byte *>(memory); }
  std::string path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  }

private:
  int file;
  size_t size;
  void *memory;
};
} // namespace

void CompiledKernel::runEmulated(const std::vector<std::span<std::byte>> &arguments,
                                 const std::vector<int64_t> &scalars,
                                 const int64_t (&extent)[3]) const {
  std::vector<int64_t> words = {_mm_getcsr() & 0x8000 ? 1 : 0, extent[0], extent[1], extent[2],
                                static_cast<int64_t>(arguments.size())};
  size_t end = (words.size() + arguments.size() + scalars.size()) * 8;
  for (std::span<std::byte> argument : arguments) {
    end = (end + 63) / 64 * 64;
    words.push_back(static_cast<int64_t>(end));
    end += argument.size();
  }
  SharedFile call(end), object(bytes.size());
  size_t header = words.size();
  words.insert(words.end(), scalars.begin(), scalars.end());
  std::memcpy(call.data(), words.data(), words.size() * 8);
  std::memcpy(object.data(), bytes.data(), bytes.size());
  auto placeOf = [&](size_t i) { return call.data() + words[header - arguments.size() + i]; };
  for (size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(placeOf(i), arguments[i].data(), arguments[i].size());
  std::string command = std::string(HEDDLE_CROSS_RUNNER) + " " + object.path() + " " + name + " " +
                        call.path() + " " + std::to_string(end);
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "%s failed\n", command.c_str());
    abort();
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(arguments[i].data(), placeOf(i), arguments[i].size());
}

#else

void CompiledKernel::runEmulated(const std::vector<std::span<std::byte>> &,
                                 const std::vector<int64_t> &, const int64_t (&)[3]) const {
  std::fprintf(stderr, "expected an emulator, found none\n");
  abort();
}

#endif

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
