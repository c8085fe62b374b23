// How a program feeds the stand-in for CUPTI.
#pragma once

#include <cupti.h>

#include <cstddef>

extern "C" {
void standin_put(const void* record, std::size_t size);  // as CUPTI stores an activity record
void standin_context_created(unsigned id, unsigned device);
void standin_drop(std::size_t records);  // as if no buffer had been there for them
unsigned long standin_now();
bool standin_records_kernels();
unsigned standin_detachments();
void standin_call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);  // if that is enabled
}
