//===- ProgramFields.h - The fields of a program, once ---------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list of fields for each structure of Program.h, visited by the writer and
// by the reader of JSON, so that the two cannot disagree. The order is that of
// the file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Program.h"

#include <string_view>
#include <utility>

namespace heddle {

template <typename Enum>
struct EnumNames;

template <>
struct EnumNames<DType> {
  static constexpr std::pair<DType, std::string_view> all[] = {
      {DType::F32, "f32"}, {DType::F16, "f16"},   {DType::BF16, "bf16"}, {DType::I32, "i32"},
      {DType::I64, "i64"}, {DType::Bool, "bool"}, {DType::I8, "i8"},     {DType::I4, "i4"}};
};
template <>
struct EnumNames<Buffer::Kind> {
  static constexpr std::pair<Buffer::Kind, std::string_view> all[] = {
      {Buffer::Kind::Temporary, "temporary"},
      {Buffer::Kind::Argument, "argument"},
      {Buffer::Kind::State, "state"},
      {Buffer::Kind::Table, "table"}};
};
template <>
struct EnumNames<DefaultInput::Kind> {
  static constexpr std::pair<DefaultInput::Kind, std::string_view> all[] = {
      {DefaultInput::Kind::None, "none"},
      {DefaultInput::Kind::LengthsOf, "lengths_of"},
      {DefaultInput::Kind::RunningLengths, "running_lengths"}};
};
template <>
struct EnumNames<LaunchArgument::Kind> {
  static constexpr std::pair<LaunchArgument::Kind, std::string_view> all[] = {
      {LaunchArgument::Kind::Buffer, "buffer"}, {LaunchArgument::Kind::Weight, "weight"}};
};
template <>
struct EnumNames<Check::Kind> {
  static constexpr std::pair<Check::Kind, std::string_view> all[] = {
      {Check::Kind::Equal, "equal"}, {Check::Kind::AtMost, "at_most"}};
};
template <>
struct EnumNames<KernelArgument::Storage> {
  static constexpr std::pair<KernelArgument::Storage, std::string_view> all[] = {
      {KernelArgument::Storage::Memory, "memory"}, {KernelArgument::Storage::Weight, "weight"}};
};
template <>
struct EnumNames<PackEntry::Layout> {
  static constexpr std::pair<PackEntry::Layout, std::string_view> all[] = {
      {PackEntry::Layout::Vector, "vector"},
      {PackEntry::Layout::Rows, "rows"},
      {PackEntry::Layout::Panels, "panels"},
      {PackEntry::Layout::Scales, "scales"}};
};

template <typename Visitor>
void visitFields(Visitor &v, Buffer &buffer) {
  v("name", buffer.name);
  v("kind", buffer.kind);
  v("elements", buffer.elements);
  v("first", buffer.first);
  v("last", buffer.last);
  v("generator", buffer.generator);
}

template <typename Visitor>
void visitFields(Visitor &v, DefaultInput &fallback) {
  v("kind", fallback.kind);
  v("source", fallback.source);
  v("padding", fallback.padding);
}

template <typename Visitor>
void visitFields(Visitor &v, Port &port) {
  v("name", port.name);
  v("type", port.type);
  v("shape", port.shape);
  v("buffer", port.buffer);
  v("group", port.group);
  v("dense", port.dense);
  v("range", port.range);
  v("starts", port.starts);
  v("within", port.within);
  v("longest", port.longest);
  v("spread", port.spread);
  v("exchanged", port.exchanged);
  v("default", port.fallback);
}

template <typename Visitor>
void visitFields(Visitor &v, Weight &weight) {
  v("name", weight.name);
  v("offset", weight.offset);
  v("elements", weight.elements);
}

template <typename Visitor>
void visitFields(Visitor &v, LaunchArgument &argument) {
  v("kind", argument.kind);
  v("index", argument.index);
  v("offset", argument.offset);
}

template <typename Visitor>
void visitFields(Visitor &v, Launch &launch) {
  v("kernel", launch.kernel);
  v("arguments", launch.arguments);
  v("scalars", launch.scalars);
  v("flops", launch.flops);
  v("bytes", launch.bytes);
}

template <typename Visitor>
void visitFields(Visitor &v, Check &check) {
  v("kind", check.kind);
  v("left", check.left);
  v("right", check.right);
  v("message", check.message);
}

template <typename Visitor>
void visitFields(Visitor &v, StateUse &state) {
  v("name", state.name);
  v("buffer", state.buffer);
}

template <typename Visitor>
void visitFields(Visitor &v, Function &function) {
  v("name", function.name);
  v("dims", function.dims);
  v("state_dims", function.stateDims);
  v("inputs", function.inputs);
  v("outputs", function.outputs);
  v("buffers", function.buffers);
  v("launches", function.launches);
  v("checks", function.checks);
  v("states", function.states);
  v("updates", function.updates);
  v("starts_states", function.startsStates);
  v("reorder_by", function.reorderBy);
  v("needs_session", function.needsSession);
}

template <typename Visitor>
void visitFields(Visitor &v, GridAxis &axis) {
  v("scalar", axis.scalar);
  v("tile", axis.tile);
  v("count", axis.count);
}

template <typename Visitor>
void visitFields(Visitor &v, KernelCode &code) {
  v("grid", code.grid);
  v("member", code.member);
  v("workgroup", code.workgroup);
}

template <typename Visitor>
void visitFields(Visitor &v, KernelArgument &argument) {
  v("storage", argument.storage);
  v("written", argument.written);
}

template <typename Visitor>
void visitFields(Visitor &v, Kernel &kernel) {
  v("name", kernel.name);
  v("arguments", kernel.arguments);
  v("scalars", kernel.scalars);
  v("cpu", kernel.cpu);
  v("vulkan", kernel.vulkan);
  v("products", kernel.products);
}

template <typename Visitor>
void visitFields(Visitor &v, PackEntry &entry) {
  v("tensor", entry.tensor);
  v("shape", entry.shape);
  v("rows", entry.rows);
  v("layout", entry.layout);
  v("type", entry.type);
  v("row_group", entry.rowGroup);
  v("column_group", entry.columnGroup);
  v("weight", entry.weight);
}

template <typename Visitor>
void visitFields(Visitor &v, Program &program) {
  v("functions", program.functions);
  v("kernels", program.kernels);
  v("weights", program.weights);
  v("pack", program.pack);
  v("weight_bytes", program.weightBytes);
  v("model", program.model);
}

} // namespace heddle
