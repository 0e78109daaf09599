public import FoundationEssentials

/// The shortest way to send a request: each method sends it, and returns the whole response.
///
/// The retriers of the session decide about status codes of 400 and above. For validators, own retries, progress and
/// all else, create a request with `request(…)`.
extension Session {
    /// Sends a GET request, and waits for the whole response.
    ///
    /// ```swift
    /// let response = try await session.get("https://api.example/users", parameters: ["page": 2])
    /// let users = try response.validate().json([User].self)
    /// ```
    ///
    /// A status code such as 404 does not throw; see ``SerializedResponse/validate()``. The session's retriers and
    /// authenticators decide about codes from 400 on, as if the request were validated. If they do not retry, you get
    /// the response. If the Swift task is cancelled, the request is cancelled.
    ///
    /// - Parameters:
    ///   - url: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - parameters: The parameters, which are added to the query; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func get(
        _ url: any URLConvertible, parameters: [String: JSONValue] = [:], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .get, url, parameters, headers, timeout)
    }

    /// Sends a HEAD request, and waits for the response; see ``get(_:parameters:headers:timeout:)``.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - parameters: The parameters, which are added to the query; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func head(
        _ url: any URLConvertible, parameters: [String: JSONValue] = [:], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .head, url, parameters, headers, timeout)
    }

    /// Sends a DELETE request, and waits for the whole response; see ``get(_:parameters:headers:timeout:)``.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - parameters: The parameters, which are added to the query; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func delete(
        _ url: any URLConvertible, parameters: [String: JSONValue] = [:], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .delete, url, parameters, headers, timeout)
    }

    /// Sends a POST request with a value as JSON, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, which a `JSONEncoder` encodes.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func post<Value: Encodable & Sendable>(
        _ url: any URLConvertible, json value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .post, url, value, jsonEncoder, headers, timeout)
    }

    /// Sends a POST request with an object of values of several types as JSON.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - object: The object, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func post(
        _ url: any URLConvertible, json object: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .post, url, object, jsonEncoder, headers, timeout)
    }

    /// Sends a POST request with a URL-encoded form, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, such as a dictionary, whose properties become fields.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func post<Value: Encodable & Sendable>(
        _ url: any URLConvertible, form value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .post, url, value, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a POST request with a URL-encoded form, whose fields have values of several types.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - fields: The fields, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func post(
        _ url: any URLConvertible, form fields: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .post, url, fields, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a POST request with any body, or none, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - body: The body, such as `.data(…)`, `.file(…)` or `.multipart(…)`; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func post(
        _ url: any URLConvertible, body: RequestBody? = nil, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .post, url, body, headers, timeout)
    }

    /// Sends a PUT request with a value as JSON, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, which a `JSONEncoder` encodes.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func put<Value: Encodable & Sendable>(
        _ url: any URLConvertible, json value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .put, url, value, jsonEncoder, headers, timeout)
    }

    /// Sends a PUT request with an object of values of several types as JSON.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - object: The object, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func put(
        _ url: any URLConvertible, json object: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .put, url, object, jsonEncoder, headers, timeout)
    }

    /// Sends a PUT request with a URL-encoded form, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, such as a dictionary, whose properties become fields.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func put<Value: Encodable & Sendable>(
        _ url: any URLConvertible, form value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .put, url, value, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a PUT request with a URL-encoded form, whose fields have values of several types.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - fields: The fields, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func put(
        _ url: any URLConvertible, form fields: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .put, url, fields, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a PUT request with any body, or none, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - body: The body, such as `.data(…)`, `.file(…)` or `.multipart(…)`; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func put(
        _ url: any URLConvertible, body: RequestBody? = nil, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .put, url, body, headers, timeout)
    }

    /// Sends a PATCH request with a value as JSON, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, which a `JSONEncoder` encodes.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func patch<Value: Encodable & Sendable>(
        _ url: any URLConvertible, json value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .patch, url, value, jsonEncoder, headers, timeout)
    }

    /// Sends a PATCH request with an object of values of several types as JSON.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - object: The object, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func patch(
        _ url: any URLConvertible, json object: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .patch, url, object, jsonEncoder, headers, timeout)
    }

    /// Sends a PATCH request with a URL-encoded form, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - value: The value, such as a dictionary, whose properties become fields.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func patch<Value: Encodable & Sendable>(
        _ url: any URLConvertible, form value: Value, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .patch, url, value, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a PATCH request with a URL-encoded form, whose fields have values of several types.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - fields: The fields, such as `["name": "Ada", "age": 36]`.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    @_disfavoredOverload
    public nonisolated func patch(
        _ url: any URLConvertible, form fields: [String: JSONValue], headers: HTTPHeaders? = nil,
        timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .patch, url, fields, formEncoder(.httpBody), headers, timeout)
    }

    /// Sends a PATCH request with any body, or none, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - body: The body, such as `.data(…)`, `.file(…)` or `.multipart(…)`; none by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for the session's limit.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func patch(
        _ url: any URLConvertible, body: RequestBody? = nil, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await response(to: .patch, url, body, headers, timeout)
    }

    /// Sends a request of any kind, and waits for the whole response.
    ///
    /// See ``get(_:parameters:headers:timeout:)`` for what throws.
    ///
    /// - Parameters:
    ///   - request: The request, as an ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type.
    ///   - timeout: The limit for each attempt as a whole; `nil`, the default, for that of the request or the session.
    /// - Returns: The response with its body.
    /// - Throws: The error of the request, if no complete response was received.
    public nonisolated func send(
        _ request: any HTTPRequestConvertible, timeout: Duration? = nil
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await self.request(request).received(timeout)
    }

    /// The session's encoder, if it is one for JSON.
    private nonisolated var jsonEncoder: any ParameterEncoder {
        context.configuration.parameterEncoder as? JSONParameterEncoder ?? .default
    }

    /// The session's encoder for forms with another destination, or the default one.
    nonisolated func formEncoder(
        _ destination: URLEncodedFormParameterEncoder.Destination
    ) -> any ParameterEncoder {
        let own = context.configuration.parameterEncoder as? URLEncodedFormParameterEncoder
        return URLEncodedFormParameterEncoder(
            encoder: own?.encoder ?? URLEncodedFormEncoder(), destination: destination)
    }

    private nonisolated func response(
        to method: HTTPMethod, _ url: any URLConvertible, _ query: [String: JSONValue], _ headers: HTTPHeaders?,
        _ timeout: Duration?
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        guard !query.isEmpty else { return try await request(url, method: method, headers: headers).received(timeout) }
        return try await response(to: method, url, query, formEncoder(.queryString), headers, timeout)
    }

    private nonisolated func response<Value: Encodable & Sendable>(
        to method: HTTPMethod, _ url: any URLConvertible, _ value: Value, _ encoder: any ParameterEncoder,
        _ headers: HTTPHeaders?, _ timeout: Duration?
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        try await request(url, method: method, parameters: value, encoder: encoder, headers: headers).received(timeout)
    }

    private nonisolated func response(
        to method: HTTPMethod, _ url: any URLConvertible, _ body: RequestBody?, _ headers: HTTPHeaders?,
        _ timeout: Duration?
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        guard let body else { return try await request(url, method: method, headers: headers).received(timeout) }
        return try await upload(body, to: url, method: method, headers: headers).received(timeout)
    }
}

