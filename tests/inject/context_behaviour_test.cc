#include "inject/context_behaviour.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gx::inject {
namespace {

const void* Handle(uintptr_t number) { return reinterpret_cast<const void*>(number); }

DenyReason ReasonOf(const ContextBehaviour& behaviour, const void* context) {
  return DenyByBehaviour(behaviour.Of(context));
}

TEST(ContextBehaviour, AContextOfWhichNothingWasSeenMayBeSampled) {
  const ContextBehaviour behaviour;
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kNone);
  EXPECT_EQ(ReasonOf(behaviour, nullptr), DenyReason::kNone);
}

TEST(ContextBehaviour, ATraitHoldsForItsContextOnly) {
  ContextBehaviour behaviour;
  behaviour.Note(Handle(0xA00), ContextTrait::kPeerAccess);
  behaviour.Note(Handle(0xB00), ContextTrait::kIpcMemory);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kPeerAccess);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xB00)), DenyReason::kIpcMemory);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xC00)), DenyReason::kNone);
  EXPECT_EQ(ReasonOf(behaviour, nullptr), DenyReason::kNone);
}

TEST(ContextBehaviour, TraitsAddUp) {
  ContextBehaviour behaviour;
  for (const ContextTrait trait : {ContextTrait::kPeerAccess, ContextTrait::kIpcMemory, ContextTrait::kSymmetricHeap}) {
    behaviour.Note(Handle(0xA00), trait);
  }
  const LaunchBehaviour of = behaviour.Of(Handle(0xA00));
  EXPECT_TRUE(of.peer_access);
  EXPECT_TRUE(of.ipc_memory);
  EXPECT_TRUE(of.symmetric_heap);
  EXPECT_FALSE(of.cooperative);
}

TEST(ContextBehaviour, WhatNamesNoContextHoldsForAllForGood) {
  ContextBehaviour behaviour;
  behaviour.Note(nullptr, ContextTrait::kSymmetricHeap);
  behaviour.Forget(Handle(0xA00));
  behaviour.Forget(nullptr);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kSymmetricHeap);
  EXPECT_EQ(ReasonOf(behaviour, nullptr), DenyReason::kSymmetricHeap);
}

TEST(ContextBehaviour, AContextThatIsDestroyedLeavesNothingToTheNextOfItsHandle) {
  ContextBehaviour behaviour;
  behaviour.Note(Handle(0xA00), ContextTrait::kPeerAccess);
  behaviour.Forget(Handle(0xA00));
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kNone);
}

TEST(ContextBehaviour, AContextWithoutAPlaceDeniesAll) {
  ContextBehaviour behaviour;
  for (uintptr_t i = 0; i < ContextBehaviour::kContexts; ++i)
    behaviour.Note(Handle(0x100 + i), ContextTrait::kIpcMemory);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kNone);
  behaviour.Note(Handle(0xA00), ContextTrait::kPeerAccess);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA00)), DenyReason::kPeerAccess);
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xB00)), DenyReason::kPeerAccess);
}

TEST(ContextBehaviour, ThreadsThatNoteAtOnceLoseNothing) {
  ContextBehaviour behaviour;
  std::vector<std::thread> threads;
  for (const ContextTrait trait : {ContextTrait::kPeerAccess, ContextTrait::kIpcMemory, ContextTrait::kSymmetricHeap}) {
    threads.emplace_back([&behaviour, trait] {
      for (uintptr_t i = 1; i <= ContextBehaviour::kContexts; ++i) behaviour.Note(Handle(i * 16), trait);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uintptr_t i = 1; i <= ContextBehaviour::kContexts; ++i) {
    const LaunchBehaviour of = behaviour.Of(Handle(i * 16));
    EXPECT_TRUE(of.peer_access && of.ipc_memory && of.symmetric_heap) << i;
  }
  EXPECT_EQ(ReasonOf(behaviour, Handle(0xA001)), DenyReason::kNone);
}

}  // namespace
}  // namespace gx::inject
