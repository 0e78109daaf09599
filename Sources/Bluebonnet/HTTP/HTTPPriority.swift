/// Says how a request is served beside others on the same HTTP/2 connection; servers may ignore it.
///
/// It is told in both ways that there are: in the field `Priority` (RFC 9218), unless the request has such a field
/// already or the priority is the default one; and over HTTP/2 as the weight of the stream (RFC 7540 §5.3.2, which
/// RFC 9113 has given up).
public struct HTTPPriority: Hashable, Sendable {
    /// How urgent the response is: 0, the most, to 7; without a priority it is 3.
    public let urgency: Int

    /// Whether the response is of use while it comes in, so that it may share the connection with others as urgent.
    public let isIncremental: Bool

    /// The share of the connection in proportion to that of other requests: 1 to 256; HTTP/2's own default is 16.
    public let weight: Int

    /// Creates a priority as RFC 9218 has it, with the weight that fits.
    ///
    /// - Parameters:
    ///   - urgency: How urgent the response is; brought into the range of 0 to 7.
    ///   - isIncremental: Whether the response is of use while it comes in.
    public init(urgency: Int, isIncremental: Bool = false) {
        self.urgency = min(7, max(0, urgency))
        self.isIncremental = isIncremental
        weight = Self.weights[self.urgency]
    }

    /// Creates a priority of a weight, with the urgency that fits: from 1 for 256 to 5 for less than 4.
    ///
    /// - Parameter weight: The share; brought into the range of 1 to 256.
    public init(weight: Int) {
        let weight = min(256, max(1, weight))
        self.weight = weight
        urgency = Self.weights.dropFirst().firstIndex { $0 <= weight } ?? 3
        isIncremental = false
    }

    /// Before others: the urgency 1, the weight 256.
    public static var high: HTTPPriority { HTTPPriority(urgency: 1) }
    /// As others: the urgency 3, the weight 16.
    public static var normal: HTTPPriority { HTTPPriority(urgency: 3) }
    /// After others: the urgency 5, the weight 1.
    public static var low: HTTPPriority { HTTPPriority(urgency: 5) }

    /// The weights of the urgencies 0 to 7.
    private static let weights = [256, 256, 64, 16, 4, 1, 1, 1]

    /// The value of the field `Priority`, in which defaults are left out; `nil` when nothing else is left.
    var fieldValue: String? {
        let parts = (urgency == 3 ? [] : ["u=\(urgency)"]) + (isIncremental ? ["i"] : [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
