//===- TensorView.cpp - Views of a checkpoint's tensors -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of tensors. A view reads the pieces that it needs from its source view. Only a product
// keeps a tensor in memory, so that packing a model needs little memory besides its output.

#include "heddle/Pack/TensorView.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>

namespace heddle {

TensorView::TensorView(std::vector<int64_t> shape, std::string recipe)
    : dims(std::move(shape)),
      count(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())),
      text(std::move(recipe)) {}
TensorView::~TensorView() = default;

namespace {
class Stored : public TensorView {
public:
  Stored(const WeightSource &source, int tensor)
      : TensorView(source.tensors()[tensor].shape,
                   source.name() + ":" + source.tensors()[tensor].name),
        source(source), tensor(tensor) {}
  void read(int64_t first, std::span<float> out) const override { source.read(tensor, first, out); }
  std::span<const float> inPlace() const override { return source.inPlace(tensor); }
  std::string fileType() const override { return source.fileType(tensor); }
  std::optional<DType> codeType() const override { return source.codeType(tensor); }
  std::optional<GroupCodes> codes(int64_t first) const override {
    return source.codes(tensor, first);
  }
  std::optional<std::vector<ViewRange>> ranges() const override {
    return std::vector<ViewRange>{{&source, tensor, 0, elements(), 0}};
  }

private:
  const WeightSource &source;
  int tensor;
};

class Filled : public TensorView {
public:
  Filled(std::vector<int64_t> shape, float value)
      : TensorView(shape, "fill " + formatted("%a", static_cast<double>(value)) + shapeText(shape)),
        value(value) {}
  void read(int64_t, std::span<float> out) const override { std::ranges::fill(out, value); }

private:
  float value;
};

class Sinusoids : public TensorView {
public:
  Sinusoids(std::vector<int64_t> shape, int64_t first, double divisor)
      : TensorView(shape, "sinusoids from " + std::to_string(first) + " by " +
                              formatted("%a", divisor) + shapeText(shape)),
        first(first), divisor(divisor) {}
  void read(int64_t from, std::span<float> out) const override {
    for (float &number : out) {
      const int64_t row = from / columns(), column = from % columns(), half = columns() / 2;
      const double angle = static_cast<double>(first + row) /
                           std::pow(10000.0, static_cast<double>(column % half) / divisor);
      number = static_cast<float>(column < half ? std::sin(angle) : std::cos(angle));
      ++from;
    }
  }

private:
  int64_t first;
  double divisor;
};

class Reshaped : public TensorView {
public:
  Reshaped(TensorViewRef from, std::vector<int64_t> shape)
      : TensorView(shape, from->recipe() + " as " + shapeText(shape)), from(std::move(from)) {
    assert(elements() == this->from->elements());
  }
  void read(int64_t first, std::span<float> out) const override { from->read(first, out); }
  std::span<const float> inPlace() const override { return from->inPlace(); }
  std::string fileType() const override { return from->fileType(); }
  std::optional<DType> codeType() const override { return from->codeType(); }
  std::optional<GroupCodes> codes(int64_t first) const override { return from->codes(first); }
  std::optional<std::vector<ViewRange>> ranges() const override { return from->ranges(); }

private:
  TensorViewRef from;
};

/// The shape of `like` with another number of rows.
std::vector<int64_t> withRows(const TensorView &like, int64_t rows) {
  std::vector<int64_t> shape = like.shape();
  shape.front() = rows;
  return shape;
}

class Concatenated : public TensorView {
public:
  explicit Concatenated(std::vector<TensorViewRef> parts)
      : TensorView(withRows(*parts.front(), rowsOf(parts)), recipeOf(parts)),
        parts(std::move(parts)) {}
  void read(int64_t first, std::span<float> out) const override {
    for (const TensorViewRef &part : parts) {
      if (out.empty())
        return;
      if (first < part->elements()) {
        size_t here = std::min<size_t>(out.size(), part->elements() - first);
        part->read(first, out.first(here));
        out = out.subspan(here);
        first = part->elements();
      }
      first -= part->elements();
    }
  }
  std::string fileType() const override {
    const std::string type = parts.front()->fileType();
    for (const TensorViewRef &part : parts)
      if (part->fileType() != type)
        return type + ", " + part->fileType();
    return type;
  }
  std::optional<DType> codeType() const override {
    const std::optional<DType> type = parts.front()->codeType();
    const bool isCommon = std::ranges::all_of(
        parts, [&](const TensorViewRef &part) { return part->codeType() == type; });
    return isCommon ? type : std::nullopt;
  }
  std::optional<GroupCodes> codes(int64_t first) const override {
    for (const TensorViewRef &part : parts) {
      if (first < part->elements())
        return part->codes(first);
      first -= part->elements();
    }
    return {};
  }
  std::optional<std::vector<ViewRange>> ranges() const override {
    std::vector<ViewRange> all;
    int64_t first = 0;
    for (const TensorViewRef &part : parts) {
      auto own = part->ranges();
      if (!own || std::ranges::any_of(*own, &ViewRange::transposed))
        return {};
      for (ViewRange range : *own) {
        range.first += first;
        all.push_back(range);
      }
      first += part->elements();
    }
    return all;
  }

private:
  static int64_t rowsOf(const std::vector<TensorViewRef> &parts) {
    int64_t rows = 0;
    for (const TensorViewRef &part : parts)
      rows += part->rows();
    return rows;
  }
  static std::string recipeOf(const std::vector<TensorViewRef> &parts) {
    std::string text = "concat(";
    for (const TensorViewRef &part : parts)
      text += part->recipe() + ",";
    return text + ")";
  }

