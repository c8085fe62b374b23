// The code that a program has loaded: cubins, and which module of the driver's each became.
#pragma once
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "../common/target.hpp"
#include "cubin.hpp"
#include "driver.hpp"

namespace rocm_perf {

class Modules {
 public:
  explicit Modules(const Target& target) : target_(target) {}

  // CUPTI hands the cubin over while the driver loads it, before the module has its handle.
  void loading(const char* data, std::size_t size) {
    Cubin cubin(data, size);
    for (const std::string& kernel : cubin.kernels()) {
      if (!target_.matches(kernel)) continue;
      std::lock_guard<std::mutex> hold(mutex_);
      loaded_.push_back({std::move(cubin), nullptr});  // one that matches may be launched: keep the whole
      nameless_.push_back(&loaded_.back());
      return;
    }
  }

  bool awaits_names() const { return !nameless_.empty(); }

  // The call that loaded them has ended.
  void became(CUmodule module) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (Loaded* one : nameless_) one->module = module;
    nameless_.clear();
  }

  // A launch has ended, which may have loaded its kernel.
  void became(CUmodule module, const std::string& kernel) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (Loaded* one : nameless_)
      if (one->cubin.defines(kernel)) one->module = module;
    nameless_.clear();
  }

  // The code that the kernel of this module was loaded from.
  const Cubin& code_of(const std::string& kernel, CUmodule module) {
    std::lock_guard<std::mutex> hold(mutex_);
    std::vector<const Cubin*> exact, possible;
    for (const Loaded& one : loaded_) {
      if (!one.cubin.defines(kernel)) continue;
      if (module && one.module == module) exact.push_back(&one.cubin);
      if (!one.module) possible.push_back(&one.cubin);
    }
    if (!exact.empty()) return *exact.back();  // a handle may come again after its module was unloaded
    if (possible.empty()) throw std::runtime_error("the code of " + kernel + " was not seen when it was loaded");
    for (const Cubin* other : possible)
      if (other->bytes() != possible.back()->bytes())
        throw std::runtime_error("several modules with different code define " + kernel +
                                 ", and it is not known which of them was launched");
    return *possible.back();
  }

 private:
  struct Loaded {
    Cubin cubin;
    CUmodule module;  // null: not known
  };

  const Target& target_;
  mutable std::mutex mutex_;
  std::deque<Loaded> loaded_;
  static inline thread_local std::vector<Loaded*> nameless_;  // loaded by this thread since
};

}  // namespace rocm_perf
