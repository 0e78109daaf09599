public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// A `ResponseSerializer` with Foundation's request and response types.
///
/// Bluebonnet calls the serializer for accepted responses only, and always passes `nil` as the `error`. A failed
/// request keeps its own error. The `error` parameter exists for serializers that call other serializers.
public protocol FoundationResponseSerializer<SerializedObject>: SynchronousResponseSerializer {
    /// The type of the value.
    // Declared again, so that the compiler infers the type from the methods of this protocol.
    associatedtype SerializedObject

    /// Returns the value of a body in memory.
    ///
    /// - Parameters:
    ///   - request: The request of the exchange, if a request was created.
    ///   - response: The response head, if a response was received.
    ///   - data: The body; `nil` if it is empty.
    ///   - error: The error of the exchange, if it failed.
    /// - Returns: The value for the response.
    /// - Throws: The reason why there is no value. The attempt fails with this error.
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject

    /// Returns the value of a body in a file.
    ///
    /// The default implementation reads the file and calls the method for bodies in memory.
    ///
    /// - Parameters:
    ///   - request: The request of the exchange, if a request was created.
    ///   - response: The response head, if a response was received.
    ///   - fileURL: The URL of the downloaded file.
    ///   - error: The error of the exchange, if it failed.
    /// - Returns: The value for the response.
    /// - Throws: The reason why there is no value. The attempt fails with this error.
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

extension FoundationResponseSerializer {
    /// Reads the file and calls the method for bodies in memory; throws `error` if `error` is not `nil`.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        let data = try fileURL.map { try Data(contentsOf: $0) }
        return try serialize(request: request, response: response, data: data, error: nil)
    }

    /// Converts the input to Foundation's types, and calls the method for a body in memory or in a file.
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
    /// Converts Foundation's types and returns the serializer's value; throws `error` if `error` is not `nil`.
    fileprivate func value(
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
    /// Returns the body of a response with Foundation's types; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data { try value(request, response, data, error) }
}

extension StringResponseSerializer {
    /// Returns the text of a response with Foundation's types; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { try value(request, response, data, error) }
}

extension JSONObjectSerializer {
    /// Returns the objects of a response with Foundation's types; see `FoundationResponseSerializer`.
    package func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> any Sendable { try value(request, response, data, error) }
}

extension DecodableResponseSerializer {
    /// Returns the value of a response with Foundation's types; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject { try value(request, response, data, error) }
}
