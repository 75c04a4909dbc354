// gx-trace-strip IN.pb OUT.pb: a trace without what names the machine that it was made on, for publishing.
//
// In the header, host_name and kernel_release are cleared; executable_path, cupti_path, libcuda_path and the command
// line's arguments and settings keep their last path component (also behind "=", as in --data=/home/me/set). A device
// loses its uuid, in whatever packet it stands. Packets that change are encoded anew, with a new checksum; other frames
// are copied byte for byte. Kernel, module, thread and range names and diagnostics are not touched: what this tool
// leaves that still looks like a path is listed on stderr for a person to judge. Refuses damaged traces. Not installed.
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/frame_walk.h"
#include "analysis/printable.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"

namespace {

using gx::analysis::Printable;
using gx::analysis::TraceReader;

// "/opt/x/libcuda.so.1" -> "libcuda.so.1"; "a/b/" -> "b"; "/" -> "/".
std::string BaseName(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  return slash == std::string::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

// Anything with a slash loses what stands before its last component: "--data=/home/me/set" -> "--data=set".
std::string StripArgument(const std::string& argument) {
  const size_t equals = argument.find('=');
  const size_t slash = argument.find('/');
  if (slash == std::string::npos) return argument;
  if (equals != std::string::npos && equals < slash) {
    return argument.substr(0, equals + 1) + BaseName(argument.substr(equals + 1));
  }
  return BaseName(argument);
}

void StripHeader(gpuexec::v1::Header* header) {
  header->clear_host_name();
  header->clear_kernel_release();
  header->set_executable_path(BaseName(header->executable_path()));
  header->set_cupti_path(BaseName(header->cupti_path()));
  header->set_libcuda_path(BaseName(header->libcuda_path()));
  for (std::string& argument : *header->mutable_command_line()) argument = StripArgument(argument);
  for (auto& setting : *header->mutable_configuration()) setting.set_value(StripArgument(setting.value()));
}

// Whether the packet is another one now.
bool StripPacket(gpuexec::v1::Packet* packet) {
  bool is_changed = packet->has_header();
  if (packet->has_header()) StripHeader(packet->mutable_header());
  for (auto& device : *packet->mutable_device()) {
    is_changed = is_changed || !device.uuid().empty();
    device.clear_uuid();
  }
  return is_changed;
}

void WarnOfPath(const char* what, const std::string& text) {
  if (text.find('/') != std::string::npos) {
    std::cerr << "gx-trace-strip: left as it is: " << what << ": " << Printable(text) << "\n";
  }
}

absl::Status Strip(const std::string& in_path, const std::string& out_path) {
  absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(in_path);
  if (!reader.ok()) return reader.status();
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  gpuexec::v1::Packet packet;
  while (true) {
    absl::StatusOr<bool> more = (*reader)->Next(&packet);
    if (!more.ok()) return more.status();
    if (!*more) break;
    std::string bytes;
    if (StripPacket(&packet)) {
      bytes = gx::analysis::MakeFrame(packet.SerializeAsString());
    } else {
      absl::StatusOr<absl::string_view> frame = (*reader)->FrameBytes();
      if (!frame.ok()) return frame.status();
      bytes = std::string(*frame);
    }
    for (const auto& variable : packet.header().rank_variable()) WarnOfPath("rank variable", variable.value());
    for (const auto& diagnostic : packet.diagnostic()) WarnOfPath("diagnostic", diagnostic.text());
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  if ((*reader)->damage_count() > 0) {
    return absl::DataLossError(absl::StrCat(Printable(in_path), ": ", (*reader)->damage_count(),
                                            " damaged places, the first at ", DamageText((*reader)->damages().front()),
                                            "; only a sound trace is stripped"));
  }
  out.close();
  if (!out.good()) return absl::UnknownError(absl::StrCat(Printable(out_path), ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: gx-trace-strip IN.pb OUT.pb\n";
    return 2;
  }
  if (absl::Status status = Strip(argv[1], argv[2]); !status.ok()) {
    std::cerr << "gx-trace-strip: " << status.message() << "\n";
    return 3;
  }
  return 0;
}
