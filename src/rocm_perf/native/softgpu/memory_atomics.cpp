#include "softgpu/atomics.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// With a result: result, address, data, shared address; without: address, data, shared address.
template <Space space>
void run(Wave& wave, const Instruction& instruction) {
  bool returns = instruction.modifiers.returns;
  if constexpr (space == Space::kBuffer)
    run_atomic<space>(wave, instruction, {1, 2}, 0, returns);
  else
    run_atomic<space>(wave, instruction, {returns ? 1 : 0, returns ? 3 : 2}, returns ? 2 : 1, returns);
}

template <Space space>
void add(Table& table, const std::string& prefix) {
  for (const AtomicForm& form : atomic_forms()) {
    Access access{.bytes = form.bytes, .words = static_cast<uint8_t>(form.bytes / 4)};
    access.parts = form.compares ? 2 : 1;
    Entry entry{run<space>, {Type::kB32, Type::kB32, Type::kB64, Type::kB32}, access, form.combine};
    table.emplace_back(prefix + form.operation + form.old_suffix, entry);
    table.emplace_back(prefix + form.new_name, entry);
  }
}

}  // namespace

Table memory_atomics() {
  Table table;
  add<Space::kGlobal>(table, "global_atomic_");
  add<Space::kFlat>(table, "flat_atomic_");
  add<Space::kBuffer>(table, "buffer_atomic_");
  return table;
}

}  // namespace rocm_perf::softgpu
