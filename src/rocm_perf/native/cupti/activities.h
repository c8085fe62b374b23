// What CUPTI is asked to record.
#pragma once

#include <string>
#include <vector>

namespace rocm_perf {

bool is_asked(const std::string& domains, const std::string& domain);  // `domains` are separated by commas

// Which calls of CUDA's APIs CUPTI hands over. Those that a verdict needs are launches, waits, copies, allocations and
// graphs: a torch program makes a dozen calls a launch, and each that is recorded takes time of the program.
enum class CallChoice {
  chosen,    // those that are needed; once the program has called CUDA, this records nothing (H200, CUDA 13.0)
  left_out,  // all but those that are not needed, which cost a little more than if nothing had been said of them
  all,       // with the domain hsa
};

CallChoice call_choice(const std::string& domains, bool before_first_call);
std::vector<std::string> enable_activities(const std::string& domains, CallChoice choice);  // what CUPTI refused
void disable_activities(const std::string& domains, CallChoice choice);

}  // namespace rocm_perf
