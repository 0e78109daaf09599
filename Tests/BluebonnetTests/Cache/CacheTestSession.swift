import BluebonnetTesting
import FoundationEssentials

@testable import Bluebonnet

/// A clock that tests move.
final class CacheClock: Sendable {
    private let time = Locked(Date(timeIntervalSince1970: 1_800_000_000))

    var now: Date { time.withLock { $0 } }

    func advance(by seconds: Double) { time.withLock { $0 += seconds } }
}

/// A session with a cache, a stub and its own clock.
struct CacheTestSession {
    let clock = CacheClock()
    let cache: ResponseCache
    let transport: StubTransport
    let session: Session

    init(
        memoryCapacity: Int = 16 << 20, directory: URL? = nil, sharing shared: ResponseCache? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        configuration: Session.Configuration = Session.Configuration(), _ handler: StubTransport.Handler? = nil
    ) {
        let clock = clock
        cache = shared ?? ResponseCache(memoryCapacity: memoryCapacity, directory: directory) { clock.now }
        transport = StubTransport(handler)
        var configuration = configuration
        configuration.cache = cache
        session = Session(
            configuration: configuration, cachedResponseHandler: cachedResponseHandler, transport: transport)
    }

    /// The response to a GET, or another request, for a path.
    func answer(
        _ path: String = "/", method: HTTPMethod = .get, headers: HTTPHeaders = [:],
        policy: HTTPRequest.CachePolicy? = nil
    ) async -> CacheAnswer {
        var request = HTTPRequest(url: url(path), method: method, headers: headers)
        request.cachePolicy = policy
        return CacheAnswer(await session.request(request).serializingData(emptyResponseCodes: Set(200...599)).response)
    }

    /// Waits until all exchanges have ended, including validations that no request waits for.
    func settle() async {
        while let transport = session.context.transport as? CachingTransport, transport.runningCount > 0,
            !Task.isCancelled
        {
            await Task.yield()
        }
    }

    /// The URL of a path.
    func url(_ path: String = "/") -> URL {
        guard let url = URL(string: "http://stub.test" + path) else { preconditionFailure("\(path) is no path") }
        return url
    }

    /// The field of the time that the clock shows.
    var date: String { HTTPDate.format(clock.now) }
}

/// The parts of a response that a test checks.
struct CacheAnswer {
    var source: ResponseSource?
    var status: Int?
    var text: String?
    var headers = HTTPHeaders()
    var error: RequestError?
    var hasMetrics = false

    init(_ response: DataResponse<Data, RequestError>) {
        source = response.source
        status = response.response?.statusCode
        text = response.data.map { String(decoding: $0, as: UTF8.self) }
        headers = response.response?.headers ?? [:]
        error = response.error
        hasMetrics = response.metrics != nil
    }
}
