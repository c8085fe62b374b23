// The code that a program has loaded: cubins, and which module of the driver's each became.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "capture/target.h"
#include "cuda/capture/cubin.h"
#include "cuda/driver.h"

namespace rocm_perf {

class Modules {
 public:
  explicit Modules(const Target& target) : target_(target) {}

  // CUPTI hands the cubin over while the driver loads it, before the module has its handle.
  void loading(const char* data, std::size_t size);

  bool awaits_names() const { return !nameless_.empty(); }

  // A call that loads a module begins: what this thread has loaded before by other means is none of it.
  void will_load() { nameless_.clear(); }

  // The call that loaded them has ended.
  void became(CUmodule module);

  // A launch has ended, which may have loaded its kernel: named where there is no doubt.
  void became(CUmodule module, const std::string& kernel);

  // The code that the kernel of this module was loaded from.
  const Cubin& code_of(const std::string& kernel, CUmodule module) const;

 private:
  struct Loaded {
    Cubin cubin;
    CUmodule module;  // null: not known
  };

  // The last that became this module, and what was loaded since and is not known: a handle may come again after its
  // module was unloaded.
  std::vector<const Cubin*> possible(const std::string& kernel, CUmodule module) const;

  static bool alike(const std::vector<const Cubin*>& codes);

  const Target& target_;
  mutable std::mutex mutex_;
  std::deque<Loaded> loaded_;
  static inline thread_local std::vector<Loaded*> nameless_;  // loaded by this thread since
};

}  // namespace rocm_perf
