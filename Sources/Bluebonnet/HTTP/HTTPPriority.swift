/// How a request is served beside others on the same HTTP/2 connection (RFC 7540 §5.3); servers may ignore it.
public struct HTTPPriority: Hashable, Sendable {
    /// The share of the connection in proportion to that of other requests: 1 to 256; HTTP/2's own default is 16.
    public let weight: Int

    /// Creates a priority.
    ///
    /// - Parameter weight: The share; brought into the range of 1 to 256.
    public init(weight: Int) { self.weight = min(256, max(1, weight)) }

    /// Before others: the weight 256.
    public static var high: HTTPPriority { HTTPPriority(weight: 256) }
    /// As others: the weight 16.
    public static var normal: HTTPPriority { HTTPPriority(weight: 16) }
    /// After others: the weight 1.
    public static var low: HTTPPriority { HTTPPriority(weight: 1) }
}
