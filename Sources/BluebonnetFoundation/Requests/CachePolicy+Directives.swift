import Bluebonnet
import FoundationNetworking

extension URLRequest.CachePolicy {
    /// The fields that tell caches so (RFC 9111 §5.2.1, §5.4).
    var directives: [HTTPHeader] {
        let control = HTTPHeader(name: "Cache-Control", value: directive ?? "")
        switch self {
        case .useProtocolCachePolicy: return []
        case .reloadIgnoringLocalAndRemoteCacheData: return [control, HTTPHeader(name: "Pragma", value: "no-cache")]
        default: return [control]
        }
    }

    private var directive: String? {
        switch self {
        case .useProtocolCachePolicy: nil
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: "no-cache"
        case .returnCacheDataElseLoad: "max-stale"
        case .returnCacheDataDontLoad: "only-if-cached"
        case .reloadRevalidatingCacheData: "max-age=0"
        @unknown default: "no-cache"
        }
    }

    /// The policy that fields ask for.
    init(_ headers: HTTPHeaders) {
        switch headers["Cache-Control"]?.lowercased() {
        case "no-cache":
            self =
                headers.contains("Pragma") ? .reloadIgnoringLocalAndRemoteCacheData : .reloadIgnoringLocalCacheData
        case "max-stale": self = .returnCacheDataElseLoad
        case "only-if-cached": self = .returnCacheDataDontLoad
        case "max-age=0": self = .reloadRevalidatingCacheData
        default: self = .useProtocolCachePolicy
        }
    }
}
