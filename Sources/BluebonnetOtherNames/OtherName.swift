/// What an unavailable declaration returns.
///
/// Anything can be called on it, so that the compiler gets as far as the message.
@dynamicMemberLookup @dynamicCallable
public struct _OtherName: AsyncSequence, AsyncIteratorProtocol, Sendable {
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }

    /// Not available.
    @_disfavoredOverload
    public subscript(dynamicMember name: String) -> Any {
        get { unavailable() }
        nonmutating set { unavailable() }
    }

    /// Not available.
    public func dynamicallyCall(withKeywordArguments arguments: KeyValuePairs<String, Any>) -> _OtherName {
        unavailable()
    }

    /// Not available.
    public func makeAsyncIterator() -> _OtherName { unavailable() }

    /// Not available.
    public func next() async throws -> _OtherName? { unavailable() }
}

/// The body of a declaration that the compiler does not permit to use.
package func unavailable() -> Never { while true {} }
