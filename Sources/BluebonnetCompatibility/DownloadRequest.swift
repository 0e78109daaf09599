public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request that stores the body of the response in a file.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// The options for saving a downloaded file at its destination.
    public typealias Options = Bluebonnet.DownloadRequest.Options
    /// A closure that returns the destination of a downloaded file, and the options for saving the file.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)
    /// A closure that decides whether a response is valid.
    ///
    /// The closure receives the request, the response head and the URL of the file.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    let downloadBase: Bluebonnet.DownloadRequest

    init(_ base: Bluebonnet.DownloadRequest) {
        downloadBase = base
        super.init(base)
    }

    /// The URL of the file; `nil` before the file exists.
    public var fileURL: URL? { downloadBase.fileURL ?? validated.withLock(\.self) }

    /// The file of a response that is being validated.
    private let validated = Locked<URL?>(nil)

    /// The data for resuming the download; `nil` if the download cannot be resumed.
    public var resumeData: Data? { downloadBase.resumeData ?? error?.downloadResumeData }

    /// Returns a destination in one of the user's directories, with the file name that the response suggests.
    ///
    /// - Parameters:
    ///   - directory: The directory; the user's documents by default.
    ///   - domain: The domain of the directory; the user's home directory by default.
    ///   - options: The options for saving the file at its destination; none by default.
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

    /// Cancels the request, and creates no resume data.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult override public func cancel() -> Self { cancel(producingResumeData: false) }

    /// Cancels the request.
    ///
    /// - Parameter shouldProduceResumeData: Whether resume data is created; there is none if the server does not
    ///   support resuming.
    /// - Returns: This request, for chaining.
    @discardableResult public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        downloadBase.cancel(producingResumeData: shouldProduceResumeData)
        return self
    }

    /// Cancels the request, and calls a closure with the resume data.
    ///
    /// - Parameter completionHandler: The closure, which is called once. It receives `nil` if there is no resume data.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cancel(
        byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void
    ) -> Self {
        downloadBase.cancel(byProducingResumeData: completionHandler)
        return self
    }

    /// Adds a closure that decides whether a response is valid.
    ///
    /// - Parameter validation: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func validate(_ validation: @escaping Validation) -> Self {
        downloadBase.validate { [weak self] request, response, fileURL in
            self?.validated.withLock { $0 = fileURL }
            self?.latest.withLock { $0.response = response }
            return validation(self?.lastRequest ?? request.map { URLRequest($0) }, response.urlResponse, fileURL)
        }
        return self
    }

    // MARK: Responses

    /// Calls a closure with the response, whose value is the URL of the file.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self {
        respond(
            queue, downloadBase.serializingFile(using: UnserializedFile(), automaticallyCancelling: false),
            { AFDownloadResponse($0, of: self) }, completionHandler)
    }

    /// Calls a closure with the response, whose value a serializer creates.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - responseSerializer: The serializer. It is also called if the request has failed.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response<Serializer: DownloadResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        respond(queue, SerializerBridge(handingFile: responseSerializer)) {
            completionHandler($0.map(\.value))
        }
    }

    /// Calls a closure with the response, whose value is the URL of the file.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseURL(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL>) -> Void
    ) -> Self {
        respond(queue, SerializerBridge(file: URLResponseSerializer()), completionHandler)
    }

    /// Calls a closure with the response, whose value is the content of the file.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseData(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDownloadResponse<Data>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, whose value is the content of the file as text.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the encoding is detected.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseString(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDownloadResponse<String>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, whose value is the content of the file as parsed JSON.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - options: The options of the parser; by default, the top level can be any JSON value.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseJSON(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Any>) -> Void
    ) -> Self {
        let serializer = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return respond(queue, serializer) { completionHandler($0.map { $0 }) }
    }

    /// Calls a closure with the response, whose value is the decoded content of the file.
    ///
    /// - Parameters:
    ///   - type: The type of the value; usually, the compiler infers it.
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDownloadResponse<Value>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    private func respond<Object>(
        _ queue: DispatchQueue, _ bridge: SerializerBridge<Object>,
        _ handler: @escaping @Sendable (AFDownloadResponse<Object>) -> Void
    ) -> Self {
        respond(
            queue, downloadBase.serializingFile(using: bridge, automaticallyCancelling: false),
            { AFDownloadResponse($0, of: self, result: bridge.result($0, of: self)) }, handler)
    }

    private func respond<Serializer: Bluebonnet.ResponseSerializer>(
        _ queue: DispatchQueue, _ serializer: Serializer,
        _ handler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        respond(
            queue, downloadBase.serializingResponse(using: serializer, automaticallyCancelling: false),
            { AFDownloadResponse($0, of: self) }, handler)
    }
}
