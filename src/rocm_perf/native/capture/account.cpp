#include "capture/account.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace rocm_perf {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::uint64_t> words(const char* data, std::size_t size) {
  std::vector<std::uint64_t> out(size / 8);
  if (!out.empty()) std::memcpy(out.data(), data, out.size() * 8);
  return out;
}

void complain(const std::string& message) { std::fprintf(stderr, "rocm-perf capture: %s\n", message.c_str()); }

std::string command_json() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text = "[", word;
  const char* comma = "";
  while (std::getline(file, word, '\0')) {
    text += comma + quoted(word);
    comma = ", ";
  }
  return text + "]";
}

void Account::end() {
  if (state == kCapturing) failed(std::runtime_error("the program ended in the middle of it"));
}

void Account::failed(const std::exception& error) {
  state = dynamic_cast<const Refused*>(&error) ? "refused" : "failed";
  reason = error.what();
}

void Account::write(const std::string& folder, const Target& target, const std::vector<std::string>& also) const {
  std::string told;
  for (const auto& some : {notes, also})
    for (const std::string& note : some) told += (told.empty() ? "" : ", ") + quoted(note);
  std::string text =
      "{\"version\": 1, \"state\": " + quoted(state) + ", \"reason\": " + quoted(reason) +
      ", \"launches\": " + std::to_string(target.launches()) + ", \"matched\": " + std::to_string(target.matched()) +
      ", \"names_seen\": " + target.names_seen() + ", \"shapes_seen\": " + target.shapes_seen() + ", \"not_seen\": [" +
      told + "], \"bytes\": " + std::to_string(bytes) + ", \"seconds\": {\"drain\": " + std::to_string(drain_s) +
      ", \"before\": " + std::to_string(before_s) + ", \"kernel\": " + std::to_string(kernel_s) +
      ", \"after\": " + std::to_string(after_s) + "}}\n";
  std::string part = folder + "/capture.json.part";
  try {
    File(part, O_WRONLY | O_CREAT | O_TRUNC).write_at(text.data(), text.size(), 0);
    if (::rename(part.c_str(), (folder + "/capture.json").c_str()) != 0)
      throw std::runtime_error("cannot name " + folder + "/capture.json: " + std::strerror(errno));
  } catch (const std::exception& error) {
    complain(reason.empty() ? error.what() : reason + "; " + error.what());
  }
}

}  // namespace rocm_perf
