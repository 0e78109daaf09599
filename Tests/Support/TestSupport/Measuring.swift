public import Testing

/// The measurements of a test. Sanitizers skip them, because they use several times the memory and the time.
///
///     @Test(.measuresMemory) func `a million requests leave no memory behind`() …
extension Trait where Self == ConditionTrait {
    /// The test compares how much memory is in use, and is skipped under a sanitizer.
    public static var measuresMemory: Self {
        .disabled(if: Sanitizer.current != nil, "It measures memory, and a sanitizer takes some for itself.")
    }

    /// The test depends on how fast things happen, and is skipped under a sanitizer.
    public static var measuresTime: Self {
        .disabled(if: Sanitizer.current != nil, "It measures time, and all is slower under a sanitizer.")
    }
}
