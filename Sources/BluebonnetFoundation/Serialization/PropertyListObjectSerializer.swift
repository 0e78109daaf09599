public import Bluebonnet
public import Foundation

/// Makes Foundation's objects of a property list: dictionaries, arrays, strings, numbers, dates and data, to be cast.
public struct PropertyListObjectSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor
    /// How the list is read.
    public let options: PropertyListSerialization.ReadOptions

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - options: How the list is read.
    public init(
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
    public func serialize(_ input: SerializerInput) throws -> any Sendable {
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
