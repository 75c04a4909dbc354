// A shared library that no test loads.
extern "C" __attribute__((visibility("default"))) int gx_unloaded_function() { return 1; }
