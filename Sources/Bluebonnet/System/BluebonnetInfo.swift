/// Information about the Bluebonnet library.
public enum BluebonnetInfo {
    /// The version of the library, as sent in the default `User-Agent` field.
    public static let version = "0.1.0"
}
