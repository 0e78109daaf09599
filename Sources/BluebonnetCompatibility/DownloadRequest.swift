public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request whose response's body is stored in a file.
public final class DownloadRequest: SerializedRequest<Bluebonnet.DownloadRequest>, @unchecked Sendable {
    /// How a file is put into its place.
    public typealias Options = Bluebonnet.DownloadRequest.Options
    /// A closure that decides where the file of a download is put.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)
    /// A closure that decides whether a response is valid.
    ///
    /// It gets the request, the head and the file.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// The file; `nil` before it exists.
    public var fileURL: URL? { kind.fileURL ?? validated.withLock(\.self) }

    /// The file of a response that is being validated.
    private let validated = Locked<URL?>(nil)

    /// The data with which a new download can continue this one; `nil` if it can't.
    public var resumeData: Data? { kind.resumeData ?? error?.downloadResumeData }

    /// Returns a destination in one of the user's directories, with the file name that the response suggests.
    ///
    /// - Parameters:
    ///   - directory: The directory; the user's documents by default.
    ///   - domain: The domain of the directory; the user's home directory by default.
    ///   - options: How the file is put into its place.
    /// - Returns: The destination.
    public class func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            let folder = FileManager.default.urls(for: directory, in: domain).first
            let name = HTTPResponse(response)?.suggestedFilename ?? temporaryURL.lastPathComponent
            return (folder?.appendingPathComponent(name) ?? temporaryURL, options)
        }
    }

    /// Cancels the request, without resume data.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult override public func cancel() -> Self { cancel(producingResumeData: false) }

    /// Cancels the request.
    ///
    /// - Parameter shouldProduceResumeData: Whether the response has resume data, if the server supports it.
    /// - Returns: This request, for chaining.
    @discardableResult public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        kind.cancel(producingResumeData: shouldProduceResumeData)
        return self
    }

    /// Cancels the request, and calls a closure with the resume data.
    ///
    /// - Parameter completionHandler: The closure, which is called once, with `nil` if there is no resume data.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cancel(
        byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void
    ) -> Self {
        kind.cancel(byProducingResumeData: completionHandler)
        return self
    }

    /// Adds a closure that decides whether a response is valid.
    ///
    /// - Parameter validation: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func validate(_ validation: @escaping Validation) -> Self {
        kind.validate { [weak self] request, response, fileURL in
            self?.validated.withLock { $0 = fileURL }
            return validation(self?.lastRequest ?? request.map { URLRequest($0) }, response.urlResponse, fileURL)
        }
        return self
    }

    // MARK: Responses

    /// Calls a closure with the response, with the file.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self { response(queue: queue, responseSerializer: FileSerializer(), completionHandler: completionHandler) }

    /// Calls a closure with the response, with a value that a serializer has made.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - responseSerializer: The serializer. It is also called if the request has failed.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response<Serializer: DownloadResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        let bridge = SerializerBridge(file: responseSerializer)
        return respond(
            queue, kind.serializingFile(using: bridge, automaticallyCancelling: false),
            { bridge.response($0, of: self) }, completionHandler)
    }

    /// Calls a closure with the response, with the file.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseURL(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL>) -> Void
    ) -> Self {
        response(queue: queue, responseSerializer: URLResponseSerializer(), completionHandler: completionHandler)
    }

    /// Awaits the response, with a value that a serializer has made.
    ///
    /// - Parameters:
    ///   - serializer: The serializer. It is also called if the request has failed.
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        let bridge = SerializerBridge(file: serializer)
        let task = kind.serializingFile(using: bridge, automaticallyCancelling: automaticallyCancelling)
        return DownloadTask(request: resumedIfSuspended()) { bridge.response(await task.response, of: self) }
    }

    /// Awaits the response, with its file; the same as `serializingDownloadedFileURL`.
    ///
    /// - Parameter automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        serializingDownloadedFileURL(automaticallyCancelling: automaticallyCancelling)
    }

    /// Awaits the response, with its file.
    ///
    /// - Parameter automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingDownloadedFileURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: automaticallyCancelling)
    }
}

/// A serializer that returns the file, if there is one.
private struct FileSerializer: DownloadResponseSerializerProtocol {
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> URL? {
        if let error { throw error }
        return fileURL
    }
}
