/// How a request is made and read.
enum Kind: CaseIterable, Sendable {
    case data, string, json, head
    case bytes, lines, events
    case download
    case uploadData, uploadFile, uploadSequence, multipart
    case eventSource
    case socket

    var form: BodyForm {
        switch self {
        case .json: .json
        case .lines, .string: .lines
        case .events, .eventSource: .events
        case .bytes: .multipart
        default: .data
        }
    }

    var hasBody: Bool {
        switch self {
        case .uploadData, .uploadFile, .uploadSequence, .multipart: true
        default: false
        }
    }
}

/// What a client does to its own request.
enum Interference: Sendable {
    case none
    case cancel(after: Int)
    case cancelTask(after: Int)
    case suspend(after: Int, for: Int, times: Int)
    /// Leaves the body after so many pieces.
    case leave(after: Int)
    /// Waits between pieces.
    case dawdle(milliseconds: Int)
}

/// One exchange, as its seed decides it: both sides of it.
struct ExchangePlan: Sendable {
    let seed: UInt64
    let mark: ExchangeMark
    /// Who may own the marks of its answer: exchanges with the same resource share them.
    let resource: UInt64
    let kind: Kind
    let place: Place
    let path: String
    let interference: Interference
    let families: Families
    let settings: SessionSettings
    /// The places to which a redirect may lead.
    let targets: [Place]
    /// Secrets of hosts, for their cookies.
    let secrets: [String: ExchangeMark]

    /// Whether the client offers the compression of messages.
    var offersCompression: Bool { seed >> 50 & 1 == 0 }

    /// The number of bytes of the request's body, if it has one.
    var bodySize: Int { [0, 10, 3000, 100_000, 700_000][Int(seed >> 8 & 0xFF) % 5] }

    var url: String { place.origin + path }

    /// What the peer does for the exchange's request of a number, at a place, on a stream of HTTP/2 if there is one.
    func script(hop: Int, at place: Place, stream: UInt32?, isHead: Bool, key: String?) -> Script {
        var script = script(hop: hop, at: place, stream: stream, isHead: isHead, socketKey: key)
        script.isSocket = kind == .socket
        return script
    }

    private func script(hop: Int, at place: Place, stream: UInt32?, isHead: Bool, socketKey: String?) -> Script {
        var random = Random(seed: Random.derive(seed, 1000 + hop))
        let spec = ResponseSpec(
            form: kind.form, isHead: isHead || kind == .head, hasBody: kind.hasBody, decodes: settings.decodes,
            isDownload: kind == .download,
            maximumBody: settings.maximumBody, isSmall: place.isControl,
            targets: targets.map { $0.origin + "/r\(hop)" + path }, host: place.host,
            secret: secrets[place.host], isCacheable: settings.cache != .none && path.hasPrefix("/c/"), hops: hop)
        if let stream {
            return HTTP2Grammar(mark: mark, families: families, isTame: place.isTame || place.isControl, stream: stream)
                .script(&random, spec: spec)
        }
        let isTame = place.isTame || place.isControl
        if kind == .socket, let socketKey, random.chance(85) {
            let socket = SocketSpec(
                key: socketKey, offersCompression: offersCompression, maximumMessage: settings.maximumBody)
            return SocketGrammar(mark: mark, families: families, isTame: isTame, spec: socket).script(&random)
        }
        var script = HTTP1Grammar(mark: mark, families: families, isTame: isTame).script(&random, spec: spec)
        // Another answer is no WebSocket, wherever a redirect leads.
        if kind == .socket { script.expectation = script.label.contains("redirect") ? .anything : .failure }
        return script
    }
}
