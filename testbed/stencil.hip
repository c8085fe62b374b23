// Heat that spreads over a plate, one step per launch.
#include "gpu.h"

namespace plate {

__global__ void heat_step(const float* now, float* next, int width, int height, float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= width) return;
  int at = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    next[at] = now[at];
    return;
  }
  float around = now[at - 1] + now[at + 1] + now[at - width] + now[at + width];
  next[at] = now[at] + rate * (around - 4.0f * now[at]);
}

}  // namespace plate

int main(int argc, char** argv) {
  Options options(argc, argv, 2048, 40);
  const int width = options.size, height = options.size / 2;
  const size_t count = static_cast<size_t>(width) * height;
  float* now = to_device(random_floats(count, 8));
  float* next = to_device(std::vector<float>(count));
  const int threads = 32;
  for (int i = 0; i < options.repetitions; ++i) {
    plate::heat_step<<<dim3((width + threads - 1) / threads, height), threads>>>(now, next, width, height, 0.2f);
    float* last = now;
    now = next;
    next = last;
  }
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("plate", to_host(now, count), options.out);
  HIP_CHECK(hipFree(now));
  HIP_CHECK(hipFree(next));
  return 0;
}
