// Trace files for tests: packets -> frames with right lengths and checksums. Any thread.
//
//   WriteTrace(dir.File("a.pb"), {PacketFromText("sequence: 0 header { format_major: 1 }")});
#ifndef GPUEXEC_TESTS_SUPPORT_TRACE_BUILDER_H_
#define GPUEXEC_TESTS_SUPPORT_TRACE_BUILDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::testing {

// Bytes of one frame, as the injected library writes it (head of 26 bytes).
std::string FrameBytes(const gpuexec::v1::Packet& packet);
// The same as a protobuf library writes it (lengths in minimal varints).
std::string MinimalFrameBytes(const gpuexec::v1::Packet& packet);
// Frames one after another; sequence numbers are taken as they are.
std::string TraceBytes(const std::vector<gpuexec::v1::Packet>& packets);
// Gives the packets sequence numbers 0, 1, 2, ...
std::vector<gpuexec::v1::Packet> Numbered(std::vector<gpuexec::v1::Packet> packets);

// Replaces the file. A failure is a test failure (and returns false).
bool WriteFile(const std::string& path, absl::string_view bytes);
bool WriteTrace(const std::string& path, const std::vector<gpuexec::v1::Packet>& packets);
std::string ReadFile(const std::string& path);

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_TRACE_BUILDER_H_
