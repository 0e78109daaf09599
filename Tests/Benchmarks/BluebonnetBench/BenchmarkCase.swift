import BenchSupport

/// A program that sends requests.
enum BenchmarkClient: String, CaseIterable, Codable {
    case libcurl, bluebonnet, urlsession
    /// Libcurl with a copy of the received bytes, which any client that hands chunks on has to make.
    case libcurlKeeping = "libcurl-keeping"
    /// The command line.
    case curl
    /// No network; the same work with bytes in memory.
    case memory
    /// Bluebonnet with adapters, a retry policy and cookies; `bare` is without, the yardstick.
    case intercepted, bare
    /// Completion handlers on a private queue; `bare` is the yardstick.
    case callbacks
    /// Bluebonnet of another build, for the option `--old`.
    case old
    /// Bluebonnet with two event loops; `bluebonnet` is the yardstick.
    case twoLoops = "two-loops"
    /// Bluebonnet with tasks that prefer the executor of the session.
    case executor
    /// Bluebonnet with texts instead of bytes.
    case text
    /// Bluebonnet with a cache that has the response, in memory or only in a file.
    case cachedInMemory = "cached-memory"
    case cachedInFile = "cached-file"
    /// A message on one of 10 or 10,000 WebSockets.
    case tenSockets = "ten-sockets"
    case manySockets = "many-sockets"

    /// The name of the program, which is in the same directory as this program.
    var program: String {
        switch self {
        case .libcurl, .libcurlKeeping: "BenchLibcurl"
        case .bluebonnet, .memory, .intercepted, .bare, .twoLoops, .old, .executor, .text, .tenSockets, .manySockets,
            .cachedInMemory, .cachedInFile:
            "BenchBluebonnet"
        case .callbacks: "BenchCallbacks"
        case .urlsession: "BenchURLSession"
        case .curl: "BenchCommand"
        }
    }

    /// The arguments for this client only.
    var arguments: [String] {
        switch self {
        case .intercepted: ["intercepted=1"]
        case .bare: ["bare=1"]
        case .twoLoops: ["loops=2"]
        case .libcurlKeeping: ["keep=262144"]
        case .executor: ["executor=1"]
        case .text: ["text=1"]
        case .cachedInMemory: ["cache=memory"]
        case .cachedInFile: ["cache=files"]
        case .tenSockets: ["sockets=10"]
        case .manySockets: ["sockets=\(BenchmarkCase.manySockets)"]
        default: []
        }
    }

    /// The divisor of the number of requests, so that a round takes about as long as the rounds of other clients.
    var divisor: Int { self == .urlsession ? 10 : 1 }
}

/// A case to measure.
///
/// A new one is a new entry in ``all``.
struct BenchmarkCase {
    /// The server that receives the requests.
    enum Origin {
        /// nginx, HTTP/1.1.
        case plain
        /// nginx, HTTP/2 over TLS.
        case tls
        /// nginx with TLS, which resumes no session.
        case handshakes
        /// The late server, which answers when all requests of the round wait.
        case late
        /// The sink, which reads bodies and forgets them.
        case sink
        /// The server of WebSockets.
        case sockets
    }

    let name: String
    var origin = Origin.plain
    var path = "/small"
    /// The workload of each request.
    var workload = Workload.requests
    /// The length of the right body, in bytes or lines.
    var length = Person.json.utf8.count
    /// The number of requests in flight; `nil` selects the number of the command line.
    var concurrency: Int?
    /// How many requests a round has; `nil` for as many as were asked for, divided by `divisor` and the client's.
    var requests: Int?
    var divisor = 1
    /// How many connections a client may open; `nil` for any number.
    var maximumConnections: Int?
    /// The number of requests before the measurement; `nil` means a tenth.
    var warmup: Int?
    /// The paths that these clients request.
    var warmupPath = "/small"
    /// Whether client and server are each kept on a core of their own.
    ///
    /// With one request in flight they take turns, and whether the kernel puts both on one core or not decides between
    /// two speeds, one three times the other. Apart is how client and server are elsewhere.
    var isPinned = false
    var clients: [BenchmarkClient] = [.libcurl, .bluebonnet, .urlsession]
    /// The client with which the others are compared.
    var yardstick = BenchmarkClient.libcurl
    /// Further arguments for the clients.
    var arguments: [String] = []

