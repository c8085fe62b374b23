#include "capture/draft.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rocm_perf {
namespace {

bool all_zero(const char* data, std::size_t size) {
  return size == 0 || (data[0] == 0 && std::memcmp(data, data + 1, size - 1) == 0);
}

}  // namespace

Draft::Draft(std::string folder) : folder_(std::move(folder)) {
  make(folder_ + "/memory");
  make(folder_ + "/after");
}

void Draft::write(const std::string& name, const void* data, std::size_t size) const {
  File file(folder_ + "/" + name, O_WRONLY | O_CREAT | O_TRUNC);
  file.write_at(data, size, 0);
}

void Draft::put(File& file, const char* data, std::size_t size, std::uint64_t offset) {
  for (std::size_t at = 0; at < size; at += kBlock) {
    std::size_t length = std::min(kBlock, size - at);
    if (!all_zero(data + at, length)) file.write_at(data + at, length, offset + at);
  }
}

void Draft::write_regions(const std::vector<Saved>& regions) const {
  std::string text = "{\"version\": 1, \"regions\": [";
  const char* comma = "\n";
  for (const Saved& region : regions) {
    text += comma + one_line(region);
    comma = ",\n";
  }
  write("memory_regions.json", text + "\n]}\n");
}

void Draft::make(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    throw std::runtime_error("cannot make " + folder + ": " + std::strerror(errno));
}

std::string Draft::one_line(const Saved& region) {
  const Allocation& of = region.allocation;
  std::string text = "{\"base\": " + quoted_hex(of.base) + ", \"size\": " + std::to_string(of.size) +
                     ", \"kind\": " + quoted(of.kind) + ", \"device\": " + std::to_string(of.device) +
                     ", \"name\": " + quoted(of.name) + ", \"saved\": " + (region.saved ? "true" : "false") +
                     ", \"reason\": " + quoted(of.uncovered) + ", \"changed\": [";
  const char* comma = "";
  for (const auto& range : region.changed) {
    text += comma + ("[" + std::to_string(range.first) + ", " + std::to_string(range.second) + "]");
    comma = ", ";
  }
  return text + "]}";
}

}  // namespace rocm_perf
