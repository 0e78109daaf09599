/// The JSON object of which each line of the long body is one.
public struct Event: Codable, Sendable {
    /// The number of the line, from 1 on.
    public let id: Int
    let kind: String
    let value: Double

    /// Returns the line with a number, without a line feed: about 45 bytes.
    ///
    /// - Parameter id: The number.
    /// - Returns: The line.
    public static func line(_ id: Int) -> String {
        #"{"id":\#(id),"kind":"measurement","value":0.5}"#
    }
}

/// Counts the events of a body, and checks their number and order.
public struct EventCounter: Sendable {
    /// How many there were.
    public private(set) var count = 0

    /// Creates a counter without events.
    public init() {}

    /// Counts an event.
    ///
    /// - Parameter event: The next one.
    /// - Throws: ``BenchFailure`` if it is not the expected next event.
    public mutating func add(_ event: Event) throws {
        count += 1
        guard event.id == count else { throw BenchFailure("line \(count) had the number \(event.id)") }
    }
}
