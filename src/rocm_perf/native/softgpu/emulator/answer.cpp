#include "softgpu/emulator/answer.h"

#include <cstdio>

#include "common/text.h"

namespace rocm_perf::softgpu {
namespace {

std::string text(const Footprint::Lines& lines) {
  return "{\"line_bytes\": " + std::to_string(Footprint::kLine) + ", \"read\": " + std::to_string(lines.read) +
         ", \"written\": " + std::to_string(lines.written) + ", \"touched\": " + std::to_string(lines.touched) + "}";
}

void append_count(std::string& out, std::uint64_t address, const Count& count) {
  out += "[" + std::to_string(address);
  for (std::uint64_t value : {count.executions, count.lanes, count.bytes, count.lines_64, count.lines_128,
                              count.lds_cycles, count.lds_conflicts, count.same_address, count.scratch_bytes})
    out += "," + std::to_string(value);
  out += "]";
}

}  // namespace

void Answer::print() const {
  std::string out = "{\"error\": " + quoted(error) + ", \"workgroups\": " + std::to_string(outcome.workgroups) +
                    ", \"waves\": " + std::to_string(outcome.waves) + ", \"wave_size\": " + std::to_string(wave_size) +
                    ", \"instructions\": " + std::to_string(outcome.instructions) +
                    ", \"lane_instructions\": " + std::to_string(outcome.lane_instructions) +
                    ", \"seconds\": " + std::to_string(seconds) + ", \"cpu_seconds\": " + std::to_string(cpu_seconds) +
                    ", \"footprint\": " + text(lines) + ", \"counts\": [";
  const char* separator = "";
  for (std::size_t at = 0; at < counts.size(); ++at) {
    if (!counts[at].executions) continue;
    out += separator;
    append_count(out, addresses[at], counts[at]);
    separator = ",\n";
  }
  std::printf("%s]}\n", out.c_str());
  std::fflush(stdout);
}

}  // namespace rocm_perf::softgpu
