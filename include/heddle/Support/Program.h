//===- Program.h - What an artifact runs -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is data, not code: named functions, each a list of kernel launches
// over buffers whose sizes are expressions of named dynamic dimensions. The
// compiler fills these structures, the artifact's manifest holds them as JSON,
// the runtime places buffers once per shape and walks the list. Compiler and
// runtime know each other through this file and Artifact.h only.
//
// Storage. All planned memory is counted in 4-byte elements (f32, or i32 for ids,
// lengths and booleans; booleans are widened to 0/1; narrower elements share a word (Formats.h),
// codes of rows are bytes of 128 + code). Rows of a tensor (all
// leading dimensions flattened) follow each other at the tensor's row pitch: the
// last dimension, cut into groups of `group` elements, each group padded to a
// multiple of 16 (`padded(group)`). Callers' tensors are dense; the runtime copies at
// the boundary and fills the padding with zero bits.
#pragma once

#include "heddle/Support/Fields.h"
#include "heddle/Support/Formats.h"
#include "heddle/Support/SizeExpr.h"

#include <array>
#include <optional>
#include <span>

namespace heddle {

/// A shape as people read it: "[2, 3]".
std::string shapeText(std::span<const int64_t> shape);

/// `n` rounded up to whole 64-byte lines of f32.
constexpr int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

/// A piece of planned memory. Offsets are multiples of 256 bytes.
struct Buffer {
  /// A temporary lives from launch `first` to launch `last` and may share memory with others, an
  /// argument holds an input or a result of the function, a state belongs to the session and keeps
  /// its contents between calls, a table is filled by the host once per shape, see `generator`.
  HEDDLE_ENUM(friend, Kind, Temporary, Argument, State, Table)
  std::string name;
  Kind kind = Kind::Temporary;
  /// Elements of 4 bytes, padding included. The runtime adds slack for reads of
  /// whole tiles past the end: at least 16 rows of 4 KiB.
  SizeExpr elements;
  /// First and last launch that touch a temporary.
  int first = 0, last = 0;
  /// Table only: "sinusoidal(columns)" writes rows [0, elements / padded(columns)) of
  /// sin(row / 10000^(2i/columns)), cos likewise, computed in f64.
  std::string generator;
  HEDDLE_FIELDS(3, name, kind, elements, first, last, generator)
};

/// How an input gets its value when the caller leaves it out.
struct DefaultInput {
  /// None: the caller must give it. LengthsOf: the last element of each row of `source` that is not
  /// `padding`, plus 1. RunningLengths: the same over all tokens given to the session since the
  /// caches were emptied.
  HEDDLE_ENUM(friend, Kind, None, LengthsOf, RunningLengths)
  Kind kind = Kind::None;
  std::string source;
  int64_t padding = 0;
  HEDDLE_FIELDS(2, kind, source, padding)
};

/// A named tensor that enters or leaves a function.
struct Port {
  std::string name;
  DType type = DType::F32;
  /// Logical shape. In inputs a lone name binds a dimension the first time it
  /// occurs and is checked after that; anything else is checked.
  std::vector<SizeExpr> shape;
  /// Index into Function::buffers.
  int buffer = -1;
  /// Elements of a group of the last dimension; 0: the whole dimension is one group.
  int64_t group = 0;
  /// The last dimension is dense, not padded (vectors and i32 are even without it; flags are padded
  /// like f32).
  bool dense = false;
  /// Integer inputs: values allowed, [low, high); high may name dimensions.
  std::optional<std::pair<SizeExpr, SizeExpr>> range;
  /// Inputs with a range: ascending numbers, the first `low`, the last `high - 1` (where documents
  /// start).
  bool starts = false;
  /// Lengths under packed documents: the inputs of their starts; a length is at most the rows of its
  /// document. Empty: `range` says all.
  std::vector<std::string> boundedBy;
  /// Starts: most rows of a document, which all have a position in a table; 0: any number.
  int64_t maxLength = 0;
  DefaultInput fallback; ///< inputs only
  /// Inputs: the full sizes of one that callers may give with 1 in place of each, and without
  /// leading dimensions (see Broadcast.h); empty: as `shape` says.
  std::vector<SizeExpr> broadcast;
  /// The buffer holds the first two dimensions of `shape` the other way round.
  bool transposed = false;
  HEDDLE_FIELDS(3, name, type, shape, buffer, group, dense, range, starts, boundedBy, maxLength,
                fallback, broadcast, transposed)
};

/// A packed weight, by its place in the artifact's weight member.
struct Weight {
  std::string name;     ///< tensor of the checkpoint, or a name of the compiler's own
  int64_t offset = 0;   ///< bytes from the start of the member, a multiple of 256
  int64_t elements = 0; ///< 4-byte elements
  HEDDLE_FIELDS(3, name, offset, elements)
};

/// One argument of a launch: a buffer or a weight, from `offset` (4-byte elements, a multiple of 4)
/// on.
struct LaunchArgument {
  HEDDLE_ENUM(friend, Kind, Buffer, Weight)
  Kind kind = Kind::Buffer;
  int index = -1;
  SizeExpr offset;
  HEDDLE_FIELDS(3, kind, index, offset)
};

/// One kernel over its grid. The grid's extents are the kernel's business (Kernel::grid over
/// `scalars`).
struct Launch {
  std::string kernel;
  std::vector<LaunchArgument> arguments;
  std::vector<SizeExpr> scalars;
  SizeExpr flops, bytes; ///< cost, for inspect and bench
  HEDDLE_FIELDS(5, kernel, arguments, scalars, flops, bytes)
};

/// `left` and `right` must be equal (or left ≤ right), else the message is the error. `{left}` and
/// `{right}` in it are replaced by values.
struct Check {
  HEDDLE_ENUM(friend, Kind, Equal, AtMost)
  Kind kind = Kind::Equal;
  SizeExpr left, right;
  std::string message;
  HEDDLE_FIELDS(4, kind, left, right, message)
};

/// A buffer of state that belongs to the session, by name, shared by the functions that use it.
struct StateUse {
  std::string name; ///< the session's name, e.g. "decoder.0.self.key"
  int buffer = -1;  ///< Function::buffers
  HEDDLE_FIELDS(2, name, buffer)
};

struct Function {
  std::string name;
  /// Dimensions bound by inputs, and those that the session keeps (state).
  std::vector<std::string> dims, stateDims;
  std::vector<Port> inputs, outputs;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<Check> checks;
  std::vector<StateUse> states;
  /// Dimensions of the session after the call, evaluated under this call's dims: {"P", "P+1"}. A
  /// function that needs a state dimension which no earlier call has set is refused.
  std::vector<std::pair<std::string, SizeExpr>> updates;
  /// The call empties the caches (running lengths start anew).
  bool startsStates = false;
  /// Input that gives each row's parent (reorder functions): rows of all states with a leading
  /// batch dimension are permuted by the host side of the device before anything else; empty: none.
  std::string reorderBy;
  /// Not run by `heddle run` on its own (needs a session).
  bool needsSession = false;
  HEDDLE_FIELDS(0, name, dims, stateDims, inputs, outputs, buffers, launches, checks, states,
                updates, startsStates, reorderBy, needsSession)
};

/// How a kernel is started. Extents of an axis: ceil(scalars[scalar] / tile), or `count` where
/// scalar < 0.
struct GridAxis {
  int scalar = -1;
  int64_t tile = 1;
  int64_t count = 1;
  HEDDLE_FIELDS(3, scalar, tile, count)
};

/// A kernel on one kind of device.
struct KernelCode {
  std::array<GridAxis, 3> grid; ///< axis 0 varies slowest on the CPU; Vulkan's (z, y, x)
  HEDDLE_FIELDS(1, grid)
};

/// A product of matrices that is one instruction of a subgroup: m x n sums of k products.
struct MatrixShape {
  int64_t m = 0, n = 0, k = 0;
  DType operands = DType::F16, sums = DType::F32;
  HEDDLE_FIELDS(5, m, n, k, operands, sums)
};

/// A kernel for one level of Vulkan devices, and what it needs of a device beyond Vulkan 1.1. What
/// its workgroup takes of the device's limits is in its code.
struct VulkanVariant : KernelCode {
  std::string member; ///< words of the SPIR-V module
  std::array<int32_t, 3> workgroup = {1, 1, 1};
  int level = 0;                     ///< of those that a device can run, the highest is taken
  std::vector<std::string> features; ///< all must be there, by Vulkan's names: "shaderInt64"
  int64_t subgroup = 0;              ///< invocations of a subgroup; 0: any
  std::vector<MatrixShape> matrices; ///< all must be there
  HEDDLE_FIELDS(3, grid, member, workgroup, level, features, subgroup, matrices)
};

struct KernelArgument {
  HEDDLE_ENUM(friend, Storage, Memory, Weight)
  Storage storage = Storage::Memory;
  bool written = false;
  HEDDLE_FIELDS(1, storage, written)
};

/// One compiled kernel. CPU: a function of this name in the member of each instruction set,
///   void name(void *const *arguments, const int64_t *scalars, int64_t g0, int64_t g1, int64_t g2)
/// called once per grid point, in any order, from any thread. Behind the arguments stands an address:
/// the panels that the thread reads after this point, to be fetched meanwhile, or null where they lie
/// behind this point's.
/// Vulkan: entry point `main`; set 0 has binding 0 = memory as vec4<f32>[], 1 = weights as
/// vec4<f32>[], 2 = memory as i32[] (each present only if used); push constants are i32 words:
/// scalars, then one offset an argument (4-byte elements divided by 4, from the start of the bound
/// window), then the grid base (z, y, x) of the dispatch. Where these would be more than 32 words, only the grid base is pushed, and the others
/// stand in a block of their own, binding 3 as vec4<i32>[].
struct Kernel {
  std::string name;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> scalars; ///< names, for people
  std::optional<KernelCode> cpu;
  std::vector<VulkanVariant> vulkan; ///< each of another level
  DType products = DType::F32;       ///< type of the operands of its products, for bench
  HEDDLE_FIELDS(1, name, arguments, scalars, cpu, vulkan, products)
};

/// Words of push constants that every Vulkan device has, and words that a block may hold.
constexpr size_t vulkanPushWords = 32, vulkanBlockWords = 512;
/// Words of the grid's base, which are always pushed.
constexpr size_t vulkanGridWords = 3;
/// Whether a kernel reads that many scalars and arguments from a block.
constexpr bool takesArgumentBlock(size_t scalars, size_t arguments) {
  return scalars + arguments + vulkanGridWords > vulkanPushWords;
}

/// How a tensor of the checkpoint becomes a stored weight.
struct PackEntry {
  /// Vector: [n] padded with zeros. Rows: [r, c], rows at pitch padded(c). Panels: [n, k] in panels
  /// of 16 rows, [padded n / 16][padded k / w][16][w], where a word has w elements, or as a type's
  /// format lays out blocks. Scales, of panels of i8: two rows [padded n], the scales of their rows
  /// and the sums of codes.
  HEDDLE_ENUM(friend, Layout, Vector, Rows, Panels, Scales)
  std::string tensor;         ///< name in the checkpoint
  std::vector<int64_t> shape; ///< shape in the checkpoint, [out, in] for Panels
  Layout layout = Layout::Vector;
  /// Rows (n) and columns (k) may be cut in groups (heads), each padded to a multiple of 16 with
  /// zeros; 0: not cut.
  int64_t rowGroup = 0, columnGroup = 0;
  int weight = -1; ///< Program::weights
  /// Elements as they are stored: f32; or in panels a narrower type, to which numbers are rounded, to
  /// nearest, ties to even, or codes, as `transformer.quantize` defines them. Columns that share scales
  /// are not cut in groups that are padded.
  DType type = DType::F32;
  /// Rows of the matrix, where that is not the first dimension: the matrices of all heads below each
  /// other; 0: it is.
  int64_t rows = 0;
  HEDDLE_FIELDS(3, tensor, shape, layout, rows, type, rowGroup, columnGroup, weight)
};

/// `n` cut in groups of `group` (0: one group of all), each padded to a multiple of 16.
constexpr int64_t paddedGroups(int64_t n, int64_t group) {
  return group > 0 ? (n + group - 1) / group * padded(group) : padded(n);
}
/// Rows and columns of an entry's tensor as a matrix: a convolution of kernel size 1 is one.
std::pair<int64_t, int64_t> matrixOf(const PackEntry &entry);
/// 4-byte elements of the stored weight that an entry gives.
int64_t packedElements(const PackEntry &entry);

/// All that an artifact says besides code and weight bytes.
struct Program {
  std::vector<Function> functions;
  std::vector<Kernel> kernels;
  std::vector<Weight> weights;
  std::vector<PackEntry> pack;
  int64_t weightBytes = 0;
  /// Facts for the tools: text sides, special ids, layout, limits (JSON text, defined by Import and
  /// Generation).
  std::string model;
  HEDDLE_FIELDS(0, functions, kernels, weights, pack, weightBytes, model)

  const Function *findFunction(std::string_view name) const;
};

/// Every index is in range, every size is possible: a program that passes cannot make the runtime
/// reach past its data.
Status validate(const Program &program);

/// JSON text of a program, stable: equal programs give equal bytes.
std::string toJson(const Program &program);
/// Reads what toJson wrote, and validates it.
Expected<Program> programFromJson(std::string_view text);

} // namespace heddle
