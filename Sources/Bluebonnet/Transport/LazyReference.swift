import Synchronization

/// Holds an object that is made when it is first needed, by whoever comes first.
///
/// As `AtomicLazyReference`, of which every look, even at one that is empty, costs some 600 instructions (Swift 6.3: it is
/// generic code that asks the runtime for its types); here a flag is looked at first.
struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Instance>()
    private let isStored = Atomic(false)

    /// Returns the object, if there is one.
    func load() -> Instance? {
        isStored.load(ordering: .acquiring) ? reference.load() : nil
    }

    /// Stores an object unless there is one; returns the one that is there then.
    func storeIfNil(_ instance: consuming Instance) -> Instance {
        let stored = reference.storeIfNil(instance)
        isStored.store(true, ordering: .releasing)
        return stored
    }
}
