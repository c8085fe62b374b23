// What a capture says of itself in capture.json: how it ended, what was seen, what it took.
#pragma once
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "draft.hpp"
#include "target.hpp"

namespace rocm_perf {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The 64-bit words of some memory: each may be a pointer.
inline std::vector<std::uint64_t> words(const char* data, std::size_t size) {
  std::vector<std::uint64_t> out(size / 8);
  if (!out.empty()) std::memcpy(out.data(), data, out.size() * 8);
  return out;
}

inline std::string command_json() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text = "[", word;
  const char* comma = "";
  while (std::getline(file, word, '\0')) {
    text += comma + quoted(word);
    comma = ", ";
  }
  return text + "]";
}

// The kernel could be captured, but not so that a replay would be right.
class Refused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Account {
  std::string state = "no-match", reason;
  std::vector<std::string> notes;
  std::uint64_t bytes = 0;
  double drain_s = 0, before_s = 0, kernel_s = 0, after_s = 0;

  bool captured() const { return state == "captured"; }

  void begin() { state = kCapturing; }

  // The program ends. Where nothing was captured, there was nothing to, or no time to.
  void end() {
    if (state == kCapturing) failed(std::runtime_error("the program ended in the middle of it"));
  }

  void failed(const std::exception& error) {
    state = dynamic_cast<const Refused*>(&error) ? "refused" : "failed";
    reason = error.what();
  }

  // Written last and renamed: what it says is true only once everything else is there. `also` are notes of this moment.
  void write(const std::string& folder, const Target& target, const std::vector<std::string>& also) const {
    std::string told;
    for (const auto& some : {notes, also})
      for (const std::string& note : some) told += (told.empty() ? "" : ", ") + quoted(note);
    std::string text = "{\"version\": 1, \"state\": " + quoted(state) + ", \"reason\": " + quoted(reason) +
                       ", \"launches\": " + std::to_string(target.launches()) +
                       ", \"matched\": " + std::to_string(target.matched()) +
                       ", \"names_seen\": " + target.names_seen() + ", \"not_seen\": [" + told +
                       "], \"bytes\": " + std::to_string(bytes) + ", \"seconds\": {\"drain\": " +
                       std::to_string(drain_s) + ", \"before\": " + std::to_string(before_s) + ", \"kernel\": " +
                       std::to_string(kernel_s) + ", \"after\": " + std::to_string(after_s) + "}}\n";
    std::string part = folder + "/capture.json.part";
    try {
      File(part, O_WRONLY | O_CREAT | O_TRUNC).write_at(text.data(), text.size(), 0);
      if (::rename(part.c_str(), (folder + "/capture.json").c_str()) != 0)
        throw std::runtime_error("cannot name " + folder + "/capture.json: " + std::strerror(errno));
    } catch (const std::exception& error) {
      complain(reason.empty() ? error.what() : reason + "; " + error.what());
    }
  }

 private:
  static constexpr const char* kCapturing = "capturing";
};

}  // namespace rocm_perf
