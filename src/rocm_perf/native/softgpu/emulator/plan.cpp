#include "softgpu/emulator/plan.h"

#include <fstream>
#include <unordered_map>

#include "common/plan_line.h"

namespace rocm_perf::softgpu {
namespace {

std::uint32_t small(PlanLine& line) { return static_cast<std::uint32_t>(line.number()); }

void three(PlanLine& line, std::uint32_t (&into)[3]) {
  for (std::uint32_t& value : into) value = small(line);
}

void check_version(PlanLine& line, Plan&) {
  if (line.number() != 1) throw PlanError("the plan is of another version");
}

void range_of_workgroups(PlanLine& line, Plan& plan) {
  std::uint64_t first = line.number(), count = line.number(), step = line.number();
  for (std::uint64_t at = 0; at < count; ++at) plan.workgroups.push_back(first + at * step);
}

// Members of a braced list are taken in their order.
const std::unordered_map<std::string, void (*)(PlanLine&, Plan&)> kLines = {
    {"version", check_version},
    {"isa", [](PlanLine& line, Plan& plan) { plan.isa = line.word(); }},
    {"listing",
     [](PlanLine& line, Plan& plan) {
       plan.bias = line.number();
       plan.listing = line.file();
     }},
    {"region",
     [](PlanLine& line, Plan& plan) {
       plan.regions.push_back({line.number(), line.number(), line.number(), line.flag(), line.file()});
     }},
    {"dump", [](PlanLine& line, Plan& plan) { plan.dumps.push_back({line.number(), line.number(), line.file()}); }},
    {"descriptor", [](PlanLine& line, Plan& plan) { plan.dispatch.descriptor = line.number(); }},
    {"kernarg", [](PlanLine& line, Plan& plan) { plan.dispatch.kernarg = line.number(); }},
    {"packet", [](PlanLine& line, Plan& plan) { plan.dispatch.packet = line.number(); }},
    {"grid", [](PlanLine& line, Plan& plan) { three(line, plan.dispatch.grid); }},
    {"workgroup", [](PlanLine& line, Plan& plan) { three(line, plan.dispatch.workgroup); }},
    {"group_segment", [](PlanLine& line, Plan& plan) { plan.dispatch.group_segment = small(line); }},
    {"private_segment", [](PlanLine& line, Plan& plan) { plan.dispatch.private_segment = small(line); }},
    {"workgroups", range_of_workgroups},
    {"threads", [](PlanLine& line, Plan& plan) { plan.threads = small(line); }},
    {"timeout_ms", [](PlanLine& line, Plan& plan) { plan.timeout_ms = line.number(); }},
    {"counts", [](PlanLine& line, Plan& plan) { plan.is_counting = line.flag(); }},
};

}  // namespace

Plan read_plan(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw PlanError("cannot read the plan " + path);
  Plan plan;
  for (std::string text; std::getline(file, text);) {
    PlanLine line(text);
    std::string word = line.word();
    if (word.empty()) continue;
    auto known = kLines.find(word);
    if (known == kLines.end()) throw PlanError("the plan has an unknown line: " + text.substr(0, 80));
    known->second(line, plan);
  }
  return plan;
}

}  // namespace rocm_perf::softgpu
