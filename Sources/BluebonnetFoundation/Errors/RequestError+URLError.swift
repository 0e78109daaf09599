public import Bluebonnet
public import Foundation

extension RequestError {
    /// The error as `URLSession` would have reported it, where it knows such an error.
    ///
    /// An underlying `URLError` is that itself; otherwise one is made whose user info has this error under
    /// `NSUnderlyingErrorKey` and the URL, without its secrets, under `NSURLErrorFailingURLErrorKey`. It is `nil` for
    /// failures that `URLSession` does not have: of encoding, of adapting, of validating, and of the user's own code.
    public var urlError: URLError? {
        if let error = underlying as? URLError { return error }
        guard let code = URLError.Code(kind) else { return nil }
        var userInfo: [String: Any] = [NSUnderlyingErrorKey: self, NSLocalizedDescriptionKey: description]
        if let url = url.flatMap({ URL(string: $0) }) { userInfo[NSURLErrorFailingURLErrorKey] = url }
        return URLError(code, userInfo: userInfo)
    }

    /// Creates an error from one of `URLSession`, which becomes the underlying one.
    ///
    /// - Parameter urlError: The error; a code that says nothing of HTTP becomes `.connection(.failed)`.
    public init(_ urlError: URLError) {
        self.init(Kind(urlError.code), underlying: urlError)
    }
}
