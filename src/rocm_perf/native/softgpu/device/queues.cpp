#include "softgpu/device/queues.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "softgpu/device/memory.h"
#include "softgpu/device/report.h"
#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {

// A queue that has nothing to do looks again after 20 us, then ever more rarely.
constexpr std::chrono::microseconds kShortestPause{20}, kLongestPause{500};
constexpr std::uint32_t kSlotsPerGpu = 1024;

}  // namespace

void Queue::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Queue::stop() {
  is_stopping_ = true;
  thread_.join();
}

void Queue::work() {
  auto pause = kShortestPause;
  while (!is_stopping_) {
    if (step()) {
      pause = kShortestPause;
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

bool Queues::create(CreateQueueArguments& arguments) {
  std::lock_guard<std::mutex> lock(mutex_);
  int gpu = gpu_index(arguments.gpu_id);
  std::uint32_t id = 0;
  while (queues_.count(id)) ++id;
  if (gpu < 0 || id >= kSlotsPerGpu) return false;
  Ring ring;
  ring.base = arguments.ring;
  ring.size = arguments.ring_size;
  ring.write = reinterpret_cast<volatile std::uint64_t*>(arguments.write_pointer);
  ring.read = reinterpret_cast<volatile std::uint64_t*>(arguments.read_pointer);
  ring.doorbell = memory().doorbell(gpu, id);
  ring.gpu = gpu;
  ring.slot = id;
  bool is_compute = arguments.type == kComputeAql;
  *ring.doorbell = is_compute ? ~std::uint64_t{0} : 0;
  auto queue = is_compute ? make_compute_queue(ring) : make_copy_queue(ring);
  queue->start();
  queues_[id] = std::move(queue);
  arguments.queue_id = id;
  arguments.doorbell_offset = memory().doorbell_offset(gpu) + id * sizeof(std::uint64_t);
  log("queue %u of type %u, ring of %u bytes at %s", id, arguments.type, arguments.ring_size,
      hexadecimal(arguments.ring).c_str());
  return true;
}

bool Queues::destroy(std::uint32_t id) {
  std::unique_ptr<Queue> queue;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = queues_.find(id);
    if (found == queues_.end()) return false;
    queue = std::move(found->second);
    queues_.erase(found);
  }
  queue->stop();
  return true;
}

Queues& queues() {
  static Queues* const only = new Queues;
  return *only;
}

}  // namespace rocm_perf::softgpu::device
