public import Bluebonnet
public import Foundation

/// Makes Foundation's objects of JSON: dictionaries, arrays, strings, numbers and `NSNull`, to be cast.
///
/// They are `any Sendable`, and so can be handed from one queue to another: `value as? [String: Any]` works as it always
/// has, and numbers cast to whatever holds them. An empty body, where one is right, is `NSNull`. Decoding into a type of
/// your own, or a `JSONValue`, is better.
public struct JSONObjectSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor
    /// The status codes with which an empty body is right.
    public let emptyResponseCodes: Set<Int>
    /// The methods with which an empty body is right.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// How the text is read.
    public let options: JSONSerialization.ReadingOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    ///   - options: How the text is read; any value may be at the top by default.
    public init(
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
    public func serialize(_ input: SerializerInput) throws -> any Sendable {
        guard let data = try preprocessedData(of: input) else { return NSNull() }
        do {
            return FoundationObject.sendable(try JSONSerialization.jsonObject(with: data, options: options))
        } catch {
            throw RequestError(.serialization(.jsonSerializationFailed), underlying: error)
        }
    }
}
