import CCurl

/// A family of faults that the peer commits; `--without` leaves families out by name.
enum Family: String, CaseIterable, Sendable {
    /// The first line of a head's fields begins with a space or a tab.
    case prevhead
    /// Bytes that come after a complete answer: at once, or while the connection is idle.
    case surplus
    /// Frames that come on an idle HTTP/2 connection before it ends.
    case h2idle
    /// Endless frames that carry nothing.
    case h2flood
    /// RST_STREAM(NO_ERROR) before the end of a body, and other ends that look like one.
    case h2reset
    /// Streams that are refused, GOAWAY frames, closed windows and dropped connections, before a response.
    case refusals
    /// Endless trailers, chunk extensions, chunks of one byte.
    case chunkflood
    /// Bodies that decode to far more than they are.
    case bomb
    /// Many and large cookies.
    case cookieflood
    /// Wrong or cut content codings.
    case coding
    /// Fields that control caches.
    case caching
    case redirects
    case events
    /// WebSockets whose handshakes and frames are right, nearly right, or wrong.
    case sockets
    /// Endless frames of a WebSocket that carry nothing, or hardly anything.
    case socketflood
    /// Fields of HSTS and alternative services.
    case policies
    /// Bits, bytes and lines of an answer are changed at random.
    case mutation
    /// An answer is cut by a close, a reset or a silence.
    case cuts
    /// HTTP/2 without TLS.
    case h2c
    /// TLS, and HTTP/2 or HTTP/1.1 over it.
    case tls
    /// HTTP/2 is negotiated on some connections to a place, HTTP/1.1 on others.
    case mixedversions
    /// Sessions share an event loop.
    case sharedloop
    /// Sessions receive into buffers that are smaller than a frame of HTTP/2.
    case smallbuffers
    /// Sessions send requests again that failed.
    case retries
    /// The client cancels, suspends and shuts down at random.
    case interference
    /// An oracle: an error of the kind `.internal` is a failure.
    case `internal`
}

/// Which families take part.
struct Families: Sendable {
    private var present = Set(Family.allCases).subtracting(Self.withoutRemedy)

    /// Faults of this libcurl that no client can detect; the article "Security and limits" names them.
    // Safety: the version's record is of libcurl's constants.
    private static let withoutRemedy: Set<Family> =
        unsafe bb_curl_version()?.pointee.version_num ?? 0 < 0x08_01_00 ? [.h2reset] : []

    func has(_ family: Family) -> Bool { present.contains(family) }

    var left: [String] { Family.allCases.filter { !present.contains($0) }.map(\.rawValue) }

    mutating func remove(_ names: String) throws {
        for name in names.split(separator: ",") {
            guard let family = Family(rawValue: String(name)) else { throw Misuse("there is no family \(name)") }
            present.remove(family)
        }
    }

    mutating func keepOnly(_ names: String) throws {
        var kept = Set<Family>()
        for name in names.split(separator: ",") {
            guard let family = Family(rawValue: String(name)) else { throw Misuse("there is no family \(name)") }
            kept.insert(family)
        }
        present = kept
    }
}

/// Says what is wrong with the command line.
struct Misuse: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}