    static let all =
        [
            BenchmarkCase(name: "small-get"),
            // C has no Codable: the row of libcurl is the body as bytes, as in small-get.
            BenchmarkCase(name: "small-get-json", arguments: ["json=1"]),
            // The cost of two adapters that change nothing, a retry policy and cookies.
            BenchmarkCase(name: "small-get-intercepted", clients: [.bare, .intercepted], yardstick: .bare),
            // The cost of a completion handler on a private queue.
            BenchmarkCase(name: "small-get-callbacks", clients: [.bare, .callbacks], yardstick: .bare),
            // The cost of a second event loop, which must be small where there is no core for it.
            BenchmarkCase(name: "small-get-loops", clients: [.bluebonnet, .twoLoops], yardstick: .bluebonnet),
            // The cost of a response from the cache, in place of a request.
            BenchmarkCase(
                name: "small-get-cached", path: "/cached", clients: [.bluebonnet, .cachedInMemory, .cachedInFile],
                yardstick: .bluebonnet),
            // URLSession on Linux has no setting for the certificate authorities to trust.
            BenchmarkCase(
                name: "small-get-h2-tls", origin: .tls, maximumConnections: 1, clients: [.libcurl, .bluebonnet],
                arguments: ["http2=1"]),
            // A connection for each request, with a full handshake; Bluebonnet checks its servers by a pinned key.
            BenchmarkCase(
                name: "handshakes", origin: .handshakes, concurrency: 16, divisor: 10,
                clients: [.libcurl, .bluebonnet], arguments: ["handshakes=1"]),
            // One at a time, by a task that prefers the executor of the session...
            BenchmarkCase(
                name: "small-get-sequential", concurrency: 1, divisor: 4, isPinned: true, arguments: ["executor=1"]),
            // ...and by one that does not, and so changes threads twice for every request.
            BenchmarkCase(
                name: "small-get-sequential-pool", concurrency: 1, divisor: 4, isPinned: true,
                clients: [.libcurl, .bluebonnet]),
            // URLSession was still at full load after two minutes, when it was stopped.
            BenchmarkCase(
                name: "late-10000", origin: .late, path: "/late/10000", concurrency: 10_000, requests: 10_000,
                warmup: 64, warmupPath: "/now", clients: [.libcurl, .bluebonnet]),
        ] + bodies + sockets

    /// Bodies of 1 GiB, and of 1,000,000 lines; each round is one transfer.
    private static let bodies = [
        body(.downloadChunks, clients: [.libcurl, .libcurlKeeping, .bluebonnet, .urlsession]),
        // By a task that prefers the executor of the session, and so reads on the thread that receives.
        body(
            .downloadChunks, name: "download-chunks-executor", clients: [.libcurl, .bluebonnet],
            arguments: ["executor=1"]),
        body(.downloadFile, clients: [.libcurl, .bluebonnet, .urlsession, .curl]),
        body(.uploadFile, clients: [.libcurl, .bluebonnet, .urlsession, .curl]),
        // URLSession cannot send an async sequence.
        body(.uploadSequence, clients: [.libcurl, .bluebonnet]),
        // C has no Codable: libcurl's lines are counted. What decoding takes is the row of the lines in memory.
        body(
            .lines, path: "/files/lines", length: BenchmarkFiles.lineCount,
            clients: [.memory, .libcurl, .bluebonnet, .urlsession], yardstick: .memory),
    ]

    /// The number of WebSockets of an application with many of them.
    static let manySockets = 10_000

    /// WebSockets: messages that come back, 1 GiB each way, and many that are idle.
    private static let sockets =
        [(16, 1), (16, 64), (65_536, 1), (65_536, 64)].map { (length: Int, sockets: Int) in
            BenchmarkCase(
                name: "websocket-echo-\(length)-\(sockets)", origin: .sockets, path: "/echo", workload: .socketEcho,
                length: length, concurrency: sockets, divisor: length > 16 ? 8 : 1,
                clients: [.libcurl, .bluebonnet, .executor, .text])
        } + [
            BenchmarkCase(
                name: "websocket-send", origin: .sockets, path: "/discard", workload: .socketSend,
                length: BenchmarkFiles.largeLength, concurrency: 1, requests: 1,
                clients: [.libcurl, .bluebonnet, .executor]),
            BenchmarkCase(
                name: "websocket-receive", origin: .sockets, path: "/send/\(BenchmarkFiles.largeLength)",
                workload: .socketReceive, length: BenchmarkFiles.largeLength, concurrency: 1, requests: 1,
                clients: [.libcurl, .bluebonnet, .executor]),
            // Before libcurl 8.9, a multi handle of its own for each socket would need 30,000 descriptors.
            BenchmarkCase(
                name: "websocket-idle", origin: .sockets, path: "/echo", workload: .socketIdle, length: 16,
                concurrency: manySockets, requests: manySockets, warmup: 16, clients: [.libcurl, .bluebonnet],
                arguments: ["sockets=\(manySockets + 16)", "shared=16"]),
            BenchmarkCase(
                name: "websocket-one-of-many", origin: .sockets, path: "/echo", workload: .socketEcho, length: 16,
                concurrency: 1, clients: [.tenSockets, .manySockets], yardstick: .tenSockets),
        ]

    private static func body(
        _ workload: Workload, name: String? = nil, path: String = "/files/large",
        length: Int = BenchmarkFiles.largeLength, clients: [BenchmarkClient] = [.libcurl, .bluebonnet, .urlsession],
        yardstick: BenchmarkClient = .libcurl, arguments: [String] = []
    ) -> BenchmarkCase {
        let uploads = workload == .uploadFile || workload == .uploadSequence
        return BenchmarkCase(
            name: name ?? workload.rawValue, origin: uploads ? .sink : .plain, path: uploads ? "/" : path,
            workload: workload, length: length, concurrency: 1, requests: 1, warmup: 1,
            warmupPath: uploads ? "/" : path.replacing("/files/", with: "/files/warmup-"), clients: clients,
            yardstick: yardstick, arguments: arguments)
    }
}
