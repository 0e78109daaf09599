import FoundationEssentials

extension HTTPRequest {
    /// Returns a `curl` command that sends this request and can be pasted into bash.
    ///
    /// If `revealingSecrets` is `false`, `<redacted>` replaces these values:
    /// - values of header fields with credentials or cookies
    /// - user info in the URL
    /// - values with names such as `token`, `password` or `key`, in the query and in form or JSON bodies
    ///
    /// Form and JSON bodies are recognized by the `Content-Type` field, or by their content if the field is missing.
    /// Other bodies are shown in full. For a body that is not text, the command pipes the output of `printf` to `curl`.
    /// If a body has more than 100,000 bytes or is not in memory, `curl` reads a file named `body`.
    ///
    /// - Parameters:
    ///   - defaultHeaders: The header fields to add if the request has no field with the same name. The default is no
    ///     fields.
    ///   - revealingSecrets: Whether the command contains the secrets. The default is `false`.
    /// - Returns: The command, with one option per line.
    package func cURLDescription(defaultHeaders: HTTPHeaders = [:], revealingSecrets: Bool = false) -> String {
        CURLCommand(request: self, defaultHeaders: defaultHeaders, revealsSecrets: revealingSecrets).text
    }
}

/// Formats a request as a `curl` command.
private struct CURLCommand {
    /// The maximum size of a body that the command contains, in bytes.
    ///
    /// Linux limits the size of an argument to 128 KiB.
    static let bodyLimit = 100_000

    let request: HTTPRequest
    let defaultHeaders: HTTPHeaders
    let revealsSecrets: Bool

    var text: String {
        let (input, bodyOptions) = body
        let options = [method, version, userInfo] + fields + bodyOptions + [url]
        return (input.map { "\($0) | " } ?? "") + (["curl"] + options.compactMap { $0 }).joined(separator: " \\\n    ")
    }

    private var method: String? {
        switch (request.method, !request.hasBody) {
        case (.get, true), (.post, false): nil
        case (.head, true): "--head"
        default: "-X \(ShellQuoting.quote(request.method.rawValue))"
        }
    }

    private var version: String? {
        switch request.httpVersion {
        case .http1_1: "--http1.1"
        // With TLS, the handshake negotiates the version.
        case .http2PriorKnowledge where request.url.scheme?.lowercased() != "https": "--http2-prior-knowledge"
        case .http3: "--http3"
        case .http3Only: "--http3-only"
        default: nil
        }
    }

    private var userInfo: String? {
        guard !revealsSecrets, Redaction.hasUserInfo(request.url.absoluteString) else { return nil }
        return "--user \(ShellQuoting.quote(Redaction.placeholder))"
    }

    /// The header fields to send, without invalid fields.
    private var headers: [HTTPHeader] {
        let defaults = defaultHeaders.filter(request.takesDefault).map(request.defaultField)
        return (defaults + Array(request.headers)).filter { (try? $0.validate()) != nil }
    }

    private var fields: [String] {
        let headers = headers
        var options = headers.map { header in
            let value = revealsSecrets ? header.value : Redaction.fieldValue(header)
            guard value.isEmpty else { return "-H " + ShellQuoting.quote("\(header.name): \(value)") }
            // For curl, `;` after a name means an empty value, and `:` removes the field. Empty fields of the request
            // are sent, and empty default fields are not.
            let mark = request.headers.contains(header.name) ? ";" : ":"
            return "-H " + ShellQuoting.quote(header.name + mark)
        }
        let codings = headers.last { $0.name.isSameIgnoringCase(as: "Accept-Encoding") }?.value ?? ""
        if !codings.isEmpty, !codings.isSameIgnoringCase(as: "identity") { options.append("--compressed") }
        let hasContentType = headers.contains { $0.name.isSameIgnoringCase(as: "Content-Type") }
        // Without this option, curl would send the content type of a form.
        if request.hasBody, !hasContentType { options.append("-H 'Content-Type:'") }
        return options
    }

    /// The options for the body, and a command that prints the body if it cannot be an argument.
    private var body: (input: String?, options: [String]) {
        guard let body = request.body else { return (nil, []) }
        guard let data = body.data, data.count <= Self.bodyLimit else { return (nil, ["--data-binary @body"]) }
        guard let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0) else {
            return ("printf \(ShellQuoting.printfFormat(data))", ["--data-binary @-"])
        }
        let mediaType = request.headers["Content-Type"].flatMap { MediaType($0) }
        return (nil, ["--data-raw \(ShellQuoting.quote(revealsSecrets ? text : Redaction.body(text, mediaType)))"])
    }

    private var url: String {
        let sent = Redaction.withoutFragment(request.url.absoluteString)
        let word = ShellQuoting.quote(revealsSecrets ? sent : Redaction.url(sent))
        // curl treats brackets and braces as a pattern, and text that starts with a hyphen as an option.
        let globoff = sent.contains { "[]{}".contains($0) } ? "--globoff " : ""
        return globoff + (sent.hasPrefix("-") ? "--url \(word)" : word)
    }
}

/// Quotes text so that a shell reads it as one literal word.
private enum ShellQuoting {
    /// Returns the text in quotes.
    ///
    /// In single quotes, every character is literal (POSIX, Shell Command Language §2.2.2). Control characters other
    /// than line feeds cannot be pasted into a terminal, so text with such characters uses bash's `$'…'` quotes.
    static func quote(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else {
            return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        var word = "$'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": word += "\\'"
            case "\\": word += "\\\\"
            case "\n": word += "\\n"
            case "\r": word += "\\r"
            case "\t": word += "\\t"
            case _ where isControl(scalar): word += String(scalar).utf8.map(octal).joined()
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    /// Returns a quoted format that makes `printf` print the bytes.
    static func printfFormat(_ bytes: some Collection<UInt8>) -> String {
        var word = "'"
        for (position, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "'"), 0..<0x20, 0x7F...: word += octal(byte)
            // The first argument must not look like an option.
            case UInt8(ascii: "-") where position == 0: word += octal(byte)
            case UInt8(ascii: "%"): word += "%%"
            case UInt8(ascii: "\\"): word += "\\\\"
            default: word.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return word + "'"
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar != "\n" && scalar.properties.generalCategory == .control
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
    }
}
