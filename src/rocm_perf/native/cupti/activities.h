// What CUPTI is asked to record.
#pragma once

#include <string>
#include <vector>

namespace rocm_perf {

bool is_asked(const std::string& domains, const std::string& domain);  // `domains` are separated by commas

// Of CUDA's calls those that a verdict needs (launches, waits, copies, allocations, graphs), and all with the domain
// hsa: a torch program makes a dozen calls a launch, and each that is recorded takes time of the program.
std::vector<std::string> enable_activities(const std::string& domains);  // what CUPTI refused
void disable_activities(const std::string& domains);

}  // namespace rocm_perf
