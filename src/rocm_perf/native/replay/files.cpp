#include "replay/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <stdexcept>

namespace rocm_perf {

std::vector<char> whole(const std::string& path) {
  try {
    File file(path, O_RDONLY);
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) throw std::runtime_error("cannot read " + path);
    std::vector<char> out(static_cast<std::size_t>(facts.st_size));
    file.read_at(out.data(), out.size(), 0);
    return out;
  } catch (const std::runtime_error& error) {
    throw Failure(kUnreadable, error.what());
  }
}

}  // namespace rocm_perf
