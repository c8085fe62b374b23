#include "ceilings/host.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ceilings/report.h"
#include "gpu/gpu.h"

namespace rocm_perf {

namespace {

constexpr int kCalls = 200;                       // fewer than a queue holds: none waits for room in it
constexpr size_t kCopyBytes = size_t{256} << 20;  // long enough that the call itself does not count

__global__ void do_nothing() {}

void wait_for_device() { check(gpu(DeviceSynchronize)(), "waiting for the device"); }
void wait_for_stream() { check(gpu(StreamSynchronize)(nullptr), "waiting for the stream"); }
void nothing() {}

void measure_link(const char* kind, void* host, void* device) {
  const auto copy = [&](void* to, const void* from, gpu(MemcpyKind) direction) {
    return host_times_ms(1, [&] { check(gpu(Memcpy)(to, from, kCopyBytes, direction), "copying"); }, nothing);
  };
  const std::string suffix = std::string(", ") + kind;
  report("host to device" + suffix, "GB/s", kCopyBytes, copy(device, host, gpu(MemcpyHostToDevice)));
  report("device to host" + suffix, "GB/s", kCopyBytes, copy(host, device, gpu(MemcpyDeviceToHost)));
}

}  // namespace

void measure_launches() {
  const auto launch = [] { do_nothing<<<1, 1>>>(); };
  report("launch", "us", 1, host_times_ms(kCalls, launch, wait_for_device));
  const auto launch_and_wait = [&] {
    launch();
    wait_for_stream();
  };
  report("launch and wait", "us", 1, host_times_ms(kCalls, launch_and_wait, nothing));
  report("stream synchronization", "us", 1, host_times_ms(kCalls, wait_for_stream, nothing));
  report("device synchronization", "us", 1, host_times_ms(kCalls, wait_for_device, nothing));
}

void measure_host_link() {
  const DeviceMemory device(kCopyBytes);
  std::vector<char> pageable(kCopyBytes, 1);
  measure_link("pageable", pageable.data(), device.as<void>());
  void* pinned = nullptr;
  if (allocate_pinned(&pinned, kCopyBytes) != gpu(Success)) {
    report_absent("host to device, pinned", "the host memory could not be pinned");
    (void)gpu(GetLastError)();
    return;
  }
  std::fill_n(static_cast<char*>(pinned), kCopyBytes, 1);
  measure_link("pinned", pinned, device.as<void>());
  check(free_pinned(pinned), "freeing pinned memory");
}

}  // namespace rocm_perf
