// A grid of threads that run one after the other on the CPU: enough for loops in which threads do not meet.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define __global__ static
#define __shared__ static
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
static Index threadIdx, blockIdx, blockDim, gridDim;
struct alignas(16) float4 {
  float x, y, z, w;
};
using Kernel = void (*)(const float*, float*, float*, int);
static int failures = 0, compared = 0;

struct Result {
  std::vector<float> y;
  double sum = 0, highest = 0;
};

// `offset` elements behind an address that is aligned to 16 bytes. Nothing lies behind the last element.
inline Result run(Kernel kernel, unsigned grid, unsigned block, int n, int offset) {
  const size_t bytes = (n + offset + 4) * sizeof(float);
  float* x = static_cast<float*>(std::malloc((n + offset) * sizeof(float) + 1));
  float* y = static_cast<float*>(std::malloc(bytes));
  for (int i = 0; i < n + offset; ++i) x[i] = static_cast<float>((i * 7 + 3) % 11 - 4);
  for (int i = 0; i < n + offset + 4; ++i) y[i] = static_cast<float>((i * 5 + 1) % 13);
  std::vector<float> left(grid * block);
  gridDim.x = grid;
  blockDim.x = block;
  for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel(x + offset, y + offset, left.data(), n);
  }
  Result result{std::vector<float>(y, y + n + offset + 4)};
  for (float each : left) {
    result.sum += each;
    result.highest = std::max(result.highest, static_cast<double>(each));
  }
  std::free(x);
  std::free(y);
  return result;
}

// `joined`: what threads leave is joined by its maximum, not by its sum.
inline void compare(const char* name, Kernel original, Kernel changed, bool joined) {
  for (unsigned grid : {1u, 3u}) {
    for (unsigned block : {1u, 2u, 5u, 32u}) {
      for (int n = 0; n < 70; ++n) {
        for (int offset = 0; offset < 5; ++offset) {
          const Result a = run(original, grid, block, n, offset), b = run(changed, grid, block, n, offset);
          ++compared;
          const bool same = a.y == b.y && (joined ? a.highest == b.highest : a.sum == b.sum);
          if (!same && failures++ < 5) {
            std::printf("%s differs: grid %u, block %u, n %d, offset %d\n", name, grid, block, n, offset);
          }
        }
      }
    }
  }
}

inline int concluded() {
  std::printf("%d comparisons\n", compared);
  return failures != 0;
}
