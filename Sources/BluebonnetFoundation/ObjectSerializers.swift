package import Bluebonnet
package import Foundation

/// Parses JSON to Foundation objects: dictionaries, arrays, strings, numbers and `NSNull`.
///
/// The objects are `any Sendable`, so they can be passed between queues. Cast them as in Foundation, for example with
/// `value as? [String: Any]`. If an empty body is allowed, the object for an empty body is `NSNull`. In new code,
/// decode your own type or a `JSONValue` instead.
package struct JSONObjectSerializer: SynchronousResponseSerializer {
    /// The preprocessor that changes the body before it is parsed.
    package let dataPreprocessor: any DataPreprocessor
    /// The status codes that allow an empty body.
    package let emptyResponseCodes: Set<Int>
    /// The request methods that allow an empty body.
    package let emptyRequestMethods: Set<HTTPMethod>
    /// The options of the JSON parser.
    package let options: JSONSerialization.ReadingOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor that changes the body before it is parsed; none by default.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    ///   - options: The options of the JSON parser. By default, the top level can be any value, not only an object or
    ///     an array.
    package init(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = JSONObjectSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONObjectSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options
    }

    /// Returns the objects in the body.
    ///
    /// - Parameter input: The request, the response head and the body.
    /// - Returns: The top-level object.
    /// - Throws: `.serialization(.jsonSerializationFailed)` if the body is not JSON.
    ///   `.serialization(.inputDataNilOrZeroLength)` if the body is empty, but an empty body is not allowed. The error
    ///   of the preprocessor if the preprocessor fails.
    package func serialize(_ input: SerializerInput) throws -> any Sendable {
        guard let data = try preprocessedData(of: input) else { return NSNull() }
        do {
            return FoundationObject.sendable(try JSONSerialization.jsonObject(with: data, options: options))
        } catch {
            throw RequestError(.serialization(.jsonSerializationFailed), underlying: error)
        }
    }
}

/// Parses a property list to Foundation objects: dictionaries, arrays, strings, numbers, dates and data.
package struct PropertyListObjectSerializer: SynchronousResponseSerializer {
    /// The preprocessor that changes the body before it is parsed.
    package let dataPreprocessor: any DataPreprocessor
    /// The options of the property list parser.
    package let options: PropertyListSerialization.ReadOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor that changes the body before it is parsed; none by default.
    ///   - options: The options of the property list parser; none by default.
    package init(
        dataPreprocessor: any DataPreprocessor = .passthrough, options: PropertyListSerialization.ReadOptions = []
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.options = options
    }

    /// Returns the objects in the body.
    ///
    /// - Parameter input: The request, the response head and the body.
    /// - Returns: The top-level object; `NSNull` for an empty body, if an empty body is allowed.
    /// - Throws: `.serialization(.decodingFailed)` if the body is not a property list.
    ///   `.serialization(.inputDataNilOrZeroLength)` if the body is empty, but an empty body is not allowed. The error
    ///   of the preprocessor if the preprocessor fails.
    package func serialize(_ input: SerializerInput) throws -> any Sendable {
        guard let data = try preprocessedData(of: input) else { return NSNull() }
        do {
            // Safety: the output pointer for the format is nil.
            return FoundationObject.sendable(
                try unsafe PropertyListSerialization.propertyList(from: data, options: options, format: nil))
        } catch {
            throw RequestError(.serialization(.decodingFailed), underlying: error)
        }
    }
}

/// Converts Foundation's JSON and property list objects to sendable values.
private enum FoundationObject {
    static func sendable(_ object: Any) -> any Sendable {
        switch object {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let text as String: text
        case let date as Date: date
        case let data as Data: data
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}
