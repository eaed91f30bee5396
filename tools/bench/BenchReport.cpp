//===- BenchReport.cpp - Report of a benchmark ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both formats print the medians of BenchFigures, with shares of the total time and of the type's
// peak. A share above 1 means that other processes ran while the peak was measured.
#include "BenchReport.h"

#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

/// Medians of a kernel, or their sum.
struct Line {
  std::string name;
  int launches = 0;
  double seconds = 0, flops = 0, bytes = 0;
  double atPeak = 0; ///< seconds of the operations at peak rate; 0: no peak

  std::optional<double> ofPeak() const {
    return atPeak > 0 && seconds > 0 ? std::optional(atPeak / seconds) : std::nullopt;
  }
};

/// One line per kernel, then the total.
std::vector<Line> linesOf(const BenchFigures &figures) {
  std::vector<Line> lines;
  Line all{"all kernels"};
  all.seconds = medianOf(figures.launches);
  for (const KernelFigures &kernel : figures.kernels) {
    const double peak = figures.peakOf(kernel.products), flops = static_cast<double>(kernel.flops);
    const Line &line =
        lines.emplace_back(kernel.name, kernel.launches, medianOf(kernel.seconds), flops,
                           static_cast<double>(kernel.bytes), peak > 0 ? flops / peak : 0);
    all.launches += line.launches;
    all.flops += line.flops;
    all.bytes += line.bytes;
    all.atPeak += line.atPeak;
  }
  lines.push_back(std::move(all));
  return lines;
}

//===- Text --------------------------------------------------------------===//

std::string percent(std::optional<double> share) {
  return share ? formatted("%.1f%%", *share * 100) : "-";
}

std::string row(const Line &line, double all) {
  auto a = [&](double value) { return line.seconds > 0 ? value / line.seconds : 0; };
  return formatted("%-36s %8d %10.4f %8s %9.1f %8s %8.1f %9.2f\n", line.name.c_str(), line.launches,
                   line.seconds * 1e3, percent(all > 0 ? line.seconds / all : 0).c_str(),
                   a(line.flops) * 1e-9, percent(line.ofPeak()).c_str(), a(line.bytes) * 1e-9,
                   line.bytes * 1e-6);
}

/// Explains a kernel that seems to exceed its peak.
std::string busyNote(const std::vector<Line> &lines) {
  constexpr double most = 1.05; // tolerance between two measurements
  const bool isBeyond =
      std::ranges::any_of(lines, [](const Line &line) { return line.ofPeak().value_or(0) > most; });
  return isBeyond ? "note     a share above 100% of the peak: the machine was busy while the peak "
                    "was measured\n"
                  : "";
}

/// Where the time of a call went, by the clocks of device and host.
std::string clockText(const std::optional<CallTime> &time) {
  if (!time)
    return "";
  return formatted("; device %.4f, host: recording %.4f, submitting %.4f, waking %.4f; "
                   "%lld barriers, %s",
                   time->device * 1e3, time->recording * 1e3, time->submitting * 1e3,
                   time->waking() * 1e3, static_cast<long long>(time->barriers),
                   time->isReplayed ? "replayed" : "recorded");
}

std::string tableOf(const BenchFigures &figures) {
  const std::vector<Line> lines = linesOf(figures);
  const Line &all = lines.back();
  std::string text = formatted("%-36s %8s %10s %8s %9s %8s %8s %9s\n", "kernel", "launches", "ms",
                               "of all", "GFLOP/s", "of peak", "GB/s", "MB");
  for (const Line &line : lines)
    text += row(line, all.seconds);
  const double call = medianOf(figures.calls), least = static_cast<double>(figures.leastBytes);
  text += formatted("\ncall     %.4f ms with binding and the copies at the boundary", call * 1e3) +
          clockText(figures.callTime()) + "\n";
  text +=
      formatted("moved    %.2f MB by the kernels; inputs, weights and results once are %.2f MB: "
                "%.2f times\n",
                all.bytes * 1e-6, least * 1e-6, all.bytes / std::max(1.0, least));
  return text + busyNote(lines);
}

/// Instruction that determines the peak: the type's own, or f32 multiply-adds if there is none or
/// it is slower.
std::string instructionOf(Arithmetic arithmetic) {
  std::string own = rateInstruction(arithmetic);
  bool isSlower = arithmetic == Arithmetic::BF16 && !cpuRates().dot2Pays();
  return own.empty() || isSlower ? rateInstruction(Arithmetic::F32) : own;
}

/// Describes how a peak was reached.
std::string wayOf(const BenchSubject &subject, const BenchFigures &figures, DType products) {
  return subject.onVulkan ? figures.ways.at(products) : instructionOf(formatOfRows(products).peak);
}

