// Visits the pages of a site, with a bounded number of requests at the same
// time, and lists broken links.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.crawler
/// What a visit found.
struct Visit: Sendable {
    let url: URL
    let result: Result<[URL], RequestError>
}

struct Crawler {
    let session: Session
    let start: URL

    /// Creates a crawler that makes at most `width` requests at the same time.
    init(start: URL, width: Int = 8) {
        var configuration = Session.Configuration()
        configuration.requestLimits.total = width
        configuration.maximumResponseBytes = 4 << 20
        configuration.timeouts.total = .seconds(20)
        session = Session(
            configuration: configuration, interceptor: RetryPolicy())
        self.start = start
    }

    /// Visits each page of the site once.
    func visits() async -> [Visit] {
        var (visits, known): ([Visit], Set<URL>) = ([], [start])
        await withTaskGroup(of: Visit.self) { group in
            group.addTask { await visit(start) }
            // The session makes requests wait, so there can be a task for each
            // page.
            while let visit = await group.next() {
                visits.append(visit)
                let links = (try? visit.result.get()) ?? []
                for url in links
                where url.host == start.host && url.port == start.port {
                    if known.insert(url).inserted {
                        group.addTask { await self.visit(url) }
                    }
                }
            }
        }
        return visits
    }

    private func visit(_ url: URL) async -> Visit {
        let response = await session.request(url)
            .validate().validate(contentType: ["text/html"])
            .serializingString().response
        let base = response.url ?? url
        return Visit(
            url: url,
            result: response.result.map { Self.links(in: $0, base: base) }
        )
    }

    /// The targets of `href="…"`; a real crawler has a parser for HTML.
    static func links(in page: String, base: URL) -> [URL] {
        page.split(separator: "href=\"").dropFirst().compactMap { part in
            let text = part.prefix { $0 != "\"" && $0 != "#" }
            return URL(string: String(text), relativeTo: base)?.absoluteURL
        }
    }
}
// snippet.end

/// A site of 1,000 pages, each with five links, of which some are broken.
let server = try await LocalServer { router in
    router.get("/:page") { request in
        guard let page = Int(request.parameters["page"] ?? ""), page < 1000,
            page % 97 != 13
        else {
            return .status(404)
        }
        let links = [2 * page + 1, 2 * page + 2, page + 7, page / 2, page * 3]
            .map {
                $0 % 1000
            }
        let body = links.map { "<a href=\"/\($0)\">\($0)</a>" }.joined()
        return .text(
            body, headers: ["Content-Type": "text/html; charset=utf-8"])
    }
}
let crawler = Crawler(start: server.url("/0"))
let clock = ContinuousClock()
let began = clock.now
let visits = await crawler.visits()
let broken = visits.filter { (try? $0.result.get()) == nil }
print(
    "\(visits.count) pages in \(clock.now - began), \(server.connectionCount) connections"
)
for visit in broken.sorted(by: { $0.url.path < $1.url.path }).prefix(5) {
    if case .failure(let error) = visit.result {
        print("broken: \(visit.url.path): \(error)")
    }
}
print("\(broken.count) broken links")
await crawler.session.shutdown()
