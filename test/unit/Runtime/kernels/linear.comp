#version 450
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Witness: y = x w + b, hand-written. A workgroup of 64 computes 64 x 128
// outputs, an invocation 8 rows x 16 columns. Weights are in panels of 16
// columns. K is a multiple of 4, N of 128.
#ifndef K
#define K 96
#define N 256
#endif
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { int m, x, w, b, y, baseZ, baseY, baseX; } push;
layout(set = 0, binding = 0) buffer Memory { vec4 memory[]; };
layout(set = 0, binding = 1) readonly buffer Weights { vec4 weights[]; };

void main() {
  int t = int(gl_LocalInvocationID.x);
  int row = (int(gl_WorkGroupID.z) + push.baseZ) * 64 + (t >> 3) * 8;
  int column = (int(gl_WorkGroupID.y) + push.baseY) * 128 + (t & 7) * 16;
  if (row >= push.m)
    return;
  vec4 c[8][4];
  for (int r = 0; r < 8; r++)
    for (int j = 0; j < 4; j++)
      c[r][j] = vec4(0.0);
  int x = push.x + row * (K / 4), w = push.w + column * (K / 4);
  for (int k = 0; k < K / 4; k++) {
    vec4 a[8];
    // One step for each component. The values of a row are loaded at their first use.
#define STEP(u, s)                                                                            \
  {                                                                                           \
    int p = w + (k * 4 + u) * 4;                                                              \
    vec4 w0 = weights[p], w1 = weights[p + 1], w2 = weights[p + 2], w3 = weights[p + 3];      \
    for (int r = 0; r < 8; r++) {                                                             \
      if (u == 0)                                                                             \
        a[r] = memory[x + r * (K / 4) + k];                                                   \
      vec4 v = vec4(a[r].s);                                                                  \
      c[r][0] = fma(v, w0, c[r][0]);                                                          \
      c[r][1] = fma(v, w1, c[r][1]);                                                          \
      c[r][2] = fma(v, w2, c[r][2]);                                                          \
      c[r][3] = fma(v, w3, c[r][3]);                                                          \
    }                                                                                         \
  }
    STEP(0, x) STEP(1, y) STEP(2, z) STEP(3, w)
  }
  for (int r = 0; r < 8; r++)
    if (row + r < push.m)
      for (int j = 0; j < 4; j++)
        memory[push.y + ((row + r) * N + column) / 4 + j] = c[r][j] + weights[push.b + column / 4 + j];
}
