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

  // A call that loads a module begins: what this thread has loaded before by other means is none of it.
  void will_load() { nameless_.clear(); }

  // The call that loaded them has ended.
  void became(CUmodule module) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (Loaded* one : nameless_) one->module = module;
    nameless_.clear();
  }

  // A launch has ended, which may have loaded its kernel: named where there is no doubt.
  void became(CUmodule module, const std::string& kernel) {
    std::lock_guard<std::mutex> hold(mutex_);
    if (alike(possible(kernel, module)))
      for (Loaded* one : nameless_)
        if (one->cubin.defines(kernel)) one->module = module;
    nameless_.clear();
  }

  // The code that the kernel of this module was loaded from.
  const Cubin& code_of(const std::string& kernel, CUmodule module) const {
    std::lock_guard<std::mutex> hold(mutex_);
    std::vector<const Cubin*> found = possible(kernel, module);
    if (found.empty()) throw std::runtime_error("the code of " + kernel + " was not seen when it was loaded");
    if (!alike(found))
      throw std::runtime_error("several modules with different code define " + kernel +
                               ", and it is not known which of them was launched");
    return *found.front();
  }

 private:
  struct Loaded {
    Cubin cubin;
    CUmodule module;  // null: not known
  };

  // The last that became this module, and what was loaded since and is not known: a handle may come again after its
  // module was unloaded.
  std::vector<const Cubin*> possible(const std::string& kernel, CUmodule module) const {
    std::vector<const Cubin*> out;
    for (const Loaded& one : loaded_) {
      if ((one.module && one.module != module) || !one.cubin.defines(kernel)) continue;
      if (one.module) out.clear();
      out.push_back(&one.cubin);
    }
    return out;
  }

  static bool alike(const std::vector<const Cubin*>& codes) {
    for (const Cubin* code : codes)
      if (code->bytes() != codes.front()->bytes()) return false;
    return true;
  }

  const Target& target_;
  mutable std::mutex mutex_;
  std::deque<Loaded> loaded_;
  static inline thread_local std::vector<Loaded*> nameless_;  // loaded by this thread since
};

}  // namespace rocm_perf
