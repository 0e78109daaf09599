import Glibc

/// Holds the number with which a system call failed.
struct SystemError: Error, Hashable {
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    /// The error as one of a download; the detail has the system's words.
    func during(
        _ reason: RequestError.DownloadReason, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.download(reason), detail: words, fileID: fileID, line: line)
    }
}
