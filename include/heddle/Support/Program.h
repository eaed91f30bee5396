//===- Program.h - The program of an artifact ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is data, not code: named functions, each a list of kernel launches over buffers whose
// sizes are expressions of named dynamic dimensions. The compiler fills these structures and the
// artifact's manifest stores them as JSON. The runtime places buffers once per shape and runs the
// list. Compiler and runtime share only this file and Artifact.h.
//
// Storage. All planned memory is counted in 4-byte elements: f32, or i32 for ids, lengths and
// booleans (0 or 1). Narrower elements share a word (Formats.h); codes of rows are bytes of 128 +
// code, in groups of the code. Rows of a tensor (all leading dimensions flattened) are stored at
// the tensor's row pitch: the last dimension, divided into groups of `group` elements, each padded
// to a multiple of 16 (`padded(group)`). Callers' tensors are dense; the runtime copies at the
// boundary and fills the padding with zero bits.
#pragma once

#include "heddle/Support/Fields.h"
#include "heddle/Support/Formats.h"
#include "heddle/Support/SizeExpr.h"

#include <array>
#include <optional>
#include <span>

namespace heddle {

/// Text of a shape: "[2, 3]".
std::string shapeText(std::span<const int64_t> shape);

/// Rounds `n` up to a multiple of 16, that is, to whole 64-byte cache lines of f32.
constexpr int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

/// Whether adjacent heads are padded to a multiple of 16 columns each in products. They are not if
/// there is only one head, or if the head size is a multiple of 4, so that no vec4 spans two heads.
/// Products then have no padding, and kernel.store_heads splits the columns at the padding in
/// memory.
constexpr bool padsHeads(int64_t heads, int64_t size) { return heads > 1 && size % 4 != 0; }

/// A range of planned memory. Offsets are multiples of 256 bytes.
struct Buffer {
  /// Temporary: lives from launch `first` to launch `last` and may share memory. Argument: an input
  /// or a result of the function. State: belongs to the session and keeps its contents between
  /// calls. Table: filled by the host whenever it grows (see `generator`). Twin: belongs to a
  /// session that trains, and has the size and layout of all weights.
  HEDDLE_ENUM(friend, Kind, Temporary, Argument, State, Table, Twin)
  std::string name;
  Kind kind = Kind::Temporary;
  /// Elements of 4 bytes, padding included. Kernels read whole tiles past the end; the runtime adds
  /// memory for this (memorySlack) after the last buffer.
  SizeExpr elements;
  /// First and last launch that use a temporary.
  int first = 0, last = 0;
  /// Table only: the generator of its rows, a name and numbers (Support/PositionTables.h).
  std::string generator;
  /// State only: number of consecutive matrices per sequence, the heads of keys and values.
  int64_t matrices = 1;
  /// State only: number of rows for which each matrix has room; a sequence fills the first ones. 0:
  /// all rows are in use.
  int64_t rows = 0;
  HEDDLE_FIELDS(3, name, kind, elements, first, last, generator, matrices, rows)
};

/// Names of twins: the live weights, which begin as the member `weights.bin`; their gradients, which
/// hold further accumulators after the last weight; and the moments of the optimizer.
inline constexpr std::string_view weightTwin = "weights", gradientTwin = "gradients",
                                  firstMomentTwin = "moments.1", secondMomentTwin = "moments.2";

/// Default of an input that the caller omits.
struct DefaultInput {
  /// None: the input is required. LengthsOf: length of each row of `source` without `padding` at
  /// its end. ZerosOf: a zero for each id of `source`. NoRowsOf: -1, which means no row, for each
  /// sequence of `source`. RowsBefore, RowsAfter: rows that each sequence has in the caches before
  /// and after the call; only the session knows them, and callers cannot give them.
  HEDDLE_ENUM(friend, Kind, None, LengthsOf, ZerosOf, NoRowsOf, RowsBefore, RowsAfter)
  /// Whether only the session can make the value.
  bool isKept() const { return kind == Kind::RowsBefore || kind == Kind::RowsAfter; }
  Kind kind = Kind::None;
  std::string source;
  int64_t padding = 0;
  HEDDLE_FIELDS(2, kind, source, padding)
};

/// A named tensor that is an input or an output of a function.
struct Port {
  std::string name;
  DType type = DType::F32;
  /// Logical shape. In inputs, the first occurrence of a single name binds the dimension; all other
  /// sizes are checked.
  std::vector<SizeExpr> shape;
  /// Index into Function::buffers.
  int buffer = -1;
  /// Elements of a group of the last dimension; 0: the whole dimension is one group.
  int64_t group = 0;
  /// Whether the last dimension is not padded. Vectors, i32 and i64 are never padded; booleans are
  /// padded like f32.
  bool dense = false;
  /// Integer inputs: allowed values [low, high); `high` may contain dimensions.
  std::optional<std::pair<SizeExpr, SizeExpr>> range;
  /// Inputs with a range: whether they are the first rows of packed documents (PyTorch's
  /// cu_seqlens), ascending from `low` to `high - 1`.
  bool starts = false;
  /// Lengths of packed documents: names of the inputs of starts. A length is at most the number of
  /// rows of its document. Empty: only `range` limits them.
  std::vector<std::string> boundedBy;
  /// Starts: maximum number of rows of a document, the size of its table of positions; 0: no limit.
  int64_t maxLength = 0;
  DefaultInput fallback; ///< inputs only
  /// Broadcast inputs: the full sizes. Callers may give 1 for each, or omit leading dimensions (see
  /// Broadcast.h). Empty: the input is not broadcast.
  std::vector<SizeExpr> broadcast;
  /// Whether the buffer holds the first two dimensions of `shape` transposed.
  bool transposed = false;
  HEDDLE_FIELDS(3, name, type, shape, buffer, group, dense, range, starts, boundedBy, maxLength,
                fallback, broadcast, transposed)
};

/// A packed weight in the artifact's member `weights.bin`.
struct Weight {
  std::string name;     ///< tensor of the checkpoint, or a name from the compiler
  int64_t offset = 0;   ///< bytes from the start of the member, a multiple of 256
  int64_t elements = 0; ///< 4-byte elements
  HEDDLE_FIELDS(3, name, offset, elements)
};

/// Argument of a launch: a buffer or a weight, starting at `offset` (4-byte elements, a multiple of
/// 4).
struct LaunchArgument {
  HEDDLE_ENUM(friend, Kind, Buffer, Weight)
  Kind kind = Kind::Buffer;
  int index = -1;
  SizeExpr offset;
  HEDDLE_FIELDS(3, kind, index, offset)
};

/// One kernel over its grid, whose extents are computed from `scalars` (KernelCode::grid).
struct Launch {
  std::string kernel;
  std::vector<LaunchArgument> arguments;
  std::vector<SizeExpr> scalars;
  SizeExpr flops, bytes; ///< cost, for inspect and bench
  /// Where variants with a rounding keep rounded rows, and the scales of these rows. They follow the
  /// arguments. Empty: no variant of the kernel has one. Launches that read the same rows share them.
  std::vector<LaunchArgument> rounded;
  HEDDLE_FIELDS(5, kernel, arguments, scalars, flops, bytes, rounded)
};

/// Condition of a call: `left` equals `right`, or is at most `right`. If it fails, `message` is the
/// error, with values substituted for `{left}` and `{right}`.
struct Check {
  HEDDLE_ENUM(friend, Kind, Equal, AtMost)
  Kind kind = Kind::Equal;
  SizeExpr left, right;
  std::string message;
  HEDDLE_FIELDS(4, kind, left, right, message)
};

/// A buffer that represents a state of the session. Functions share a state by its name.
struct StateUse {
  std::string name; ///< "decoder.0.self.key"
  int buffer = -1;  ///< index into Function::buffers
  HEDDLE_FIELDS(2, name, buffer)
};

/// A function of a program: ports, buffers, and the list of launches that the runtime runs.
struct Function {
  std::string name;
  /// Dimensions bound by inputs, and dimensions that the session keeps (state).
  std::vector<std::string> dims, stateDims;
  std::vector<Port> inputs, outputs;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<Check> checks;
  std::vector<StateUse> states;
  /// State dimensions after the call, evaluated at this call's dimensions: {"P", "P+1"}. A call
  /// that needs a state dimension before any call has set it is an error.
  std::vector<std::pair<std::string, SizeExpr>> updates;
  /// Whether the call starts from empty caches.
  bool startsStates = false;
  /// Input of parents of a function that reorders (beam search): before the launches, row r of
  /// every state with this input's dimension becomes row parents[r]. Empty: no reorder.
  std::string reorderBy;
  /// Input of rows of a starting function. If a caller gives it, sequence i of the states that the
  /// call sets replaces row rows[i], whose caches become empty; other rows are kept. Empty: the
  /// function always starts all rows.
  std::string replaceBy;
  /// Dimension in which the call's rows may be shorter or longer than the states into which
  /// `replaceBy` puts them, since a row is never read past its own length. Empty: all dimensions
  /// must be equal.
  std::string pads;
  /// Length of caches whose sequences have individual numbers of rows: in this function, the length
  /// of the longest sequence after the call. Empty: the function appends nothing, or equally to all
  /// sequences.
  std::string appendsTo;
  /// Input with the number of rows that each sequence appends; empty: `appends` for each.
  std::string appendsBy;
  SizeExpr appends = 0;
  /// Number of rows that caches keep if masks let queries see no older ones; 0: all rows. Before
  /// the call, no query sees `spareRows` of them any longer. Both are minima over all caches.
  int64_t keptRows = 0, spareRows = 0;
  /// Whether the function needs the caches of earlier calls, so that `heddle run` does not choose
  /// it by default.
  bool needsSession = false;
  HEDDLE_FIELDS(0, name, dims, stateDims, inputs, outputs, buffers, launches, checks, states,
                updates, startsStates, reorderBy, replaceBy, pads, appendsTo, appendsBy, appends,
                keptRows, spareRows, needsSession)
};

/// Extent of a grid's axis: ceil(scalars[scalar] / tile), or `count` if scalar < 0.
struct GridAxis {
  int scalar = -1;
  int64_t tile = 1;
  int64_t count = 1;
  HEDDLE_FIELDS(3, scalar, tile, count)
};

/// Grid of a kernel on one kind of device.
struct KernelCode {
  std::array<GridAxis, 3> grid; ///< axis 0 varies slowest on the CPU; (z, y, x) on Vulkan
  HEDDLE_FIELDS(1, grid)
};

/// Shape of a cooperative matrix product of one subgroup: m x n sums of k products.
struct MatrixShape {
  int64_t m = 0, n = 0, k = 0;
  DType operands = DType::F16, sums = DType::F32;
  HEDDLE_FIELDS(5, m, n, k, operands, sums)
};

/// Code that rounds rows before a variant multiplies them. It takes the scalars and arguments of the
/// variant.
struct RoundingCode : KernelCode {
  std::string member; ///< name of the artifact's member with the SPIR-V module
  std::array<int32_t, 3> workgroup = {1, 1, 1};
  int argument = 0; ///< index of the argument that holds the rows
  HEDDLE_FIELDS(4, grid, member, workgroup, argument)
};

/// Code of a kernel for one level of Vulkan devices, and its requirements beyond Vulkan 1.1. Shared
/// memory and invocations are read from the SPIR-V itself.
struct VulkanVariant : KernelCode {
  std::string member; ///< name of the artifact's member with the SPIR-V module
  std::array<int32_t, 3> workgroup = {1, 1, 1};
  int level = 0;                     ///< a device runs the highest level that it supports
  std::vector<std::string> features; ///< required, by the names in VulkanLevels.h
  int64_t subgroup = 0;              ///< required invocations of a subgroup; 0: any
  std::vector<MatrixShape> matrices; ///< required
  /// Index of the weight argument that the kernel reads by some rows at a time; -1: none.
  int windowed = -1;
  /// Axis of the grid over these rows; -1: rows are gathered by their numbers, and the kernel takes
  /// two more words: the first row in its window, and the number of rows.
  int windowAxis = -1;
  bool gathers() const { return windowed >= 0 && windowAxis < 0; }
  /// A form for few rows serves launches whose scalar `rows` is at most `mostRows`, in addition to
  /// the variants for any number (`rows` is -1).
  int rows = -1;
  int64_t mostRows = 0;
  bool isForFew() const { return rows >= 0; }
  /// A variant with a rounding takes Launch::rounded too. The rounding runs before it.
  std::optional<RoundingCode> rounding;
  HEDDLE_FIELDS(3, grid, member, workgroup, level, features, subgroup, matrices, windowed,
                windowAxis, rows, mostRows, rounding)
};

/// Parameter of a kernel: its storage, and whether the kernel writes to it.
struct KernelArgument {
  HEDDLE_ENUM(friend, Storage, Memory, Weight)
  Storage storage = Storage::Memory;
  bool written = false;
  HEDDLE_FIELDS(1, storage, written)
};

/// One compiled kernel.
/// CPU: a function with this name in the member of each instruction set,
///   void name(void *const *arguments, const int64_t *scalars, int64_t g0, int64_t g1, int64_t g2)
/// called once per grid point, in any order, from any thread. The arguments are followed by one
/// more address: panels that the thread reads next, for prefetching, or null if they directly
/// follow this point's panels.
/// Vulkan: entry point `main`. Set 0 has binding 0 = memory as vec4<f32>[], 1 = weights as
/// vec4<f32>[], 2 = memory as i32[] (each present only if used). Push constants are i32 words:
/// scalars, one offset per argument, the words of VulkanVariant::gathers, and the grid base (z, y,
/// x) of the dispatch. An offset is counted in 4-byte elements divided by 4, from the start of the
/// bound window. If all these exceed 32 words, only the grid base is pushed; the others are in an
/// argument block, binding 3 as vec4<i32>[]. Offsets are added modulo 2^32: the offset of a weight
/// seen in part may be below its window.
struct Kernel {
  std::string name;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> scalars; ///< names, for reports
  std::optional<KernelCode> cpu;
  std::vector<VulkanVariant>
      vulkan; ///< within a level, the best variant is last; forms for few rows are separate
  DType products = DType::F32; ///< operand type of its products, for bench
  HEDDLE_FIELDS(1, name, arguments, scalars, cpu, vulkan, products)
};

/// 4-byte words of push constants that Vulkan guarantees, and of an argument block.
constexpr size_t vulkanPushWords = 32, vulkanBlockWords = 512;
/// Words of the grid base, which are always pushed.
constexpr size_t vulkanGridWords = 3;
/// Words that describe the window of a table, if the kernel gathers.
constexpr size_t vulkanWindowWords = 2;
/// Whether a kernel with `words` words besides the grid base reads them from an argument block.
constexpr bool takesArgumentBlock(size_t words) {
  return words + vulkanGridWords > vulkanPushWords;
}

/// Conversion of a checkpoint's tensor to a stored weight.
struct PackEntry {
  /// Vector: [n] padded with zeros. Rows: [r, c], rows at pitch padded(c). Panels: [n, k] in panels
  /// of 16 rows, [padded n / 16][padded k / w][16][w] with w elements per word, or in the blocks of
  /// the type's format. Scales (of panels of i8): two rows [padded n], the scale of each row and
  /// the sum of its codes.
  HEDDLE_ENUM(friend, Layout, Vector, Rows, Panels, Scales)
  std::string tensor;         ///< name in the checkpoint
  std::vector<int64_t> shape; ///< shape in the checkpoint, [out, in] for Panels
  Layout layout = Layout::Vector;
  /// Rows (n) and columns (k) of a group, such as a head; each group is padded with zeros to a
  /// multiple of 16. 0: one group.
  int64_t rowGroup = 0, columnGroup = 0;
  int weight = -1; ///< Program::weights
  /// Stored element type: f32; or in panels, a narrower float (rounded to nearest, ties to even) or
  /// codes as `transformer.quantize` defines them. Column groups of types with block scales must
  /// not need padding.
  DType type = DType::F32;
  /// Rows of the matrix if they are formed by several leading dimensions (the stacked matrices of
  /// all heads); 0: the first dimension.
  int64_t rows = 0;
  HEDDLE_FIELDS(3, tensor, shape, layout, rows, type, rowGroup, columnGroup, weight)
};

/// Size of `n` elements in groups of `group` (0: one group), each padded to a multiple of 16.
constexpr int64_t paddedGroups(int64_t n, int64_t group) {
  return group > 0 ? (n + group - 1) / group * padded(group) : padded(n);
}
/// Rows and columns of an entry's tensor as a matrix. Trailing dimensions are flattened, as for a
/// convolution of kernel size 1.
std::pair<int64_t, int64_t> matrixOf(const PackEntry &entry);
/// 4-byte elements of an entry's stored weight.
int64_t packedElements(const PackEntry &entry);

/// `encode` over concatenated texts in a single row. Text commands use it; Program::model tells
/// them whether it exists.
inline constexpr const char *packedFunction = "encode_packed";
/// Gradients of examples, and of examples that lie one after another in a row of each side.
inline constexpr const char *gradientsFunction = "gradients",
                            *packedGradientsFunction = "gradients_packed";
/// Vectors of images, in a model whose `encode` gives vectors of texts in the same space.
inline constexpr const char *imageFunction = "encode_image";

/// All data of an artifact except code, texts and the bytes of weights.
struct Program {
  std::vector<Function> functions;
  std::vector<Kernel> kernels;
  std::vector<Weight> weights;
  std::vector<PackEntry> pack;
  int64_t weightBytes = 0;
  /// JSON text for text generation: text sides, special ids, layout, limits (defined by Import and
  /// Generation).
  std::string model;
  HEDDLE_FIELDS(0, functions, kernels, weights, pack, weightBytes, model)

  /// The function with this name, or null.
  const Function *findFunction(std::string_view name) const;
};

/// Checks that every index is in range and every constant size is possible, so that the runtime can
/// trust the indices. Sizes that depend on dimensions are checked in each call.
Status validate(const Program &program);

/// JSON text of a program; equal programs give equal bytes.
std::string toJson(const Program &program);
/// Reads and validates the result of toJson.
Expected<Program> programFromJson(std::string_view text);

} // namespace heddle
