#include "hsa/capture/kernels.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>

namespace rocm_perf {

void Kernels::read_from_memory(hsa_code_object_reader_t reader, const void* data, std::size_t size) {
  std::lock_guard<std::shared_mutex> hold(mutex_);
  readers_[reader.handle] = {static_cast<const char*>(data), size, nullptr};
}

void Kernels::read_from_file(hsa_code_object_reader_t reader, int file) {
  struct stat facts{};
  if (::fstat(file, &facts) != 0) return;
  auto bytes = std::make_shared<std::string>(static_cast<std::size_t>(facts.st_size), '\0');
  if (::pread(file, bytes->data(), bytes->size(), 0) != facts.st_size) return;
  std::lock_guard<std::shared_mutex> hold(mutex_);
  readers_[reader.handle] = {bytes->data(), bytes->size(), bytes};
}

void Kernels::forget_reader(hsa_code_object_reader_t reader) {
  std::lock_guard<std::shared_mutex> hold(mutex_);
  readers_.erase(reader.handle);
}

void Kernels::loaded(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader) {
  std::lock_guard<std::shared_mutex> hold(mutex_);
  Loaded one{agent, {}, nullptr};
  auto known = readers_.find(reader.handle);
  if (known != readers_.end()) {
    const Reader& from = known->second;
    one.kernels = kernels_of(from.data, from.size);
    for (const std::string& kernel : one.kernels)  // a code object without a kernel of interest is not kept
      if (!one.code && target_.matches(kernel)) one.code = std::make_shared<std::string>(from.data, from.size);
  }
  executables_[executable.handle].push_back(std::move(one));
}

void Kernels::frozen(hsa_executable_t executable) {
  std::vector<Loaded> parts;
  {
    std::shared_lock<std::shared_mutex> hold(mutex_);
    auto known = executables_.find(executable.handle);
    if (known == executables_.end()) return;
    parts = known->second;
  }
  std::vector<std::uint64_t> agents;
  for (const Loaded& part : parts) {
    if (std::find(agents.begin(), agents.end(), part.agent.handle) != agents.end()) continue;
    agents.push_back(part.agent.handle);
    Walk walk{this, &parts, {}};
    api_.hsa_executable_iterate_agent_symbols(executable, part.agent, on_kernel, &walk);
    std::lock_guard<std::shared_mutex> hold(mutex_);
    for (auto& found : walk.found) by_object_[found.first] = std::move(found.second);
  }
}

void Kernels::destroyed(hsa_executable_t executable) {
  std::lock_guard<std::shared_mutex> hold(mutex_);
  executables_.erase(executable.handle);
  for (auto entry = by_object_.begin(); entry != by_object_.end();)
    entry = entry->second->executable.handle == executable.handle ? by_object_.erase(entry) : std::next(entry);
}

const Kernel* Kernels::find(std::uint64_t kernel_object) const {
  std::shared_lock<std::shared_mutex> hold(mutex_);
  auto known = by_object_.find(kernel_object);
  return known == by_object_.end() ? nullptr : known->second.get();
}

std::vector<Variable> Kernels::variables_of(const Kernel& kernel) const {
  VariableWalk walk{this, names_of(kernel.code->data(), kernel.code->size()), {}};
  check(api_, api_.hsa_executable_iterate_agent_symbols(kernel.executable, kernel.agent, on_variable, &walk),
        "cannot list the variables of the code");
  return walk.found;
}

hsa_status_t Kernels::on_kernel(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol,
                                void* data) {
  auto& walk = *static_cast<Walk*>(data);
  if (walk.self->kind(symbol) != HSA_SYMBOL_KIND_KERNEL) return HSA_STATUS_SUCCESS;
  auto kernel = std::make_unique<Kernel>();
  kernel->symbol = without_kd(walk.self->name(symbol));
  kernel->executable = executable;
  kernel->agent = agent;
  auto number = [&](hsa_executable_symbol_info_t what, auto& into) {
    walk.self->api_.hsa_executable_symbol_get_info(symbol, what, &into);
  };
  std::uint64_t object = 0;
  number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, object);
  number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, kernel->kernarg_bytes);
  number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, kernel->group_bytes);
  number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, kernel->private_bytes);
  for (const Loaded& part : *walk.parts) {
    bool here = std::find(part.kernels.begin(), part.kernels.end(), kernel->symbol) != part.kernels.end();
    if (part.agent.handle == agent.handle && here) kernel->code = part.code;
  }
  walk.found.emplace_back(object, std::move(kernel));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Kernels::on_variable(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
  auto& walk = *static_cast<VariableWalk*>(data);
  if (walk.self->kind(symbol) != HSA_SYMBOL_KIND_VARIABLE) return HSA_STATUS_SUCCESS;
  Variable one{walk.self->name(symbol), 0, 0};
  std::uint32_t size = 0;
  const Api& api = walk.self->api_;
  api.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &one.address);
  api.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size);
  one.size = size;
  bool mark = one.name.compare(0, 11, "__hip_cuid_") == 0;  // the compiler's own, and another in every build
  bool ours = std::find(walk.own.begin(), walk.own.end(), one.name) != walk.own.end();
  if (one.size && ours && !mark) walk.found.push_back(std::move(one));
  return HSA_STATUS_SUCCESS;
}

hsa_symbol_kind_t Kernels::kind(hsa_executable_symbol_t symbol) const {
  hsa_symbol_kind_t out = HSA_SYMBOL_KIND_INDIRECT_FUNCTION;
  api_.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &out);
  return out;
}

std::string Kernels::name(hsa_executable_symbol_t symbol) const {
  std::uint32_t length = 0;
  api_.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
  std::string out(length, '\0');
  api_.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, out.data());
  return out.c_str();  // some runtimes count the terminating zero
}

}  // namespace rocm_perf
