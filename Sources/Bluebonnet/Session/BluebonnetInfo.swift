/// Says which Bluebonnet this is.
public enum BluebonnetInfo {
    /// The version of the library, as in `User-Agent`.
    public static let version = "0.1.0"
}
