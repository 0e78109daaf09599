public import FoundationEssentials
import Glibc

extension DownloadRequest {
    /// Chooses a place for a file when its response is known.
    ///
    /// Until it is complete and valid, the body is in a hidden partial file (`.name.part`) beside the destination, with
    /// a small file (`.name.part.resume`) from which a later process can resume. The file under the destination's own
    /// name is never incomplete. The bytes are not flushed to the disk. The file gets the permissions that the
    /// process's umask leaves; one in the temporary directory is for its owner only.
    public struct Destination: Sendable {
        enum Place: Sendable {
            case file(URL)
            case directory(URL)
            case temporary
            case custom(@Sendable (URL, HTTPResponse) -> (destinationURL: URL, options: Options))
        }

        let place: Place
        let options: Options

        /// Returns the destination of a file with a given name.
        ///
        /// - Parameters:
        ///   - url: The URL of the file.
        ///   - options: What to do about directories and a previous file, and when interrupted; nothing by default.
        /// - Returns: The destination.
        public static func file(_ url: URL, options: Options = []) -> Destination {
            Destination(place: .file(url), options: options)
        }

        /// Returns the destination of a file in a directory, under the name that the response suggests.
        ///
        /// The name is ``HTTPResponse/suggestedFilename``, made harmless: it stays in the directory and is not hidden. When
        /// there is a file of that name, a number is added (`report 2.pdf`), unless `removePreviousFile` is among the options.
        ///
        /// - Parameters:
        ///   - url: The URL of the directory.
        ///   - options: What to do about directories and a previous file, and when interrupted; nothing by default.
        /// - Returns: The destination.
        public static func directory(_ url: URL, options: Options = []) -> Destination {
            Destination(place: .directory(url), options: options)
        }

        /// A new file in the temporary directory, for its owner only; only its user removes it.
        public static var temporary: Destination { temporary(options: []) }

        /// Returns the destination of a new file in the temporary directory.
        ///
        /// - Parameter options: What to do when interrupted.
        /// - Returns: The destination.
        public static func temporary(options: Options) -> Destination {
            Destination(place: .temporary, options: options)
        }

        /// Returns a destination that is chosen when the body is complete.
        ///
        /// The partial file is in the temporary directory; from there the body is copied if the destination is on another
        /// file system.
        ///
        /// - Parameters:
        ///   - options: What to do when interrupted; the rest of the options is the closure's to choose.
        ///   - chooser: Returns the URL of the file and what to do about directories and a previous file. Called once the body
        ///     is complete, on the global pool, with the URL of the partial file, which it leaves alone, and the head of the
        ///     response.
        /// - Returns: The destination.
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
    /// Says how a download treats the file system, and whether it resumes automatically after an interruption.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The options as bits.
        public let rawValue: Int

        /// Creates a set of options.
        ///
        /// - Parameter rawValue: The options as bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Makes the directories that lead to the destination and do not exist.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)

        /// Replaces a file that is at the destination already, at the moment when the new one is complete.
        ///
        /// A directory is never replaced; of a symbolic link, the link itself is. Without this option a download to an
        /// existing file fails before anything is fetched.
        public static let removePreviousFile = Options(rawValue: 1 << 1)

        /// Goes on from where it was when the transfer is interrupted, without beginning again.
        ///
        /// Once some of the body is there, a connection that is lost or cannot be made, a time limit for connecting or silence
        /// that runs out, and a body that ends too early are followed by another attempt for the rest, until five in a row
        /// have fetched less than 1 KiB; the waits between them grow from half a second. A download to a named file also takes
        /// up what an earlier one, in this process or another, left beside the destination, if that was asked of the same
        /// URL. That the bytes belong together is the server's promise: where it gives no strong validator (RFC 9110 §8.8.1),
        /// an interruption ends the download, and the next one begins again.
        public static let automaticallyResume = Options(rawValue: 1 << 2)
    }
}

/// The name of ``DownloadRequest/Destination`` within the package.
package typealias DownloadDestination = DownloadRequest.Destination

/// The name of ``DownloadRequest/Options`` within the package.
package typealias DownloadOptions = DownloadRequest.Options

/// A destination as paths, checked.
///
/// All calls block.
struct DownloadTarget: Sendable {
    private let place: DownloadDestination.Place
    /// The path of the file or of the directory, if there is one.
    private let path: String
    let options: DownloadOptions

    /// Checks a destination before anything is fetched for it, and makes its directory if that is wanted.
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

