//===- Toy.cpp - A hand-written model ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written programs and their conversion to artifacts.
#include "Toy.h"
#include "TemporaryFolder.h"

#include "heddle/Runtime/Vulkan/VulkanCode.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace heddle::test {

static SizeExpr size(const char *text) { return *SizeExpr::parse(text); }

static Buffer buffer(const char *name, Buffer::Kind kind, const char *elements, int first = 0,
                     int last = 0) {
  Buffer made;
  made.name = name;
  made.kind = kind;
  made.elements = size(elements);
  made.first = first;
  made.last = last;
  return made;
}

static Port port(const char *name, DType type, std::vector<const char *> shape, int buffer) {
  Port made;
  made.name = name;
  made.type = type;
  for (const char *dim : shape)
    made.shape.push_back(size(dim));
  made.buffer = buffer;
  return made;
}

static Launch launch(const char *kernel, std::vector<int> buffers, const char *scalar) {
  Launch made;
  made.kernel = kernel;
  for (int index : buffers)
    made.arguments.push_back({LaunchArgument::Kind::Buffer, index, SizeExpr(0)});
  made.scalars = {size(scalar)};
  return made;
}

static Function triple() {
  Function function;
  function.name = "triple";
  function.dims = {"B", "T"};
  function.buffers = {buffer("x", Buffer::Kind::Argument, "B*T*32"),
                      buffer("t", Buffer::Kind::Temporary, "B*T*32", 0, 1),
                      buffer("y", Buffer::Kind::Argument, "B*T*32")};
  function.inputs = {port("x", DType::F32, {"B", "T", "20"}, 0)};
  function.outputs = {port("y", DType::F32, {"B", "T", "20"}, 2)};
  function.launches = {launch("add", {0, 0, 1}, "B*T*32"), launch("add", {0, 1, 2}, "B*T*32")};
  return function;
}

static Function count() {
  Function function;
  function.name = "count";
  function.dims = {"B", "S"};
  function.buffers = {buffer("ids", Buffer::Kind::Argument, "B*S"),
                      buffer("lengths", Buffer::Kind::Argument, "B")};
  function.inputs = {port("ids", DType::I32, {"B", "S"}, 0), port("lengths", DType::I32, {"B"}, 1)};
  function.inputs[0].range = {SizeExpr(0), SizeExpr(100)};
  function.inputs[1].range = {SizeExpr(0), size("S + 1")};
  function.inputs[1].fallback = {DefaultInput::Kind::LengthsOf, "ids", 0};
  function.outputs = {port("lengths", DType::I32, {"B"}, 1)};
  return function;
}

static Function start() {
  Function function;
  function.name = "start";
  function.dims = {"B"};
  function.buffers = {buffer("x", Buffer::Kind::Argument, "B*16")};
  function.inputs = {port("x", DType::F32, {"B", "16"}, 0)};
  function.updates = {{"P", SizeExpr(0)}};
  function.startsStates = function.needsSession = true;
  return function;
}

static Function step() {
  Function function;
  function.name = "step";
  function.dims = {"B"};
  function.stateDims = {"P"};
  function.buffers = {
      buffer("x", Buffer::Kind::Argument, "B*16"), buffer("sum", Buffer::Kind::State, "B*16"),
      buffer("y", Buffer::Kind::Argument, "B*16"), buffer("counts", Buffer::Kind::Argument, "B"),
      buffer("lengths", Buffer::Kind::Argument, "B")};
  function.inputs = {port("x", DType::F32, {"B", "1", "16"}, 0),
                     port("counts", DType::I32, {"B"}, 3), port("lengths", DType::I32, {"B"}, 4)};
  function.inputs[1].range = {0, 2};
  function.inputs[2].fallback = {DefaultInput::Kind::RowsAfter, "P"};
  function.outputs = {port("y", DType::F32, {"B", "1", "16"}, 2),
                      port("lengths", DType::I32, {"B"}, 4)};
  function.launches = {launch("accumulate", {0, 1, 2}, "B*16")};
  function.checks = {{Check::Kind::AtMost, size("P"), SizeExpr(5),
                      "step: expected at most {right} steps, found step {left}"}};
  function.states = {{"sum", 1}};
  function.appendsTo = "P";
  function.appendsBy = "counts";
  function.appends = 1;
  function.needsSession = true;
  return function;
}

static Function reorder() {
  Function function;
  function.name = "reorder";
  function.dims = {"N"};
  function.buffers = {buffer("parents", Buffer::Kind::Argument, "N"),
                      buffer("sum", Buffer::Kind::State, "N*16")};
  function.inputs = {port("parents", DType::I32, {"N"}, 0)};
  function.states = {{"sum", 1}};
  function.reorderBy = "parents";
  function.needsSession = true;
  return function;
}

