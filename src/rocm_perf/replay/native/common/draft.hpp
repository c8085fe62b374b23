// The snapshot as the captured program writes it: raw and sparse. Python hashes, deduplicates and compresses it
// afterwards, and only then gives it its name.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocations.hpp"
#include "text.hpp"

namespace rocm_perf {

constexpr std::size_t kBlock = 64 * 1024;  // the unit of holes and of differences

struct Saved {
  Allocation allocation;
  bool saved = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> changed;  // offset, length: what the kernel wrote
};

// Copies [address, address + size) of device memory to host memory.
using ReadDevice = std::function<void(void* to, std::uint64_t address, std::size_t size)>;

class File {
 public:
  File(const std::string& path, int flags) : path_(path), handle_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (handle_ < 0) fail("cannot open");
  }
  ~File() { ::close(handle_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write_at(const void* data, std::size_t size, std::uint64_t offset) {
    const char* from = static_cast<const char*>(data);
    while (size) {
      ssize_t done = ::pwrite(handle_, from, size, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot write");
      from += done;
      offset += static_cast<std::uint64_t>(done);
      size -= static_cast<std::size_t>(done);
    }
  }

  void read_at(void* data, std::size_t size, std::uint64_t offset) {
    char* to = static_cast<char*>(data);
    while (size) {
      ssize_t done = ::pread(handle_, to, size, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot read");
      to += done;
      offset += static_cast<std::uint64_t>(done);
      size -= static_cast<std::size_t>(done);
    }
  }

  void resize(std::uint64_t size) {
    if (::ftruncate(handle_, static_cast<off_t>(size)) != 0) fail("cannot size");
  }

 private:
  [[noreturn]] void fail(const char* what) {
    throw std::runtime_error(std::string(what) + " " + path_ + ": " + std::strerror(errno));
  }

  std::string path_;
  int handle_;
};

inline bool all_zero(const char* data, std::size_t size) {
  return size == 0 || (data[0] == 0 && std::memcmp(data, data + 1, size - 1) == 0);
}

class Draft {
 public:
  explicit Draft(std::string folder) : folder_(std::move(folder)) {
    make(folder_ + "/memory");
    make(folder_ + "/after");
  }

  void write(const std::string& name, const void* data, std::size_t size) const {
    File file(folder_ + "/" + name, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_at(data, size, 0);
  }
  void write(const std::string& name, const std::string& text) const { write(name, text.data(), text.size()); }

  static std::string region_name(std::uint64_t base) { return "region_" + hex(base) + ".bin"; }
  std::string before(std::uint64_t base) const { return folder_ + "/memory/" + region_name(base); }
  std::string after(std::uint64_t base) const { return folder_ + "/after/" + region_name(base); }

  // One piece of a region's state before the kernel; zero blocks stay holes.
  static void put(File& file, const char* data, std::size_t size, std::uint64_t offset) {
    for (std::size_t at = 0; at < size; at += kBlock) {
      std::size_t length = std::min(kBlock, size - at);
      if (!all_zero(data + at, length)) file.write_at(data + at, length, offset + at);
    }
  }

  // memory_regions.json
  void write_regions(const std::vector<Saved>& regions) const {
    std::string text = "{\"version\": 1, \"regions\": [";
    const char* comma = "\n";
    for (const Saved& region : regions) {
      text += comma + one_line(region);
      comma = ",\n";
    }
    write("memory_regions.json", text + "\n]}\n");
  }

 private:
  static void make(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      throw std::runtime_error("cannot make " + folder + ": " + std::strerror(errno));
  }

  static std::string one_line(const Saved& region) {
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

  std::string folder_;
};

}  // namespace rocm_perf
