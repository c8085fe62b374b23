#include "prelude.h"

__global__ WORKGROUP(64) void add(unsigned* x, unsigned n, unsigned value) {
  extern __shared__ unsigned staged[];
  for (unsigned i = thread(); i < n; i += 64) {
    staged[thread()] = x[i];
    x[i] = staged[thread()] + value;
  }
}

__global__ WORKGROUP(64) void both(const unsigned* a, const unsigned* b, unsigned* c, unsigned n) {
  for (unsigned i = thread(); i < n; i += 64) c[i] = a[i] + b[i];
}
