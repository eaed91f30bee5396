//===- KernelTypes.cpp - Text of views and plans ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of view types and plan attributes:
//
//   !kernel.view<[d0, 8, d1|d2, 64], f32, panel = 16>
//   #kernel.plan<mapping = blocked, threads = [8, 8]>
//
// The text of program values is in ProgramText.h.

#include "heddle/Dialect/Kernel/IR/KernelTypes.h"

#include "ProgramText.h"
#include "heddle/Dialect/ElementFormats.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

#include "heddle/Dialect/Kernel/IR/KernelEnums.cpp.inc"

/// Parses an integer or a name.
static ParseResult parseSize(AsmParser &parser, Size &size) {
  OptionalParseResult number = parser.parseOptionalInteger(size.value);
  if (number.has_value())
    return *number;
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  size.name = StringAttr::get(parser.getContext(), name);
  return success();
}

/// Parses the sizes of #kernel.layout.
template <>
struct mlir::FieldParser<Size> {
  static FailureOr<Size> parse(AsmParser &parser) {
    Size size;
    if (parseSize(parser, size))
      return failure();
    return size;
  }
};

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelAttrs.cpp.inc"

void KernelDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "heddle/Dialect/Kernel/IR/KernelTypes.cpp.inc"
      >();
}

void KernelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/Kernel/IR/KernelAttrs.cpp.inc"
      >();
}

//===- Sizes -------------------------------------------------------------===//

Attribute Size::toAttribute(MLIRContext *context) const {
  if (name)
    return name;
  return Builder(context).getI64IntegerAttr(value);
}

Size Size::fromAttribute(Attribute attribute) {
  if (auto name = dyn_cast<StringAttr>(attribute))
    return Size(name);
  return Size(cast<IntegerAttr>(attribute).getInt());
}

llvm::raw_ostream &heddle::kernel::operator<<(llvm::raw_ostream &os, const Size &size) {
  if (size.name)
    return os << size.name.getValue();
  return os << size.value;
}

//===- Views -------------------------------------------------------------===//

static ParseResult parseDim(AsmParser &parser, ViewDim &dim) {
  if (parseSize(parser, dim.extent))
    return failure();
  dim.pitch = dim.extent;
  if (failed(parser.parseOptionalVerticalBar()))
    return success();
  dim.pitch = Size();
  return parseSize(parser, dim.pitch);
}

Type ViewType::parse(AsmParser &parser) {
  SmallVector<ViewDim> dims;
  Type element;
  int64_t panel = 0, strip = 0;
  llvm::SMLoc loc = parser.getCurrentLocation();
  auto one = [&] { return parseDim(parser, dims.emplace_back()); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one) ||
      parser.parseComma() || parser.parseType(element))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    const bool isStrip = succeeded(parser.parseOptionalKeyword("strip"));
    if ((!isStrip && parser.parseKeyword("panel")) || parser.parseEqual() ||
        parser.parseInteger(isStrip ? strip : panel))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ViewType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), dims,
                              element, panel, strip);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](const ViewDim &dim) {
    printer.getStream() << dim.extent;
    if (dim.pitch != dim.extent)
      printer.getStream() << "|" << dim.pitch;
  });
  printer << "], " << getElementType();
  if (getPanel())
    printer << ", panel = " << getPanel();
  if (getStrip())
    printer << ", strip = " << getStrip();
  printer << ">";
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<ViewDim> dims,
                               Type elementType, int64_t panel, int64_t strip) {
  if (dims.empty())
    return emitError() << "expected at least one dimension, found none";
  for (const ViewDim &dim : dims)
    if ((dim.extent.isStatic() && dim.extent.value < 0) ||
        (dim.pitch.isStatic() && dim.pitch.value < 0))
      return emitError() << "expected a dimension of at least 0, found a negative one";
  std::optional<DType> type = findDType(elementType);
  if (!type || (formatOf(*type).blockColumns == 0 && type != DType::I32))
    return emitError() << "expected elements of f32, bf16, f16, i8, i4 or i32, found "
                       << elementType;
  const ElementFormat &format = formatOf(*type);
  if (panel != 0 && panel != 16)
    return emitError() << "expected panels of 16, found " << panel;
  if (strip && (strip != 16 || panel || dims.size() != 2 || !dims.front().isStatic() ||
                !dims.back().isStatic() || !elementType.isF32()))
    return emitError() << "expected strips of 16 columns in static matrices of f32";
  if (format.holdsScales() && (!panel || dims.size() != 2))
    return emitError() << "expected " << elementType << " only in panels of a view of rank 2";
  if (format.isNarrow() && (dims.size() < 2 || !dims.back().isStatic()))
    return emitError() << "expected " << elementType
                       << " only in views of rank 2 or more with a static last dimension";
  if (panel && (dims.size() < 2 || !dims.back().isStatic() || format.blockColumns == 0))
    return emitError() << "expected panels only in views of floats or codes of rank 2 or more with "
                          "a static last dimension";
  return success();
}

