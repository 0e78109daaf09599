public import Bluebonnet
import Foundation
public import FoundationNetworking

extension URLSessionConfiguration {
    /// The configurations to begin with that have Bluebonnet's default fields.
    public static var af: DefaultConfigurations { DefaultConfigurations() }

    /// The fields that every request has unless it sets them itself; `httpAdditionalHeaders` by its type, sorted by name.
    public var headers: HTTPHeaders {
        get {
            let pairs = (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                (name as? String).map { ($0, "\(value)") }
            }
            return HTTPHeaders(Dictionary(pairs) { first, _ in first })
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }

    /// Configurations of `URLSession` with the fields `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public struct DefaultConfigurations: Sendable {
        /// A new default configuration.
        public var `default`: URLSessionConfiguration { withDefaultHeaders(.default) }

        /// A new configuration that keeps nothing on disk.
        public var ephemeral: URLSessionConfiguration { withDefaultHeaders(.ephemeral) }

        private func withDefaultHeaders(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
            configuration.headers = .default
            return configuration
        }
    }
}