    /// Opens the partial file: beside the destination, where that is known.
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

    /// Moves a complete file to the destination and returns its path there.
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

    /// Moves a file into a directory, under the name or, where that is taken, under one with a number.
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

    /// Returns the path of a file's URL.
    static func path(of url: URL) throws(RequestError) -> String {
        let path = url.absoluteURL.path(percentEncoded: false)
        // C would take a NUL for the end of the path.
        guard url.isFileURL, path.utf8.first == 0x2f, !path.utf8.contains(0) else {
            throw RequestError(.download(.destinationInvalid(url.redactedDescription)))
        }
        return FileSystem.withoutSlashes(path)
    }

    /// Returns the path of a file's URL, if a file may come to be there.
    private static func checkedPath(of url: URL, _ options: DownloadOptions) throws(RequestError) -> String {
        let path = try path(of: url)
        try checkFree(path, replacing: options.contains(.removePreviousFile))
        try checkDirectory(FileSystem.parent(of: path), of: path, options)
        return path
    }

    /// Checks that a file may come to be at a path.
    static func checkFree(_ path: String, replacing: Bool) throws(RequestError) {
        guard let status = FileSystem.status(path, followingLinks: false) else { return }
        guard !status.isDirectory, FileSystem.status(path, followingLinks: true)?.isDirectory != true else {
            throw RequestError(.download(.destinationIsDirectory(path: path)))
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
    /// The error as an error of a download; the detail has the system's error text.
    func during(
        _ reason: RequestError.DownloadReason, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.download(reason), detail: message, fileID: fileID, line: line)
    }
}

/// Makes names of files: harmless ones from servers' suggestions, hidden ones for partial files.
enum FileName {
    /// How many bytes a name may have on the file systems of Linux.
    static let limit = 255

    /// The name of a file for which the response has no usable one.
    static let fallback = "download"

    /// Returns a name that stays in its directory, is not hidden and leaves room for a number.
    static func harmless(_ suggestion: String?) -> String {
        let last = (suggestion ?? "").unicodeScalars.split { $0 == "/" || $0 == "\\" }.last.map { Array($0) } ?? []
        let kept = last.filter { $0.properties.generalCategory != .control && !isDirectionMark($0) }
        let visible = kept.drop { $0 == "." || $0.properties.isWhitespace }
        var name = String(String.UnicodeScalarView(visible))
        while name.last?.isWhitespace == true { name.removeLast() }
        guard !name.isEmpty else { return fallback }
        let (stem, suffix) = parts(of: name)
        return suffix.utf8.count < 32
            ? prefix(of: stem, limit: 200 - suffix.utf8.count) + suffix : prefix(of: name, limit: 200)
    }

    /// Returns the name with a number before its extension: `report 2.pdf`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = parts(of: name)
        return "\(stem) \(number)\(suffix)"
    }

    /// Returns the name of the partial file of a file; always the same, so that a later process finds it.
    static func partial(of name: String) -> String {
        guard name.utf8.count > limit - 40 else { return ".\(name).part" }
        return ".\(prefix(of: name, limit: 180))-\(String(fingerprint(name), radix: 16)).part"
    }

    /// Returns an unguessable name for a new file.
    static func unique() -> String {
        "Bluebonnet-" + token()
    }

    /// Returns random letters and digits.
    static func token() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        return String(repeating: "0", count: max(0, 13 - number.count)) + number
    }

    /// Marks that turn the direction of text can make `gpj.exe` of `exe.jpg`.
    private static func isDirectionMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200e, 0x200f, 0x061c, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    /// Takes off the extension; `.tar.gz` is one.
    private static func parts(of name: String) -> (stem: String, suffix: String) {
        guard var dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
        let stem = name[..<dot]
        if stem.hasSuffix(".tar"), stem.count > 4 { dot = name.index(dot, offsetBy: -4) }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Returns as many characters as fit in a number of bytes.
    private static func prefix(of text: String, limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var count = 0
        let end = text.indices.first {
            count += text[$0].utf8.count
            return count > limit
        }
        return String(text[..<(end ?? text.endIndex)])
    }

    /// FNV-1a of 64 bits: the same in every process, which `Hasher` is not.
    private static func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// Reads a file that was downloaded, for serializers that want its bytes.
enum DownloadedFile {
    /// Returns the bytes of a file; blocks.
    ///
    /// - Throws: `.invalidResponse(.bodyTooLarge)` when there are more than the limit, `.download(.cannotReadFile)` when
    ///   they cannot be read.
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