  std::vector<TensorViewRef> parts;
};

/// Base of views that compute whole rows; parts of a row are read through a temporary row.
class ByRows : public TensorView {
public:
  using TensorView::TensorView;
  void read(int64_t first, std::span<float> out) const final {
    const int64_t width = columns();
    while (!out.empty()) {
      int64_t row = first / width, skipped = first % width;
      int64_t whole = skipped == 0 ? static_cast<int64_t>(out.size()) / width : 0;
      if (whole > 0) {
        readRows(row, whole, out.first(whole * width));
        first += whole * width;
        out = out.subspan(whole * width);
        continue;
      }
      std::vector<float> one(width);
      readRows(row, 1, one);
      size_t here = std::min<size_t>(out.size(), width - skipped);
      std::copy_n(one.begin() + skipped, here, out.begin());
      first += static_cast<int64_t>(here);
      out = out.subspan(here);
    }
  }

protected:
  virtual void readRows(int64_t row, int64_t count, std::span<float> out) const = 0;
};

class Transposed : public ByRows {
public:
  explicit Transposed(TensorViewRef from)
      : ByRows({from->shape()[1], from->shape()[0]}, "transpose(" + from->recipe() + ")"),
        from(std::move(from)) {}
  std::optional<std::vector<ViewRange>> ranges() const override {
    auto own = from->ranges();
    if (!own || own->size() != 1 || own->front().transposed ||
        own->front().count != own->front().source->tensors()[own->front().tensor].elements())
      return {};
    own->front().transposed = true;
    return own;
  }

protected:
  /// Rows of the transpose are adjacent columns of the source matrix, which is read row by row.
  void readRows(int64_t row, int64_t count, std::span<float> out) const override {
    const int64_t rowsBelow = from->rows(), widthBelow = from->columns();
    std::vector<float> piece(count);
    for (int64_t r = 0; r < rowsBelow; ++r) {
      from->read(r * widthBelow + row, piece);
      for (int64_t c = 0; c < count; ++c)
        out[c * rowsBelow + r] = piece[c];
    }
  }

private:
  TensorViewRef from;
};

class Gathered : public ByRows {
public:
  Gathered(TensorViewRef from, std::vector<int64_t> taken)
      : ByRows(withRows(*from, static_cast<int64_t>(taken.size())), recipeOf(*from, taken)),
        from(std::move(from)), taken(std::move(taken)) {}
  std::string fileType() const override { return from->fileType(); }
  std::optional<DType> codeType() const override { return from->codeType(); }
  std::optional<GroupCodes> codes(int64_t first) const override {
    const int64_t width = columns(), column = first % width;
    if (!codeType() || column + formatOf(*codeType()).group > width)
      return {};
    return from->codes(taken[first / width] * width + column);
  }
  std::optional<std::vector<ViewRange>> ranges() const override {
    const auto own = from->ranges();
    if (!own || own->size() != 1 || own->front().transposed)
      return {};
    std::vector<ViewRange> all;
    for (size_t r = 0; r < taken.size(); ++r) {
      const int64_t at = own->front().at + taken[r] * columns();
      if (!all.empty() && all.back().at + all.back().count == at)
        all.back().count += columns();
      else
        all.push_back({own->front().source, own->front().tensor,
                       static_cast<int64_t>(r) * columns(), columns(), at});
    }
    return all;
  }

protected:
  /// Reads runs of consecutive rows in one call.
  void readRows(int64_t row, int64_t count, std::span<float> out) const override {
    const int64_t width = columns();
    for (int64_t r = row; r < row + count;) {
      int64_t run = 1;
      while (r + run < row + count && taken[r + run] == taken[r] + run)
        ++run;
      from->read(taken[r] * width, out.subspan((r - row) * width, run * width));
      r += run;
    }
  }

private:
  /// Runs of rows, written as "from+count".
  static std::string recipeOf(const TensorView &from, const std::vector<int64_t> &taken) {
    std::string text = "rows(" + from.recipe();
    for (size_t r = 0; r < taken.size();) {
      size_t run = 1;
      while (r + run < taken.size() && taken[r + run] == taken[r] + static_cast<int64_t>(run))
        ++run;
      text += "," + std::to_string(taken[r]) + "+" + std::to_string(run);
      r += run;
    }
    return text + ")";
  }

