import FoundationEssentials

/// How libcurl gets a request's body.
enum UploadBody {
    /// There is none.
    case none
    /// At once, as a copy.
    case copied(Data)
    /// From memory, when libcurl asks.
    case data(Data)
    /// From the task that reads it, when libcurl asks.
    case channel(UploadChannel)

    /// Decides for a body in memory.
    ///
    /// Large ones are handed over when asked for, to be there once only, and so are those of requests that must not be
    /// sent twice: libcurl asks before it sends a body again, and can be refused.
    init(_ data: Data?, of request: HTTPRequest) {
        guard let data else {
            self = .none
            return
        }
        let isAskedFor = !data.isEmpty && (data.count > Self.copyLimit || !request.method.isIdempotent)
        self = isAskedFor ? .data(data) : .copied(data)
    }

    private static let copyLimit = 1 << 20

    /// Whether libcurl asks for the bytes.
    var isAskedFor: Bool {
        switch self {
        case .none, .copied: false
        case .data, .channel: true
        }
    }

    /// How many bytes there are, if that is known.
    var length: Int64? {
        switch self {
        case .none: 0
        case .copied(let data), .data(let data): Int64(data.count)
        case .channel(let channel): channel.length
        }
    }

    /// Why the bytes cannot be had, if so.
    var failure: RequestError? { if case .channel(let channel) = self { channel.failure } else { nil } }

    /// Ends the task that reads the bytes, if there is one.
    func abandon() {
        if case .channel(let channel) = self { channel.abandon() }
    }
}
