import FoundationEssentials
import Glibc

/// A destination as paths, checked.
///
/// All calls block.
struct DownloadTarget: Sendable {
    private enum Place {
        case file(String)
        case directory(String)
        case temporary
        case custom(DownloadDestination.Chooser)
    }

    private let place: Place
    let options: DownloadOptions

    /// Checks a destination before anything is fetched for it, and makes its directory if that is wanted.
    ///
    /// - Throws: `.download` with `.destinationInvalid`, `.destinationExists`, `.destinationIsDirectory` or
    ///   `.cannotCreateFile`.
    init(_ destination: DownloadDestination) throws(RequestError) {
        options = destination.options
        switch destination.place {
        case .file(let url):
            let path = try Self.path(of: url)
            place = .file(path)
            try Self.checkFree(path, replacing: options.contains(.removePreviousFile))
            try Self.checkDirectory(FileSystem.parent(of: path), of: path, options)
        case .directory(let url):
            let path = try Self.path(of: url)
            place = .directory(path)
            try Self.checkDirectory(path, of: path, options)
        case .temporary: place = .temporary
        case .custom(let chooser): place = .custom(chooser)
        }
    }

    /// Opens the partial file: beside the destination, where that is known.
    func openPartialFile() throws(RequestError) -> PartialFile {
        switch place {
        case .file(let path):
            let directory = FileSystem.parent(of: path)
            let name = FileName.partial(of: FileSystem.name(of: path))
            if let partial = try PartialFile.named(name, in: directory) { return partial }
            return try PartialFile.unique(in: directory, mode: 0o666)
        case .directory(let path): return try PartialFile.unique(in: path, mode: 0o666)
        case .temporary, .custom:
            return try PartialFile.unique(in: FileSystem.temporaryDirectory, mode: 0o600)
        }
    }

    /// Moves a complete file to the destination and returns its path there.
    func place(_ partial: PartialFile, _ response: HTTPResponse) throws(RequestError) -> String {
        let isReplacing = options.contains(.removePreviousFile)
        switch place {
        case .file(let path):
            try partial.move(to: path, replacing: isReplacing)
            return path
        case .directory(let directory):
            let name = FileName.harmless(response.suggestedFilename)
            return try Self.place(partial, in: directory, name, isReplacing)
        case .temporary:
            let path = FileSystem.path(FileName.unique(), in: FileSystem.temporaryDirectory)
            try partial.move(to: path, replacing: false, isPrivate: true)
            return path
        case .custom(let chooser):
            let (url, options) = chooser(URL(filePath: partial.path, directoryHint: .notDirectory), response)
            let path = try Self.path(of: url)
            let isReplacing = options.contains(.removePreviousFile)
            try Self.checkFree(path, replacing: isReplacing)
            try Self.checkDirectory(FileSystem.parent(of: path), of: path, options)
            try partial.move(to: path, replacing: isReplacing)
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
        // What C would take for the end of the path is none.
        guard url.isFileURL, path.utf8.first == 0x2f, !path.utf8.contains(0) else {
            throw RequestError(.download(.destinationInvalid(url.redactedDescription)))
        }
        return FileSystem.withoutSlashes(path)
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
    /// The error as one of a download; the detail has the system's words.
    func during(
        _ reason: RequestError.DownloadReason, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.download(reason), detail: words, fileID: fileID, line: line)
    }
}
