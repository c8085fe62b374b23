#include "cuda/capture/modules.h"

#include <stdexcept>
#include <utility>

namespace rocm_perf {

void Modules::loading(const char* data, std::size_t size) {
  Cubin cubin(data, size);
  for (const std::string& kernel : cubin.kernels()) {
    if (!target_.matches(kernel)) continue;
    std::lock_guard<std::mutex> hold(mutex_);
    loaded_.push_back({std::move(cubin), nullptr});  // one that matches may be launched: keep the whole
    nameless_.push_back(&loaded_.back());
    return;
  }
}

void Modules::became(CUmodule module) {
  std::lock_guard<std::mutex> hold(mutex_);
  for (Loaded* one : nameless_) one->module = module;
  nameless_.clear();
}

void Modules::became(CUmodule module, const std::string& kernel) {
  std::lock_guard<std::mutex> hold(mutex_);
  if (alike(possible(kernel, module)))
    for (Loaded* one : nameless_)
      if (one->cubin.defines(kernel)) one->module = module;
  nameless_.clear();
}

const Cubin& Modules::code_of(const std::string& kernel, CUmodule module) const {
  std::lock_guard<std::mutex> hold(mutex_);
  std::vector<const Cubin*> found = possible(kernel, module);
  if (found.empty()) throw std::runtime_error("the code of " + kernel + " was not seen when it was loaded");
  if (!alike(found))
    throw std::runtime_error("several modules with different code define " + kernel +
                             ", and it is not known which of them was launched");
  return *found.front();
}

std::vector<const Cubin*> Modules::possible(const std::string& kernel, CUmodule module) const {
  std::vector<const Cubin*> out;
  for (const Loaded& one : loaded_) {
    if ((one.module && one.module != module) || !one.cubin.defines(kernel)) continue;
    if (one.module) out.clear();
    out.push_back(&one.cubin);
  }
  return out;
}

bool Modules::alike(const std::vector<const Cubin*>& codes) {
  for (const Cubin* code : codes)
    if (code->bytes() != codes.front()->bytes()) return false;
  return true;
}

}  // namespace rocm_perf
