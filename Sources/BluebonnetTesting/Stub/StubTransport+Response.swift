public import Bluebonnet
public import FoundationEssentials

extension StubTransport {
    /// What a stub answers: a response, a failure, or nothing ever.
    public struct Response: Sendable {
        indirect enum Storage: Sendable {
            case response(status: Int, version: HTTPVersion, headers: HTTPHeaders, body: Data)
            case failure(RequestError)
            case delayed(Duration, Storage)
            case never
        }

        let storage: Storage
    }
}

extension StubTransport.Response {
    /// Returns a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields, exactly.
    ///   - body: The body.
    ///   - httpVersion: The version of HTTP that the server speaks.
    /// - Returns: The response.
    public static func response(
        status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), httpVersion: HTTPVersion = .http1_1
    ) -> Self {
        Self(storage: .response(status: status, version: httpVersion, headers: headers, body: body))
    }

    /// Returns a response with a value as JSON, with its keys sorted.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields; a content type is added if they have none.
    ///   - json: The value. One that cannot be encoded makes the exchange fail, with the encoder's error.
    /// - Returns: The response.
    public static func response(
        status: Int = 200, headers: HTTPHeaders = [:], json: some Encodable
    ) -> Self {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let body = try encoder.encode(json)
            return response(status: status, headers: headers.including(contentType: "application/json"), body: body)
        } catch {
            return failure(RequestError(.internal, detail: "the stub's JSON cannot be encoded", underlying: error))
        }
    }

    /// Returns a response with text in UTF-8.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields; a content type is added if they have none.
    ///   - text: The text.
    /// - Returns: The response.
    public static func response(status: Int = 200, headers: HTTPHeaders = [:], text: String) -> Self {
        response(
            status: status, headers: headers.including(contentType: "text/plain; charset=utf-8"),
            body: Data(text.utf8))
    }

    /// Returns a response with a value as JSON; short for ``response(status:headers:json:)``.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status code.
    /// - Returns: The response.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        response(status: status, json: value)
    }

    /// Returns a response with text; short for ``response(status:headers:text:)``.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - status: The status code.
    /// - Returns: The response.
    public static func text(_ text: String, status: Int = 200) -> Self {
        response(status: status, text: text)
    }

    /// Returns a response without fields and body.
    ///
    /// - Parameter status: The status code.
    /// - Returns: The response.
    public static func status(_ status: Int) -> Self { response(status: status) }

    /// 200, without fields and body.
    public static let ok = response()

    /// Returns a failure, as of a network that is down.
    ///
    /// - Parameter error: How the exchange ends.
    /// - Returns: The failure.
    public static func failure(_ error: RequestError) -> Self { Self(storage: .failure(error)) }

    /// Returns an answer that comes after a while, by the transport's clock.
    ///
    /// - Parameters:
    ///   - delay: How long it takes.
    ///   - response: The answer.
    /// - Returns: The answer that comes late.
    public static func delayed(_ delay: Duration, _ response: Self) -> Self {
        Self(storage: .delayed(delay, response.storage))
    }

    /// No answer; the exchange ends when it is cancelled or the transport shut down.
    public static let never = Self(storage: .never)
}
