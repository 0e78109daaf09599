package import Bluebonnet
import Foundation
package import FoundationNetworking

extension HTTPRequest {
    /// The request with what was changed of its counterpart, and all else as it is.
    package func changed(from original: URLRequest, to changed: URLRequest) throws(RequestError) -> HTTPRequest {
        let converted = try HTTPRequest(changed)
        var request = self
        request.url = converted.url
        request.method = converted.method
        request.handlesCookies = converted.handlesCookies
        if changed.timeoutInterval != original.timeoutInterval { request.timeouts = converted.timeouts }
        if changed.httpBody != original.httpBody || changed.httpBodyStream !== original.httpBodyStream {
            request.body = converted.body
        }
        // One by one: repeated fields that were not touched stay apart.
        let before = original.headers
        for field in before where !converted.headers.contains(field.name) { request.headers.remove(name: field.name) }
        for field in converted.headers where before[field.name] != field.value { request.headers.update(field) }
        return request
    }
}
