// A library that needs another one, which the loader does not find.
extern "C" int GxElsewhere();

extern "C" __attribute__((visibility("default"))) int GxUse() { return GxElsewhere(); }
