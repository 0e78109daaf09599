extension RequestError.MultipartEncodingReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .bodyPartURLInvalid(let url): "a part of the form is to be read from \(url), which is not a file's URL"
        case .bodyPartFilenameInvalid(let url): "a part of the form has no file name in \(url)"
        case .bodyPartFileNotReachable(let path): "the form's file \(path) cannot be reached"
        case .bodyPartFileIsDirectory(let path): "the form's file \(path) is a directory"
        case .bodyPartFileUnreadable(let path): "the form's file \(path) cannot be read"
        case .bodyPartLengthMismatch(let name, let expected, let actual):
            "the part \(name.debugDescription) of the form has \(actual) bytes instead of \(expected)"
        case .bodyPartSequenceFailed(let name): "the sequence of the form's part \(name.debugDescription) failed"
        case .bodyPartNotReplayable(let name):
            "the sequence of the form's part \(name.debugDescription) cannot be read a second time"
        case .boundaryInvalid(let boundary): "\(boundary.debugDescription) cannot be the form's boundary"
        case .bodyPartHeaderInvalid(let name): "the field \(name.debugDescription) of a part cannot be sent"
        case .outputFileAlreadyExists(let path): "there is a file at \(path) already"
        case .outputFileURLInvalid(let url): "\(url) is not a file's URL"
        case .outputFileWriteFailed(let path): "the form cannot be written to \(path)"
        }
    }
}

extension RequestError.RequestBodyReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .notAFileURL(let url): "the body is to be read from \(url), which is not a file's URL"
        case .fileUnreadable(let path): "the body's file \(path) cannot be read"
        case .fileIsDirectory(let path): "the body's file \(path) is a directory"
        case .lengthMismatch(let expected, let actual): "the body has \(actual) bytes instead of \(expected)"
        case .sequenceFailed: "the sequence of the body failed"
        case .notReplayable: "the body cannot be sent a second time"
        }
    }
}

extension RequestError.DownloadReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .destinationInvalid(let url): "the destination \(url) is not a file's URL"
        case .destinationExists(let path): "there is a file at \(path) already"
        case .destinationIsDirectory(let path): "the destination \(path) is a directory"
        case .cannotCreateFile(let path): "the file \(path) cannot be made"
        case .cannotWriteFile(let path): "the file \(path) cannot be written"
        case .cannotMoveFile(let source, let target): "the file \(source) cannot be moved to \(target)"
        case .cannotReadFile(let path): "the file \(path) cannot be read"
        case .resumeDataInvalid: "the data to resume with is not resume data"
        case .cannotResume(let code): "the download cannot be resumed: the server answered with \(code)"
        }
    }
}

extension RequestError.EventSourceReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .unacceptableStatusCode(let code): "there is no event stream: the status code is \(code)"
        case .unacceptableContentType(let type):
            "there is no event stream: the content type is \(type ?? "missing")"
        }
    }
}
