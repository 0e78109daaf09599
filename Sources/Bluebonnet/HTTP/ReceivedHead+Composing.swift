extension ReceivedHead {
    /// The head as it would be received in HTTP/1; fields that could not be sent are left out.
    var composed: [UInt8] { composed(reasonPhrase) }

    private func composed(_ reasonPhrase: String?) -> [UInt8] {
        let version =
            switch httpVersion {
            case .http1_0: "1.0"
            case .http1_1: "1.1"
            default: "2"
            }
        var text = "HTTP/\(version) \(statusCode)"
        if let reasonPhrase { text += " \(reasonPhrase)" }
        text += "\r\n"
        for field in headers where (try? field.validate()) != nil { text += "\(field.name): \(field.value)\r\n" }
        return Array(text.utf8)
    }

    /// The same with other fields.
    func with(_ headers: HTTPHeaders) -> ReceivedHead {
        let made = ReceivedHead(statusCode: statusCode, httpVersion: httpVersion, headers: headers)
        guard let reasonPhrase else { return made }
        return ReceivedHead(bytes: made.composed(reasonPhrase)) ?? made
    }
}
