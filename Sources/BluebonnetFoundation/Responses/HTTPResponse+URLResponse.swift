public import Bluebonnet
public import FoundationNetworking

extension HTTPResponse {
    /// The response in Foundation's terms, made each time it is asked for.
    public var urlResponse: HTTPURLResponse? {
        HTTPURLResponse(
            url: url, statusCode: statusCode, httpVersion: httpVersion.description, headerFields: headers.dictionary)
    }
}