  TensorViewRef from;
  std::vector<int64_t> taken;
};

/// Rows times factors (`scales`), or columns or single elements plus terms.
class Adjusted : public ByRows {
public:
  Adjusted(TensorViewRef from, const TensorViewRef &numbers, bool scales)
      : ByRows(from->shape(),
               (scales ? "times(" : "plus(") + from->recipe() + "," + numbers->recipe() + ")"),
        from(std::move(from)), numbers(numbers->elements()), scales(scales),
        ranged(numbers->ranges()) {
    numbers->read(0, this->numbers);
  }
  /// A sum may be stored as its first term and zeros.
  std::optional<std::vector<ViewRange>> ranges() const override {
    const float neutral = scales ? 1 : 0;
    if (std::ranges::all_of(numbers, [&](float number) { return number == neutral; }))
      return from->ranges();
    auto all = scales || !ranged ? std::nullopt : from->ranges();
    for (ViewRange zeros : all ? *ranged : std::vector<ViewRange>()) {
      zeros.count = 0;
      all->push_back(zeros);
    }
    return all;
  }

protected:
  void readRows(int64_t row, int64_t count, std::span<float> out) const override {
    const int64_t width = columns();
    from->read(row * width, out);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < width; ++c) {
        float &x = out[r * width + c];
        const size_t place = numbers.size() == 1 ? 0
                             : scales            ? row + r
                             : static_cast<int64_t>(numbers.size()) == elements()
                                 ? (row + r) * width + c
                                 : c;
        float number = numbers[place];
        x = scales ? x * number : x + number;
      }
  }

private:
  TensorViewRef from;
  std::vector<float> numbers;
  bool scales;
  std::optional<std::vector<ViewRange>> ranged; ///< of the numbers
};

std::vector<float> allOf(const TensorView &view) {
  std::vector<float> values(view.elements());
  view.read(0, values);
  return values;
}

class Normalized : public ByRows {
public:
  Normalized(TensorViewRef from, const TensorViewRef &weight, const TensorViewRef &bias,
             float epsilon)
      : ByRows(from->shape(), "norm(" + from->recipe() + "," + weight->recipe() + "," +
                                  bias->recipe() + "," +
                                  formatted("%a", static_cast<double>(epsilon)) + ")"),
        from(std::move(from)), weight(allOf(*weight)), bias(allOf(*bias)), epsilon(epsilon) {}

protected:
  void readRows(int64_t row, int64_t count, std::span<float> out) const override {
    const int64_t width = columns();
    from->read(row * width, out);
    for (int64_t r = 0; r < count; ++r) {
      std::span<float> x = out.subspan(r * width, width);
      double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(width), square = 0;
      for (float value : x)
        square += (value - mean) * (value - mean);
      double factor = 1 / std::sqrt(square / double(width) + epsilon);
      for (int64_t c = 0; c < width; ++c)
        x[c] = static_cast<float>((x[c] - mean) * factor * weight[c] + bias[c]);
    }
  }

private:
  TensorViewRef from;
  std::vector<float> weight, bias;
  double epsilon;
};

