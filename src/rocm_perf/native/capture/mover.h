// Device memory, block by block, through a few host buffers: one thread reads the device while others look at what was
// read and write it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "capture/draft.h"

namespace rocm_perf {

// What is done with a piece of a region; called on several threads at once, never twice for one piece.
using Take = std::function<void(const char* data, std::size_t size, std::uint64_t offset)>;

class Mover {
 public:
  static constexpr std::size_t kPiece = 256 * kBlock;  // 16 MiB
  static constexpr std::size_t kSlots = 6;

  // `buffers` are kSlots pieces of host memory that the device can write to quickly.
  Mover(ReadDevice read, std::vector<char*> buffers);

  ~Mover() { end(); }

  // Returns, or throws, only when no worker is at it any more.
  void each(std::uint64_t address, std::uint64_t size, const Take& take);

 private:
  enum class State { idle, reading, full };
  struct Slot {
    explicit Slot(char* memory) : buffer(memory) {}
    char* buffer;
    std::size_t size = 0;
    std::uint64_t offset = 0;
    const Take* take = nullptr;
    State state = State::idle;
    std::thread worker;
  };

  Slot& idle_slot();
  void fill(Slot& slot, std::uint64_t address);
  void wait_all();
  void end();
  void set(Slot& slot, State state);
  void work(Slot& slot);

  ReadDevice read_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  bool ending_ = false;
};

// The state of one region before the kernel, block by block, and what is different after it.
class Region {
 public:
  Region(const Draft& draft, Allocation allocation);
  void save_before(Mover& mover);
  void save_after(Mover& mover);

  const Saved& saved() const { return saved_; }

  // Of a capture that failed: where the disk was full, there is room again to say so.
  void discard() const;

 private:
  void merge(const std::vector<char>& different);

  const Draft& draft_;
  std::vector<std::uint64_t> blocks_;
  Saved saved_;
};

}  // namespace rocm_perf