extension DataRequest {
    fileprivate nonisolated func received(
        _ timeout: Duration?
    ) async throws(RequestError) -> DataResponse<Data, RequestError> {
        if let timeout { timeouts { $0.total = timeout } }
        // Retriers and authenticators are asked only about errors.
        if !core.context.retriers.isEmpty { validate(statusCode: 100..<400) }
        let task = serializingResponse(using: BodySerializer())
        // The session may not start requests by itself, and no other code has this one.
        resume()
        let response = await task.response.decoding(with: core.context.configuration.decoder)
        guard let error = response.error else { return response }
        guard case .validation(.unacceptableStatusCode) = error.kind else { throw error }
        return response.with(.success(response.data ?? Data()))
    }
}

/// A serializer that returns every body as it is.
private struct BodySerializer: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data { input.data }
}

/// What is done with a response that was received whole.
extension SerializedResponse where Source == DataRequest, Success == Data, Failure == RequestError {
    /// Returns the response if its status code is 200 to 299, and its content type one that the request accepts.
    ///
    /// - Returns: This response, for chaining.
    /// - Throws: `.validation(…)` with the response and the first 64 KiB of its body, or the error of the request.
    @discardableResult
    public func validate() throws(RequestError) -> Self {
        if let error { throw error }
        guard let response else { return self }
        do {
            try [ResponseValidator.success, .accepted].run(request: request, response: response, data: data)
        } catch {
            throw error.during(request, attempts: attempts)
        }
        return self
    }

    /// Decodes the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode; inferred by default.
    ///   - decoder: The decoder for the body; the session's decoder by default.
    /// - Returns: The decoded value.
    /// - Throws: The error of the request, or that of a ``DecodableResponseSerializer``.
    public func json<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
    ) throws(RequestError) -> Value {
        try serialized(by: DecodableResponseSerializer(decoder: decoder ?? attempt.decoder ?? JSONDecoder()))
    }

    /// Decodes the body as text, whose encoding is found as ``StringResponseSerializer`` does.
    ///
    /// - Returns: The text; empty if there is no body.
    /// - Throws: The error of the request, or that of the serializer.
    public func text() throws(RequestError) -> String {
        try result.get().isEmpty ? "" : serialized(by: StringResponseSerializer())
    }

    private func serialized<Serializer: SynchronousResponseSerializer>(
        by serializer: Serializer
    ) throws(RequestError) -> Serializer.SerializedObject {
        let input = try SerializerInput(request: request, response: response, data: result.get())
        do {
            return try serializer.serialize(input)
        } catch {
            throw RequestError.wrappingSerializer(error).aboutIfMissing(input).during(request, attempts: attempts)
        }
    }
}
