import Bluebonnet
import Foundation

extension TimeInterval {
    /// The limit that a `URLRequest` has when nobody sets one, in seconds.
    static let defaultTimeout: TimeInterval = 60

    /// What stands for no limit in Foundation's terms, in seconds: ten years.
    static let unlimited: TimeInterval = 315_360_000

    /// The limit for idle time as one number; that for connecting where there is no other.
    init(_ timeouts: Timeouts) {
        self = (timeouts.idle ?? timeouts.connect).map { $0 / .seconds(1) } ?? .unlimited
    }

    /// The limit as a duration; `nil` for none.
    var duration: Duration? { self > 0 && self < .unlimited ? .seconds(self) : nil }

    /// The limits that a request's timeout stands for; `nil` for those of the session.
    static func timeouts(_ interval: TimeInterval) -> Timeouts? {
        guard interval != defaultTimeout else { return nil }
        return Timeouts(connect: interval.duration, idle: interval.duration)
    }
}