static Function fill() {
  Function function;
  function.name = "fill";
  function.dims = {"B", "S"};
  function.buffers = {buffer("x", Buffer::Kind::Argument, "B*S*32"),
                      buffer("memory", Buffer::Kind::State, "B*S*32"),
                      buffer("rows", Buffer::Kind::Argument, "B")};
  function.buffers[1].matrices = 2;
  function.inputs = {port("x", DType::F32, {"B", "2", "S", "16"}, 0),
                     port("rows", DType::I32, {"B"}, 2)};
  function.inputs[1].fallback = {DefaultInput::Kind::NoRowsOf, "x"};
  function.launches = {launch("add", {0, 0, 1}, "B*S*32")};
  function.states = {{"memory", 1}};
  function.updates = {{"P", SizeExpr(0)}, {"B", size("B")}, {"S", size("S")}};
  function.startsStates = function.needsSession = true;
  function.replaceBy = "rows";
  function.pads = "S";
  return function;
}

static Function show() {
  Function function;
  function.name = "show";
  function.stateDims = {"B", "S"};
  function.buffers = {buffer("memory", Buffer::Kind::State, "B*S*32"),
                      buffer("y", Buffer::Kind::Argument, "B*S*32")};
  function.outputs = {port("y", DType::F32, {"B", "2", "S", "16"}, 1)};
  function.launches = {launch("add", {0, 0, 1}, "B*S*32")};
  function.states = {{"memory", 0}};
  function.needsSession = true;
  return function;
}

static Function permute() {
  Function function = reorder();
  function.name = "permute";
  function.stateDims = {"B", "S"};
  function.buffers[1] = buffer("memory", Buffer::Kind::State, "N*S*32");
  function.states = {{"memory", 1}};
  function.updates = {{"B", size("N")}};
  return function;
}

static Kernel kernel(const char *name, std::vector<bool> written) {
  Kernel made;
  made.name = name;
  for (bool w : written)
    made.arguments.push_back({KernelArgument::Storage::Memory, w});
  made.scalars = {"n"};
  KernelCode code;
  code.grid[0] = {0, 64, 1};
  made.cpu = code;
  made.vulkan = {{code, ArtifactWriter::vulkanMember(name), {16, 1, 1}}};
  return made;
}

Program toyProgram() {
  Program program;
  program.functions = {triple(), count(), start(), step(), reorder()};
  program.kernels = {kernel("add", {false, false, true}),
                     kernel("accumulate", {false, true, true})};
  program.model = "{}";
  return program;
}

Program memoryProgram() {
  Program program = toyProgram();
  program.functions = {fill(), show(), permute()};
  program.kernels.pop_back();
  return program;
}

std::vector<char> compileC(const std::string &path) {
  test::TemporaryFolder folder;
  std::string object = folder / "toy.so";
  std::string command = std::string(HEDDLE_TEST_C_COMPILER) +
                        " -std=c99 -O2 -fPIC -shared -nostdlib -o " + object + " " + path;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(object, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<uint32_t> readSpirv(const std::string &kernel) {
  std::ifstream file(std::string(HEDDLE_TEST_KERNELS) + "/" + kernel + ".spv", std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

Artifact toyArtifact(Program program) {
  static const std::vector<char> object =
      compileC(std::string(HEDDLE_SOURCE_DIR) + "/test/unit/Runtime/kernels/toy.c");
  std::vector<Kernel> kernels = program.kernels;
  ArtifactWriter writer(std::move(program));
  writer.addCpu("baseline", {}, object);
  for (const Kernel &made : kernels)
    writer.addVulkan(ArtifactWriter::vulkanMember(made.name), readSpirv(made.name));
  auto artifact = writer.build("toy", [](std::span<std::byte>) { return Status(); });
  EXPECT_TRUE(artifact) << artifact.error().message;
  return std::move(*artifact);
}

static bool driversWereLoaded = false;

/// Disables leak checks after drivers were loaded. Drivers and layers leak, and they are unloaded
/// before the leak checker could attribute their memory.
extern "C" int __lsan_is_turned_off() { return driversWereLoaded; }

bool hasVulkan() {
  driversWereLoaded = true;
  static const bool found = [] {
    setenv("HEDDLE_VULKAN_VALIDATION", "1", 1);
    if (listVulkanDevices())
      return true;
    unsetenv("HEDDLE_VULKAN_VALIDATION");
    return static_cast<bool>(listVulkanDevices());
  }();
  return found && !readSpirv("add").empty();
}

Tensor counting(std::vector<int64_t> shape, float first, float step) {
  Tensor tensor(DType::F32, std::move(shape));
  float value = first;
  for (float &element : tensor.values<float>()) {
    element = value;
    value += step;
  }
  return tensor;
}

void DeviceTest::SetUp() {
  if (std::string_view(GetParam()) == "vulkan" && !hasVulkan())
    GTEST_SKIP() << "no Vulkan device or no glslangValidator";
}

Session DeviceTest::open(SessionOptions options, Program program) {
  options.device = GetParam();
  auto session = Session::fromArtifact(toyArtifact(std::move(program)), options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

} // namespace heddle::test
