import BluebonnetCallbacks
public import Foundation

/// A form with parts, which is encoded as `multipart/form-data` (RFC 7578).
open class MultipartFormData {
    /// The size above which Alamofire encodes forms into files.
    ///
    /// This value has no effect, because forms are encoded while they are sent.
    public static let encodingMemoryThreshold: UInt64 = 10_000_000

    /// The text that separates the parts.
    public var boundary: String { base.boundary }
    /// The `Content-Type` of the form.
    open var contentType: String { base.contentType }
    /// The size of the contents of all parts in bytes, without the boundaries and the fields of the parts.
    public private(set) var contentLength: UInt64 = 0

    private(set) var base: Bluebonnet.MultipartFormData

    /// Creates a form without parts.
    ///
    /// - Parameters:
    ///   - fileManager: Ignored.
    ///   - boundary: The text that separates the parts; random by default.
    public init(fileManager: FileManager = .default, boundary: String? = nil) {
        base = boundary.map { Bluebonnet.MultipartFormData(boundary: $0) } ?? Bluebonnet.MultipartFormData()
    }

    /// Appends data.
    ///
    /// - Parameters:
    ///   - data: The content of the part.
    ///   - name: The name of the part.
    ///   - fileName: The file name of the part; none by default.
    ///   - mimeType: The media type of the part; none by default.
    public func append(_ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil) {
        base.append(data, withName: name, fileName: fileName, mimeType: mimeType)
        count(UInt64(data.count))
    }

    /// Appends a file; the file name and the media type come from the URL.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file. The file is read while the form is sent.
    ///   - name: The name of the part.
    public func append(_ fileURL: URL, withName name: String) {
        base.append(fileURL, withName: name)
        count(Self.size(of: fileURL))
    }

    /// Appends a file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file. The file is read while the form is sent.
    ///   - name: The name of the part.
    ///   - fileName: The file name of the part.
    ///   - mimeType: The media type of the part.
    public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
        base.append(fileURL, withName: name, fileName: fileName, mimeType: mimeType)
        count(Self.size(of: fileURL))
    }

    /// Appends the content of a stream.
    ///
    /// - Parameters:
    ///   - stream: The stream. The caller must not use it after this call.
    ///   - length: The number of bytes in the stream.
    ///   - name: The name of the part.
    ///   - fileName: The file name of the part.
    ///   - mimeType: The media type of the part.
    public func append(
        _ stream: sending InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
    ) {
        base.append(stream, withLength: length, name: name, fileName: fileName, mimeType: mimeType)
        count(length)
    }

    private func count(_ bytes: UInt64) {
        let (sum, overflows) = contentLength.addingReportingOverflow(bytes)
        contentLength = overflows ? .max : sum
    }

    private static func size(of file: URL) -> UInt64 {
        let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber
        return size?.uint64Value ?? 0
    }

    /// Not available; pass the name, the file name and the type.
    @available(*, unavailable, message: "pass name:, fileName: and mimeType: in place of headers:")
    public func append(_ stream: InputStream, withLength length: UInt64, headers: HTTPHeaders) {}

    /// Encodes the form in memory.
    ///
    /// The calling thread waits until the files and streams of the form have been read.
    ///
    /// - Returns: The bytes of the form.
    /// - Throws: `AFError.multipartEncodingFailed` if the form cannot be encoded.
    public func encode() throws -> Data { try Self.waiting { [base] in try await base.encode() } }

    /// Encodes the form into a new file.
    ///
    /// The calling thread waits until the files and streams of the form have been read.
    ///
    /// - Parameter fileURL: The URL of the new file. No file may exist at this URL.
    /// - Throws: `AFError.multipartEncodingFailed` if the form cannot be encoded.
    public func writeEncodedData(to fileURL: URL) throws {
        try Self.waiting { [base] in try await base.write(to: fileURL) }
    }

    /// The thread on which forms are encoded.
    ///
    /// The thread makes progress even if waiting callers block all threads of the global executor.
    private static let encoder = EventLoop(name: "bluebonnet-form")

    private static func waiting<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Locked<Result<Value, any Error>?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        Task(executorPreference: encoder) {
            let value: Result<Value, any Error>
            do { value = .success(try await work()) } catch { value = .failure(error.asAFError ?? error) }
            _ = result.withLock { exchange(&$0, with: value) }
            isDone.signal()
        }
        isDone.wait()
        guard let value = result.withLock({ $0 }) else { throw AFError.explicitlyCancelled }
        return try value.get()
    }
}
