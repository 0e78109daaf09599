/// The position of a request in a trace: the trace, the current span, and the state (W3C Trace Context).
///
/// The fields `traceparent` and `tracestate` carry the context from service to service. A service reads the context of
/// the request that it serves, and makes it the ``current`` context. The requests that the service sends then belong to
/// the same trace, if their session has a ``TraceInterceptor``:
///
/// ```swift
/// let context = TraceContext(headers: incoming.headers) ?? .newTrace()
/// try await TraceContext.$current.withValue(context) { try await handle(incoming) }
/// ```
public struct TraceContext: Hashable, Sendable, Described {
    /// The context of the current task; `nil` by default.
    @TaskLocal public static var current: TraceContext?

    /// The identifier of the trace: 32 lowercase hexadecimal digits, not all of them zero.
    public let traceID: String
    /// The identifier of the span: 16 lowercase hexadecimal digits, all of them zero if the trace has no span yet.
    public let spanID: String
    /// Whether the caller may have recorded the trace.
    public var isSampled: Bool
    /// Whether at least the last 14 digits of the trace's identifier are random (Level 2 of the specification).
    public let isRandom: Bool
    /// The data that tracing systems add to the trace, from the `tracestate` field.
    public var state: TraceState

    /// The tag for the context to which a request belongs.
    ///
    /// A ``TraceInterceptor`` sets the tag, unless the request already has it. Each exchange of the request has a span
    /// in this context. Event monitors read the tag in ``HTTPRequest/tags``, for example to log the trace.
    public enum Parent: RequestTag {
        /// The context.
        public typealias Value = TraceContext
    }

}

/// The identifier of the span if there is no span.
private let noSpan = "0000000000000000"

// In an extension, so that there is a memberwise initializer.
extension TraceContext {
    /// Creates the context of a new trace, which has no span yet.
    ///
    /// - Parameter isSampled: Whether the trace is recorded; `true` by default.
    /// - Returns: The context, with a random ``traceID``.
    public static func newTrace(isSampled: Bool = true) -> TraceContext {
        TraceContext(
            traceID: newID() + newID(), spanID: noSpan, isSampled: isSampled, isRandom: true, state: TraceState())
    }

    /// Reads the value of a `traceparent` field (§3.2); returns `nil` if the value is invalid.
    ///
    /// The version `00` and later versions are accepted. Unknown parts of later versions are ignored.
    ///
    /// - Parameters:
    ///   - traceparent: The value of the field.
    ///   - state: The values of the `tracestate` fields; none by default.
    public init?(traceparent: String, state: TraceState = TraceState()) {
        let parts = traceparent.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHex(parts[0], count: 2), parts[0] != "ff", parts.count == 4 || parts[0] != "00",
            Self.isHex(parts[1], count: 32), parts[1] != noSpan + noSpan, Self.isHex(parts[2], count: 16),
            parts[2] != noSpan, Self.isHex(parts[3], count: 2), let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        self.init(
            traceID: String(parts[1]), spanID: String(parts[2]), isSampled: flags & 1 != 0, isRandom: flags & 2 != 0,
            state: state)
    }

    /// Reads the context of a received request; returns `nil` without a valid `traceparent` field.
    ///
    /// The result is also `nil` if there is more than one such field. An invalid `tracestate` field is ignored.
    ///
    /// - Parameter headers: The header fields of the request.
    public init?(headers: HTTPHeaders) {
        let parents = headers.values(for: "traceparent")
        guard parents.count == 1 else { return nil }
        self.init(traceparent: parents[0], state: TraceState(headers.values(for: "tracestate")))
    }

    /// Whether the trace has a span, so that the context can be the parent of another span.
    public var hasSpan: Bool { spanID != noSpan }

    /// Returns the context of a new span in the same trace, with a random ``spanID``.
    ///
    /// - Returns: The context, with the same flags and the same state.
    public func child() -> TraceContext {
        TraceContext(traceID: traceID, spanID: Self.newID(), isSampled: isSampled, isRandom: isRandom, state: state)
    }

    /// The value of the `traceparent` field, in version `00`.
    public var traceparent: String { "00-\(traceID)-\(spanID)-0\((isSampled ? 1 : 0) + (isRandom ? 2 : 0))" }

    /// The fields that carry the context: `traceparent`, and `tracestate` if the state is not empty.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["traceparent": traceparent]
        if !state.isEmpty { headers.append(name: "tracestate", value: state.text) }
        return headers
    }

    /// The value of the `traceparent` field.
    package var text: String { traceparent }

    private static func newID() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return noSpan.dropLast(digits.count) + digits
    }

    private static func isHex(_ text: Substring, count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    }
}
