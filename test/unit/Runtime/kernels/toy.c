// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of the toy program for CPUs; add.comp and accumulate.comp are the
// Vulkan versions.
typedef long long i64;

static i64 least(i64 a, i64 b) { return a < b ? a : b; }

// z = x + y over n elements, 64 in each grid point.
void add(void *const *arguments, const i64 *scalars, i64 g0, i64 g1, i64 g2) {
  const float *x = arguments[0], *y = arguments[1];
  float *z = arguments[2];
  for (i64 i = g0 * 64; i < least(g0 * 64 + 64, scalars[0]); ++i)
    z[i] = x[i] + y[i];
}

// sum += x; y = sum.
void accumulate(void *const *arguments, const i64 *scalars, i64 g0, i64 g1, i64 g2) {
  const float *x = arguments[0];
  float *sum = arguments[1], *y = arguments[2];
  for (i64 i = g0 * 64; i < least(g0 * 64 + 64, scalars[0]); ++i)
    y[i] = sum[i] += x[i];
}
