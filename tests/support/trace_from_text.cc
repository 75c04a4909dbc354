// gx-trace-from-text IN.textproto OUT.pb: a trace written by hand -> a trace file.
//
// The text is a gpuexec.v1.Trace (frame { packet { ... } } ...; magic and checksum may be left out, they are computed)
// or packets one after another (packet { ... } packet { ... }, which is what a Frame's field looks like). A packet that
// says no sequence gets the next one. For golden inputs and experiments; not installed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analysis/frame_walk.h"
#include "analysis/printable.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "gpuexec/v1/trace.pb.h"

namespace {

using gx::analysis::Printable;

class Errors : public google::protobuf::io::ErrorCollector {
 public:
  explicit Errors(std::string path) : path_(std::move(path)) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    std::cerr << "gx-trace-from-text: " << Printable(path_) << ":" << line + 1 << ":" << column + 1 << ": "
              << Printable(message) << "\n";
  }

 private:
  std::string path_;
};

// The first word of the text that is not in a comment.
std::string FirstWord(const std::string& text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    return std::string(line.substr(0, line.find_first_of(" {:")));
  }
  return "";
}

int Run(const std::string& in_path, const std::string& out_path) {
  std::ifstream in(in_path, std::ios::binary);
  if (!in.good()) {
    std::cerr << "gx-trace-from-text: " << Printable(in_path) << ": cannot be opened\n";
    return 3;
  }
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  // Packets alone: each one is a frame.
  const bool bare_packets = FirstWord(text) == "packet";
  gpuexec::v1::Trace trace;
  Errors errors(in_path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (bare_packets) {
    // A Frame has one packet; the parser's merge would join them, so each is parsed on its own.
    size_t begin = 0;
    int depth = 0;
    bool in_string = false;
    bool in_comment = false;
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (in_comment) {
        in_comment = c != '\n';
      } else if (in_string) {
        if (c == '\\') {
          ++i;
        } else if (c == quote) {
          in_string = false;
        }
      } else if (c == '#') {
        in_comment = true;
      } else if (c == '"' || c == '\'') {
        in_string = true;
        quote = c;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        // Blank lines in front keep the line numbers of messages true.
        std::string piece(
            static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(begin), '\n')), '\n');
        piece.append(text, begin, i + 1 - begin);
        if (!parser.ParseFromString(piece, trace.add_frame())) return 3;
        begin = i + 1;
      }
    }
    std::string rest = text.substr(begin);
    gpuexec::v1::Frame nothing;
    if (depth != 0 || !parser.ParseFromString(rest, &nothing) || nothing.ByteSizeLong() != 0) {
      std::cerr << "gx-trace-from-text: " << Printable(in_path) << ": text after the last packet\n";
      return 3;
    }
  } else if (!parser.ParseFromString(text, &trace)) {
    return 3;
  }
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  uint64_t sequence = 0;
  for (gpuexec::v1::Frame& frame : *trace.mutable_frame()) {
    if (frame.packet().sequence() == 0) frame.mutable_packet()->set_sequence(sequence);
    sequence = frame.packet().sequence() + 1;
    const std::string bytes = gx::analysis::MakeFrame(frame.packet().SerializeAsString());
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  out.close();
  if (!out.good()) {
    std::cerr << "gx-trace-from-text: " << Printable(out_path) << ": cannot be written\n";
    return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: gx-trace-from-text IN.textproto OUT.pb\n"
                 "IN holds a gpuexec.v1.Trace, or packets: packet { ... } packet { ... }\n";
    return 2;
  }
  return Run(argv[1], argv[2]);
}
