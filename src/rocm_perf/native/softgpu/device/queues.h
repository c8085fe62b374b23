// The queues of the GPUs. Each has a thread that looks for packets and does what they say, one after the other.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "softgpu/device/kfd_abi.h"

namespace rocm_perf::softgpu::device {

struct Ring {
  std::uint64_t base = 0, size = 0;
  volatile std::uint64_t *write = nullptr, *read = nullptr, *doorbell = nullptr;
  int gpu = 0;
  std::uint32_t slot = 0;  // of its doorbell
};

class Queue {
 public:
  explicit Queue(const Ring& ring) : ring(ring) {}
  virtual ~Queue() = default;
  void start();
  void stop();  // after the packet that is being worked on
  const Ring ring;

 protected:
  virtual bool step() = 0;  // whether there was something to do

 private:
  void work();
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

std::unique_ptr<Queue> make_compute_queue(const Ring& ring);
std::unique_ptr<Queue> make_copy_queue(const Ring& ring);

class Queues {
 public:
  bool create(CreateQueueArguments& arguments);
  bool destroy(std::uint32_t id);

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Queue>> queues_;
};

Queues& queues();

}  // namespace rocm_perf::softgpu::device
