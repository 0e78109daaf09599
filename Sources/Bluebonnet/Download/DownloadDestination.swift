import BluebonnetLibc
public import FoundationEssentials

extension DownloadRequest {
    /// The destination of a downloaded file.
    ///
    /// A download first writes the body to a hidden partial file. When the body is complete and passes the validation,
    /// the download moves the partial file to the destination. The destination therefore contains no incomplete file,
    /// except after a power failure. The location of the partial file depends on the destination:
    ///
    /// - ``file(_:options:)``: `.name.part` in the directory of the destination, where `name` is the name of the file.
    ///   If another download already uses this partial file, the new partial file has a unique name.
    /// - ``directory(_:options:)``: a file with a unique name in this directory.
    /// - Other destinations: a file with a unique name in the temporary directory.
    ///
    /// If the download can be resumed, the data for resuming is stored in a second file, such as `.name.part.resume`.
    /// With ``file(_:options:)`` and ``DownloadRequest/Options/automaticallyResume``, a later process finds this file
    /// and resumes the download. Bluebonnet does not flush written bytes to the disk (`fsync`), except in parallel
    /// downloads. A file can therefore be incomplete after a power failure.
    ///
    /// The permissions of the file depend on the umask of the process. There are two exceptions: only the owner can
    /// read a partial file in the temporary directory, or a file that is downloaded to ``temporary``.
    public struct Destination: Sendable {
        enum Place: Sendable {
            case file(URL)
            case directory(URL)
            case temporary
            case custom(@Sendable (URL, HTTPResponse) -> (destinationURL: URL, options: Options))
        }

        let place: Place
        let options: Options

        /// Returns a destination at the URL of a file.
        ///
        /// - Parameters:
        ///   - url: The URL of the file.
        ///   - options: The options for directories, an existing file and interruptions; none by default.
        /// - Returns: The destination at this URL.
        public static func file(_ url: URL, options: Options = []) -> Destination {
            Destination(place: .file(url), options: options)
        }

        /// Returns a destination in a directory, with the file name that the response suggests.
        ///
        /// The name comes from ``HTTPResponse/suggestedFilename``. Unsafe characters are removed, and a long name is
        /// shortened. The file is always directly in the directory and is not hidden. If the name is already in use, a
        /// number is added, as in `report 2.pdf`. With ``DownloadRequest/Options/removePreviousFile``, the existing
        /// file is replaced instead.
        ///
        /// - Parameters:
        ///   - url: The URL of the directory.
        ///   - options: The options for directories, an existing file and interruptions; none by default.
        /// - Returns: The destination in this directory.
        public static func directory(_ url: URL, options: Options = []) -> Destination {
            Destination(place: .directory(url), options: options)
        }

        /// A new file in the temporary directory.
        ///
        /// Only the owner can read the file. Delete the file yourself when you no longer need it.
        public static var temporary: Destination { temporary(options: []) }

        /// Returns a destination for a new file in the temporary directory.
        ///
        /// - Parameter options: The options for resuming an interrupted download, such as `automaticallyResume`. Other
        ///   options are ignored.
        /// - Returns: The destination in the temporary directory.
        public static func temporary(options: Options) -> Destination {
            Destination(place: .temporary, options: options)
        }

        /// Returns a destination that a closure chooses when the body is complete.
        ///
        /// The partial file is in the temporary directory. If the destination is on a different file system, the
        /// download copies the partial file to a hidden file next to the destination. It then moves the hidden file to
        /// the destination.
        ///
        /// - Parameters:
        ///   - options: The options for interruptions; none by default. The options for directories and
        ///     for an existing file come from `chooser` instead.
        ///   - chooser: A closure that receives the URL of the partial file and the head of the response. The closure
        ///     returns the URL of the destination, and the options for directories and an existing file. The closure
        ///     must not change or move the partial file. The closure runs on the preferred executor of the task that
        ///     awaits the download. Without a preference, the closure runs on the global executor.
        /// - Returns: The destination that the closure chooses.
        public static func custom(
            options: Options = [],
            _ chooser:
                @escaping @Sendable (_ temporaryURL: URL, _ response: HTTPResponse) -> (
                    destinationURL: URL, options: Options
                )
        ) -> Destination {
            Destination(place: .custom(chooser), options: options)
        }
    }
}

