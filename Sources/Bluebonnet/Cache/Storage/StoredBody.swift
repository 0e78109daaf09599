import FoundationEssentials
enum StoredBody: Sendable {
    var data: Data { if case .memory(let data) = self { data } else { Data() } }
    case memory(Data)
    var count: Int { if case .memory(let data) = self { data.count } else { 0 } }
    func all() throws(SystemError) -> Data { if case .memory(let data) = self { data } else { Data() } }
    func read(from offset: Int, upTo count: Int) throws(SystemError) -> Data { try all() }
}
final class ResponseWriter: Sendable {
    let bytes = Locked(Data())
    let cache: ResponseCache
    let key: CacheKey
    init(_ cache: ResponseCache, key: CacheKey) { self.cache = cache; self.key = key }
    func append(_ new: Data) -> Bool { bytes.withLock { $0.append(new); return $0.count < 2_000_000 } }
    func finish(_ response: HTTPResponse, request: CacheRequest, requestTime: Date, responseTime: Date, storagePolicy: CachedResponse.StoragePolicy, since epoch: UInt64) {
        if let entry = StoredResponse(response, body: bytes.withLock { $0 }, to: request, requestTime: requestTime, responseTime: responseTime, storagePolicy: storagePolicy) { cache.store(entry, for: key, since: epoch) }
    }
    func abandon() {}
}
extension ResponseCache {
    func makeWriter(for key: CacheKey, expecting: Int64?) -> ResponseWriter? { ResponseWriter(self, key: key) }
    func onDisk(_ request: CacheRequest, inPieces: Bool) -> [StoredResponse] { onDisk(request) }
}
