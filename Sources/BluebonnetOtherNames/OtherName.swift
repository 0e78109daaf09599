/// What an unavailable declaration returns.
///
/// Anything can be called on it, so that the compiler gets as far as the message.
@dynamicMemberLookup @dynamicCallable
public struct _OtherName: AsyncSequence, AsyncIteratorProtocol, Sequence, ExpressibleByArrayLiteral, Sendable {
    /// Not available.
    public init(arrayLiteral elements: _OtherName...) { unavailable() }

    /// Not available; otherwise, both kinds of sequences would have one.
    public func prefix(_ count: Int) -> _OtherName { unavailable() }

    /// Not available; otherwise, both kinds of sequences would have one.
    public func dropFirst(_ count: Int = 1) -> _OtherName { unavailable() }

    /// Not available.
    public func makeIterator() -> IndexingIterator<[_OtherName]> { unavailable() }

    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }

    /// Not available; the value becomes what the place needs.
    @_disfavoredOverload
    public subscript<Value>(dynamicMember name: String) -> Value {
        get { unavailable() }
        nonmutating set { unavailable() }
    }

    /// Not available.
    public subscript(name: String) -> String? { unavailable() }

    /// Not available.
    public func dynamicallyCall(withKeywordArguments arguments: KeyValuePairs<String, Any>) -> _OtherName {
        unavailable()
    }

    /// Not available.
    public func makeAsyncIterator() -> _OtherName { unavailable() }

    /// Not available.
    public func next() async throws -> _OtherName? { unavailable() }
}

/// The status code as a value of other libraries, which is compared with numbers and names.
public struct _OtherStatus: Comparable, ExpressibleByIntegerLiteral, Sendable {
    /// Not available.
    public init(integerLiteral value: Int) { unavailable() }
    /// Not available.
    public static func < (left: _OtherStatus, right: _OtherStatus) -> Bool { unavailable() }
    /// Not available.
    public var code: Int { unavailable() }
    /// Not available.
    public var isSuccess: Bool { unavailable() }
    /// Not available.
    public static var ok: _OtherStatus { unavailable() }
    /// Not available.
    public static var created: _OtherStatus { unavailable() }
    /// Not available.
    public static var found: _OtherStatus { unavailable() }
    /// Not available.
    public static var unauthorized: _OtherStatus { unavailable() }
    /// Not available.
    public static var notFound: _OtherStatus { unavailable() }
}

/// The body of a message of other libraries.
public struct _OtherBody {
    /// Not available.
    public static func bytes(_ bytes: some Sequence<UInt8>) -> _OtherBody { unavailable() }
    /// Not available.
    public static func text(_ text: String) -> _OtherBody { unavailable() }
    /// Not available.
    public static func string(_ text: String) -> _OtherBody { unavailable() }
    /// Not available.
    public static func data(_ bytes: Any) -> _OtherBody { unavailable() }
    /// Not available.
    public static func json(_ value: Any) -> _OtherBody { unavailable() }
}

/// The body of a declaration that the compiler does not permit to use.
package func unavailable() -> Never { while true {} }
