// Prints the cosine similarity of two texts.
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: sentence-embedding MODEL.heddle TEXT TEXT
#include <heddle/Generation/TextEncoder.h>

#include <cstdio>

static int fail(const heddle::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fail({.message = "expected MODEL.heddle TEXT TEXT"});
  auto session = heddle::Session::open(argv[1]);
  if (!session)
    return fail(session.error());
  auto encoder = heddle::TextEncoder::create(*session);
  if (!encoder)
    return fail(encoder.error());
  auto vectors = encoder->encode({argv[2], argv[3]});
  if (!vectors)
    return fail(vectors.error());
  std::printf("%.6f\n", heddle::cosine((*vectors)[0], (*vectors)[1]));
}
