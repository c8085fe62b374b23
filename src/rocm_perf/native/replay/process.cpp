#include "replay/process.h"

#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "common/file.h"

namespace rocm_perf {
namespace {

// How often this program has started itself again.
int attempt() {
  const char* count = std::getenv("ROCM_PERF_REPLAY_ATTEMPT");
  return count ? std::atoi(count) : 0;
}

// Starts this program again, with or without address space randomisation; returns only where that is denied.
void start_again(char** argv, bool randomised) {
  ::setenv("ROCM_PERF_REPLAY_ATTEMPT", std::to_string(attempt() + 1).c_str(), 1);
  int now = ::personality(0xffffffff);
  if (now == -1) return;
  unsigned long wanted = static_cast<unsigned long>(now);
  wanted = randomised ? wanted & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE) : wanted | ADDR_NO_RANDOMIZE;
  if (::personality(wanted) != -1) ::execv("/proc/self/exe", argv);
}

// The first life ends here; the second has no randomisation.
void without_randomisation(char** argv) {
  if (attempt() == 0) start_again(argv, false);
}

// Where that is killed, nobody else would end a kernel that hangs.
void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace

int run_to_the_end(int count, char** argv, int attempts,
                   const std::function<void(const Plan& plan, Answer& answer)>& run) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s PLAN\n", argv[0]);
    return kBadPlan;
  }
  end_with_parent();
  without_randomisation(argv);
  Answer answer;
  int code = kDone;
  try {
    run(read_plan(argv[1]), answer);
    answer.state = "done";
  } catch (const Failure& failure) {
    bool taken = failure.code == kRelocated || failure.code == kNotReserved;
    if (taken && attempt() < attempts) start_again(argv, true);
    answer.error = failure.what();
    answer.state = failure.code == kRelocated ? "relocated" : "failed";
    code = failure.code;
  } catch (const FileError& error) {
    answer.error = error.what();
    code = error.is_output ? kUnwritable : kUnreadable;
  } catch (const std::bad_alloc&) {
    answer.error = "no host memory";
    code = kNoMemory;
  } catch (const std::exception& error) {
    answer.error = error.what();
    code = kDeviceError;
  }
  answer.print();
  std::fflush(nullptr);
  ::_exit(code);  // the driver's own end may hang where the device has failed
}

}  // namespace rocm_perf
