/// Puts parameters into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the parameters in it.
    ///
    /// Runs on the global pool, or on the executor that the awaiting task prefers, when the request has been started, and
    /// again for each attempt.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the parameters.
    /// - Throws: Why they could not be encoded. Bluebonnet's own encoders throw ``RequestError``; another error is
    ///   reported as `.parameterEncoding(.encoderFailed)` with it as the underlying one.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

extension ParameterEncoder {
    /// Runs an encoder and reports what it throws as `.parameterEncoding(.encoderFailed)`.
    func wrappingErrors<Value>(_ encode: () throws -> Value) throws(RequestError) -> Value {
        do {
            return try encode()
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
    }
}
