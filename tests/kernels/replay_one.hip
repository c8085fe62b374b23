#include "prelude.h"

// Captured and replayed in the tests of replay, where C functions of the same names stand for these (native/hsa_app).
__device__ float factor = 2;
__device__ unsigned calls;

__global__ WORKGROUP(64) void softmax(float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += __builtin_exp2f(x[i]);
  barrier();
  for (int i = thread(); i < n; i += 64) x[i] = __builtin_exp2f(x[i]) / sum;
}

__global__ WORKGROUP(64) void scale(float* x, int n) {
  for (int i = thread(); i < n; i += 64) x[i] *= factor;
  if (thread() == 0) ++calls;
}

struct Node {
  float* values;
  Node* next;
  long n;
};

__global__ WORKGROUP(64) void chase(Node* node, float* sum) {
  if (thread()) return;
  for (; node; node = node->next)
    for (long i = 0; i < node->n; ++i) *sum += node->values[i];
}
