// The files of one recording: one that grows, or a ring of which the oldest are deleted.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "cupti/block_file.h"

namespace rocm_perf {

class Segments {
 public:
  Segments(std::string path, std::int64_t last_ns, std::uint64_t max_bytes)
      : path_(std::move(path)), last_ns_(last_ns), max_bytes_(max_bytes) {}
  bool is_ring() const { return last_ns_ > 0; }
  bool is_full() const { return !is_ring() && max_bytes_ && file.size() >= max_bytes_; }
  bool is_due(std::int64_t now) const;  // whether the ring's next file should begin
  bool open_next(std::int64_t now);     // after what came before was closed; deletes what is older than the ring
  std::uint64_t number() const { return number_; }

  BlockFile file;

 private:
  static constexpr int kParts = 8;  // of a ring: so much more than asked for is kept, at most

  struct Kept {
    std::string path;
    std::uint64_t size;
    std::int64_t end;
  };
  void forget(std::int64_t now);

  std::string path_;
  std::int64_t last_ns_;
  std::uint64_t max_bytes_;
  std::uint64_t number_ = 0;
  std::int64_t begun_ = 0;
  std::deque<Kept> kept_;
};

}  // namespace rocm_perf
