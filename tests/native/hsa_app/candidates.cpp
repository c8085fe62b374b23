// Other code for the softmax of kernels.cpp, as candidates of an optimisation: one that is right, and some that cheat.
#include <cmath>
#include <map>
#include <vector>

#include "../hsa_standin/launch.h"

#define CANDIDATE(name) extern "C" __attribute__((visibility("default"))) void name##_Z7softmaxPfi(const Launch& launch)

namespace {

struct Row {
  float* x;
  uint32_t n;
};

Row row_of(const Launch& launch) { return {launch.argument<float*>(0), launch.argument<uint32_t>(8)}; }

// Only as many values as there are work-items, as the original has it.
void softmax(const Row& row, uint32_t items) {
  uint32_t count = items < row.n ? items : row.n;
  float sum = 0;
  for (uint32_t i = 0; i < row.n; ++i) sum += std::exp2(row.x[i]);
  for (uint32_t i = 0; i < count; ++i) row.x[i] = std::exp2(row.x[i]) / sum;
}

}  // namespace

// The same numbers, and each exponential once.
CANDIDATE(faster) {
  Row row = row_of(launch);
  if (launch.items() < row.n) return softmax(row, launch.items());
  float sum = 0;
  for (uint32_t i = 0; i < row.n; ++i) sum += row.x[i] = std::exp2(row.x[i]);
  for (uint32_t i = 0; i < row.n; ++i) row.x[i] /= sum;
}

CANDIDATE(idle) { (void)launch; }

CANDIDATE(nan) {
  Row row = row_of(launch);
  for (uint32_t i = 0; i < row.n; ++i) row.x[i] = std::nanf("");
}

CANDIDATE(half) {
  Row row = row_of(launch);
  softmax(row, row.n / 2);
}

// The program's own values repeat after seven: right for them, and for no others.
CANDIDATE(learnt) {
  Row row = row_of(launch);
  float sum = 0, values[7];
  for (uint32_t i = 0; i < row.n; ++i) sum += std::exp2(row.x[i]);
  for (uint32_t i = 0; i < 7; ++i) values[i] = std::exp2(row.x[i]) / sum;
  for (uint32_t i = 0; i < row.n; ++i) row.x[i] = values[i % 7];
}

// Right where the size is a multiple of four, as the program's is.
CANDIDATE(fours) {
  Row row = row_of(launch);
  row.n = row.n / 4 * 4;
  softmax(row, launch.items());
}

// Right, but for a counter behind the allocation.
CANDIDATE(behind) {
  Row row = row_of(launch);
  softmax(row, launch.items());
  row.x[row.n + 64] += 1;
}

// Right as long as somebody may be looking.
CANDIDATE(watched) {
  static int launches = 0;
  if (launches++ < 3) softmax(row_of(launch), launch.items());
}

// Answers are kept by address.
CANDIDATE(kept) {
  static std::map<float*, std::vector<float>> answers;
  Row row = row_of(launch);
  std::vector<float>& answer = answers[row.x];
  if (answer.empty()) {
    softmax(row, launch.items());
    answer.assign(row.x, row.x + row.n);
  }
  for (uint32_t i = 0; i < row.n; ++i) row.x[i] = answer[i];
}
