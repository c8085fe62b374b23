#include "cupti/block_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rocm_perf {
namespace {

std::string numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t dot = path.find('.', name);
  const std::size_t end = dot == std::string::npos ? path.size() : dot;
  return path.substr(0, end) + "-" + std::to_string(number) + path.substr(end);
}

constexpr std::string_view kMagic = "RPTRACE1";

constexpr std::array<std::uint32_t, 256> checksum_steps() {
  std::array<std::uint32_t, 256> steps{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
    steps[byte] = value;
  }
  return steps;
}

// CRC-32, as zlib and gzip compute it.
std::uint32_t checksum(std::string_view content) {
  static constexpr auto kSteps = checksum_steps();
  std::uint32_t value = ~0u;
  for (const char character : content)
    value = kSteps[(value ^ static_cast<unsigned char>(character)) & 255] ^ (value >> 8);
  return ~value;
}

}  // namespace

BlockFile::~BlockFile() { close(); }

bool BlockFile::open(const std::string& path) {
  std::error_code ignored;  // opening the file tells what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  for (int number = 1; number < 1000 && descriptor_ < 0; ++number) {
    path_ = numbered(path, number);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail("cannot be made");
  waiting_ = kMagic;
  written_ = 0;
  return is_open();
}

void BlockFile::add(std::string_view content) {
  if (!is_open()) return;
  const std::uint32_t frame[] = {static_cast<std::uint32_t>(content.size()), checksum(content)};
  waiting_.append(reinterpret_cast<const char*>(frame), sizeof frame);
  waiting_ += content;
}

void BlockFile::flush() {
  std::size_t done = 0;
  while (is_open() && done < waiting_.size()) {
    const ssize_t count = ::write(descriptor_, waiting_.data() + done, waiting_.size() - done);
    if (count >= 0)
      done += static_cast<std::size_t>(count);
    else if (errno != EINTR)
      fail("cannot be written");
  }
  written_ += done;
  waiting_.clear();
}

void BlockFile::close() {
  flush();
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

void BlockFile::fail(const char* what) {
  error_ = path_ + " " + what + ": " + std::strerror(errno);
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace rocm_perf
