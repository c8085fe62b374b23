// Ranges in the profiler's timeline from C++. Build on a ROCm machine:
//   hipcc ranges.cpp -I$ROCM_PATH/include -L$ROCM_PATH/lib -lrocprofiler-sdk-roctx -o ranges
// (before ROCm 6.2: #include <roctracer/roctx.h> and -lroctx64), then
//   rocm-perf profile --preset lightweight -- ./ranges
#include <rocprofiler-sdk-roctx/roctx.h>

#include <cstdio>
#include <string>

// A range that ends with its scope, also when an exception leaves it.
class Range {
 public:
  explicit Range(const std::string& name) { roctxRangePushA(name.c_str()); }
  ~Range() { roctxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

int main() {
  Range whole("training");
  for (int step = 0; step < 3; ++step) {
    Range range("step " + std::to_string(step));
    roctxMarkA("launch");
    std::printf("step %d\n", step);  // the kernels of the step go here
  }
}
