// An application on the stand-in driver: `program SCENE CUBIN OTHER_CUBIN`. It ends with 3 where one of its own calls
// fails, as it never would without a capture.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include "standin.h"

namespace {

constexpr std::size_t kSize = 1 << 20, kPage = 4096;
std::string one, other;  // cubins
std::atomic<int> step{0};
std::atomic<bool> passed{false};

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::printf("%s: %s\n", call, name);
  std::fflush(nullptr);
  ::_exit(3);
}
#define CALL(...) check(__VA_ARGS__, #__VA_ARGS__)

std::string whole(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void rest(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }
void await(const std::atomic<bool>& what) {
  while (!what) rest(1);
}
void await_step(int wanted) {
  while (step < wanted) rest(1);
}

CUmodule module_of(const std::string& cubin) {
  CUmodule module = nullptr;
  CALL(cuModuleLoadData(&module, cubin.data()));
  return module;
}

CUfunction function_of(CUmodule module, const char* name = "increment") {
  CUfunction function = nullptr;
  CALL(cuModuleGetFunction(&function, module, name));
  return function;
}

CUdeviceptr memory(std::size_t size = kSize) {
  CUdeviceptr at = 0;
  CALL(cuMemAlloc(&at, size));
  return at;
}

void launch(CUfunction function, CUdeviceptr argument, CUstream stream = nullptr, unsigned blocks = 1,
            unsigned block = 32) {
  void* arguments[] = {&argument};
  CALL(cuLaunchKernel(function, blocks, 1, 1, block, 1, 1, 0, stream, arguments, nullptr));
}

CUfunction increment() {
  static CUfunction function = function_of(module_of(one));
  return function;
}

CUdeviceptr mapped(CUmemGenericAllocationHandle handle) {
  CUdeviceptr at = 0;
  CALL(cuMemAddressReserve(&at, kPage, 0, 0, 0));
  CALL(cuMemMap(at, kPage, 0, handle, 0));
  return at;
}

CUstream stream(std::uint64_t number) { return reinterpret_cast<CUstream>(number); }

void plain() {
  CUdeviceptr at = memory();
  for (int round = 0; round < 3; ++round) launch(increment(), at);
}

void nothing_launched() { memory(); }

void much_memory() {
  CUdeviceptr at = memory(std::size_t{64} << 20);
  CALL(cuMemsetD8(at, 7, std::size_t{64} << 20));
  launch(increment(), at);
}

void remove_folder() {
  std::string command = "rm -rf '" + std::string(std::getenv("ROCM_PERF_CAPTURE_DIR")) + "'";
  if (std::system(command.c_str()) != 0) ::_exit(4);
}

void folder_gone() {
  remove_folder();
  launch(increment(), memory());
}

void folder_gone_unmatched() {
  memory();
  remove_folder();
}

// What the GPU still has to do needs another thread's launch: a collective, a host function that needs a mutex.
void work_waits_for_a_thread(bool launch_too) {
  standin::within = [launch_too](const std::string& call) {
    if (call == "cuCtxSynchronize") {
      step = 1;
      await(passed);
    }
    static thread_local bool mine = false;
    if (call == "cuMemFree_v2") mine = true;                            // marks the thread that captures
    if (call == "cuLaunchKernel" && mine && launch_too) await(passed);  // the queue is full
  };
  CUdeviceptr at = memory(), second = memory();
  CALL(cuMemFree(memory()));
  CUfunction function = increment(), another = function_of(module_of(other), "other");
  std::thread thread([=] {
    await_step(1);
    launch(another, second);
    passed = true;
  });
  launch(function, at);
  thread.join();
}

void work_waits() { work_waits_for_a_thread(false); }
void launch_waits() { work_waits_for_a_thread(true); }

void per_thread_stream_recorded() {
  CUdeviceptr at = memory();
  void* arguments[] = {&at};
  CUgraph graph = nullptr;
  CALL(cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CALL(cuLaunchKernel_ptsz(increment(), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  CALL(cuStreamEndCapture_ptsz(nullptr, &graph));
}

void another_stream_recorded() {
  CUdeviceptr at = memory();
  CUgraph graph = nullptr;
  CALL(cuStreamBeginCapture(stream(7), CU_STREAM_CAPTURE_MODE_GLOBAL));
  launch(increment(), at, stream(8));
  CALL(cuStreamEndCapture(stream(7), &graph));
  launch(increment(), at, stream(8));
}

// Another thread is within cuStreamBeginCapture while this one captures.
void recording_begins_meanwhile() {
  CUdeviceptr at = memory();
  CUfunction function = increment();
  CUgraph graph = nullptr;
  standin::within = [](const std::string& call) {
    if (call != "cuStreamBeginCapture_v2") return;
    step = 1;
    rest(300);
  };
  std::thread thread([] { CALL(cuStreamBeginCapture(stream(7), CU_STREAM_CAPTURE_MODE_GLOBAL)); });
  await_step(1);
  launch(function, at, stream(8));
  thread.join();
  CALL(cuStreamEndCapture(stream(7), &graph));
}

void no_arguments() {
  CUresult result = cuLaunchKernel(increment(), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
  std::printf("refused by the driver: %d\n", result == CUDA_ERROR_INVALID_VALUE);
}

void no_parameters() {
  memory();
  void* none[] = {nullptr};
  CALL(cuLaunchKernel(function_of(module_of(one), "nothing"), 1, 1, 1, 32, 1, 1, 0, nullptr, none, nullptr));
}

void large_grid() { launch(increment(), memory(), nullptr, 1u << 22, 1024); }

void two_modules() {
  CUmodule first = module_of(one);
  module_of(other);
  launch(function_of(first), memory());
}

void two_modules_unseen() {
  CUmodule first = standin::unseen_module(one);
  standin::unseen_module(other);
  launch(function_of(first), memory());
}

void one_module_unseen() {
  CUmodule first = standin::unseen_module(one);
  module_of(other);
  launch(function_of(first), memory());
}

// The second launch is captured: the first must not take the unseen module for its own.
void unseen_module_and_another() {
  CUfunction second = function_of(module_of(other));
  CUmodule first = standin::unseen_module(one);
  launch(second, memory());
  launch(function_of(first), memory());
}

void broken_code() {
  std::vector<std::string> images{one.substr(0, 10), one.substr(0, 64), one.substr(0, one.size() - 40), ""};
  for (std::size_t at = 40; at < one.size(); at += 8) {
    images.push_back(one);
    images.back().replace(at, 8, std::string(8, '\xff'));
  }
  for (const std::string& image : images) standin::unseen_module(std::string(image));
  launch(increment(), memory());
}

void variable() {
  CUdeviceptr at = 0;
  std::size_t size = 0;
  CUmodule module = module_of(one);
  CALL(cuModuleGetGlobal(&at, &size, module, "table"));
  launch(function_of(module), at + 8);
}

void pointers() {
  CUdeviceptr first = memory(), second = memory(2 * kSize);
  memory(3 * kSize);
  *reinterpret_cast<CUdeviceptr*>(first + kSize - 8) = second + 16;
  launch(increment(), first);
}

void ipc() {
  CUdeviceptr at = 0;
  CALL(cuIpcOpenMemHandle(&at, CUipcMemHandle{}, 0));
  launch(increment(), at + 512);
}

void unseen_memory() { launch(increment(), standin::unseen_memory(kPage) + 8); }

// Another thread is within cuMemFree while this one captures.
void free_in_flight() {
  CUdeviceptr at = memory(), freed = memory();
  CUfunction function = increment();
  standin::within = [](const std::string& call) {
    if (call != "cuMemFree_v2") return;
    step = 1;
    rest(300);
  };
  std::thread thread([=] { CALL(cuMemFree(freed)); });
  await_step(1);
  launch(function, at);
  thread.join();
}

void allocation_recorded() {
  CUdeviceptr at = 0;
  CUgraph graph = nullptr;
  CALL(cuStreamBeginCapture(stream(7), CU_STREAM_CAPTURE_MODE_GLOBAL));
  CALL(cuMemAllocAsync(&at, kPage, stream(7)));
  CALL(cuStreamEndCapture(stream(7), &graph));
  launch(increment(), memory());
}

void context_destroyed() {
  CUcontext before = standin::current_context(), second = standin::make_context();
  CALL(cuCtxSetCurrent(second));
  memory();
  CALL(cuCtxSetCurrent(before));
  standin::destroy_context(second);
  launch(increment(), memory());
}

void handle_reused() {
  CUmemGenericAllocationHandle foreign = 0, own = 0;
  CUmemAllocationProp wish{};
  CALL(cuMemImportFromShareableHandle(&foreign, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CALL(cuMemRelease(foreign));
  CALL(cuMemCreate(&own, kPage, &wish, 0));
  std::printf("the same number: %d\n", own == foreign);
  launch(increment(), mapped(own));
}

void mapped_twice() {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp wish{};
  CALL(cuMemCreate(&handle, kPage, &wish, 0));
  CUdeviceptr first = mapped(handle);
  mapped(handle);
  launch(increment(), first);
}

[[noreturn]] void exit_meanwhile() {
  standin::within = [](const std::string& call) {
    if (call != "cuCtxSynchronize") return;
    step = 1;
    rest(1000);
  };
  CUdeviceptr at = memory();
  CUfunction function = increment();
  std::thread([=] { launch(function, at); }).detach();
  await_step(1);
  std::exit(0);
}

// Four threads launch and allocate all the time while the first one's launch is captured.
void threads() {
  CUdeviceptr at = memory();
  CUfunction function = increment(), another = function_of(module_of(other), "other");
  std::atomic<bool> ended{false};
  std::vector<std::thread> many;
  for (int index = 0; index < 4; ++index)
    many.emplace_back([&] {
      CUdeviceptr kept = memory();
      while (!ended) {
        CUdeviceptr brief = memory(kPage);
        launch(another, kept);
        launch(another, brief);
        ++step;
        CALL(cuMemFree(brief));
      }
    });
  await_step(100);
  launch(function, at);
  await_step(step + 100);
  ended = true;
  for (std::thread& thread : many) thread.join();
}

const std::map<std::string, void (*)()> kScenes{
    {"plain", plain},
    {"nothing_launched", nothing_launched},
    {"much_memory", much_memory},
    {"folder_gone", folder_gone},
    {"folder_gone_unmatched", folder_gone_unmatched},
    {"work_waits", work_waits},
    {"launch_waits", launch_waits},
    {"per_thread_stream_recorded", per_thread_stream_recorded},
    {"another_stream_recorded", another_stream_recorded},
    {"recording_begins_meanwhile", recording_begins_meanwhile},
    {"no_arguments", no_arguments},
    {"no_parameters", no_parameters},
    {"large_grid", large_grid},
    {"two_modules", two_modules},
    {"two_modules_unseen", two_modules_unseen},
    {"one_module_unseen", one_module_unseen},
    {"unseen_module_and_another", unseen_module_and_another},
    {"broken_code", broken_code},
    {"variable", variable},
    {"pointers", pointers},
    {"ipc", ipc},
    {"unseen_memory", unseen_memory},
    {"free_in_flight", free_in_flight},
    {"allocation_recorded", allocation_recorded},
    {"context_destroyed", context_destroyed},
    {"handle_reused", handle_reused},
    {"mapped_twice", mapped_twice},
    {"exit_meanwhile", exit_meanwhile},
    {"threads", threads},
};

}  // namespace

int main(int, char** words) {
  one = whole(words[2]);
  other = whole(words[3]);
  CALL(cuInit(0));
  CALL(cuCtxSetCurrent(standin::make_context()));
  kScenes.at(words[1])();
  std::printf("host memory left: %ld\n", standin::host_pieces());
  std::puts("went on to its end");
  return 0;
}
