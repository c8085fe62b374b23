#include "common/plan_line.h"

namespace rocm_perf {

std::string PlanLine::word() {
  std::string text;
  in_ >> text;
  return text;
}

std::string PlanLine::file() {
  std::string text;
  std::getline(in_ >> std::ws, text);
  if (text.empty()) throw PlanError("the plan lacks the name of a file");
  return text;
}

std::uint64_t PlanLine::number_of(const std::string& text) {
  std::size_t used = 0;
  try {
    std::uint64_t value = std::stoull(text, &used, 0);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
  }
  throw PlanError("the plan has '" + text + "' where a number belongs");
}

}  // namespace rocm_perf
