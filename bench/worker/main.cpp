//===- main.cpp - Worker process of bench/run -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads requests, one JSON object per line, and answers each with a line. The process lives as long
// as the harness, so that no figure includes a start, and is stopped (SIGSTOP, by the harness)
// while others are timed.
#include "Commands.h"

#include <exception>
#include <iostream>

int main() {
  heddle::bench::Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    heddle::bench::Json answer;
    try { // from the JSON library: a request lacks a key
      answer = worker.answer(heddle::bench::Json::parse(line));
    } catch (const std::exception &error) {
      answer = {{"error", error.what()}, {"kind", 3}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
