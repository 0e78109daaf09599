public import FoundationEssentials

/// What a serializer makes a value of: the exchange as far as it went.
public struct SerializerInput: Sendable {
    /// The request of the last attempt, without the fields that the session adds.
    public var request: HTTPRequest?

    /// The head of the response.
    public var response: HTTPResponse?

    /// The body, decoded from its content coding; empty when there was none.
    public var data: Data

    /// Where the body is, if it was downloaded to a file.
    public var fileURL: URL?

    /// Creates the input of a serializer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - data: The body.
    ///   - fileURL: Where the body is, if it was downloaded to a file.
    public init(request: HTTPRequest?, response: HTTPResponse?, data: Data, fileURL: URL? = nil) {
        self.request = request
        self.response = response
        self.data = data
        self.fileURL = fileURL
    }
}
