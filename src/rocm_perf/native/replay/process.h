// The life of a runner: it ends with the process that started it, starts itself again for another address space, and
// always answers.
#pragma once

#include <functional>

#include "replay/answer.h"
#include "replay/plan.h"

namespace rocm_perf {

// `run(plan, answer)` with a plan from the command line; where addresses are taken, again up to `attempts` times in
// another layout.
int run_to_the_end(int count, char** argv, int attempts,
                   const std::function<void(const Plan& plan, Answer& answer)>& run);

}  // namespace rocm_perf
