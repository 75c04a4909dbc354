// A sound library, in a folder that the loader does not know.
extern "C" __attribute__((visibility("default"))) int GxElsewhere() { return 1; }
