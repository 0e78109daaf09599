public import Bluebonnet
public import Foundation

extension RequestBody {
    /// Returns a body that is read from a stream while it is sent, as fast as the network takes it.
    ///
    /// Streams block, so a thread is made that reads this one in pieces of 64 KiB, each when it is needed, and ends with
    /// it. A stream that has not been opened is opened, and in the end closed. It can be read once: a retry, or a
    /// redirect that keeps the body, ends with `.requestBody(.notReplayable)`. A stream that fails ends the request with
    /// `.requestBody(.sequenceFailed)` around its error. When the request is cancelled, it answers at once, while the
    /// thread waits for as long as its stream does.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, nobody else may use it.
    ///   - length: How many bytes it has; if that is not known, HTTP/1.1 frames the body as chunks (RFC 9112 §7.1). Any
    ///     other number of bytes ends the request with `.requestBody(.lengthMismatch)`.
    /// - Returns: The body.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> RequestBody {
        .stream(InputStreamPieces(stream: OwnedInputStream(stream)), length: length)
    }
}

extension Session {
    /// Makes a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` says.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, nobody else may use it.
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; POST by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before it is adapted.
    /// - Returns: The request.
    public nonisolated func upload(
        _ stream: sending InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let length = headers?["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        return upload(
            .inputStream(stream, length: length), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Makes a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` says.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, nobody else may use it.
    ///   - convertible: The rest of the request; its own body is not sent.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    /// - Returns: The request.
    public nonisolated func upload(
        _ stream: sending InputStream, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.inputStream(stream), with: convertible, interceptor: interceptor)
    }
}

extension MultipartFormData {
    /// Appends a file whose bytes are read from a stream, as `RequestBody.inputStream(_:length:)` reads one.
    ///
    /// The form can then be opened once, whichever copy of it.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, nobody else may use it.
    ///   - length: How many bytes it has; another number of bytes is an error.
    ///   - name: The field's name.
    ///   - fileName: The file's name.
    ///   - mimeType: The media type.
    public mutating func append(
        _ stream: sending InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
    ) {
        append(
            InputStreamPieces(stream: OwnedInputStream(stream)), length: Int64(clamping: length), withName: name,
            fileName: fileName, mimeType: mimeType)
    }
}
