#include "softgpu/emulator/run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "common/file.h"
#include "common/plan_line.h"
#include "softgpu/emulator/plan.h"

namespace rocm_perf::softgpu {
namespace {

constexpr std::uint64_t kPage = 4096;

// Memory of this process for a region, at the same place within a page as on the GPU: alignments are kept.
unsigned char* allocated(const PlannedRegion& region) {
  std::uint64_t within = region.base % kPage;
  void* start =
      ::mmap(nullptr, within + region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw FileError("there is no memory for a region of " + std::to_string(region.size), false);
  unsigned char* host = static_cast<unsigned char*>(start) + within;
  if (region.file != "-") File(region.file, O_RDONLY).read_at(host, region.size, region.offset);
  return host;
}

Memory loaded(const Plan& plan) {
  std::vector<Region> regions;
  for (const PlannedRegion& region : plan.regions)
    if (region.size) regions.push_back({region.base, region.size, allocated(region), region.is_writable});
  return Memory(regions);
}

void dump(const Plan& plan, Memory& memory) {
  for (const PlannedDump& dump : plan.dumps) {
    File file(dump.file, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_at(memory.at(dump.base, dump.size, false), dump.size, 0);
  }
}

Program decoded(const Plan& plan) {
  std::ifstream listing(plan.listing);
  if (!listing) throw FileError("cannot read " + plan.listing, false);
  return decode(listing, plan.isa, plan.bias);
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void execute_plan(const Plan& plan, Answer& answer) {
  Memory memory = loaded(plan);
  Program program = decoded(plan);
  Footprint footprint;
  if (plan.is_counting) memory.watch(&footprint);
  auto begun = std::chrono::steady_clock::now();
  double cpu_begun = cpu_seconds();
  answer.outcome = execute(program, memory, plan.dispatch, {plan.threads, plan.timeout_ms}, plan.workgroups,
                           plan.is_counting ? &answer.counts : nullptr);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  memory.watch(nullptr);
  answer.lines = footprint.lines();
  answer.cpu_seconds = cpu_seconds() - cpu_begun;
  answer.error = answer.outcome.error;
  if (!answer.error.empty()) answer.exit_code = answer.outcome.is_timeout ? kTimeout : kFailed;
  for (const Instruction& instruction : program.instructions) answer.addresses.push_back(instruction.pc - plan.bias);
  answer.wave_size = Descriptor(memory, plan.dispatch.descriptor).wave_size();
  dump(plan, memory);
}

}  // namespace

Answer run_plan(const std::string& path) {
  Answer answer;
  try {
    execute_plan(read_plan(path), answer);
  } catch (const PlanError& error) {
    answer.exit_code = kBadPlan;
    answer.error = error.what();
  } catch (const FileError& error) {
    answer.exit_code = error.is_output ? kUnwritable : kUnreadable;
    answer.error = error.what();
  } catch (const OutsideMemory& access) {
    answer.exit_code = kBadPlan;
    answer.error = "the plan names memory that it does not describe, at " + std::to_string(access.address);
  }
  return answer;
}

}  // namespace rocm_perf::softgpu