std::string headOf(const BenchSubject &subject, const BenchFigures &figures) {
  const int threads = threadsOf(subject.command);
  std::string text = "device   " + subject.session.deviceText();
  if (!subject.onVulkan)
    text += formatted(", %d %s", threads, threads == 1 ? "thread" : "threads");
  const char *separator = "\npeak     ", *unit = " GFLOP/s";
  for (auto &[products, rates] : figures.peaks) {
    text += formatted("%s%.1f%s %s (", separator, medianOf(rates) * 1e-9, unit,
                      toString(formatOfRows(products).peak)) +
            wayOf(subject, figures, products) + ")";
    separator = ", ";
    unit = "";
  }
  text += ", memory ";
  if (!figures.copies.empty())
    text += formatted("copied at %.1f GB/s, ", medianOf(figures.copies) * 1e-9);
  text += formatted("read at %.1f GB/s", medianOf(figures.reads) * 1e-9);
  text += "\nfunction " + subject.function.name;
  for (const std::string &name : subject.function.dims)
    text += " " + name + "=" + std::to_string(subject.sizes.dims.at(name)) +
            (subject.sizes.limited.contains(name) ? " (its limit)" : "");
  return text + formatted(", medians of %d rounds\n\n", subject.command.rounds);
}

//===- JSON --------------------------------------------------------------===//

Json jsonOf(const Line &line, double all) {
  const std::optional<double> ofPeak = line.ofPeak();
  return {{"name", line.name},
          {"launches", line.launches},
          {"seconds", line.seconds},
          {"share", all > 0 ? line.seconds / all : 0},
          {"flops", static_cast<int64_t>(line.flops)},
          {"bytes", static_cast<int64_t>(line.bytes)},
          {"peak_share", ofPeak ? Json(*ofPeak) : Json()}};
}

Json peaksOf(const BenchSubject &subject, const BenchFigures &figures) {
  Json peaks = Json::object();
  for (auto &[products, rates] : figures.peaks)
    peaks[toString(formatOfRows(products).peak)] = {{"flops_per_second", medianOf(rates)},
                                                    {"way", wayOf(subject, figures, products)}};
  return peaks;
}

/// Seconds of a call by the clocks of device and host; null without a device's clock.
Json jsonOf(const std::optional<CallTime> &time) {
  if (!time)
    return {};
  return {{"device_seconds", time->device},
          {"recording_seconds", time->recording},
          {"submitting_seconds", time->submitting},
          {"waking_seconds", time->waking()},
          {"barriers", time->barriers},
          {"is_replayed", time->isReplayed}};
}

} // namespace

std::optional<CallTime> BenchFigures::callTime() const {
  if (callTimes.empty())
    return std::nullopt;
  CallTime medians = callTimes.back();
  for (double CallTime::*part :
       {&CallTime::device, &CallTime::recording, &CallTime::submitting, &CallTime::waiting}) {
    std::vector<double> values;
    for (const CallTime &time : callTimes)
      values.push_back(time.*part);
    medians.*part = medianOf(std::move(values));
  }
  return medians;
}

int threadsOf(const BenchCommand &command) {
  return command.threads > 0 ? command.threads : processorCount();
}

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::string benchText(const BenchSubject &subject, const BenchFigures &figures) {
  return headOf(subject, figures) + tableOf(figures);
}

std::string benchJson(const BenchSubject &subject, const BenchFigures &figures) {
  const std::vector<Line> lines = linesOf(figures);
  const Line &all = lines.back();
  Json kernels = Json::array(), dims = Json::object();
  for (size_t i = 0; i + 1 < lines.size(); ++i)
    kernels.push_back(jsonOf(lines[i], all.seconds));
  for (const std::string &name : subject.function.dims)
    dims[name] = subject.sizes.dims.at(name);
  const Json report{
      {"device", subject.session.deviceText()},
      {"threads", subject.onVulkan ? Json() : Json(threadsOf(subject.command))},
      {"function", subject.function.name},
      {"dims", dims},
      {"rounds", subject.command.rounds},
      {"peaks", peaksOf(subject, figures)},
      {"memory_bytes_per_second", medianOf(figures.reads)},
      {"kernels", kernels},
      {"all", jsonOf(all, all.seconds)},
      {"copied_bytes_per_second", figures.copies.empty() ? Json() : Json(medianOf(figures.copies))},
      {"call_seconds", medianOf(figures.calls)},
      {"call", jsonOf(figures.callTime())},
      {"least_bytes", figures.leastBytes}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace heddle
