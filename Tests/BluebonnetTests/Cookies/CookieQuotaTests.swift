import Testing

@testable import Bluebonnet

/// How many cookies there may be, as a decision.
struct CookieQuotaTests {
    private var quota = CookieQuota()

    /// Sets cookies of a site; returns how often the jar was to be counted.
    private mutating func set(_ count: Int, of site: String) -> Int {
        (0..<count).count { _ in quota.cookieSet(for: site) }
    }

    @Test mutating func `cookies up to the limit are not counted`() {
        let counts = (set(180, of: "a"), set(1, of: "a"))
        #expect(counts == (0, 1))
    }

    @Test mutating func `a site with too many cookies loses its oldest cookies`() {
        let counts = set(181, of: "a")
        let gone = quota.counted(["a": 181, "b": 180])
        #expect(counts == 1)
        #expect(gone == ["a": 31])
    }

    @Test mutating func `cookies that replace others are counted sometimes, and no cookie is removed`() {
        var counts = 0
        for _ in 0..<3000 where quota.cookieSet(for: "a") {
            counts += 1
            let gone = quota.counted(["a": 180])
            #expect(gone == [:])
        }
        #expect(counts == (3000 - 181) / 31 + 1)
    }

    @Test mutating func `the cookies of the least recently active sites are removed first`() {
        var counts: [String: Int] = [:]
        var isDue = false
        for round in 0..<34 {
            for _ in 0..<100 { isDue = quota.cookieSet(for: "\(round)") || isDue }
            counts["\(round)"] = 100
        }
        #expect(isDue)
        _ = quota.cookieSet(for: "0")
        let gone = quota.counted(counts)
        #expect(gone == ["1": 100, "2": 100, "3": 100, "4": 100])
        // There is room again.
        let due = set(30, of: "0")
        #expect(due == 0)
    }

    @Test mutating func `sites without cookies are forgotten`() {
        let due = (0...3300).filter { quota.cookieSet(for: "\($0)") }
        #expect(due == [3300])
        let gone = quota.counted([:])
        #expect(gone == [:])
        var empty = CookieQuota()
        for _ in 0..<3301 { _ = empty.cookieSet(for: "x") }
        _ = empty.counted([:])
        #expect(quota == empty)
    }
}
