// What stands for the kernels of tests/kernels/replay_one.hip and replay_two.hip in the stand-in HSA runtime: each C
// function has a kernel's mangled name and does the whole grid's work. A smaller grid does less of it.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "../hsa_standin/launch.h"

#define KERNEL extern "C" __attribute__((visibility("default"))) void

namespace {
uint32_t share(const Launch& launch, uint32_t count) { return launch.items() < count ? launch.items() : count; }

std::atomic<bool> scaled{false};

// A kernel that goes on only when one in another queue has run; its first value tells the program that it waits.
void wait_for_scale(float* x) {
  float first = x[0], waiting = -1;
  __atomic_store(x, &waiting, __ATOMIC_SEQ_CST);
  while (!scaled) std::this_thread::yield();
  x[0] = first;
}
}  // namespace

KERNEL _Z7softmaxPfi(const Launch& launch) {
  auto* x = launch.argument<float*>(0);
  auto n = launch.argument<uint32_t>(8);
  if (std::getenv("STANDIN_NEEDS_OTHER")) wait_for_scale(x);
  float sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += std::exp2(x[i]);
  for (uint32_t i = 0; i < share(launch, n); ++i) x[i] = std::exp2(x[i]) / sum;
}

KERNEL _Z5scalePfi(const Launch& launch) {
  auto* x = launch.argument<float*>(0);
  for (uint32_t i = 0; i < share(launch, launch.argument<uint32_t>(8)); ++i) x[i] *= launch.global<float>("factor");
  ++launch.global<uint32_t>("calls");
  scaled = true;
}

struct Node {
  float* values;
  Node* next;
  int64_t n;
};

KERNEL _Z5chaseP4NodePf(const Launch& launch) {
  auto* sum = launch.argument<float*>(8);
  for (auto* node = launch.argument<Node*>(0); node; node = node->next)
    for (int64_t i = 0; i < node->n; ++i) *sum += node->values[i];
}

KERNEL _Z3addPjjj(const Launch& launch) {
  auto* x = launch.argument<uint32_t*>(0);
  for (uint32_t i = 0; i < share(launch, launch.argument<uint32_t>(8)); ++i) x[i] += launch.argument<uint32_t>(12);
}

KERNEL _Z4bothPKjS0_Pjj(const Launch& launch) {
  auto* a = launch.argument<const uint32_t*>(0);
  auto* b = launch.argument<const uint32_t*>(8);
  auto* c = launch.argument<uint32_t*>(16);
  for (uint32_t i = 0; i < share(launch, launch.argument<uint32_t>(24)); ++i) c[i] = a[i] + b[i];
}
