public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// A `ResponseSerializer` that receives a `URLRequest` and an `HTTPURLResponse`.
///
/// Bluebonnet calls the serializer only for a response that the validators have accepted. It therefore always passes
/// `nil` as the `error`. If the request fails, the serializer is not called, and the error of the request does not
/// change. The `error` parameter exists for serializers that pass an error to another serializer.
public protocol FoundationResponseSerializer<SerializedObject>: SynchronousResponseSerializer {
    /// The type of the value.
    // Declared again, so that the compiler infers the type from the methods of this protocol.
    associatedtype SerializedObject

    /// Returns the value that is created from a body in memory.
    ///
    /// - Parameters:
    ///   - request: The last request that was sent; `nil` if no request was sent.
    ///   - response: The response head; `nil` if no response was received.
    ///   - data: The body; `nil` if it is empty.
    ///   - error: The error of the request. Bluebonnet always passes `nil`.
    /// - Returns: The value for the response.
    /// - Throws: The reason why there is no value. The request fails with this error unless a retrier retries the
    ///   request.
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject

    /// Returns the value that is created from a body in a file.
    ///
    /// The default implementation reads the file, and calls ``serialize(request:response:data:error:)``.
    ///
    /// - Parameters:
    ///   - request: The last request that was sent; `nil` if no request was sent.
    ///   - response: The response head; `nil` if no response was received.
    ///   - fileURL: The URL of the downloaded file.
    ///   - error: The error of the request. Bluebonnet always passes `nil`.
    /// - Returns: The value for the response.
    /// - Throws: The reason why there is no value. The request fails with this error unless a retrier retries the
    ///   request.
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

extension FoundationResponseSerializer {
    /// Reads the file, and calls ``serialize(request:response:data:error:)`` with its bytes.
    ///
    /// If `error` is not `nil`, this method throws the error instead.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        let data = try fileURL.map { try Data(contentsOf: $0) }
        return try serialize(request: request, response: response, data: data, error: nil)
    }

    /// Converts the request and the response to Foundation's types, and calls one of two methods.
    ///
    /// For a body in a file, this method calls ``serializeDownload(request:response:fileURL:error:)``. For a body in
    /// memory, it calls ``serialize(request:response:data:error:)``.
    public func serialize(_ input: SerializerInput) throws -> SerializedObject {
        let request = input.request.map { URLRequest($0) }
        let response = input.response?.urlResponse
        if let fileURL = input.fileURL {
            return try serializeDownload(request: request, response: response, fileURL: fileURL, error: nil)
        }
        return try serialize(
            request: request, response: response, data: input.data.isEmpty ? nil : input.data, error: nil)
    }
}

extension SynchronousResponseSerializer {
    /// Converts Foundation's types and returns the serializer's value; throws `error` instead if `error` is not `nil`.
    package func value(
        _ request: URLRequest?, _ response: HTTPURLResponse?, _ data: Data?, _ error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        return try serialize(
            SerializerInput(
                request: request.map { try HTTPRequest($0) }, response: response.flatMap { HTTPResponse($0) },
                data: data ?? Data()))
    }
}

extension DataResponseSerializer {
    /// Returns the body, for a request and a response of Foundation's types; see `FoundationResponseSerializer`.
    ///
    /// If `error` is not `nil`, this method throws the error instead.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data { try value(request, response, data, error) }
}

extension StringResponseSerializer {
    /// Returns the body as text, for a request and a response of Foundation's types; see
    /// `FoundationResponseSerializer`.
    ///
    /// If `error` is not `nil`, this method throws the error instead.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { try value(request, response, data, error) }
}

extension DecodableResponseSerializer {
    /// Returns the decoded value, for a request and a response of Foundation's types; see
    /// `FoundationResponseSerializer`.
    ///
    /// If `error` is not `nil`, this method throws the error instead.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject { try value(request, response, data, error) }
}
