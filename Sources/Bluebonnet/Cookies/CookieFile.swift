import FoundationEssentials
import Glibc

/// A file of cookies in Netscape's format; all calls block.
struct CookieFile {
    private let path: String

    init(_ url: URL) throws(RequestError) {
        let path = url.path(percentEncoded: false)
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.cookies(.notAFileURL(url.redactedDescription)))
        }
        self.path = path
    }

    /// Returns the cookies in the file that a session can keep.
    func read() throws(RequestError) -> [Cookie] {
        do throws(FileError) {
            guard let data = try FileReader.contents(of: path, limit: Self.sizeLimit) else {
                throw .system(SystemError(EFBIG))
            }
            return Self.cookies(in: data, now: Date())
        } catch {
            throw RequestError(.cookies(.fileUnreadable(path: path)), detail: error.words)
        }
    }

    /// Returns the cookies in a file's bytes that a session can keep.
    static func cookies(in data: Data, now: Date) -> [Cookie] {
        data.split(separator: 0x0a).compactMap { line in
            guard let text = String(validating: line, as: UTF8.self), let cookie = Cookie(netscapeLine: text),
                !cookie.isExpired(at: now), (try? cookie.validate()) != nil
            else { return nil }
            return cookie
        }
    }

    /// Writes a file with the cookies, in place of the one that is there.
    func write(_ cookies: [Cookie]) throws(RequestError) {
        let lines = [
            "# Netscape HTTP Cookie File", "# Written by Bluebonnet. It holds secrets: keep it to yourself.", "",
        ]
        let text = (lines + cookies.map(\.netscapeLine)).joined(separator: "\n") + "\n"
        // Two that save at the same time do not write to the same file.
        let unfinished = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 16)).new"
        do throws(SystemError) {
            let file = try OpenFile.creating(unfinished, mode: 0o600)
            var position: Int64 = 0
            try file.write(Data(text.utf8), at: &position)
            try FileSystem.rename(unfinished, to: path)
        } catch {
            FileSystem.remove(unfinished)
            throw RequestError(.cookies(.fileUnwritable(path: path)), detail: error.words)
        }
    }

    /// The largest file that is read, in bytes: some 100,000 cookies.
    private static let sizeLimit: Int64 = 64 * 1024 * 1024
}