extension DownloadRequest {
    /// Options for the file system and for interruptions of a download.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The bits of the options.
        public let rawValue: Int

        /// Creates options from their bits.
        ///
        /// - Parameter rawValue: The bits of the options.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Creates missing directories on the path of the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)

        /// Replaces an existing file at the destination when the new file is complete.
        ///
        /// A directory, or a symbolic link to a directory, is never replaced. If the destination is a symbolic link to
        /// a file, the link is replaced instead of the file. A device, such as `/dev/null`, a pipe or a socket is never
        /// replaced either: the download fails with `.download(.cannotCreateFile)`. Without this option, a download to
        /// ``DownloadRequest/Destination/file(_:options:)`` fails if the file exists. The download then fails before it
        /// sends a request.
        public static let removePreviousFile = Options(rawValue: 1 << 1)

        /// Resumes an interrupted download automatically.
        ///
        /// If part of the body has arrived before an interruption, another attempt requests the rest. If no part of the
        /// body has arrived, the download does not resume, and fails like any other request. These failures are
        /// interruptions:
        ///
        /// - The host name cannot be resolved.
        /// - The connection is refused or lost.
        /// - The HTTP/2 or HTTP/3 connection or stream fails.
        /// - The connect timeout or the idle timeout expires.
        /// - The body ends too early.
        ///
        /// The download stops resuming after five attempts in a row that each receive less than 1 KiB.
        ///
        /// The delay before another attempt is 0.5 seconds. If several attempts in a row receive less than 1 KiB, the
        /// delay doubles after each of them. A random time is added to each delay. This time is at most half of the
        /// delay.
        ///
        /// A download to ``DownloadRequest/Destination/file(_:options:)`` also continues the partial file of an earlier
        /// download of the same URL. The earlier download can be from this process or another process.
        ///
        /// Resuming requires a GET request without a `Range` field. It also requires a response with the status 200,
        /// without a content coding, and with a strong validator, such as a strong `ETag` (RFC 9110 §8.8.1). Otherwise,
        /// the download cannot be resumed, and the next attempt or download starts from the beginning.
        public static let automaticallyResume = Options(rawValue: 1 << 2)
    }
}

/// An alias for ``DownloadRequest/Destination`` within the package.
package typealias DownloadDestination = DownloadRequest.Destination

/// An alias for ``DownloadRequest/Options`` within the package.
package typealias DownloadOptions = DownloadRequest.Options

/// A validated destination with file system paths.
///
/// All calls block.
struct DownloadTarget: Sendable {
    private let place: DownloadDestination.Place
    /// The path of the file or of the directory, or an empty string for other destinations.
    private let path: String
    let options: DownloadOptions

    /// Checks a destination, and creates its directory if the options include `createIntermediateDirectories`.
    ///
    /// - Throws: `.download` with `.destinationInvalid`, `.destinationExists`, `.destinationIsDirectory` or
    ///   `.cannotCreateFile`.
    init(_ destination: DownloadDestination) throws(RequestError) {
        options = destination.options
        place = destination.place
        switch place {
        case .file(let url): path = try Self.checkedPath(of: url, options)
        case .directory(let url):
            path = try Self.path(of: url)
            try Self.checkDirectory(path, of: path, options)
        case .temporary, .custom: path = ""
        }
    }

    /// Opens the partial file.
    ///
    /// The file is next to the destination if the destination is known, and in the temporary directory otherwise.
    func openPartialFile() throws(RequestError) -> PartialFile {
        switch place {
        case .file:
            let directory = FileSystem.parent(of: path)
            let name = FileName.partial(of: FileSystem.name(of: path))
            if let partial = try PartialFile.named(name, in: directory) { return partial }
            return try PartialFile.unique(in: directory, mode: 0o666)
        case .directory: return try PartialFile.unique(in: path, mode: 0o666)
        case .temporary, .custom:
            return try PartialFile.unique(in: FileSystem.temporaryDirectory, mode: 0o600)
        }
    }

