package import Bluebonnet
package import Foundation

/// Makes Foundation's objects of JSON: dictionaries, arrays, strings, numbers and `NSNull`, to be cast.
///
/// They are `any Sendable`, and so can be handed from one queue to another: `value as? [String: Any]` works as it always
/// has, and numbers cast to whatever holds them. An empty body, where one is right, is `NSNull`. Decoding into a type of
/// your own, or a `JSONValue`, is better.
package struct JSONObjectSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    package let dataPreprocessor: any DataPreprocessor
    /// The status codes with which an empty body is right.
    package let emptyResponseCodes: Set<Int>
    /// The methods with which an empty body is right.
    package let emptyRequestMethods: Set<HTTPMethod>
    /// How the text is read.
    package let options: JSONSerialization.ReadingOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    ///   - options: How the text is read; any value may be at the top by default.
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
    /// - Parameter input: The exchange.
    /// - Returns: The topmost object.
    /// - Throws: `.serialization(.jsonSerializationFailed)`; what the preprocessor throws.
    package func serialize(_ input: SerializerInput) throws -> any Sendable {
        guard let data = try preprocessedData(of: input) else { return NSNull() }
        do {
            return FoundationObject.sendable(try JSONSerialization.jsonObject(with: data, options: options))
        } catch {
            throw RequestError(.serialization(.jsonSerializationFailed), underlying: error)
        }
    }
}

/// Makes Foundation's objects of a property list: dictionaries, arrays, strings, numbers, dates and data, to be cast.
package struct PropertyListObjectSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    package let dataPreprocessor: any DataPreprocessor
    /// How the list is read.
    package let options: PropertyListSerialization.ReadOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - options: How the list is read.
    package init(
        dataPreprocessor: any DataPreprocessor = .passthrough, options: PropertyListSerialization.ReadOptions = []
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.options = options
    }

    /// Returns the objects in the body.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The topmost object; `NSNull` for an empty body, where one is right.
    /// - Throws: `.serialization(.decodingFailed)`; what the preprocessor throws.
    package func serialize(_ input: SerializerInput) throws -> any Sendable {
        guard let data = try preprocessedData(of: input) else { return NSNull() }
        do {
            // Safety: the pointer to where the format would be noted is nil.
            return FoundationObject.sendable(
                try unsafe PropertyListSerialization.propertyList(from: data, options: options, format: nil))
        } catch {
            throw RequestError(.serialization(.decodingFailed), underlying: error)
        }
    }
}

/// Takes apart what Foundation makes of JSON and property lists, into values that may be shared.
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
