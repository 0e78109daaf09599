/// The priority of a request among the requests on the same HTTP/2 or HTTP/3 connection.
///
/// Servers may ignore the priority. If the priority is not the default, Bluebonnet sends it in the `Priority` field
/// (RFC 9218). If the request already has a `Priority` field, Bluebonnet does not change the field. Libcurl also sends
/// the priority as the weight of the HTTP/2 stream (RFC 7540 §5.3.2). RFC 9113 deprecates the weight, and libcurl
/// releases after 8.14.1 no longer send the weight.
public struct HTTPPriority: Hashable, Sendable {
    /// The urgency of the response, from 0 (most urgent) to 7 (least urgent); the default is 3.
    public let urgency: Int

    /// Whether the response is useful before it is complete.
    ///
    /// If several responses are incremental and have the same urgency, the server can alternate between parts of
    /// these responses.
    public let isIncremental: Bool

    /// The share of the connection relative to other requests, from 1 to 256; the default of HTTP/2 is 16.
    package let weight: Int

    /// Creates a priority with an urgency (RFC 9218) and the corresponding stream weight.
    ///
    /// - Parameters:
    ///   - urgency: The urgency, from 0 (most urgent) to 7 (least urgent). Values outside this range are clamped.
    ///   - isIncremental: Whether the response is useful before it is complete; `false` by default.
    public init(urgency: Int, isIncremental: Bool = false) {
        self.urgency = min(7, max(0, urgency))
        self.isIncremental = isIncremental
        weight = Self.weights[self.urgency]
    }

    /// Creates a priority with a weight and the corresponding urgency.
    ///
    /// The urgency is 1 for a weight of 256, and 5 for a weight below 4. The urgency is 2, 3 or 4 for the weights from
    /// 255 down to 4.
    ///
    /// - Parameter weight: The share, from 1 to 256; values outside this range are clamped.
    package init(weight: Int) {
        let weight = min(256, max(1, weight))
        self.weight = weight
        urgency = Self.weights.dropFirst().firstIndex { $0 <= weight } ?? 3
        isIncremental = false
    }

    /// A high priority with urgency 1 and weight 256.
    public static var high: HTTPPriority { HTTPPriority(urgency: 1) }
    /// The default priority with urgency 3 and weight 16.
    public static var normal: HTTPPriority { HTTPPriority(urgency: 3) }
    /// A low priority with urgency 5 and weight 1.
    public static var low: HTTPPriority { HTTPPriority(urgency: 5) }

    /// The weights for the urgencies 0 to 7.
    private static let weights = [256, 256, 64, 16, 4, 1, 1, 1]

    /// The value of the `Priority` field without default parameters; `nil` if all parameters are defaults.
    var fieldValue: String? {
        let parts = (urgency == 3 ? [] : ["u=\(urgency)"]) + (isIncremental ? ["i"] : [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
