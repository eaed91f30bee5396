//===- TestProgram.h - A small program for tests -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that uses every field. Its kernels have no code.
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

inline Function testFunction() {
  SizeExpr b = SizeExpr::dim("B"), s = SizeExpr::dim("S");
  Function f;
  f.name = "encode";
  f.dims = {"B", "S"};
  f.stateDims = {"P"};
  f.inputs = {{.name = "source",
               .type = DType::I32,
               .shape = {b, s},
               .buffer = 0,
               .dense = true,
               .range = std::pair(SizeExpr(0), SizeExpr(100))},
              {.name = "lengths",
               .type = DType::I32,
               .shape = {b},
               .buffer = 2,
               .dense = true,
               .fallback = {DefaultInput::Kind::LengthsOf, "source", 0}}};
  f.outputs = {{.name = "memory", .shape = {b, s, 64}, .buffer = 3}};
  f.buffers.resize(4);
  f.buffers[0] = {"ids", Buffer::Kind::Argument, b * s, 0, 0, ""};
  f.buffers[1] = {"x", Buffer::Kind::Temporary, b * SizeExpr::roundUp(s, 16) * 64, 0, 0, ""};
  f.buffers[2] = {"len", Buffer::Kind::Table, b * 64, 0, 0, "sinusoidal(64)"};
  f.buffers[3] = {"cache", Buffer::Kind::State, b * 64, 0, 0, ""};
  Launch launch;
  launch.kernel = "project";
  launch.arguments = {{LaunchArgument::Kind::Buffer, 0, 0},
                      {LaunchArgument::Kind::Weight, 0, 0},
                      {LaunchArgument::Kind::Buffer, 1, SizeExpr::dim("P") * 64}};
  launch.scalars = {b * s, SizeExpr::dim("P") - 1};
  launch.flops = b * s * 8192;
  f.launches.push_back(launch);
  f.checks.push_back({Check::Kind::AtMost, SizeExpr::dim("P"), 255, "cache is full: {left}"});
  f.states.push_back({"decoder.0.self.key", 3});
  f.updates.emplace_back("P", SizeExpr::dim("P") + 1);
  return f;
}

/// A program with weights: [32, 64] in panels at byte 0, and a vector of 20 at byte 8192.
inline Program testProgram() {
  Program program;
  program.functions.push_back(testFunction());
  KernelArgument memory, weight, result;
  weight.storage = KernelArgument::Storage::Weight;
  result.written = true;
  Kernel project{"project", {memory, weight, result}, {"d0", "d1"}, KernelCode(), {}};
  project.cpu->grid[0].scalar = 0;
  project.cpu->grid[1] = {1, 96, 1};
  Kernel attend{"attend", {memory, result}, {"d0"}, {}, {}};
  attend.vulkan = {
      {{}, "vulkan/l0/attend.spv", {64, 1, 1}, 2, {"shaderInt64"}, 32, {MatrixShape{16, 16, 8}}}};
  program.kernels = {project, attend};
  program.weights = {{"w", 0, 32 * 64}, {"b", 8192, 32}};
  program.pack = {{"w", {32, 64}, PackEntry::Layout::Panels, 16, 0, 0},
                  {"b", {20}, PackEntry::Layout::Vector, 10, 0, 1}};
  program.weightBytes = 8192 + 256;
  program.model = R"({"layout":"batch-first"})";
  return program;
}

} // namespace heddle
