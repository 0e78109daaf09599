import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Hosts with several addresses, of which some do not answer (RFC 8305 §5).
@Suite(.timeLimit(.minutes(10))) struct SlowAddressTests {
    // MARK: The decisions

    private static func attempt(_ number: Int32) -> SlowAddresses.Attempt {
        SlowAddresses.Attempt(socket: number, identity: UInt64(number))
    }

    @Test func `a kept socket replaces the current one, or waits until libcurl has no more addresses`() {
        var attempts = SlowAddresses()
        attempts.opened(Self.attempt(5))
        var isExpired = attempts.expires(Self.attempt(6), isConnected: false)
        #expect(!isExpired)
        isExpired = attempts.expires(Self.attempt(5), isConnected: true)
        #expect(!isExpired)
        isExpired = attempts.expires(Self.attempt(5), isConnected: false)
        #expect(isExpired)
        attempts.keeps(50)
        attempts.opened(Self.attempt(6))
        isExpired = attempts.expires(Self.attempt(6), isConnected: false)
        #expect(isExpired)
        attempts.keeps(60)
        attempts.opened(Self.attempt(7))
        var outcome = attempts.ended(50, isConnected: false, isOpen: { _ in true })
        #expect(outcome == .nothing)
        // Libcurl's socket was closed or is connected.
        var other = attempts
        outcome = other.ended(60, isConnected: true, isOpen: { _ in false })
        #expect(outcome == .nothing)
        other = attempts
        outcome = other.ended(60, isConnected: true, isOpen: { _ in true })
        #expect(outcome == .replace(Self.attempt(7)))
        let waits = attempts.exhausted(RequestError(.connection(.refused)))
        #expect(waits && attempts.isWaiting)
        other = attempts
        outcome = other.ended(60, isConnected: false, isOpen: { _ in true })
        #expect(outcome == .fail)
        outcome = attempts.ended(60, isConnected: true, isOpen: { _ in true })
        #expect(outcome == .restart)
        attempts.restarts(with: 60)
        #expect(!attempts.isWaiting)
        let sockets = attempts.end()
        #expect(sockets == [60])
    }

    @Test func `at most eight sockets are kept, and without one, libcurl's error counts`() {
        var attempts = SlowAddresses()
        var kept: Int32 = 0
        for number: Int32 in 1...10 {
            attempts.opened(Self.attempt(number))
            guard attempts.expires(Self.attempt(number), isConnected: false) else { continue }
            attempts.keeps(100 + number)
            kept += 1
        }
        #expect(kept == 8)
        var none = SlowAddresses()
        let waits = none.exhausted(RequestError(.connection(.refused)))
        #expect(!waits)
    }

    // MARK: On the wire

    /// A listener whose queue is full, so that the system drops what arrives, until it answers.
    private final class Listener: Sendable {
        private let listener: Int32
        private let fillers = Locked<[Int32]>([])

        init(_ address: String, port: Int) throws {
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var name = Self.name(address, port)
            var isReused: Int32 = 1
            unsafe setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isReused, 4)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = unsafe withUnsafePointer(to: &name) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(listener, $0, size) }
            }
            try #require(isBound == 0 && listen(listener, 0) == 0)
            for _ in 0..<4 {
                let filler = socket(
                    AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
                _ = unsafe withUnsafePointer(to: &name) {
                    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(filler, $0, size) }
                }
                fillers.withLock { $0.append(filler) }
            }
        }

        private static func name(_ address: String, _ port: Int) -> sockaddr_in {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = in_port_t(port).bigEndian
            _ = unsafe inet_pton(AF_INET, address, &name.sin_addr)
            return name
        }

        /// Answers every request from now on; the system repeats what it has dropped after 1 s and after 3 s.
        func answer() {
            for filler in fillers.withLock({ exchange(&$0, with: []) }) { close(filler) }
            _ = DetachedThread.start(name: "slow") { [listener] in
                while case let connection = accept(listener, nil, nil), connection >= 0 {
                    _ = DetachedThread.start(name: "slow") {
                        var bytes = [UInt8](repeating: 0, count: 4096)
                        if unsafe read(connection, &bytes, bytes.count) > 0 {
                            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nslow"
                            _ = unsafe write(connection, answer, answer.utf8.count)
                        }
                        close(connection)
                    }
                }
            }
        }

        func stop() {
            for filler in fillers.withLock({ exchange(&$0, with: []) }) { close(filler) }
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
    }

    enum Address: Sendable { case good, refused, silent, slow }

    struct Row: Sendable, CustomTestStringConvertible {
        let addresses: [Address]
        /// Half of it is longer than the time limit of the suite.
        var limit: Duration = .seconds(300)
        var text: String?
        var kind: RequestError.Kind?

        var testDescription: String { addresses.map { "\($0)" }.joined(separator: ", ") }
    }

    static let rows = [
        Row(addresses: [.good, .silent], text: "good"), Row(addresses: [.silent, .good], text: "good"),
        Row(addresses: [.refused, .good], text: "good"), Row(addresses: [.silent, .refused, .good], text: "good"),
        Row(addresses: [.silent, .silent, .silent, .good], text: "good"), Row(addresses: [.slow, .good], text: "good"),
        Row(addresses: [.slow], text: "slow"), Row(addresses: [.slow, .silent], text: "slow"),
        Row(addresses: [.silent, .slow], text: "slow"), Row(addresses: [.slow, .refused], text: "slow"),
        Row(addresses: [.silent], limit: .seconds(1), kind: .timedOut(.connect)),
        Row(addresses: [.silent, .silent], limit: .seconds(1), kind: .timedOut(.connect)),
        Row(addresses: [.refused, .silent], limit: .seconds(1), kind: .timedOut(.connect)),
        Row(addresses: [.silent, .refused], limit: .seconds(1), kind: .timedOut(.connect)),
        Row(addresses: [.refused, .refused], kind: .connection(.refused)),
    ]

    /// Without ``SlowAddresses``, libcurl before 8.16.0 waits for the first address until the limit, or for half of it.
    ///
    /// Without ``NextAttempts``, libcurl before 8.2.0 waits as long after an address has failed.
    @Test(arguments: rows)
    func `the next address is tried in time`(_ row: Row) async throws {
        let server = try await LocalServer { $0.get("/", .text("good")) }
        // The good server has the first address of this machine, and the others have the same port.
        var names: [String] = []
        var listeners: [(Address, Listener)] = []
        for (number, address) in row.addresses.enumerated() {
            let name = address == .good ? "127.0.0.1" : "127.9.\(server.port % 250).\(number + 2)"
            names.append(name)
            guard address == .silent || address == .slow else { continue }
            listeners.append((address, try Listener(name, port: server.port)))
        }
        let port = server.port
        let session = TestHarness.session {
            $0.dns.overrides = ["host.test:\(port)": names]
            $0.timeouts = Timeouts(connect: row.limit, idle: .seconds(60))
        }
        let url = try #require(URL(string: "http://host.test:\(port)/"))
        let task = session.request(url).serializingString()
        async let response = task.response
        if listeners.contains(where: { $0.0 == .slow }) {
            try await Task.sleep(for: .milliseconds(400))
            for (address, listener) in listeners where address == .slow { listener.answer() }
        }
        let answer = await response
        #expect(answer.value == row.text)
        #expect(answer.error?.kind == row.kind, "\(String(describing: answer.error))")
        // The session is usable afterwards, and no kept socket is left.
        if row.addresses.contains(.good) {
            for _ in 0..<3 { #expect(try await session.request(url).serializingString().value == "good") }
        }
        for (_, listener) in listeners { listener.stop() }
        try await TestHarness.end(session, server)
    }

    /// A proxy's host has addresses, too: for plain requests, and for tunnels to secure servers.
    @Test(
        arguments: [TestServers.proxy, .secureProxy, .socks],
        [[Address.silent, .good], [.refused, .good], [.silent, .refused, .silent, .good], [.silent]])
    func `the next address of a proxy is tried in time`(proxy: TestServers, addresses: [Address]) async throws {
        let parts = try #require(URLComponents(string: try proxy.proxyURL()))
        let port = try #require(parts.port)
        var names: [String] = []
        var listeners: [Listener] = []
        for address in addresses {
            let name = address == .good ? "127.0.0.1" : "127.8.\(Int.random(in: 1..<250)).\(Int.random(in: 1..<250))"
            names.append(name)
            if address == .silent { listeners.append(try Listener(name, port: port)) }
        }
        let isReachable = addresses.contains(.good)
        let authority = try TestCertificates().authority
        let session = TestHarness.session {
            $0.proxy = .url("\(parts.scheme ?? "http")://localhost:\(port)")
            $0.dns.overrides = ["localhost:\(port)": names]
            $0.tls.caFile = authority
            $0.timeouts = Timeouts(connect: isReachable ? .seconds(300) : .seconds(1), idle: .seconds(60))
        }
        for server in [TestServers.nginx, .nginxTLS] {
            let response = await session.request(try server.url("/target")).serializingString().response
            if isReachable {
                #expect(response.value?.hasPrefix("GET /target") == true, "\(String(describing: response.error))")
            } else {
                #expect(response.error?.kind == .timedOut(.connect))
            }
        }
        for listener in listeners { listener.stop() }
        await session.shutdown()
    }

    /// Libcurl before 8.2.0 closes such sockets in silence.
    @Test func `a socket that was closed while it was connecting is not counted`() async throws {
        let server = try await LocalServer { $0.get("/", .text("good")) }
        let listener = try Listener("127.9.\(server.port % 250).2", port: server.port)
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(60)) }
        let url = try #require(URL(string: "http://127.9.\(server.port % 250).2:\(server.port)/"))
        let requests = (0..<20).map { _ in session.request(url) }
        let tasks = requests.map { $0.serializingNothing() }
        while await session.connectionCounts().open < 20 { await Task.yield() }
        for request in requests[..<10] { request.cancel() }
        for request in requests[10...] { request.suspend() }
        while await session.connectionCounts().open > 0 { await Task.yield() }
        for request in requests { request.cancel() }
        for task in tasks { #expect(await task.response.error?.kind == .cancelled) }
        #expect(try await session.request(server.url("/")).serializingString().value == "good")
        listener.stop()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["cancel", "suspend", "shutdown"])
    func `a request that waits for addresses can be cancelled and suspended`(action: String) async throws {
        let server = try await LocalServer { $0.get("/", .text("good")) }
        let port = server.port
        let name = "127.9.\(port % 250).2"
        let listener = try Listener(name, port: port)
        let session = TestHarness.session {
            $0.dns.overrides = ["host.test:\(port)": [name]]
            $0.timeouts = Timeouts(connect: .seconds(60))
        }
        let request = session.request(try #require(URL(string: "http://host.test:\(port)/")))
        let task = request.serializingString()
        async let response = task.response
        // Longer than the patience, so that libcurl has no more addresses.
        try await Task.sleep(for: .milliseconds(600))
        switch action {
        case "cancel": request.cancel()
        case "suspend":
            request.suspend()
            listener.answer()
            try await Task.sleep(for: .milliseconds(50))
            request.resume()
        default: await session.shutdown(within: .milliseconds(1))
        }
        let answer = await response
        #expect(action == "suspend" ? answer.value == "slow" : answer.error?.kind == .cancelled, "\(answer)")
        listener.stop()
        await session.shutdown()
        await server.stop()
    }
}
