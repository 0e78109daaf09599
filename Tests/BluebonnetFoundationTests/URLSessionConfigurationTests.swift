import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import Testing

/// Configurations of `URLSession` in our terms.
@Suite(.timeLimit(.minutes(10))) struct URLSessionConfigurationTests {
    private typealias Proxy = Session.Configuration.Proxy

    private static func converted(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> Session.Configuration {
        let configuration = URLSessionConfiguration.ephemeral
        change(configuration)
        return Session.Configuration(configuration)
    }

    @Test func `additional fields are added to the default fields`() {
        let configuration = Self.converted { $0.httpAdditionalHeaders = ["X-A": "1", "user-agent": "me", "X-N": 7] }
        #expect(configuration.headers["X-A"] == "1" && configuration.headers["X-N"] == "7")
        #expect(configuration.headers.values(for: "User-Agent") == ["me"])
        #expect(configuration.headers["Accept-Encoding"] == HTTPHeaders.default["Accept-Encoding"])
    }

    @Test func `the default configurations have the default fields`() {
        for configuration in [URLSessionConfiguration.af.default, URLSessionConfiguration.af.ephemeral] {
            #expect(configuration.headers.dictionary == HTTPHeaders.default.dictionary)
            configuration.headers["X-A"] = "1"
            #expect(configuration.httpAdditionalHeaders?["X-A"] as? String == "1")
        }
        #expect(!URLSessionConfiguration.af.default.headers.contains("X-A"))
    }

    static let timeouts: [(TimeInterval, TimeInterval, Timeouts)] = [
        (60, 604_800, Timeouts(connect: .seconds(60), idle: .seconds(60), total: .seconds(604_800))),
        (2.5, 10, Timeouts(connect: .milliseconds(2500), idle: .milliseconds(2500), total: .seconds(10))),
        (0, .infinity, Timeouts(connect: nil, idle: nil, total: nil)),
    ]

    @Test(arguments: timeouts)
    func `timeouts are converted`(request: TimeInterval, resource: TimeInterval, timeouts: Timeouts) {
        let configuration = Self.converted {
            $0.timeoutIntervalForRequest = request
            $0.timeoutIntervalForResource = resource
        }
        #expect(configuration.timeouts == timeouts)
    }

    @Test(arguments: [(6, 6), (1, 1), (0, nil), (-1, nil)])
    func `the limit of connections per host is converted`(asked: Int, limit: Int?) {
        #expect(Self.converted { $0.httpMaximumConnectionsPerHost = asked }.connectionLimits.perHost == limit)
    }

    private static let cookies: [(HTTPCookie.AcceptPolicy, Session.Configuration.Cookies.Policy)] = [
        (.always, .always), (.never, .never), (.onlyFromMainDocumentDomain, .firstPartyOnly),
    ]

    @Test func `the cookie policy is converted`() {
        for (asked, policy) in Self.cookies {
            #expect(Self.converted { $0.httpCookieAcceptPolicy = asked }.cookies.policy == policy)
        }
        let withoutSending = Self.converted {
            $0.httpCookieAcceptPolicy = .always
            $0.httpShouldSetCookies = false
        }
        #expect(withoutSending.cookies.policy == .never)
        let withoutStorage = Self.converted {
            $0.httpCookieAcceptPolicy = .always
            $0.httpCookieStorage = nil
        }
        #expect(withoutStorage.cookies.policy == .never)
    }

    @Test func `the cache policy and a custom cache are converted`() {
        let configuration = Self.converted { $0.requestCachePolicy = .reloadIgnoringLocalCacheData }
        #expect(configuration.cachePolicy == .reloadIgnoringCache)
        // An ephemeral one has a cache in memory, as there.
        #expect(configuration.cache?.directory == nil && configuration.cache?.memoryCapacity ?? 0 > 0)
        #expect(Session.Configuration(URLSessionConfiguration.default).cache == nil)
        #expect(Self.converted().cachePolicy == .useProtocolCachePolicy)
        let cached = Self.converted {
            $0.urlCache = URLCache(memoryCapacity: 123_456, diskCapacity: 0, diskPath: nil)
        }
        #expect(cached.cache?.memoryCapacity == 123_456)
        #expect(Self.converted { $0.urlCache = nil }.cache == nil)
    }

    @Test func `proxies are converted`() {
        let list: [([AnyHashable: Any]?, Session.Configuration.Proxy)] = [
            (nil, .environment), ([:], .none), (["HTTPProxy": "p"], .none),
            (["HTTPEnable": 0, "HTTPProxy": "p"], .none),
            (["HTTPEnable": 1, "HTTPProxy": "p"], .url("http://p")),
            (["HTTPEnable": true, "HTTPProxy": "p", "HTTPPort": 81], .url("http://p:81")),
            (["HTTPEnable": NSNumber(value: 1), "HTTPProxy": "p", "HTTPPort": NSNumber(value: 8)], .url("http://p:8")),
            (
                ["HTTPEnable": 1, "HTTPProxy": "p", "HTTPSEnable": 1, "HTTPSProxy": "q", "HTTPSPort": 82],
                .url("http://q:82")
            ),
            (["SOCKSEnable": 1, "SOCKSProxy": "::1", "SOCKSPort": 1080], .url("socks5h://[::1]:1080")),
            (
                [
                    "HTTPEnable": 1, "HTTPProxy": "p", "ExceptionsList": ["a.com", "b.com"],
                    "kCFProxyUsernameKey": "u", "kCFProxyPasswordKey": "w",
                ],
                .url("http://p", credential: Credential(username: "u", password: "w"), excluding: ["a.com", "b.com"])
            ),
        ]
        for (dictionary, proxy) in list {
            #expect(Self.converted { $0.connectionProxyDictionary = dictionary }.proxy == proxy, "\(proxy)")
        }
    }

    @Test func `a session is created from a URLSessionConfiguration`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in .text(request.headers["X-A"] ?? "none") }
        }
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.headers.append(name: "X-A", value: "from the configuration")
        configuration.connectionProxyDictionary = [:]
        let session = Session(configuration: configuration)
        #expect(try await session.request(server.url("/")).serializingString().value == "from the configuration")
        await session.shutdown()
        // Without more words, the default is Bluebonnet's.
        #expect(Session(configuration: .default).configuration.connectionLimits.perHost == nil)
    }
}
