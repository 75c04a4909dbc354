#include "tests/support/trace_builder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "analysis/frame_walk.h"

namespace gx::testing {

std::string FrameBytes(const gpuexec::v1::Packet& packet) { return analysis::MakeFrame(packet.SerializeAsString()); }

std::string MinimalFrameBytes(const gpuexec::v1::Packet& packet) {
  gpuexec::v1::Trace trace;
  gpuexec::v1::Frame* frame = trace.add_frame();
  frame->set_magic(0x31465847);
  frame->set_checksum(analysis::PacketChecksum(packet.SerializeAsString()));
  *frame->mutable_packet() = packet;
  return trace.SerializeAsString();
}

std::string TraceBytes(const std::vector<gpuexec::v1::Packet>& packets) {
  std::string bytes;
  for (const gpuexec::v1::Packet& packet : packets) bytes += FrameBytes(packet);
  return bytes;
}

std::vector<gpuexec::v1::Packet> Numbered(std::vector<gpuexec::v1::Packet> packets) {
  for (size_t i = 0; i < packets.size(); ++i) packets[i].set_sequence(i);
  return packets;
}

bool WriteFile(const std::string& path, absl::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file.good()) return true;
  ADD_FAILURE() << path << " could not be written";
  return false;
}

bool WriteTrace(const std::string& path, const std::vector<gpuexec::v1::Packet>& packets) {
  return WriteFile(path, TraceBytes(packets));
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) ADD_FAILURE() << path << " could not be opened";
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

}  // namespace gx::testing
