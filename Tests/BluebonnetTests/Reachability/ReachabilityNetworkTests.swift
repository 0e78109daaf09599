import Foundation
import TestSupport
import Testing

/// Real networks that really change, in namespaces of their own.
@Suite(.enabled(if: RunningProgram.hasMountNamespaces, "mount namespaces"), .timeLimit(.minutes(10)))
struct ReachabilityNetworkTests {
    @Test func `the Internet is reachable only with a default route over a working link`() async throws {
        try await NetworkNamespace.with { network in
            var statuses = try network.watch()
            #expect(await statuses.next() == "notReachable")
            try await network.connect("eth0", address: "10.0.0.1")
            try await network.ip("route add default via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("route del default")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route add default via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            // The cable is pulled, and put in again.
            try await network.ip("link set p-eth0 down")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("link set p-eth0 up")
            #expect(await statuses.next() == "ethernetOrWiFi")
            // Switching off the link removes its routes.
            try await network.ip("link set eth0 down")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("link set eth0 up")
            try await network.ip("route add default via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("link del eth0")
            #expect(await statuses.next() == "notReachable")
        }
    }

    @Test func `IPv6 alone is enough`() async throws {
        try await NetworkNamespace.with { network in
            var statuses = try network.watch()
            #expect(await statuses.next() == "notReachable")
            try await network.connect("eth0", address: "10.0.0.1")
            try await network.ip("-6 addr add fd00::1/64 dev eth0 nodad")
            try await network.ip("-6 route add default via fd00::2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("-6 route del default")
            #expect(await statuses.next() == "notReachable")
        }
    }

    /// Libcurl before 8.3.0 forgets the zone when it uses a cached address.
    @Test func `repeated requests to a link-local address succeed`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            // Its own addresses are reached through it.
            try await network.ip("link set lo up")
            try await network.ip("-6 addr add fe80::5/64 dev eth0 nodad")
            try await network.serve(port: 8000, on: "::")
            let url = "http://[fe80::5%25eth0]:8000/"
            let program = try network.start("EnvironmentProgram", [url, url, url])
            var lines: [String] = []
            for await line in program.lines { lines.append(line) }
            #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("200 ") }, "\(lines)")
        }
    }

    @Test func `two halves of a default route count as a default route, and rules apply`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            var statuses = try network.watch()
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route add 128.0.0.0/1 via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("route del 128.0.0.0/1")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route add default via 10.0.0.2 table 77")
            try await network.ip("rule add from all lookup 77")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("rule del from all lookup 77")
            #expect(await statuses.next() == "notReachable")
        }
    }

    @Test func `the better route determines whether the network is mobile`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("wwan0", address: "10.1.0.1")
            try await network.ip("route add default via 10.1.0.2 metric 700")
            var statuses = try network.watch()
            #expect(await statuses.next() == "cellular")
            try await network.connect("eth0", address: "10.0.0.1")
            try await network.ip("route add default via 10.0.0.2 metric 100")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("link set eth0 down")
            #expect(await statuses.next() == "cellular")
        }
    }

    @Test func `the machine itself is reachable when its loopback link is up`() async throws {
        try await NetworkNamespace.with { network in
            var statuses = try network.watch("localhost")
            #expect(await statuses.next() == "notReachable")
            try await network.connect("eth0", address: "10.0.0.1")
            try await network.ip("route add default via 10.0.0.2")
            try await network.ip("link set lo up")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("link set lo down")
            #expect(await statuses.next() == "notReachable")
        }
    }

    @Test(arguments: ["unreachable", "blackhole", "prohibit", "throw"])
    func `a host is not reachable over an unreachable route`(_ kind: String) async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            var statuses = try network.watch("10.9.0.1")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route add 10.9.0.0/16 via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("route add \(kind) 10.9.0.1")
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route del \(kind) 10.9.0.1")
            #expect(await statuses.next() == "ethernetOrWiFi")
        }
    }

    @Test func `an address with a link uses this link`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            var statuses = try network.watch("fe80::9%wwan0")
            #expect(await statuses.next() == "notReachable")
            try await network.connect("wwan0", address: "10.1.0.1")
            #expect(await statuses.next() == "cellular")
            try await network.ip("link set wwan0 down")
            #expect(await statuses.next() == "notReachable")
        }
    }

    @Test func `a name is looked up again when the network changes`() async throws {
        try await NetworkNamespace.with { network in
            try network.setHosts("10.7.0.1 printer.example\n")
            try await network.connect("eth0", address: "10.0.0.1")
            var statuses = try network.watch("printer.example")
            #expect(await statuses.next() == "notReachable")
            try network.setHosts("10.0.0.7 printer.example\n")
            try await network.ip("addr add 10.5.0.1/24 dev eth0")
            #expect(await statuses.next() == "ethernetOrWiFi")
            try await network.ip("link set eth0 down")
            #expect(await statuses.next() == "notReachable")
        }
    }

    @Test func `lost messages do not lead to a wrong status`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            try await network.ip("route add default via 10.0.0.2")
            var statuses = try network.watch()
            #expect(await statuses.next() == "ethernetOrWiFi")
            statuses.program.send(SIGSTOP)
            // More messages than the socket can store, and then the important message.
            let routes = (0..<6_000).map { "route add 10.\(100 + $0 / 200).\($0 % 200).0/24 via 10.0.0.2\n" }
            let file = NSTemporaryDirectory() + network.name
            try routes.joined().write(toFile: file, atomically: false, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await network.ip("-batch \(file)")
            try await network.ip("route del default")
            statuses.program.send(SIGCONT)
            #expect(await statuses.next() == "notReachable")
            try await network.ip("route add default via 10.0.0.2")
            #expect(await statuses.next() == "ethernetOrWiFi")
        }
    }

    @Test func `many changes end with the right status`() async throws {
        try await NetworkNamespace.with { network in
            try await network.connect("eth0", address: "10.0.0.1")
            var statuses = try network.watch()
            #expect(await statuses.next() == "notReachable")
            let file = NSTemporaryDirectory() + network.name
            let words = "route add default via 10.0.0.2\nroute del default\n"
            try (String(repeating: words, count: 2_000) + "route add default via 10.0.0.2\n")
                .write(toFile: file, atomically: false, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await network.ip("-batch \(file)")
            // After the changes, the last printed status is final until the next change.
            try await network.connect("wwan0", address: "10.1.0.1")
            try await network.ip("route replace default via 10.1.0.2")
            #expect(await statuses.reaches("cellular"))
        }
    }

    @Test func `no thread or descriptor exists without listeners`() async throws {
        let program = try LineOutputProgram("ReachabilityProgram", ["holdings", "200"])
        var counts: [String: [Int]] = [:]
        for await line in program.lines {
            let words = line.split(separator: " ").map(String.init)
            counts[words.first ?? ""] = words.dropFirst().compactMap { Int($0) }
        }
        let before = try #require(counts["before"]?.first)
        #expect(counts == ["before": [before, 0], "listening": [before + 3, 1], "after": [before, 0]])
    }

    // MARK: Requests that wait for the network

    @Test func `a request without a network is retried when there is a network`() async throws {
        try await NetworkNamespace.with { network in
            try await network.ip("link set lo up")
            // The machine's own, by an address that it does not have yet.
            try await network.serve(port: 8080)
            let program = try network.start("get", "3600", "http://10.0.0.1:8080/")
            var lines = program.lines.makeAsyncIterator()
            #expect(await lines.next() == "failed")
            try await network.connect("eth0", address: "10.0.0.1")
            #expect(await lines.next() == "got 200")
        }
    }

    @Test func `a request to a local server that refuses connections does not wait`() async throws {
        try await NetworkNamespace.with { network in
            try await network.ip("link set lo up")
            let program = try network.start("get", "3600", "http://127.0.0.1:9/")
            var lines = program.lines.makeAsyncIterator()
            #expect(await lines.next() == "failed")
            #expect(await lines.next() == "refused")
        }
    }

    @Test func `a request fails when there is no network for too long`() async throws {
        try await NetworkNamespace.with { network in
            let program = try network.start("get", "0", "http://10.0.0.1:9/")
            var lines = program.lines.makeAsyncIterator()
            #expect(await lines.next() == "failed")
            #expect(await lines.next() == "refused")
        }
    }
}
