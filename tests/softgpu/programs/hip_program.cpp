// A HIP program for the software GPU: `hip_program CODE BUNDLE [SCENARIO]`. It loads one code object as a module and
// registers another as the fat binary that hipcc would have put into the program. It says "right" or what is wrong.
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

extern "C" {
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host, char* device, const char* name, unsigned limit, void* tid,
                           void* bid, void* block, void* grid, int* wave);
void __hipRegisterVar(void** modules, void* host, char* device, const char* name, int external, std::size_t size,
                      int constant, int global);
}

namespace {

constexpr unsigned kCount = 5000, kBlock = 256, kBlocks = (kCount + kBlock - 1) / kBlock;
constexpr std::size_t kBytes = kCount * sizeof(unsigned);
std::string code_file, bundle_file;

void need(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(status));
  std::exit(1);
}
#define NEED(call) need(call, #call)

void verdict(bool is_right, const char* what) {
  std::printf("%s: %s\n", what, is_right ? "right" : "wrong");
  if (!is_right) std::exit(1);
}

std::vector<unsigned> ramp(unsigned first = 0) {
  std::vector<unsigned> out(kCount);
  std::iota(out.begin(), out.end(), first);
  return out;
}

hipFunction_t function(const char* name) {
  static hipModule_t module = nullptr;
  if (!module) NEED(hipModuleLoad(&module, code_file.c_str()));
  hipFunction_t out = nullptr;
  NEED(hipModuleGetFunction(&out, module, name));
  return out;
}

void launch_add(unsigned* x, unsigned value, hipStream_t stream = nullptr) {
  unsigned count = kCount;
  void* arguments[] = {&x, &value, &count};
  NEED(hipModuleLaunchKernel(function("add"), kBlocks, 1, 1, kBlock, 1, 1, 0, stream, arguments, nullptr));
}

unsigned* on_device(const std::vector<unsigned>& values) {
  unsigned* out = nullptr;
  NEED(hipMalloc(reinterpret_cast<void**>(&out), kBytes));
  NEED(hipMemcpy(out, values.data(), kBytes, hipMemcpyHostToDevice));
  return out;
}

std::vector<unsigned> from_device(const void* place) {
  std::vector<unsigned> out(kCount);
  NEED(hipMemcpy(out.data(), place, kBytes, hipMemcpyDeviceToHost));
  return out;
}

void module() {
  unsigned* x = on_device(ramp());
  launch_add(x, 10);
  NEED(hipDeviceSynchronize());
  verdict(from_device(x) == ramp(10), "module");
  NEED(hipFree(x));
}

void copies() {
  unsigned *first = on_device(ramp(3)), *second = on_device(ramp());
  NEED(hipMemcpy(second, first, kBytes, hipMemcpyDeviceToDevice));
  verdict(from_device(second) == ramp(3), "device to device");
  std::vector<unsigned> host(kCount), other(kCount);
  NEED(hipMemcpy(host.data(), second, kBytes, hipMemcpyDefault));
  NEED(hipMemcpy(other.data(), host.data(), kBytes, hipMemcpyHostToHost));
  verdict(other == ramp(3), "by default, host to host");
  NEED(hipMemset(first, 0, kBytes));
  NEED(hipMemsetD32(first + 1, 77, kCount - 1));
  host.assign(kCount, 77);
  host[0] = 0;
  verdict(from_device(first) == host, "fills");
  // Columns 3 to 12 of a matrix of 50 by 100.
  NEED(hipMemcpy2D(first, 50 * 4, second + 3, 50 * 4, 10 * 4, 100, hipMemcpyDeviceToDevice));
  bool is_right = true;
  auto result = from_device(first);
  for (unsigned row = 0; row < 100; ++row) {
    for (unsigned column = 0; column < 10; ++column) is_right &= result[row * 50 + column] == 3 + row * 50 + column + 3;
  }
  verdict(is_right, "a rectangle");
}

