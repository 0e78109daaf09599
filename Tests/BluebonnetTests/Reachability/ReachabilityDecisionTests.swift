import Testing

@testable import Bluebonnet
@testable import BluebonnetReachability

/// The decisions from the kernel's replies.
@Suite struct ReachabilityDecisionTests {
    private static let host = IPAddress(bytes: [10, 0, 0, 1])
    private static let lo = NetworkLink(number: 1, name: "lo", hardware: 772, isLoopback: true)
    private static let eth = NetworkLink(number: 2, name: "eth0")
    private static let sent = NetworkRoute(kind: .sent, link: 2)
    private static let local = NetworkRoute(kind: .local, link: 1)

    private static func changed<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
        var value = value
        change(&value)
        return value
    }

    private static let paths: [(NetworkPath, IPAddress, Status, internet: Status)] = [
        (.none, host, .notReachable, .notReachable),
        (.unknown, host, .unknown, .unknown),
        (.ethernet, host, .reachable(.ethernetOrWiFi), .reachable(.ethernetOrWiFi)),
        (.modem, host, .reachable(.cellular), .reachable(.cellular)),
        (.through(sent, changed(eth) { $0.isUp = false }), host, .notReachable, .notReachable),
        (.through(sent, changed(eth) { $0.isRunning = false }), host, .notReachable, .notReachable),
        (.through(changed(sent) { $0.isDead = true }, eth), host, .notReachable, .notReachable),
        (.through(changed(sent) { $0.kind = .refused }, eth), host, .notReachable, .notReachable),
        // The machine's own addresses are over the loopback link; the Internet is not there.
        (.through(local, lo), host, .reachable(.ethernetOrWiFi), .notReachable),
        (.through(local, lo), .loopback4, .reachable(.ethernetOrWiFi), .notReachable),
        (.through(local, lo), .loopback6, .reachable(.ethernetOrWiFi), .notReachable),
        (.through(sent, lo), host, .reachable(.ethernetOrWiFi), .notReachable),
        // If the loopback link is down, its addresses use the default route, where no host accepts them.
        (.through(sent, eth), .loopback4, .notReachable, .reachable(.ethernetOrWiFi)),
        (.through(sent, eth), IPAddress(bytes: [127, 9, 9, 9]), .notReachable, .reachable(.ethernetOrWiFi)),
        (.through(local, changed(lo) { $0.isUp = false }), .loopback4, .notReachable, .notReachable),
    ]

    @Test(arguments: paths)
    func `the status of a path depends on its route and its link`(
        _ path: NetworkPath, _ address: IPAddress, _ status: Status, _ internet: Status
    ) {
        #expect(path.status(of: address) == status)
        #expect(path.statusOfInternet == internet)
    }

    @Test(
        arguments: [
            ([], .notReachable), ([.notReachable, .reachable(.cellular)], .reachable(.cellular)),
            ([.reachable(.cellular), .reachable(.ethernetOrWiFi)], .reachable(.ethernetOrWiFi)),
            ([.notReachable, .unknown], .unknown), ([.unknown, .reachable(.cellular)], .reachable(.cellular)),
            ([.notReachable, .notReachable], .notReachable),
        ] as [([Status], Status)])
    func `one reachable address is enough`(_ statuses: [Status], _ together: Status) {
        #expect(Status(of: statuses) == together)
    }

    @Test(
        arguments: [
            ("10.0.0.1", .addresses([host])), ("::1", .addresses([.loopback6])), ("[::1]", .addresses([.loopback6])),
            ("::ffff:10.0.0.1", .addresses([host])), ("127.1", .addresses([.loopback4])),
            ("localhost", .addresses([.loopback4, .loopback6])), ("LocalHost.", .addresses([.loopback4, .loopback6])),
            ("api.localhost", .addresses([.loopback4, .loopback6])),
            ("fe80::1%eth0", .addresses([linkLocal])), ("[fe80::1%25eth0]", .addresses([linkLocal])),
            ("example.com", .name("example.com")), ("Example.COM.", .name("example.com")), ("nas", .name("nas")),
            ("bücher.example", .name("xn--bcher-kva.example")),
        ] as [(String, ReachabilityDestination)])
    func `hosts are parsed as in URLs`(_ text: String, _ destination: ReachabilityDestination) {
        #expect(ReachabilityDestination(host: text) == destination)
        #expect(NetworkReachabilityManager(host: text) != nil)
    }

    private static let linkLocal = IPAddress(
        bytes: [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1], zone: "eth0")

    @Test(arguments: [
        "", " ", "https://example.com", "example.com/", "example.com:443", "a b", "*.example.com", "user@example.com",
        "[::1", "::1]", "fe80::1%", "fe80::1%a/b", "10.0.0.1%eth0", "a\0b", "?", "#",
        String(repeating: "a.", count: 200) + "a",
    ])
    func `text that is not a host creates no manager`(_ text: String) {
        #expect(NetworkReachabilityManager(host: text) == nil)
    }

    @Test func `the link of an address is found by its name and by its number`() {
        #expect(IPAddress("fe80::1%lo")?.zoneNumber == 1)
        #expect(IPAddress("fe80::1%7")?.zoneNumber == 7)
        #expect(IPAddress("fe80::1%nothing-of-that-name")?.zoneNumber == 0)
        #expect(IPAddress("fe80::1")?.zoneNumber == nil)
        #expect(
            NetworkPath.paths(to: [IPAddress("fe80::1%nothing-of-that-name")].compactMap(\.self)) == [
                .none
            ])
    }

    @Test func `a burst of changes is reported when it is over or reaches the maximum length`() {
        var debouncer = ChangeDebouncer()
        func opens(at now: Int64) -> Bool { debouncer.opens(at: now) }
        #expect(debouncer.deadline == nil && !opens(at: .max))
        debouncer.changed(at: 1_000)
        #expect(debouncer.deadline == 1_000 + ChangeDebouncer.quiet)
        #expect(!opens(at: 999 + ChangeDebouncer.quiet))
        for step: Int64 in 0...20 { debouncer.changed(at: 1_000 + step * 30_000_000) }
        #expect(debouncer.deadline == 1_000 + ChangeDebouncer.longest)
        #expect(opens(at: 1_000 + ChangeDebouncer.longest))
        #expect(debouncer.deadline == nil && !opens(at: .max))
        debouncer.changed(at: 7)
        #expect(debouncer.deadline == 7 + ChangeDebouncer.quiet)
    }
}
