import FoundationEssentials

extension Session.Configuration {
    /// The number of event loops of a session.
    ///
    /// You can use an integer literal:
    ///
    /// ```swift
    /// configuration.eventLoops = 4
    /// configuration.eventLoops = .cores
    /// ```
    public struct EventLoopCount: Hashable, Sendable, ExpressibleByIntegerLiteral {
        /// One event loop for each core that the process may use, but at most 64.
        public static var cores: Self { Self(min(max(ProcessInfo.processInfo.activeProcessorCount, 1), maximum)) }

        /// The number of event loops.
        public let count: Int

        /// The maximum number of event loops.
        static let maximum = 64

        /// Creates a number of event loops.
        ///
        /// - Parameter count: The number of event loops, from 1 to 64. With another number, every request fails with
        ///   `.invalidRequest(.configuration)`.
        public init(_ count: Int) {
            self.count = count
        }

        /// Creates a number of event loops from an integer literal.
        ///
        /// - Parameter value: The number of event loops.
        public init(integerLiteral value: Int) {
            self.init(value)
        }
    }
}
