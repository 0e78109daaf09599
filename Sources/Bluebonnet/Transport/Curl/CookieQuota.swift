/// Decides when a jar is to be counted, and how many of its cookies go then, as a value.
///
/// The numbers are those of browsers: 180 cookies for a site, the domain that is registered under a public suffix, and
/// 3,300 in all. When there are more, so many go that there is room again. To count costs time, so it is not done more
/// often than every 30 cookies of a site, or 300 in all; that many more there may be meanwhile.
struct CookieQuota: Equatable {
    /// A limit, and to how many cookies it brings what exceeds it.
    struct Limit: Equatable {
        let most: Int
        let kept: Int
    }

    static let site = Limit(most: 180, kept: 150)
    static let jar = Limit(most: 3300, kept: 3000)

    /// How many cookies there are at most, and at how many it is time to count.
    private struct Estimate: Equatable {
        var most = 0
        var due: Int
        /// When a cookie was last set, counted in cookies.
        var lastSet = 0

        init(_ limit: Limit) { due = limit.most }

        mutating func counted(_ count: Int, _ limit: Limit) {
            most = count
            due = max(limit.most, count + limit.most - limit.kept)
        }
    }

    private var jar = Estimate(Self.jar)
    private var sites: [String: Estimate] = [:]

    /// A cookie was set, or one was replaced; returns whether the jar is to be counted.
    mutating func cookieSet(for site: String) -> Bool {
        jar.lastSet += 1
        jar.most += 1
        var estimate = sites[site] ?? Estimate(Self.site)
        estimate.most += 1
        estimate.lastSet = jar.lastSet
        sites[site] = estimate
        return estimate.most > estimate.due || jar.most > jar.due
    }

    /// The jar was counted, by site; returns how many go of which sites, the oldest of each.
    ///
    /// If there are too many in all, those sites lose theirs that have set none for the longest time.
    mutating func counted(_ counts: [String: Int]) -> [String: Int] {
        var left = counts
        for (site, count) in counts where count > Self.site.most { left[site] = Self.site.kept }
        var total = left.values.reduce(0, +)
        if total > Self.jar.most {
            let byAge = left.keys.sorted { lastSet($0) < lastSet($1) }
            for site in byAge where total > Self.jar.kept {
                let number = min(left[site] ?? 0, total - Self.jar.kept)
                left[site]? -= number
                total -= number
            }
        }
        let earlier = sites
        sites = [:]
        for (site, count) in left where count > 0 {
            var estimate = earlier[site] ?? Estimate(Self.site)
            estimate.counted(count, Self.site)
            sites[site] = estimate
        }
        jar.counted(total, Self.jar)
        return counts.merging(left) { $0 - $1 }.filter { $0.value > 0 }
    }

    private func lastSet(_ site: String) -> Int { sites[site]?.lastSet ?? 0 }
}
