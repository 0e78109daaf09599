import Bluebonnet

extension HTTPHeaders {
    /// The fields with a content type, unless they have one already.
    func including(contentType: String) -> HTTPHeaders {
        guard !contains("Content-Type") else { return self }
        var headers = self
        headers.add(name: "Content-Type", value: contentType)
        return headers
    }
}
