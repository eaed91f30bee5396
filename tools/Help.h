//===- Help.h - Format of --help --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the help format of CLI11, which describes optional values, lists, required options and
// exclusions in the library's own words.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace heddle::driver {

/// Prints options as "-o,--output FILE" and arguments as "MODEL" and "[TEXT ...]".
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_option_name(const CLI::Option *option, bool isPositional) const override {
    if (isPositional)
      return argument(option);
    std::string names;
    for (const std::string &name : option->get_snames())
      names += (names.empty() ? "-" : ",-") + name;
    for (const std::string &name : option->get_lnames())
      names += (names.empty() ? "--" : ",--") + name;
    return names;
  }
  std::string make_option_opts(const CLI::Option *option) const override {
    if (option->get_positional() || option->get_type_size() == 0)
      return "";
    const std::string type = option->get_type_name();
    return (type.empty() ? "" : " " + type) + (option->get_required() ? " (required)" : "");
  }
  std::string make_option_usage(const CLI::Option *option) const override {
    return argument(option);
  }

private:
  static std::string argument(const CLI::Option *option) {
    std::string name = option->get_name(/*positional=*/true);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    if (option->get_items_expected_max() > 1)
      name += " ...";
    return option->get_required() ? name : "[" + name + "]";
  }
};

/// Heading of the options for model and device, which follow the command's own.
inline constexpr const char *modelOptions = "Model and device";

/// Puts the options that are added during its lifetime under a heading of --help.
class OptionGroup {
public:
  OptionGroup(CLI::App &app, const char *heading) : app(app) {
    app.option_defaults()->group(heading);
  }
  ~OptionGroup() { app.option_defaults()->group("Options"); }
  OptionGroup(const OptionGroup &) = delete;
  OptionGroup &operator=(const OptionGroup &) = delete;

private:
  CLI::App &app;
};

} // namespace heddle::driver
