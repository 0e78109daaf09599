/// The maximum speeds at which bodies are sent and received.
///
/// The limits of ``Session/Configuration/speedLimits`` apply to all requests of a session together. The limits of
/// ``HTTPRequest/speedLimits`` apply to one request. If both are set, both apply.
///
/// Only the bytes of bodies count, as they are transferred: before content decoding, and without heads, TLS and the
/// framing of HTTP. Bytes arrive in pieces of up to 64 KiB, and each piece waits until the limit allows all of it.
/// After a pause, a body may catch up by at most the bytes of 50 milliseconds, and by at most 512 KiB. While a request
/// waits because of a speed limit, the time counts towards ``Timeouts/total``, but not towards ``Timeouts/idle``.
///
/// A limit slows the server down only when the buffers of the system and of libcurl are full. A server can therefore
/// send the first bytes of a response faster: with HTTP/1.1, up to some MiB; with HTTP/2, up to the window of libcurl,
/// which is 10 MiB, or 32 MiB with libcurl before 8.1.0. For large bodies at a low speed, use HTTP/1.1 if libcurl is
/// older than 8.1.0. With libcurl 8.5.0, a limited response may fail if its request is still being sent.
public struct SpeedLimits: Hashable, Sendable {
    /// The maximum number of bytes of request bodies per second, at least 1; `nil` for no limit.
    public var upload: Int64?

    /// The maximum number of bytes of response bodies per second, at least 1; `nil` for no limit.
    public var download: Int64?

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - upload: The maximum number of bytes of request bodies per second; `nil`, the default, for no limit.
    ///   - download: The maximum number of bytes of response bodies per second; `nil`, the default, for no limit.
    public init(upload: Int64? = nil, download: Int64? = nil) {
        self.upload = upload
        self.download = download
    }

    /// Returns these limits, completed with the limits of another value.
    func filled(from other: SpeedLimits) -> SpeedLimits {
        SpeedLimits(upload: upload ?? other.upload, download: download ?? other.download)
    }

    /// Whether there are no limits.
    var isEmpty: Bool { self == SpeedLimits() }

    /// The name and the value of the first limit that is less than 1; `nil` if there is none.
    var firstInvalid: (name: String, value: Int64)? {
        for (name, value) in [("upload", upload), ("download", download)] {
            if let value, value < 1 { return ("speedLimits.\(name)", value) }
        }
        return nil
    }
}

extension Request {
    /// Limits the speeds at which the request's bodies are sent and received.
    ///
    /// Call this method before the request starts. A limit replaces the limit of ``HTTPRequest/speedLimits``, and the
    /// limit of an earlier call. The session's limits also apply.
    ///
    /// - Parameters:
    ///   - upload: The maximum number of bytes of the request body per second; `nil`, the default, for no limit.
    ///   - download: The maximum number of bytes of the response body per second; `nil`, the default, for no limit.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func speedLimits(upload: Int64? = nil, download: Int64? = nil) -> Self {
        let limits = SpeedLimits(upload: upload, download: download)
        core.machine.withLock { machine in
            machine.setup.additions.speedLimits = limits.filled(from: machine.setup.additions.speedLimits)
        }
        return self
    }
}
