// Executes the dispatch that a plan describes, writes what it left in memory, and prints one JSON object.
#include <cstdio>

#include "softgpu/emulator/answer.h"
#include "softgpu/emulator/plan.h"
#include "softgpu/emulator/run.h"

int main(int argc, char** argv) {
  using namespace rocm_perf::softgpu;
  if (argc != 2) {
    std::fprintf(stderr, "usage: emulator PLAN\n");
    return 2;
  }
  Answer answer = run_plan(argv[1]);
  answer.print();
  return answer.exit_code;
}
