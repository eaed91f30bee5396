//===- Version.h - Version of Heddle ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The version of Heddle, by semantic versioning. Before 1.0, a new minor version may change the
// interface and the format of compiled files.
#pragma once

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0
#define HEDDLE_VERSION "0.1.0"