    /// Moves a complete file to the destination and returns its final path.
    func place(_ partial: PartialFile, _ response: HTTPResponse) throws(RequestError) -> String {
        let isReplacing = options.contains(.removePreviousFile)
        switch place {
        case .file:
            try partial.move(to: path, replacing: isReplacing)
            return path
        case .directory:
            return try Self.place(partial, in: path, FileName.harmless(response.suggestedFilename), isReplacing)
        case .temporary:
            let path = FileSystem.path(FileName.unique(), in: FileSystem.temporaryDirectory)
            try partial.move(to: path, replacing: false, isPrivate: true)
            return path
        case .custom(let chooser):
            let (url, options) = chooser(URL(filePath: partial.path, directoryHint: .notDirectory), response)
            let path = try Self.checkedPath(of: url, options)
            try partial.move(to: path, replacing: options.contains(.removePreviousFile))
            return path
        }
    }

    /// Moves a file into a directory, and adds a number to the name if the name is in use.
    private static func place(
        _ partial: PartialFile, in directory: String, _ name: String, _ isReplacing: Bool
    ) throws(RequestError) -> String {
        var path = FileSystem.path(name, in: directory)
        var number = 1
        while true {
            do throws(RequestError) {
                try partial.move(to: path, replacing: isReplacing)
                return path
            } catch {
                switch error.kind {
                case .download(.destinationExists), .download(.destinationIsDirectory):
                    guard number < 10_000 else { throw error }
                    number += 1
                    path = FileSystem.path(FileName.numbered(name, number), in: directory)
                default: throw error
                }
            }
        }
    }

    // MARK: Checks

    /// Returns the path of a file URL.
    static func path(of url: URL) throws(RequestError) -> String {
        let path = url.absoluteURL.path(percentEncoded: false)
        // C functions would treat a NUL as the end of the path.
        guard url.isFileURL, path.utf8.first == 0x2f, !path.utf8.contains(0) else {
            throw RequestError(.download(.destinationInvalid(url.redactedDescription)))
        }
        return FileSystem.withoutSlashes(path)
    }

    /// Returns the path of a file URL, if a file may be created there.
    private static func checkedPath(of url: URL, _ options: DownloadOptions) throws(RequestError) -> String {
        let path = try path(of: url)
        try checkFree(path, replacing: options.contains(.removePreviousFile))
        try checkDirectory(FileSystem.parent(of: path), of: path, options)
        return path
    }

    /// Checks that a file may be created at a path.
    static func checkFree(_ path: String, replacing: Bool) throws(RequestError) {
        guard let status = FileSystem.status(path, followingLinks: false) else { return }
        let target = FileSystem.status(path, followingLinks: true)
        guard !status.isDirectory, target?.isDirectory != true else {
            throw RequestError(.download(.destinationIsDirectory(path: path)))
        }
        guard target?.isSpecial != true else {
            let detail = "a device, a pipe or a socket is not replaced by a file"
            throw RequestError(.download(.cannotCreateFile(path: path)), detail: detail)
        }
        guard replacing else { throw RequestError(.download(.destinationExists(path: path))) }
    }

    private static func checkDirectory(
        _ directory: String, of path: String, _ options: DownloadOptions
    ) throws(RequestError) {
        do throws(SystemError) {
            if let status = FileSystem.status(directory, followingLinks: true) {
                guard status.isDirectory else { throw SystemError(ENOTDIR) }
            } else {
                guard options.contains(.createIntermediateDirectories) else { throw SystemError(ENOENT) }
                try FileSystem.makeDirectories(directory)
            }
        } catch {
            throw error.during(.cannotCreateFile(path: path))
        }
    }
}

extension SystemError {
    /// Returns a download error with the system's error text as its detail.
    func during(
        _ reason: RequestError.DownloadReason, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.download(reason), detail: message, fileID: fileID, line: line)
    }
}

/// Reads a downloaded file, for serializers that need its bytes.
enum DownloadedFile {
    /// Returns the bytes of a file.
    ///
    /// The call blocks.
    ///
    /// - Throws: `.invalidResponse(.bodyTooLarge)` if there are more bytes than the limit, or
    ///   `.download(.cannotReadFile)` if they cannot be read.
    static func read(_ url: URL, limit: Int64?) throws(RequestError) -> Data {
        let data: Data?
        do throws(FileError) {
            data = try FileReader.contents(of: url.path, limit: limit ?? .max)
        } catch {
            throw RequestError(.download(.cannotReadFile(path: url.path)), detail: error.message)
        }
        guard let data else { throw RequestError(.invalidResponse(.bodyTooLarge(limit: limit ?? .max))) }
        return data
    }
}