ViewType ViewType::dropLeading(int64_t count) const {
  return get(getContext(), getDims().drop_front(count), getElementType(), getPanel(), getStrip());
}

ViewType ViewType::transposed() const {
  return get(getContext(), {getDim(1), getDim(0)}, getElementType(), getStrip(), getPanel());
}

/// Rows with a static pitch are padded to 16 elements.
std::optional<int64_t> ViewType::getRowPitch() const {
  const Size &pitch = getDims().back().pitch;
  if (!pitch.isStatic() || getRank() < 2 || getStrip())
    return std::nullopt;
  return padded(pitch.value);
}

//===- Plans -------------------------------------------------------------===//

bool kernel::isOfCpu(Mapping mapping) {
  return mapping == Mapping::CpuTiles || mapping == Mapping::CpuStrips;
}

bool kernel::stages(Mapping mapping) {
  return mapping == Mapping::Staged || mapping == Mapping::FewRows || mapping == Mapping::Matrix ||
         mapping == Mapping::MatrixFewRows;
}

bool kernel::usesMatrixUnit(Mapping mapping) {
  return mapping == Mapping::Matrix || mapping == Mapping::MatrixFewRows ||
         mapping == Mapping::MatrixAttention;
}

bool kernel::splitsKeys(Mapping mapping) { return mapping == Mapping::SplitKeys; }

bool kernel::isOfAttention(Mapping mapping) {
  return mapping == Mapping::OwnRows || mapping == Mapping::SplitKeys ||
         mapping == Mapping::MatrixAttention || mapping == Mapping::CpuStrips;
}

PlanAttr PlanAttr::get(MLIRContext *context, Mapping mapping, ArrayRef<int64_t> tile,
                       ArrayRef<int64_t> threads, int64_t block, int64_t ahead, int64_t heads,
                       int64_t buffers, bool rounded, int64_t rowBlock) {
  auto list = [&](ArrayRef<int64_t> numbers) {
    return numbers.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, numbers);
  };
  return get(context, mapping, list(tile), heads, list(threads), block, ahead, buffers, rounded,
             rowBlock);
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, Mapping mapping,
                               DenseI64ArrayAttr tile, int64_t heads, DenseI64ArrayAttr threads,
                               int64_t block, int64_t ahead, int64_t buffers, bool rounded,
                               int64_t rowBlock) {
  const StringRef name = stringifyMapping(mapping);
  ArrayRef<int64_t> list = threads ? threads.asArrayRef() : ArrayRef<int64_t>();
  if (isOfCpu(mapping) ? !list.empty() : list.size() != 2 || list.front() < 1 || list.back() < 1)
    return emitError() << "C1: expected " << (isOfCpu(mapping) ? "no" : "two positive")
                       << " threads of mapping " << name << ", found " << list.size();
  if (!isOfCpu(mapping) && stages(mapping) != (block > 0))
    return emitError() << "C2: expected " << (stages(mapping) ? "a positive" : "no")
                       << " block of mapping " << name << ", found " << block;
  if (tile && (tile.size() < 2 || llvm::any_of(tile.asArrayRef(), [](int64_t n) { return n < 1; })))
    return emitError() << "C3: expected a tile of positive rows and columns, found " << tile;
  if (buffers != 1 && (buffers != 2 || !stages(mapping)))
    return emitError() << "C4: expected " << (stages(mapping) ? "1 or 2 buffers" : "one buffer")
                       << " of mapping " << name << ", found " << buffers;
  if (stages(mapping) && ahead < 1)
    return emitError() << "C5: expected at least one block ahead of mapping " << name << ", found "
                       << ahead;
  if (rounded && mapping != Mapping::Matrix)
    return emitError() << "C6: expected rounded only with mapping matrix, found " << name;
  if (rowBlock != 0 && (mapping != Mapping::MatrixFewRows || rowBlock < 0 || block % rowBlock != 0))
    return emitError() << "C7: expected a row block that divides the block of mapping "
                          "matrix_few_rows, found "
                       << rowBlock << " of mapping " << name;
  if (block < 0 || ahead < 0 || heads < 0)
    return emitError() << "expected block, ahead and heads not to be negative, found " << block
                       << ", " << ahead << " and " << heads;
  return success();
}
