#version 450
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Witness: attention over heads of 64, hand-written, with ordinary online
// softmax. A workgroup computes 64 query rows of one head. Each of its 8 x 8
// invocations holds 8 rows x 8 columns of scores and of outputs. Probabilities
// and row statistics are exchanged in shared memory. Queries, values and
// outputs are [heads][rows][64], keys are panels [heads][rows/16][64][16]; the
// number of key rows is a multiple of 64.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { int queries, queryRows, keys, keyRows, q, k, v, o, baseZ, baseY, baseX; } push;
layout(set = 0, binding = 0) buffer Memory { vec4 memory[]; };
shared vec4 p[64 * 16];
shared float rows[64 * 8];

void main() {
  int t = int(gl_LocalInvocationID.x), tx = t & 7, r0 = (t >> 3) * 8;
  int head = int(gl_WorkGroupID.z) + push.baseZ, row = (int(gl_WorkGroupID.y) + push.baseY) * 64 + r0;
  int q = push.q + (head * push.queryRows + row) * 16, k = push.k + head * push.keyRows * 16, v = push.v + head * push.keyRows * 16;
  vec4 acc[8][2];
  float top[8], total[8];
  for (int r = 0; r < 8; r++) {
    acc[r][0] = acc[r][1] = vec4(0.0);
    top[r] = -1e30;
    total[r] = 0.0;
  }
  for (int j = 0; j < push.keys; j += 64) {
    vec4 s[8][2], a[8];
    for (int r = 0; r < 8; r++)
      s[r][0] = s[r][1] = vec4(0.0);
    int c = j + tx * 8, kp = k + (c & ~15) * 16 + (c & 15) / 4;
    for (int d = 0; d < 16; d++) {
#define SCORE(u, e)                                                       \
  {                                                                       \
    vec4 k0 = memory[kp + (d * 4 + u) * 4], k1 = memory[kp + (d * 4 + u) * 4 + 1]; \
    for (int r = 0; r < 8; r++) {                                         \
      if (u == 0)                                                         \
        a[r] = memory[q + r * 16 + d];                                    \
      s[r][0] = fma(vec4(a[r].e), k0, s[r][0]);                           \
      s[r][1] = fma(vec4(a[r].e), k1, s[r][1]);                           \
    }                                                                     \
  }
      SCORE(0, x) SCORE(1, y) SCORE(2, z) SCORE(3, w)
    }
    for (int i = 0; i < 2; i++) {
      bvec4 real = lessThan(ivec4(c + 4 * i) + ivec4(0, 1, 2, 3), ivec4(push.keys));
      for (int r = 0; r < 8; r++)
        s[r][i] = mix(vec4(-1e30), s[r][i] * 0.18033688, real); // log2(e) / sqrt(64)
    }
    for (int r = 0; r < 8; r++) {
      vec4 x = max(s[r][0], s[r][1]);
      rows[(r0 + r) * 8 + tx] = max(max(x.x, x.z), max(x.y, x.w));
    }
    barrier();
    float shrink[8];
    for (int r = 0; r < 8; r++) {
      float x = top[r];
      for (int i = 0; i < 8; i++)
        x = max(x, rows[(r0 + r) * 8 + i]);
      shrink[r] = exp2(top[r] - x);
      top[r] = x;
    }
    barrier();
    for (int r = 0; r < 8; r++) {
      s[r][0] = exp2(s[r][0] - top[r]);
      s[r][1] = exp2(s[r][1] - top[r]);
      vec4 x = s[r][0] + s[r][1];
      rows[(r0 + r) * 8 + tx] = (x.x + x.z) + (x.y + x.w);
      p[(r0 + r) * 16 + tx * 2] = s[r][0];
      p[(r0 + r) * 16 + tx * 2 + 1] = s[r][1];
    }
    barrier();
    for (int r = 0; r < 8; r++) {
      float x = 0.0;
      for (int i = 0; i < 8; i++)
        x += rows[(r0 + r) * 8 + i];
      total[r] = total[r] * shrink[r] + x;
      acc[r][0] *= shrink[r];
      acc[r][1] *= shrink[r];
    }
    int vp = v + j * 16 + tx * 2;
    for (int n = 0; n < 16; n++) {
#define VALUE(u, e)                                                       \
  {                                                                       \
    vec4 v0 = memory[vp + (n * 4 + u) * 16], v1 = memory[vp + (n * 4 + u) * 16 + 1]; \
    for (int r = 0; r < 8; r++) {                                         \
      if (u == 0)                                                         \
        a[r] = p[(r0 + r) * 16 + n];                                      \
      acc[r][0] = fma(vec4(a[r].e), v0, acc[r][0]);                       \
      acc[r][1] = fma(vec4(a[r].e), v1, acc[r][1]);                       \
    }                                                                     \
  }
      VALUE(0, x) VALUE(1, y) VALUE(2, z) VALUE(3, w)
    }
    barrier();
  }
  for (int r = 0; r < 8; r++)
    if (row + r < push.queries)
      for (int i = 0; i < 2; i++)
        memory[push.o + (head * push.queryRows + row + r) * 16 + tx * 2 + i] = acc[r][i] / total[r];
}