void streams() {
  constexpr int kStreams = 3;
  hipStream_t stream[kStreams];
  unsigned* place[kStreams];
  unsigned* pinned = nullptr;
  NEED(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, 0));
  auto values = ramp();
  std::memcpy(pinned, values.data(), kBytes);
  hipEvent_t begun, ended;
  NEED(hipEventCreate(&begun));
  NEED(hipEventCreate(&ended));
  for (int at = 0; at < kStreams; ++at) {
    NEED(hipStreamCreate(&stream[at]));
    NEED(hipMallocAsync(reinterpret_cast<void**>(&place[at]), kBytes, stream[at]));
    NEED(hipMemcpyAsync(place[at], pinned, kBytes, hipMemcpyHostToDevice, stream[at]));
    if (at == 0) NEED(hipEventRecord(begun, stream[0]));
    for (int round = 0; round < 5; ++round) launch_add(place[at], 2, stream[at]);
  }
  NEED(hipEventRecord(ended, stream[0]));
  NEED(hipStreamWaitEvent(stream[1], ended, 0));
  NEED(hipMemcpyAsync(place[1], place[0], kBytes, hipMemcpyDeviceToDevice, stream[1]));
  bool is_right = true;
  for (int at = 0; at < kStreams; ++at) {
    NEED(hipStreamSynchronize(stream[at]));
    is_right &= from_device(place[at]) == ramp(10);
    NEED(hipFreeAsync(place[at], stream[at]));
    NEED(hipStreamSynchronize(stream[at]));
  }
  float milliseconds = -1;
  NEED(hipEventElapsedTime(&milliseconds, begun, ended));
  verdict(is_right && milliseconds >= 0, "streams, events, memory in order of a stream");
  NEED(hipHostFree(pinned));
}

char stub_biased, stub_bias, stub_calls;  // their addresses stand for the kernel and for the variables

// What hipcc's host code does before main.
void register_fat_binary() {
  std::ifstream stream(bundle_file, std::ios::binary);
  static const std::string bundle(std::istreambuf_iterator<char>(stream), {});
  static const struct {
    unsigned magic, version;  // "HIPF"
    const void* data;
    void* unused;
  } wrapper{0x48495046, 1, bundle.data(), nullptr};
  void** modules = __hipRegisterFatBinary(&wrapper);
  static char name[] = "biased", bias[] = "bias", calls[] = "calls";
  __hipRegisterFunction(modules, &stub_biased, name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __hipRegisterVar(modules, &stub_bias, bias, bias, 0, sizeof(unsigned), 0, 0);
  __hipRegisterVar(modules, &stub_calls, calls, calls, 0, sizeof(unsigned), 0, 0);
}

// The kernel and the variables of a fat binary, as `biased<<<...>>>` uses them.
void fat_binary() {
  unsigned *x = on_device(ramp()), bias = 40, calls = 0, count = kCount;
  NEED(hipMemcpyToSymbol(stub_bias, &bias, sizeof bias, 0, hipMemcpyHostToDevice));
  void* arguments[] = {&x, &count};
  NEED(hipLaunchKernel(&stub_biased, dim3(kBlocks), dim3(kBlock), arguments, 0, nullptr));
  NEED(hipDeviceSynchronize());
  NEED(hipMemcpyFromSymbol(&calls, stub_calls, sizeof calls, 0, hipMemcpyDeviceToHost));
  verdict(from_device(x) == ramp(40) && calls == 1, "fat binary");
}

void managed() {
  unsigned* x = nullptr;
  NEED(hipMallocManaged(reinterpret_cast<void**>(&x), kBytes, hipMemAttachGlobal));
  auto values = ramp();
  std::memcpy(x, values.data(), kBytes);
  launch_add(x, 6);
  NEED(hipDeviceSynchronize());
  verdict(std::vector<unsigned>(x, x + kCount) == ramp(6), "managed memory");
}

}  // namespace

int main(int count, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count < 3) return 2;
  code_file = argv[1];
  bundle_file = argv[2];
  register_fat_binary();
  int devices = 0;
  NEED(hipGetDeviceCount(&devices));
  const std::map<std::string, void (*)()> scenarios{
      {"module", module}, {"copies", copies}, {"streams", streams}, {"fat-binary", fat_binary}, {"managed", managed}};
  std::string wish = count > 3 ? argv[3] : "";
  for (const auto& [name, scenario] : scenarios) {
    if (wish.empty() || wish == name) scenario();
  }
}
