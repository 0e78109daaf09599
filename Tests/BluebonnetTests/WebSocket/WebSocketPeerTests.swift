import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// WebSockets with servers that nobody here wrote.
@Suite(.timeLimit(.minutes(10))) struct WebSocketPeerTests {
    private static let sizes = [0, 1, 125, 126, 65_535, 65_536, 5_000_000]
    private static let bytes = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 2) })

    /// Sends messages that come back, and pings both ways.
    private func converse(_ task: WebSocketTask, sizes: [Int] = sizes) async throws {
        var messages = task.messages.makeAsyncIterator()
        for size in sizes {
            let binary = WebSocketMessage.binary(Self.bytes.prefix(size))
            let text = WebSocketMessage.text(String(repeating: "ü", count: size / 2))
            for message in [binary, text] {
                async let sending: Void = task.send(message)
                let isEqual = try await messages.next() == message
                #expect(isEqual, "\(size) bytes")
                try await sending
            }
        }
        try await task.send("many")
        for number in 0..<500 { #expect(try await messages.next() == .text("\(number)")) }
        async let sending: Void = {
            for number in 0..<500 { try await task.send("number \(number)") }
        }()
        for number in 0..<500 { #expect(try await messages.next() == .text("number \(number)")) }
        try await sending
        try await task.send("ping")
        #expect(try await messages.next() == .text("ponged"))
        for _ in 0..<10 { #expect(try await task.ping() > .zero) }
    }

    /// Holds one conversation of each kind with a server.
    private func check(
        _ url: String, _ session: Session, of peer: WebSocketPeer, isCompressed: Bool = true
    ) async throws {
        func task() -> WebSocketTask {
            session.webSocket(
                url, protocols: ["other", "chat"], configuration: .init(compressesMessages: isCompressed)
            )
            .webSocketTask(automaticallyClosing: false)
        }
        let first = task()
        try await converse(first)
        #expect(first.negotiatedProtocol == "chat")
        let extensions = try await first.response.headers["Sec-WebSocket-Extensions"]
        #expect((extensions?.hasPrefix("permessage-deflate") ?? false) == isCompressed)
        try await first.close(code: 4000, reason: "done")
        // RFC 6455 §5.5.1: the code is typically the same, but need not be.
        #expect(first.closeCode == (peer == .aiohttp ? 1000 : 4000))
        #expect(first.request.error == nil)
        for (order, code, reason) in [("close", 3001, "bye"), ("abort", 1006, nil)] as [(String, UInt16, String?)] {
            let task = task()
            try await task.send(order)
            let (messages, error) = await WebSocketFixture.messages(task)
            #expect(messages.isEmpty)
            #expect(task.closeCode?.rawValue == code)
            // The end of a connection without the end of TLS is an error of its own with libcurl 8.
            if url.hasPrefix("wss"), order == "abort", error?.kind == .connection(.lost) { continue }
            #expect(error?.kind == .webSocket(.closed(WebSocketCloseCode(rawValue: code))))
            #expect(error?.detail == reason)
        }
    }

    @Test(arguments: WebSocketPeer.allCases, [true, false])
    func `messages, pings and close frames go both ways`(_ peer: WebSocketPeer, isSecure: Bool) async throws {
        let files = try TestCertificates()
        let session = try TestHarness.trustingSession()
        let settings = WebSocketPeer.Settings(tls: isSecure ? [files.server, files.serverKey] : nil)
        try await peer.run(settings) { port in
            for isCompressed in [true, false] {
                let url = "\(isSecure ? "wss" : "ws")://127.0.0.1:\(port)/"
                try await check(url, session, of: peer, isCompressed: isCompressed)
            }
        }
        await session.shutdown()
    }

    @Test(arguments: WebSocketPeer.allCases)
    func `nginx may stand before a server`(_ peer: WebSocketPeer) async throws {
        let session = try TestHarness.trustingSession()
        try await peer.runBehindNginx { plain, secure in
            for isCompressed in [true, false] {
                try await check("ws://127.0.0.1:\(plain)/", session, of: peer, isCompressed: isCompressed)
                // It offers HTTP/2, too.
                try await check("wss://127.0.0.1:\(secure)/", session, of: peer, isCompressed: isCompressed)
            }
        }
        await session.shutdown()
    }

    // MARK: Compression

    struct Parameters: Sendable {
        let peer: WebSocketPeer
        let deflate: [String: JSONValue]
        let agreed: WebSocketDeflateParameters
    }

    private static let parameters: [Parameters] = [
        (false, false, 15, 15), (true, false, 15, 15), (false, true, 15, 15), (true, true, 15, 15),
        (false, false, 9, 15), (false, false, 15, 9), (true, true, 10, 12), (false, false, 12, 10),
    ].flatMap { (server, client, serverBits, clientBits) -> [Parameters] in
        var (python, node): ([String: JSONValue], [String: JSONValue]) = ([:], ["threshold": 0])
        if server { (python["server_no_context_takeover"], node["serverNoContextTakeover"]) = (true, true) }
        if client { (python["client_no_context_takeover"], node["clientNoContextTakeover"]) = (true, true) }
        let serverValue = JSONValue(integerLiteral: Int64(serverBits))
        let clientValue = JSONValue(integerLiteral: Int64(clientBits))
        if serverBits < 15 {
            (python["server_max_window_bits"], node["serverMaxWindowBits"]) = (serverValue, serverValue)
        }
        if clientBits < 15 {
            (python["client_max_window_bits"], node["clientMaxWindowBits"]) = (clientValue, clientValue)
        }
        let agreed = WebSocketDeflateParameters(
            serverNoContextTakeover: server, clientNoContextTakeover: client, serverMaxWindowBits: serverBits,
            clientMaxWindowBits: clientBits)
        return [
            Parameters(peer: .websockets, deflate: python, agreed: agreed),
            Parameters(peer: .ws, deflate: node, agreed: agreed),
        ]
    }

    @Test(arguments: parameters)
    fileprivate func `all parameters of the compression work`(_ row: Parameters) async throws {
        let session = TestHarness.session()
        try await row.peer.run(WebSocketPeer.Settings(deflate: row.deflate)) { port in
            let task = session.webSocket("ws://127.0.0.1:\(port)/").webSocketTask(automaticallyClosing: false)
            let value = try #require(try await task.response.headers["Sec-WebSocket-Extensions"])
            let agreed = try WebSocketDeflateParameters().agreement(Substring(value))
            #expect(agreed == row.agreed)
            for _ in 0..<2 { try await converse(task, sizes: [0, 1, 200, 40_000, 500_000]) }
            for message in WebSocketDeflateTests.messages() {
                try await task.send(Data(message))
                var messages = task.messages.makeAsyncIterator()
                let isEqual = try await messages.next() == .binary(Data(message))
                #expect(isEqual, "\(message.count) bytes")
            }
            try await task.close()
            #expect(task.request.error == nil)
        }
        await session.shutdown()
    }

    // MARK: Ways to the server

    /// A way to a server.
    enum Route: String, CaseIterable, Sendable {
        case proxy, proxyWithPassword, secureProxy, socks, socksWithPassword

        func proxy() throws -> Session.Configuration.Proxy {
            switch self {
            case .proxy: .url(try TestServers.proxy.proxyURL())
            case .proxyWithPassword: .url(try TestServers.proxyWithPassword.proxyURL(userInfo: "user:secret"))
            case .secureProxy: .url(try TestServers.secureProxy.proxyURL())
            case .socks: .url(try TestServers.socks.proxyURL())
            case .socksWithPassword: .url(try TestServers.socksWithPassword.proxyURL(userInfo: "user:secret"))
            }
        }
    }

    @Test(arguments: WebSocketPeer.allCases, [true, false])
    func `proxies may stand before a server`(_ peer: WebSocketPeer, isSecure: Bool) async throws {
        let files = try TestCertificates()
        let settings = WebSocketPeer.Settings(tls: isSecure ? [files.server, files.serverKey] : nil)
        try await peer.run(settings) { port in
            for route in Route.allCases {
                let proxy = try route.proxy()
                let session = try TestHarness.trustingSession { $0.proxy = proxy }
                let task = session.webSocket("\(isSecure ? "wss" : "ws")://127.0.0.1:\(port)/").webSocketTask()
                try await converse(task, sizes: [0, 70_000, 1_000_000])
                try await task.close()
                #expect(task.request.error == nil, "\(route)")
                await session.shutdown()
            }
        }
    }

    @Test(arguments: WebSocketPeer.allCases)
    func `a unix socket may lead to a server`(_ peer: WebSocketPeer) async throws {
        let path = "/tmp/bluebonnet-\(UUID().uuidString.prefix(8)).socket"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let session = TestHarness.session { $0.unixSocketPath = path }
        try await peer.run(WebSocketPeer.Settings(unix: path)) { _ in
            try await check("ws://example.com/", session, of: peer)
        }
        await session.shutdown()
    }

    // MARK: Trust

    @Test(arguments: WebSocketPeer.allCases)
    func `a server may ask for a client's certificate`(_ peer: WebSocketPeer) async throws {
        let files = try TestCertificates()
        let settings = WebSocketPeer.Settings(tls: [files.server, files.serverKey, files.authority])
        try await peer.run(settings) { port in
            let session = try TestHarness.trustingSession {
                $0.tls.clientIdentity = .pem(file: files.client, keyFile: files.clientKey)
            }
            let task = session.webSocket("wss://127.0.0.1:\(port)/").webSocketTask()
            try await converse(task, sizes: [10, 100_000])
            try await task.close()
            #expect(task.request.error == nil)
            await session.shutdown()
            for (certificate, key) in [(nil, nil), (files.stranger, files.strangerKey)] as [(String?, String?)] {
                let session = try TestHarness.trustingSession {
                    if let certificate, let key { $0.tls.clientIdentity = .pem(file: certificate, keyFile: key) }
                }
                let (_, error) = await WebSocketFixture.messages(
                    session.webSocket("wss://127.0.0.1:\(port)/").webSocketTask())
                #expect(error != nil)
                #expect(error?.response == nil)
                await session.shutdown()
            }
        }
    }

    @Test(arguments: WebSocketPeer.allCases, [nil, Route.proxy, .socks])
    func `a pin holds or is refused`(_ peer: WebSocketPeer, route: Route?) async throws {
        let files = try TestCertificates()
        let proxy = try route?.proxy() ?? .none
        try await peer.run(WebSocketPeer.Settings(tls: [files.server, files.serverKey])) { port in
            for (pin, reason) in [
                (TrustFixture.EvaluatorKind.leafKey, nil), (.pinnedLeaf, nil),
                (.otherKey, RequestError.TrustReason.publicKeyPinningFailed),
            ] {
                let session = try TrustFixture.session(try TrustFixture.evaluator(pin, for: .nginxTLS)) {
                    $0.proxy = proxy
                }
                let task = session.webSocket("wss://127.0.0.1:\(port)/").webSocketTask()
                if reason == nil {
                    try await converse(task, sizes: [10])
                    try await task.close()
                }
                let (_, error) = await WebSocketFixture.messages(task)
                #expect(error?.kind == reason.map { .trust($0) })
                await session.shutdown()
            }
            // A session without the authority does not trust the server.
            let session = TestHarness.session { $0.proxy = proxy }
            let (_, error) = await WebSocketFixture.messages(
                session.webSocket("wss://127.0.0.1:\(port)/").webSocketTask())
            #expect(error?.kind == .trust(.untrustedIssuer))
            await session.shutdown()
        }
    }

    @Test func `a refused pin sends nothing, and a pin that holds sends the handshake`() async throws {
        let recorder = try await Recorder(.threeLevels, protocols: "http/1.1")
        for pin in [TrustFixture.EvaluatorKind.otherKey, .refusing, .nobodyAfterAwaiting] {
            let session = try TrustFixture.session(try TrustFixture.evaluator(pin, for: ChainServer.threeLevels))
            let (_, error) = await WebSocketFixture.messages(
                session.webSocket("wss://127.0.0.1:\(recorder.port)/secret").webSocketTask())
            guard case .trust = error?.kind else {
                Issue.record("\(pin): \(String(describing: error))")
                continue
            }
            await session.shutdown()
        }
        let refused = try await recorder.finalCounts()
        #expect(refused.connections == 3)
        #expect(refused.bytes == 0)
        #expect(refused.requests.isEmpty)
        let session = try TrustFixture.session(try TrustFixture.evaluator(.leafKey, for: ChainServer.threeLevels))
        let (_, error) = await WebSocketFixture.messages(
            session.webSocket("wss://127.0.0.1:\(recorder.port)/secret").webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(200))))
        await session.shutdown()
        #expect(try await recorder.finalCounts().requests == ["GET /secret HTTP/1.1"])
        try await recorder.stop()
    }
}
