import Bluebonnet
import Foundation

/// What kind of session a life has, as its seed decides it.
struct SessionSettings: Sendable {
    enum CacheKind: Sendable {
        case none, memory, disk
    }

    var connect: Int
    var idle: Int
    var total: Int
    var maximumBody: Int
    var maximumHead: Int
    var decodes: Bool
    var cache: CacheKind
    var perHost: Int?
    var watermark: Int
    var receiveBuffer: Int
    var redirects: Int
    var hsts: Bool
    var altSvc: Bool
    var sharesLoop: Bool
    var retries: Bool
    /// Places that behave are spoken to in the same rounds as those that do not.
    var tame: Set<Int>

    init(_ random: inout Random, families: Families) {
        connect = random.pick([1000, 2000])
        idle = random.pick([1000, 1500, 2000])
        total = random.pick([2000, 3000])
        maximumBody = random.pick([100_000, 1 << 20, 1 << 20, 4 << 20])
        maximumHead = random.pick([8192, 65_536, 262_144])
        decodes = random.chance(85)
        cache = families.has(.caching) ? random.pick([.none, .none, .memory, .disk]) : .none
        perHost = random.pick([nil, nil, 1, 2, 6])
        watermark = random.pick([4096, 65_536, 1 << 20])
        receiveBuffer = random.pick([1024, 16_384, 65_536, 524_288])
        redirects = random.pick([0, 1, 3, 5])
        hsts = families.has(.policies) && random.chance(15)
        altSvc = families.has(.policies) && random.chance(15)
        sharesLoop = random.chance(30)
        tame = Set((0..<5).filter { _ in random.chance(25) })
        retries = random.chance(25) && families.has(.retries)
        // After everything that is left to chance, so that leaving a family out changes nothing else.
        if !families.has(.smallbuffers) { receiveBuffer = max(receiveBuffer, 16_384) }
        if !families.has(.sharedloop) { sharesLoop = false }
    }

    /// What a reader of a failure has to know.
    var text: String {
        "receives \(receiveBuffer), watermark \(watermark), body \(maximumBody), \(cache), per host \(perHost ?? 0)"
            + (sharesLoop ? ", shared loop" : "") + (retries ? ", retries" : "") + (decodes ? "" : ", undecoded")
            + (hsts ? ", HSTS" : "") + (altSvc ? ", Alt-Svc" : "")
    }

    /// How often a request may be sent at most, redirects aside.
    var attempts: Int { retries ? 3 : 1 }

    /// The milliseconds after which every request has been answered.
    var longest: Int { total * (redirects + 1) * attempts }

    /// The interceptor of the session.
    var interceptor: (any RequestInterceptor)? {
        retries
            ? RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.01, maximumRetryAfter: .milliseconds(500)) : nil
    }

    /// The session's configuration; `directory` is for this life alone.
    func configuration(places: [Place], directory: String, loop: EventLoop, authority: String?) -> Session.Configuration
    {
        var configuration = Session.Configuration()
        configuration.timeouts = Timeouts(
            connect: .milliseconds(connect), idle: .milliseconds(idle), total: .milliseconds(total))
        configuration.maximumResponseBytes = Int64(maximumBody)
        configuration.maximumResponseHeadBytes = maximumHead
        configuration.decodesContent = decodes
        configuration.proxy = .none
        configuration.connectionLimits.perHost = perHost
        configuration.bodyHighWatermark = watermark
        configuration.bodyLowWatermark = watermark / 4
        configuration.receiveBufferBytes = receiveBuffer
        configuration.redirects.maximum = redirects
        configuration.redirects.allowsInsecure = true
        configuration.hsts = hsts ? .memory : .off
        configuration.altSvc = altSvc ? .memory : .off
        configuration.continueTimeout = .milliseconds(100)
        if sharesLoop { configuration.eventLoop = loop }
        for place in places { configuration.dns.overrides["\(place.host):\(place.port)"] = ["127.0.0.1"] }
        configuration.tls.caFile = authority
        switch cache {
        case .none: break
        case .memory: configuration.cache = ResponseCache(memoryCapacity: 1 << 20)
        case .disk:
            configuration.cache = ResponseCache(
                memoryCapacity: 1 << 16, diskCapacity: 1 << 20, directory: URL(filePath: directory + "/cache"))
        }
        return configuration
    }
}
