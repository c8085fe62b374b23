// What the program prints: one JSON object per line.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rocm_perf {

using Times = std::vector<double>;  // milliseconds

constexpr int kWarmups = 3;
constexpr int kSamples = 20;

// Times of single launches on the default stream, by device events, with no wait between them.
Times event_times_ms(const std::function<void()>& launch);
// Times of `calls` calls in a row by the host's clock, as a mean of each; `after` is not timed.
Times host_times_ms(int calls, const std::function<void()>& call, const std::function<void()>& after);

double median(Times times);

// `amount` is what one launch moves or computes, in the unit without its prefix and "/s": B, FLOP, OP, or calls.
void report(const std::string& name, const std::string& unit, double amount, const Times& times);
void report_absent(const std::string& name, const std::string& reason);

}  // namespace rocm_perf
