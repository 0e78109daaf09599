import Bluebonnet
import FoundationNetworking

extension URLRequest.CachePolicy {
    /// The policy in Bluebonnet's terms; `nil` for Foundation's default, which leaves the choice to the session.
    var native: HTTPRequest.CachePolicy? {
        switch self {
        case .useProtocolCachePolicy: nil
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringCache
        case .returnCacheDataElseLoad: .returnCacheElseLoad
        case .returnCacheDataDontLoad: .returnCacheDontLoad
        case .reloadRevalidatingCacheData: .reloadRevalidating
        @unknown default: .reloadIgnoringCache
        }
    }

    /// The fields that have caches on the way ignored, too, if that is the policy (RFC 9111 §5.2.1.4, §5.4).
    var directives: [HTTPHeader] {
        guard self == .reloadIgnoringLocalAndRemoteCacheData else { return [] }
        return [HTTPHeader(name: "Cache-Control", value: "no-cache"), HTTPHeader(name: "Pragma", value: "no-cache")]
    }

    /// The policy of a request in Foundation's terms.
    init(_ request: HTTPRequest) {
        switch request.cachePolicy {
        case .reloadIgnoringCache:
            let isRemote = URLRequest.CachePolicy.reloadIgnoringLocalAndRemoteCacheData.directives.allSatisfy {
                request.headers.contains($0)
            }
            self = isRemote ? .reloadIgnoringLocalAndRemoteCacheData : .reloadIgnoringLocalCacheData
        case .returnCacheElseLoad: self = .returnCacheDataElseLoad
        case .returnCacheDontLoad: self = .returnCacheDataDontLoad
        case .reloadRevalidating: self = .reloadRevalidatingCacheData
        default: self = .useProtocolCachePolicy
        }
    }
}
