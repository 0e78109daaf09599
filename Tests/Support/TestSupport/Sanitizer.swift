/// A sanitizer that the tests may run under: `Tests/run --sanitize thread`.
public enum Sanitizer: String, Sendable {
    /// Finds data races.
    case thread

    /// Finds wrong uses of memory. It keeps freed memory for a while.
    case address

    /// The one that these tests run under, if any.
    ///
    /// Everything is several times slower with one, and takes more memory: tests that measure either ask.
    public static var current: Sanitizer? {
        guard let name = try? TestServers.variable("BLUEBONNET_SANITIZER") else { return nil }
        return Sanitizer(rawValue: name)
    }
}
