# Installed as the package's configuration: find_package(gpuexec) defines gpuexec::model, the analytical model.
include(CMakeFindDependencyMacro)
find_dependency(absl)
include("${CMAKE_CURRENT_LIST_DIR}/gpuexecTargets.cmake")
