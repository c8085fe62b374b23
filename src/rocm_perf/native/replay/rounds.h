// The rounds of a replay: every variant of the code once a round, those of the warm-up uncounted.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "replay/answer.h"

namespace rocm_perf {

// A B, B A, B A, A B ...: every order comes equally often, so that drift of clocks and temperature, and what one launch
// leaves to the next, meet all alike.
std::vector<std::size_t> order_of_round(std::size_t variants, std::uint64_t round);

// `once(variant, is_last)` launches it and gives its time in nanoseconds; `counted()` follows a launch that counts.
template <class Variant, class Once, class Counted>
void take_times(const Plan& plan, const std::vector<Variant>& variants, Answer& answer, Once once, Counted counted) {
  auto begun = std::chrono::steady_clock::now();
  std::uint64_t left = (plan.warmup + plan.iterations) * variants.size();
  for (std::uint64_t round = 0; round < plan.warmup + plan.iterations; ++round) {
    for (std::size_t which : order_of_round(variants.size(), round)) {
      double taken = once(variants[which], --left == 0);
      if (round < plan.warmup) continue;
      answer.samples_ns[variants[which].label].push_back(taken);
      answer.order.push_back(variants[which].label);
      counted();
    }
  }
  std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begun;
  answer.wall_ns = wall.count();
}

}  // namespace rocm_perf
