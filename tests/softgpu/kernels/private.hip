// Memory of one work-item, calls, and variables of the code object.
#include "kernel.h"

CONSTANT const int kTable[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
VARIABLE int counter = 5;
VARIABLE int* pointer = &counter;

__attribute__((noinline)) DEVICE int mixed(int a, int b) { return a * kTable[b & 15] + counter; }
__attribute__((noinline)) DEVICE void swap_both(int* a, int* b) {
  int kept = *a;
  *a = *b;
  *b = kept;
}

KERNEL stack(const int* x, int* y, int n) {
  int i = item();
  if (i >= n) return;
  int values[32];
  for (int k = 0; k < 32; ++k) values[k] = x[i] * k + kTable[k & 15];
  for (int k = 0; k < 40; ++k) {
    int at = (x[i] >> (k & 7)) & 31;
    values[at] = values[31 - at] + values[k & 31];
  }
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum = sum * 31 + values[k];
  y[i] = sum;
}
TWIN(stack)

KERNEL calls(const int* x, int* y, int n) {
  int i = item();
  if (i >= n) return;
  int a = x[i], b = i;
  swap_both(&a, &b);
  int sum = mixed(a, b);
  if (sum & 1) sum += mixed(b, sum);
  y[i] = sum + *pointer;
}
TWIN(calls)

typedef int (*Function)(int, int);
__attribute__((noinline)) DEVICE int plus(int a, int b) { return a + b; }
__attribute__((noinline)) DEVICE int times(int a, int b) { return a * b; }
KERNEL indirect(const int* x, int* y, int n) {
  int i = item();
  if (i >= n) return;
  Function chosen = x[i] & 1 ? plus : times;
  y[i] = chosen(x[i], i);
}
TWIN(indirect)
