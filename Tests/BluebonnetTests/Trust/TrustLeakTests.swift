import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// The records of refused servers show that they receive no part of the request.
@Suite(.timeLimit(.minutes(10))) struct TrustLeakTests {
    typealias EvaluatorKind = TrustFixture.EvaluatorKind

    /// The way in which a request is sent.
    enum RequestPath: CaseIterable, Sendable {
        case http2, http1_1, expectingContinue, streamed, delayed

        var isOverHTTP2: Bool { self != .http1_1 && self != .expectingContinue }

        func configure(_ configuration: inout Session.Configuration) {
            configuration.httpVersion = isOverHTTP2 ? .automatic : .http1_1
            if self == .expectingContinue { configuration.continueTimeout = .seconds(1) }
        }

        func send(to url: String, with session: Session) async -> DataResponse<Data, RequestError> {
            let secret = Data(repeating: 0x73, count: 2_000_000)
            switch self {
            case .http2, .http1_1:
                return await session.request(
                    url, method: .post, parameters: ["password": "hidden"], headers: ["Authorization": "Bearer hidden"]
                ).serializingData().response
            case .expectingContinue:
                let headers: HTTPHeaders = ["Expect": "100-continue"]
                return await session.upload(secret, to: url, headers: headers).serializingData().response
            case .streamed:
                let pieces = AsyncStream<Data> { continuation in
                    for _ in 0..<4 { continuation.yield(Data(repeating: 0x73, count: 1000)) }
                    continuation.finish()
                }
                return await session.upload(pieces, to: url).serializingData().response
            case .delayed:
                return await session.request(url, headers: ["Cookie": "hidden=1"]).serializingData().response
            }
        }
    }

    /// The rows of the matrix that differ in their certificates, and evaluators that accept them nevertheless.
    static let rows: [ChainServer] = [
        .threeLevels, .reversed, .extra, .notYetValid, .missingIntermediate, .impostor, .clientOnly, .weakKey,
        .weakSHA1, .weakMD5, .constrained, .notAuthority, .expiredIntermediate, .tooLong, .critical, .addressAsDNS,
        .wildcard,
        .nameAsCommonName, .addresses,
    ]

    @Test(arguments: rows)
    func `a refused server has decrypted nothing, and an accepted server has`(_ row: ChainServer) async throws {
        for (protocols, path) in [("h2,http/1.1", RequestPath.http2), ("http/1.1", .http1_1)] {
            let server = try await Recorder(row, protocols: protocols)
            var (refused, accepting): (Int, [EvaluatorKind]) = (0, [])
            for evaluatorKind in EvaluatorKind.allCases {
                let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: row)) {
                    path.configure(&$0)
                }
                // An earlier acceptance would hide a leak: only evaluators that refuse are tried while nothing has been
                // received.
                let isTried = try await Self.isRefused(row, by: evaluatorKind)
                if isTried {
                    let response = await path.send(to: server.url("/?secret"), with: session)
                    #expect(response.error?.isTrustFailure == true, "\(evaluatorKind)")
                    refused += 1
                } else {
                    accepting.append(evaluatorKind)
                }
                await session.shutdown()
            }
            let counts = try await server.finalCounts()
            #expect(counts.bytes == 0 && counts.requests.isEmpty)
            // They were there, and showed their certificates.
            #expect(refused > 0 && counts.connections == refused)
            // The test is meaningful, because each accepting evaluator sends bytes.
            #expect(accepting.contains(.disabled))
            var bytes = 0
            for evaluatorKind in accepting {
                let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: row)) {
                    path.configure(&$0)
                }
                #expect(await path.send(to: server.url("/?secret"), with: session).error == nil, "\(evaluatorKind)")
                await session.shutdown()
                let now = try await server.counts().bytes
                #expect(now > bytes, "\(evaluatorKind)")
                bytes = now
            }
            try await server.stop()
        }
    }

    /// Whether an evaluator refuses the nginx with the same chain; that it refuses what it should is tested elsewhere.
    private static func isRefused(_ row: ChainServer, by evaluatorKind: EvaluatorKind) async throws -> Bool {
        let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: row))
        let error = await session.request("https://127.0.0.1:\(try row.port())/").serializingData().response.error
        await session.shutdown()
        return error != nil
    }

    @Test(arguments: [ChainServer.oldTLS, .earlyTLS])
    func `a server with old TLS versions has decrypted nothing`(_ row: ChainServer) async throws {
        let server = try await Recorder(row)
        for evaluatorKind in EvaluatorKind.allCases {
            let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: row))
            let response = await session.request(server.url("/?secret"), method: .post).serializingData().response
            #expect(response.error?.kind == .trust(.handshake))
            await session.shutdown()
        }
        let counts = try await server.finalCounts()
        #expect(counts.bytes == 0 && counts.handshakes == 0 && counts.connections == EvaluatorKind.allCases.count)
        try await server.stop()
    }

    /// For async evaluators, the first handshake is aborted and repeated if they accept the server.
    @Test(arguments: RequestPath.allCases, [Session.Configuration.TLS.Version.v1_2, .v1_3])
    func `nothing is sent while an evaluation is awaited`(
        _ path: RequestPath, _ version: Session.Configuration.TLS.Version
    ) async throws {
        for isAccepted in [false, true] {
            let server = try await Recorder(.threeLevels, protocols: path.isOverHTTP2 ? "h2" : "http/1.1")
            let gate = EvaluationGate()
            let evaluator = AsyncClosureTrustEvaluator { _, _ in
                await gate.pass()
                if !isAccepted { throw TestFailure("not this one") }
            }
            let session = try TrustFixture.session(evaluator) {
                path.configure(&$0)
                $0.tls.minimumVersion = version
                $0.tls.maximumVersion = version
            }
            async let response = path.send(to: server.url("/?secret"), with: session)
            await gate.arrival()
            #expect(try await server.finalCounts().bytes == 0)
            await gate.open()
            let error = await response.error
            #expect(error?.kind == (isAccepted ? nil : .trust(.customEvaluationFailed)))
            await session.shutdown()
            let counts = try await server.finalCounts()
            #expect((counts.bytes > 0) == isAccepted)
            #expect(counts.connections == (isAccepted ? 2 : 1))
            try await server.stop()
        }
    }

    @Test func `a refused proxy and the server behind it receive nothing`() async throws {
        let server = try await Recorder(.threeLevels)
        let proxy = try await Recorder(.threeLevels, protocols: "http/1.1")
        let wrong = try TrustFixture.evaluator(.otherKey, for: .threeLevels)
        let manager = ServerTrustManager(evaluators: ["localhost": wrong, "127.0.0.1": .disabled])
        let session = try TrustFixture.session(manager) {
            $0.proxy = .url(proxy.url(host: "localhost"), credential: .init(username: "user", password: "hidden"))
        }
        for url in [server.url("/?secret"), "http://127.0.0.1:\(server.port)/?secret"] {
            let error = await session.request(url, method: .post).serializingData().response.error
            #expect(error?.kind == .trust(.publicKeyPinningFailed))
        }
        #expect(try await proxy.finalCounts().bytes == 0)
        #expect(try await proxy.counts().connections == 2)
        #expect(try await server.counts().connections == 0)
        await session.shutdown()
        try await proxy.stop()
        try await server.stop()
    }

    @Test(arguments: [Session.Configuration.TLS.Version.v1_2, .v1_3])
    func `a redirect to a refused server sends nothing to the server`(
        _ version: Session.Configuration.TLS.Version
    ) async throws {
        let server = try await Recorder(.threeLevels)
        let evaluator = try TrustFixture.evaluator(.otherLeaf, for: .threeLevels)
        let session = try TrustFixture.session(evaluator) {
            $0.tls.minimumVersion = version
            $0.tls.maximumVersion = version
        }
        let url = try TestServers.httpbin.url("/redirect-to?status_code=307&url=\(server.url("/next"))")
        let response = await session.request(url, method: .post, headers: ["Authorization": "hidden"])
            .serializingData().response
        #expect(response.error?.kind == .trust(.certificatePinningFailed))
        #expect(try await server.finalCounts().bytes == 0)
        #expect(try await server.counts().connections == 1)
        await session.shutdown()
        try await server.stop()
    }
}
