public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

extension Session {
    /// Creates a request that sends data.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The URL.
    ///   - method: The method; `POST` by default.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    ///   - requestModifier: A closure that changes the request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ data: Data, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload({ $0.body = .data(data) }, Converted.url(convertible, method, headers, requestModifier), interceptor)
    }

    /// Creates a request that sends data.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The request. The upload replaces its body.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ data: Data, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest { upload({ $0.body = .data(data) }, convertible, interceptor) }

    /// Creates a request that sends a file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file. The file is read while it is sent.
    ///   - convertible: The URL.
    ///   - method: The method; `POST` by default.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    ///   - requestModifier: A closure that changes the request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ fileURL: URL, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload({ $0.body = .file(fileURL) }, Converted.url(convertible, method, headers, requestModifier), interceptor)
    }

    /// Creates a request that sends a file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file. The file is read while it is sent.
    ///   - convertible: The request. The upload replaces its body.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ fileURL: URL, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest { upload({ $0.body = .file(fileURL) }, convertible, interceptor) }

    /// Creates a request that sends the content of a stream.
    ///
    /// - Parameters:
    ///   - stream: The stream. The caller must not use it after this call. A `Content-Length` field sets the length of
    ///     the stream.
    ///   - convertible: The URL.
    ///   - method: The method; `POST` by default.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    ///   - requestModifier: A closure that changes the request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ stream: sending InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(Self.body(of: stream), Converted.url(convertible, method, headers, requestModifier), interceptor)
    }

    /// Creates a request that sends the content of a stream.
    ///
    /// - Parameters:
    ///   - stream: The stream. The caller must not use it after this call. A `Content-Length` field sets the length of
    ///     the stream.
    ///   - convertible: The request. The upload replaces its body.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        _ stream: sending InputStream, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest { upload(Self.body(of: stream), convertible, interceptor) }

    /// Creates a request that sends a form.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that adds the parts of the form. It is called before this method returns.
    ///   - convertible: The URL.
    ///   - encodingMemoryThreshold: Ignored, because forms are encoded while they are sent.
    ///   - method: The method; `POST` by default.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    ///   - requestModifier: A closure that changes the request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        multipartFormData: @escaping (MultipartFormData) -> Void, to convertible: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            Self.body(of: Self.form(multipartFormData)), Converted.url(convertible, method, headers, requestModifier),
            interceptor)
    }

    /// Creates a request that sends a form.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that adds the parts of the form. It is called before this method returns.
    ///   - convertible: The request. The upload replaces its body.
    ///   - encodingMemoryThreshold: Ignored, because forms are encoded while they are sent.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        multipartFormData: @escaping (MultipartFormData) -> Void, with convertible: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,

        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest { upload(Self.body(of: Self.form(multipartFormData)), convertible, interceptor) }

    /// Creates a request that sends a form.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form. Later changes to it have no effect.
    ///   - convertible: The URL.
    ///   - encodingMemoryThreshold: Ignored, because forms are encoded while they are sent.
    ///   - method: The method; `POST` by default.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    ///   - requestModifier: A closure that changes the request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        multipartFormData: MultipartFormData, to convertible: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            Self.body(of: multipartFormData), Converted.url(convertible, method, headers, requestModifier), interceptor)
    }

    /// Creates a request that sends a form.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form. Later changes to it have no effect.
    ///   - convertible: The request. The upload replaces its body.
    ///   - encodingMemoryThreshold: Ignored, because forms are encoded while they are sent.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - fileManager: Ignored.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    public func upload(
        multipartFormData: MultipartFormData, with convertible: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,

        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest { upload(Self.body(of: multipartFormData), convertible, interceptor) }

    fileprivate typealias Body = @Sendable (inout HTTPRequest) -> Void

    private func upload(
        _ body: @escaping Body, _ convertible: any URLRequestConvertible, _ interceptor: (any RequestInterceptor)?
    ) -> UploadRequest {
        UploadRequest(
            base.request(
                Upload(body: body, convertible: convertible), interceptor: interceptor.map(InterceptorBridge.calling)))
    }

    private static func form(_ append: (MultipartFormData) -> Void) -> MultipartFormData {
        let form = MultipartFormData()
        append(form)
        return form
    }

    private static func body(of form: MultipartFormData) -> Body {
        let (base, type) = (form.base, form.contentType)
        return { request in
            request.body = .multipart(base)
            request.headers.update(.contentType(type))
        }
    }

    private static func body(of stream: sending InputStream) -> Body {
        let given = RequestBody.inputStream(stream)
        return { $0.body = given.with(length: $0.headers["Content-Length"].flatMap { Int64($0) }) }
    }
}

/// A request whose body is replaced by the body of an upload.
private struct Upload: URLRequestConvertible {
    let body: Session.Body
    let convertible: any URLRequestConvertible

    func asURLRequest() throws -> URLRequest { try convertible.asURLRequest() }

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try HTTPRequest(asURLRequest())
        body(&request)
        return request
    }
}
