import FoundationEssentials
public import Testing

/// The measurements of a test. Sanitizers and emulators skip them, because they use several times the memory and the
/// time.
///
///     @Test(.measuresMemory) func `a million requests leave no memory behind`() …
extension Trait where Self == ConditionTrait {
    /// The test compares how much memory is in use, and is skipped under a sanitizer and an emulator.
    public static var measuresMemory: Self {
        .disabled(
            if: Sanitizer.current != nil || Emulation.isOn,
            "It measures memory, and a sanitizer or an emulator takes some for itself.")
    }

    /// The test depends on how fast things happen, and is skipped under a sanitizer and an emulator.
    public static var measuresTime: Self {
        .disabled(
            if: Sanitizer.current != nil || Emulation.isOn,
            "It measures time, and all is slower under a sanitizer or an emulator.")
    }
}

/// The emulator of another architecture that the tests may run under: `Tests/run --arch aarch64`.
public enum Emulation {
    /// Whether an emulator runs these tests.
    public static let isOn = ProcessInfo.processInfo.environment["BLUEBONNET_EMULATED"] != nil
}
