public import FoundationEssentials

/// Says where a downloaded file goes.
///
/// Until it is complete and valid, the body is in a hidden partial file (`.name.part`) beside the destination, with a small
/// file (`.name.part.resume`) that a later process can go on from. Under the destination's own name there never is less
/// than all of it. What is written is not flushed to the disk. The file gets the permissions that the process's umask
/// leaves; one in the temporary directory is for its owner only.
public struct DownloadDestination: Sendable {
    /// Chooses a place for a file when its response is known.
    ///
    /// Called once the body is complete, on the global pool, with the URL of the partial file, which it leaves alone, and
    /// the head of the response.
    public typealias Chooser =
        @Sendable (_ temporaryURL: URL, _ response: HTTPResponse) -> (destinationURL: URL, options: DownloadOptions)

    enum Place: Sendable {
        case file(URL)
        case directory(URL)
        case temporary
        case custom(Chooser)
    }

    let place: Place
    let options: DownloadOptions

    /// Returns the destination of a file with a given name.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - options: What to do about directories and a previous file, and when interrupted; nothing by default.
    /// - Returns: The destination.
    public static func file(_ url: URL, options: DownloadOptions = []) -> DownloadDestination {
        DownloadDestination(place: .file(url), options: options)
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
    public static func directory(_ url: URL, options: DownloadOptions = []) -> DownloadDestination {
        DownloadDestination(place: .directory(url), options: options)
    }

    /// A new file in the temporary directory, for its owner only; nobody removes it but its user.
    public static var temporary: DownloadDestination { temporary(options: []) }

    /// Returns the destination of a new file in the temporary directory.
    ///
    /// - Parameter options: What to do when interrupted.
    /// - Returns: The destination.
    public static func temporary(options: DownloadOptions) -> DownloadDestination {
        DownloadDestination(place: .temporary, options: options)
    }

    /// Returns a destination that is chosen when the body is complete.
    ///
    /// The partial file is in the temporary directory; from there the body is copied if the destination is on another
    /// file system.
    ///
    /// - Parameters:
    ///   - options: What to do when interrupted; the rest of the options is the closure's to choose.
    ///   - chooser: Returns the URL of the file and what to do about directories and a previous file.
    /// - Returns: The destination.
    public static func custom(
        options: DownloadOptions = [], _ chooser: @escaping Chooser
    ) -> DownloadDestination {
        DownloadDestination(place: .custom(chooser), options: options)
    }
}
