// Where gx-run finds what belongs to it: beside itself, in a prefix as in a build folder. Reads the file system; any
// thread.
#ifndef GPUEXEC_TOOLS_RUN_LOCATIONS_H_
#define GPUEXEC_TOOLS_RUN_LOCATIONS_H_

#include <string>
#include <vector>

namespace gx::tools {

// Places for the injection library, for a gx-run that lies in `folder`; the first that exists is taken. Pure.
std::vector<std::string> LibraryPlaces(const std::string& folder);

// The first of them that is there, without "..", and in any case the first where none is.
std::string FirstThere(const std::vector<std::string>& places);

// The folder of the running program's file; "" where /proc does not say.
std::string OwnFolder();

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_LOCATIONS_H_
