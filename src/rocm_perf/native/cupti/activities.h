// What CUPTI is asked to record.
#pragma once

#include <string>
#include <vector>

namespace rocm_perf {

bool is_asked(const std::string& domains, const std::string& domain);  // `domains` are separated by commas

// Which calls of CUDA's APIs CUPTI hands over. Those that a verdict needs are launches, waits, copies, allocations and
// graphs: a torch program makes a dozen calls a launch, and each that is recorded takes time of the program.
enum class CallChoice {
  needed,  // chosen before the program's first call; one made when a range opened recorded no call (H200, CUDA 13.0)
  all,     // with the domain hsa, and in windows
};

CallChoice call_choice(const std::string& domains, bool before_first_call);
std::vector<std::string> enable_activities(const std::string& domains, CallChoice choice);  // what CUPTI refused
void disable_activities(const std::string& domains, CallChoice choice);

}  // namespace rocm_perf
