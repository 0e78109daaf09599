/// Decides when the cookies of a jar must be counted, and how many cookies to remove.
///
/// This is a value type without I/O and without a clock.
///
/// The limits are like those of browsers: 180 cookies per site, and 3,300 in total. A site is the domain that is
/// registered under a public suffix. If a limit is exceeded, the number is reduced to 150 per site, or 3,000 in total.
/// Counting takes time, so the cookies are counted at most once per 30 new cookies of a site, or 300 in total. Until
/// then, the limits may be exceeded by these numbers.
struct CookieQuota: Equatable {
    /// A limit, and the number of cookies to which an excess is reduced.
    struct Limit: Equatable {
        let most: Int
        let kept: Int
    }

    static let site = Limit(most: 180, kept: 150)
    static let jar = Limit(most: 3300, kept: 3000)

    /// The highest possible number of cookies, and the number at which they must be counted.
    private struct CountEstimate: Equatable {
        var most = 0
        var due: Int
        /// The number of cookies that had been set in the jar when the last cookie of the site was set.
        var lastSet = 0

        init(_ limit: Limit) { due = limit.most }

        mutating func counted(_ count: Int, _ limit: Limit) {
            most = count
            due = max(limit.most, count + limit.most - limit.kept)
        }
    }

    private var jar = CountEstimate(Self.jar)
    private var sites: [String: CountEstimate] = [:]

    /// Called when a cookie was set or replaced; returns whether the jar must be counted.
    mutating func cookieSet(for site: String) -> Bool {
        jar.lastSet += 1
        jar.most += 1
        var estimate = sites[site] ?? CountEstimate(Self.site)
        estimate.most += 1
        estimate.lastSet = jar.lastSet
        sites[site] = estimate
        return estimate.most > estimate.due || jar.most > jar.due
    }

    /// Called with the number of cookies per site; returns how many of the oldest cookies of each site to remove.
    ///
    /// If there are too many cookies in total, the sites that have not set a cookie for the longest time lose their
    /// cookies first.
    mutating func counted(_ counts: [String: Int]) -> [String: Int] {
        var left = counts
        for (site, count) in counts where count > Self.site.most { left[site] = Self.site.kept }
        var total = left.values.reduce(0, +)
        if total > Self.jar.most {
            // The ages are looked up once for each site, not for each comparison.
            let byAge = left.keys.map { (age: lastSet($0), site: $0) }.sorted { $0.age < $1.age }
            for (_, site) in byAge where total > Self.jar.kept {
                let number = min(left[site] ?? 0, total - Self.jar.kept)
                left[site]? -= number
                total -= number
            }
        }
        let earlier = sites
        sites = [:]
        for (site, count) in left where count > 0 {
            var estimate = earlier[site] ?? CountEstimate(Self.site)
            estimate.counted(count, Self.site)
            sites[site] = estimate
        }
        jar.counted(total, Self.jar)
        return counts.merging(left) { $0 - $1 }.filter { $0.value > 0 }
    }

    private func lastSet(_ site: String) -> Int { sites[site]?.lastSet ?? 0 }
}
