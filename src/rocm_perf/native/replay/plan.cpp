#include "replay/plan.h"

#include <fstream>
#include <unordered_map>

#include "common/plan_line.h"

namespace rocm_perf {
namespace {

using Line = PlanLine;

// Members of a braced list are taken in their order.
Piece piece(Line& line) { return {line.number(), line.number(), line.number(), line.file()}; }
Piece target(Line& line) { return {line.number(), line.number(), 0, line.file()}; }
Named labelled(Line& line) { return {line.word(), 0, line.file()}; }
Named named(Line& line) { return {line.word(), line.number(), line.file()}; }
Poison poison(Line& line) { return {line.number(), line.number(), static_cast<unsigned>(line.number())}; }

void three(Line& line, std::uint64_t (&into)[3]) {
  for (std::uint64_t& value : into) value = line.number();
}

void own_sizes(Line& line, Plan& plan) {
  Sizes& sizes = plan.own_sizes[line.word()];
  three(line, sizes.grid);
  three(line, sizes.workgroup);
}

void check_version(Line& line, Plan&) {
  if (line.number() != 1) throw Failure(kBadPlan, "the plan is of another version");
}

void kernarg(Line& line, Plan& plan) {
  std::string address = line.word();
  plan.kernarg_at_address = address != "-";
  if (plan.kernarg_at_address) plan.kernarg.address = Line::number_of(address);
  plan.kernarg.size = line.number();
  plan.kernarg.file = line.file();
}

const std::unordered_map<std::string, void (*)(Line&, Plan&)> kLines = {
    {"version", check_version},
    {"mode", [](Line& line, Plan& plan) { plan.mode = line.word(); }},
    {"device", [](Line& line, Plan& plan) { plan.device = static_cast<int>(line.number()); }},
    {"isa", [](Line& line, Plan& plan) { plan.isa = line.word(); }},
    {"kernel", [](Line& line, Plan& plan) { plan.kernel = line.word(); }},
    {"reserve", [](Line& line, Plan& plan) { plan.reserve.push_back({line.number(), line.number()}); }},
    {"load", [](Line& line, Plan& plan) { plan.load.push_back(piece(line)); }},
    {"restore", [](Line& line, Plan& plan) { plan.restore.push_back(piece(line)); }},
    {"swap", [](Line& line, Plan& plan) { plan.swap.push_back(piece(line)); }},
    {"dump", [](Line& line, Plan& plan) { plan.dump.push_back(target(line)); }},
    {"code", [](Line& line, Plan& plan) { plan.code.push_back(labelled(line)); }},
    {"global", [](Line& line, Plan& plan) { plan.globals.push_back(named(line)); }},
    {"dump_global", [](Line& line, Plan& plan) { plan.dump_globals.push_back(named(line)); }},
    {"poison", [](Line& line, Plan& plan) { plan.poison.push_back(poison(line)); }},
    {"kernarg", kernarg},
    {"grid", [](Line& line, Plan& plan) { three(line, plan.sizes.grid); }},
    {"workgroup", [](Line& line, Plan& plan) { three(line, plan.sizes.workgroup); }},
    {"sizes", own_sizes},
    {"cluster", [](Line& line, Plan& plan) { three(line, plan.cluster); }},
    {"dynamic_lds", [](Line& line, Plan& plan) { plan.dynamic_lds = line.number(); }},
    {"group_segment", [](Line& line, Plan& plan) { plan.group_segment = line.number(); }},
    {"private_segment", [](Line& line, Plan& plan) { plan.private_segment = line.number(); }},
    {"cold_cache", [](Line& line, Plan& plan) { plan.cold_cache = line.number(); }},
    {"warmup", [](Line& line, Plan& plan) { plan.warmup = line.number(); }},
    {"iterations", [](Line& line, Plan& plan) { plan.iterations = line.number(); }},
    {"cooperative", [](Line& line, Plan& plan) { plan.cooperative = line.flag(); }},
    {"recopy", [](Line& line, Plan& plan) { plan.recopy = line.flag(); }},
    {"launch", [](Line& line, Plan& plan) { plan.launch = line.flag(); }},
    {"parameters", [](Line&, Plan&) {}},  // the arguments are one block: nobody asks where each lies
};

}  // namespace

const Sizes& Plan::sizes_of(const std::string& label) const {
  auto own = own_sizes.find(label);
  return own == own_sizes.end() ? sizes : own->second;
}

Plan read_plan(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Failure(kUnreadable, "cannot read the plan " + path);
  Plan plan;
  for (std::string text; std::getline(file, text);) {
    Line line(text);
    std::string word = line.word();
    if (word.empty()) continue;
    auto known = kLines.find(word);
    if (known == kLines.end()) throw Failure(kBadPlan, "the plan has an unknown line: " + text.substr(0, 80));
    try {
      known->second(line, plan);
    } catch (const PlanError& error) {
      throw Failure(kBadPlan, error.what());
    }
  }
  return plan;
}

}  // namespace rocm_perf