/// Sums in sixteen lanes, which compilers keep in vector registers.
float dot(const float *x, const float *y, int64_t count) {
  constexpr int64_t lanes = 16;
  float sums[lanes] = {}, sum = 0;
  int64_t n = 0;
  for (; n + lanes <= count; n += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += x[n + lane] * y[n + lane];
  for (; n < count; ++n)
    sum += x[n] * y[n];
  return std::accumulate(sums, sums + lanes, sum);
}

class Multiplied : public TensorView {
public:
  Multiplied(TensorViewRef from, TensorViewRef weight, TensorViewRef bias)
      : TensorView({from->rows(), weight->rows()}, "product(" + from->recipe() + "," +
                                                       weight->recipe() +
                                                       (bias ? "," + bias->recipe() : "") + ")"),
        from(std::move(from)), weight(std::move(weight)), bias(std::move(bias)) {}
  void read(int64_t first, std::span<float> out) const override {
    std::call_once(computed, [&] { compute(); });
    std::copy_n(values.begin() + first, out.size(), out.begin());
  }

private:
  void compute() const {
    std::vector<float> x = allOf(*from), w = allOf(*weight);
    std::vector<float> b = bias ? allOf(*bias) : std::vector<float>(weight->rows());
    const int64_t width = from->columns();
    values.resize(elements());
    for (int64_t n = 0; n < elements(); ++n) {
      int64_t row = n / columns(), column = n % columns();
      values[n] = b[column] + dot(&x[row * width], &w[column * width], width);
    }
  }

  TensorViewRef from, weight, bias;
  mutable std::once_flag computed;
  mutable std::vector<float> values;
};

class ViewSource : public WeightSource {
public:
  ViewSource(std::string name, std::vector<std::pair<std::string, TensorViewRef>> named,
             std::vector<std::unique_ptr<WeightSource>> owned)
      : text(std::move(name)), owned(std::move(owned)) {
    for (auto &[tensor, view] : named) {
      infos.push_back({tensor, "f32", view->shape()});
      views.push_back(std::move(view));
    }
  }
  const std::string &name() const override { return text; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override {
    views[tensor]->read(first, out);
  }
  std::span<const float> inPlace(int tensor) const override { return views[tensor]->inPlace(); }
  std::string fileType(int tensor) const override { return views[tensor]->fileType(); }
  std::optional<DType> codeType(int tensor) const override { return views[tensor]->codeType(); }
  std::optional<GroupCodes> codes(int tensor, int64_t first) const override {
    return views[tensor]->codes(first);
  }

private:
  std::string text;
  std::vector<std::unique_ptr<WeightSource>> owned;
  std::vector<TensorInfo> infos;
  std::vector<TensorViewRef> views;
};
} // namespace

TensorViewRef viewOf(const WeightSource &source, int tensor) {
  return std::make_shared<Stored>(source, tensor);
}
TensorViewRef filled(std::vector<int64_t> shape, float value) {
  return std::make_shared<Filled>(std::move(shape), value);
}
TensorViewRef sinusoids(std::vector<int64_t> shape, int64_t first, double divisor) {
  assert(shape.size() == 2 && shape[1] % 2 == 0);
  return std::make_shared<Sinusoids>(std::move(shape), first, divisor);
}
TensorViewRef reshaped(TensorViewRef from, std::vector<int64_t> shape) {
  return from->shape() == shape ? from
                                : std::make_shared<Reshaped>(std::move(from), std::move(shape));
}
TensorViewRef concatenated(std::vector<TensorViewRef> parts) {
  return parts.size() == 1 ? parts.front() : std::make_shared<Concatenated>(std::move(parts));
}
TensorViewRef transposed(TensorViewRef from) {
  return from->shape().size() == 2 ? std::make_shared<Transposed>(std::move(from)) : from;
}
TensorViewRef gathered(TensorViewRef from, std::vector<int64_t> rows) {
  return std::make_shared<Gathered>(std::move(from), std::move(rows));
}
TensorViewRef scaled(TensorViewRef from, TensorViewRef factors) {
  return std::make_shared<Adjusted>(std::move(from), factors, /*scales=*/true);
}
TensorViewRef shifted(TensorViewRef from, TensorViewRef terms) {
  std::vector<int64_t> shape = from->shape();
  if (shape.size() == 1 && terms->elements() > 1) // elements of a vector are rows: make it one row
    return reshaped(shifted(reshaped(std::move(from), {1, shape[0]}), std::move(terms)), shape);
  return std::make_shared<Adjusted>(std::move(from), terms, /*scales=*/false);
}
TensorViewRef normalized(TensorViewRef from, const TensorViewRef &weight, const TensorViewRef &bias,
                         float epsilon) {
  return std::make_shared<Normalized>(std::move(from), weight, bias, epsilon);
}
TensorViewRef multiplied(TensorViewRef from, TensorViewRef weight, TensorViewRef bias) {
  return std::make_shared<Multiplied>(std::move(from), std::move(weight), std::move(bias));
}
std::unique_ptr<WeightSource>
makeViewSource(std::string name, std::vector<std::pair<std::string, TensorViewRef>> views,
               std::vector<std::unique_ptr<WeightSource>> owned) {
  return std::make_unique<ViewSource>(std::move(name), std::move(views), std::move(owned));
}

} // namespace heddle
