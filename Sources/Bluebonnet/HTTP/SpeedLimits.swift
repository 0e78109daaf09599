/// The maximum speeds at which bodies are sent and received.
///
/// The limits of ``Session/Configuration/speedLimits`` apply to all requests of a session together. The limits of
/// ``HTTPRequest/speedLimits`` apply to one request. If both are set, both apply.
///
/// Only the bytes of bodies count. A response body with a content coding counts with its encoded size. Heads, TLS and
/// the framing of HTTP do not count. Response bodies arrive in pieces of up to 64 KiB, and each piece waits until the
/// limit allows the whole piece. After a pause, a body can exceed the limit for a short time. The excess is at most the
/// number of bytes that the limit allows in 50 milliseconds, and never more than 512 KiB. While a request waits because
/// of a speed limit, the time counts towards ``Timeouts/total``, but not towards ``Timeouts/idle``.
///
/// A limit slows the server down only when the buffers of the system and of libcurl are full. A server can therefore
/// send the first bytes of a response faster than the limit. With HTTP/1.1, these can be several MiB. With HTTP/2,
/// these can be up to 10 MiB, the size of libcurl's flow-control window. Before libcurl 8.1.0, the window is 32 MiB.
/// For large bodies at a low speed, use HTTP/1.1 if libcurl is older than 8.1.0. With libcurl 8.5.0, a request with a
/// limit for its response may fail if the response begins before the request body has been sent.
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
