/// A sanitizer that the tests may run under: `Tests/run --sanitize thread`.
public enum Sanitizer: String, Sendable {
    /// Finds data races.
    case thread

    /// Finds memory errors. It keeps freed memory for a while.
    case address

    /// The sanitizer of these tests; `nil` if there is no sanitizer.
    ///
    /// A sanitizer makes tests several times slower and uses more memory. Tests that measure time or memory check this
    /// property.
    public static var current: Sanitizer? {
        guard let name = try? TestServers.variable("BLUEBONNET_SANITIZER") else { return nil }
        return Sanitizer(rawValue: name)
    }
}
