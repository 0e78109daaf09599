public import FoundationEssentials

/// The description of an error in a response body (RFC 9457).
///
/// ``SerializedResponse/problem`` contains the problem of a response whose media type is `application/problem+json`.
public struct ProblemDetails: Hashable, Sendable {
    /// The URI that identifies the type of the problem; `about:blank` if the problem has no type.
    ///
    /// A relative URI is not resolved.
    public let type: String

    /// A short summary of the type of the problem.
    public let title: String?

    /// The status code in the problem description; a proxy may have changed the status code of the response.
    public let status: Int?

    /// The explanation of this occurrence of the problem.
    public let detail: String?

    /// The URI that identifies this occurrence of the problem.
    public let instance: String?

    /// All other members of the JSON object.
    public let extensions: [String: JSONValue]

    /// Creates a problem from JSON.
    ///
    /// Standard members of the wrong type are ignored (RFC 9457 §3.1).
    ///
    /// - Parameter data: The JSON text. If the text is not a JSON object, the initializer returns `nil`.
    public init?(json data: Data) {
        guard var members = (try? JSONValue(parsing: data))?.object else { return nil }
        type = members.removeValue(forKey: "type")?.string ?? "about:blank"
        title = members.removeValue(forKey: "title")?.string
        status = members.removeValue(forKey: "status")?.int
        detail = members.removeValue(forKey: "detail")?.string
        instance = members.removeValue(forKey: "instance")?.string
        extensions = members
    }

    /// Creates the problem of a response; `nil` if the body has another media type or is not a JSON object.
    init?(_ response: HTTPResponse?, _ body: Data?) {
        guard response?.mimeType == "application/problem+json", let body else { return nil }
        self.init(json: body)
    }
}

extension RequestError {
    /// The problem that the server describes in the response body (RFC 9457); `nil` if there is none.
    ///
    /// The body must have the media type `application/problem+json`.
    public var problem: ProblemDetails? { ProblemDetails(response, body) }
}
