public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// A `ResponseSerializer` in Foundation's terms.
///
/// Asked about responses that were accepted: one that fails keeps its error, so that `error` is `nil` when Bluebonnet
/// calls, and is there for serializers that call others.
public protocol FoundationResponseSerializer<SerializedObject>: SynchronousResponseSerializer {
    /// The type of the value.
    // Once more, so that it is inferred of the methods of this protocol.
    associatedtype SerializedObject

    /// Makes the value of a body in memory.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - data: The body; `nil` when there was none.
    ///   - error: Why there is nothing to serialize.
    /// - Returns: The value.
    /// - Throws: Any error; it ends the attempt.
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject

    /// Makes the value of a body in a file; reads it and asks the other method by default.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - fileURL: Where the file is.
    ///   - error: Why there is nothing to serialize.
    /// - Returns: The value.
    /// - Throws: Any error; it ends the attempt.
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

extension FoundationResponseSerializer {
    /// Asks the method for bodies in memory.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        let data = try fileURL.map { try Data(contentsOf: $0) }
        return try serialize(request: request, response: response, data: data, error: nil)
    }

    /// Asks the methods in Foundation's terms.
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
    /// Makes the value, in Foundation's terms.
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
    /// Returns the body, in Foundation's terms; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data { try value(request, response, data, error) }
}

extension StringResponseSerializer {
    /// Returns the text, in Foundation's terms; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { try value(request, response, data, error) }
}

extension JSONObjectSerializer {
    /// Returns the objects, in Foundation's terms; see `FoundationResponseSerializer`.
    package func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> any Sendable { try value(request, response, data, error) }
}

extension DecodableResponseSerializer {
    /// Returns the value, in Foundation's terms; see `FoundationResponseSerializer`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject { try value(request, response, data, error) }
}
