#include "prelude.h"

// Ways to transpose an n x n matrix, n = 16 << shift, 256 elements for each workgroup. TILE chooses: 0 goes straight to
// memory, 16 through a tile in LDS whose columns lie in two banks, 17 pads its rows; SWIZZLE permutes its columns.
#ifndef TILE
#define TILE 0
#endif
#ifdef SWIZZLE
#define AT(row, column) tile[row][(column) ^ (row)]
#else
#define AT(row, column) tile[row][column]
#endif

extern "C" __global__ WORKGROUP(256) void transpose(const float* in, float* out, int shift) {
  unsigned n = 16u << shift, t = thread();
#if TILE == 0
  unsigned i = group() * 256 + t, x = i & (n - 1), y = i >> (shift + 4);
  out[x * n + y] = in[y * n + x];
#else
  __shared__ float tile[16][TILE];
  unsigned x = t % 16, y = t / 16, left = (group() & ((1u << shift) - 1)) * 16, top = (group() >> shift) * 16;
  AT(y, x) = in[(top + y) * n + left + x];
  barrier();
  out[(left + y) * n + top + x] = AT(x, y);
#endif
}
