// The one way by which inject/ includes protozero. Its assertions would abort the host program where NDEBUG is not
// defined; here they are nothing, whatever the build. Owned by nobody, header only, no threads.
#ifndef GPUEXEC_INJECT_PROTOZERO_GUEST_H_
#define GPUEXEC_INJECT_PROTOZERO_GUEST_H_

#ifdef PROTOZERO_CONFIG_HPP
#error "include inject/protozero_guest.h instead of protozero's own headers"
#endif

#define protozero_assert(x)

#include <protozero/pbf_writer.hpp>
#include <protozero/types.hpp>

#endif  // GPUEXEC_INJECT_PROTOZERO_GUEST_H_
