// A kernel with one planted limit, and its repaired form. Each file of cases registers its own; main.cu runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct Buffers {
  float* a;  // kElements each, on the GPU
  float* b;
  float* out;
  std::uint32_t* index;  // kIndices
  float* host;           // kHostElements, pinned and mapped
};

constexpr std::size_t kElements = std::size_t{1} << 28;
constexpr std::size_t kIndices = std::size_t{1} << 26;
constexpr std::size_t kHostElements = std::size_t{1} << 25;

using Launch = void (*)(const Buffers&);

struct Case {
  std::string name;
  std::string limit;  // what an expert would name
  Launch slow;
  Launch mended;            // null where nothing is to be repaired: the kernel is at a roof
  Launch prepare;           // fills what both read; null for random numbers
  std::size_t compared;     // elements of `out` that both must agree on
  float tolerance = 1e-3f;  // relative
};

std::vector<Case>& cases();

struct Register {
  explicit Register(Case added) { cases().push_back(static_cast<Case&&>(added)); }
};

// Uniform in [0, 1), the same on every run.
__host__ __device__ inline std::uint32_t hashed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}
__host__ __device__ inline float random01(std::uint32_t x) { return static_cast<float>(hashed(x) >> 8) / 16777216.0f; }

constexpr unsigned blocks_for(std::size_t items, unsigned block) {
  return static_cast<unsigned>((items + block - 1) / block);
}
