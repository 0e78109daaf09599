/// What a server or a proxy asks for before it serves a request (RFC 9110 §11.3).
struct Challenge: Equatable {
    /// A parameter, its name in lower case and its value without quotes.
    struct Parameter: Equatable {
        let name: String
        let value: String
    }

    /// The scheme, in lower case.
    let scheme: String
    /// What follows the scheme if that is a single piece of text, as NTLM and Negotiate have it.
    private(set) var token: String?
    private(set) var parameters: [Parameter] = []

    /// Returns the value of the first parameter of a name, which is in lower case.
    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Parses the values of `WWW-Authenticate` or `Proxy-Authenticate` fields; what is malformed is left out.
    ///
    /// The commas between challenges are those between parameters, too: a token with `=` behind it is a parameter.
    static func parse(_ values: [String]) -> [Challenge] {
        var challenges: [Challenge] = []
        for value in values {
            var rest = value.utf8[...]
            // A parameter at the beginning of a field belongs to no challenge.
            var current: Challenge?
            while true {
                rest = rest.drop { FieldSyntax.isWhitespace($0) || $0 == 0x2c }
                guard !rest.isEmpty else { break }
                let name = takeToken(from: &rest)
                guard !name.isEmpty else {
                    rest = rest.drop { $0 != 0x2c }
                    continue
                }
                let after = rest.drop { FieldSyntax.isWhitespace($0) }
                if after.first == 0x3d {
                    rest = after.dropFirst().drop { FieldSyntax.isWhitespace($0) }
                    current?.parameters.append(Parameter(name: name, value: rest.takeValue(until: [0x2c])))
                    continue
                }
                if let current { challenges.append(current) }
                current = Challenge(scheme: name, token: takeToken68(from: &rest))
            }
            if let current { challenges.append(current) }
        }
        return challenges
    }

    /// Takes a token from the front, and makes it lower case.
    private static func takeToken(from rest: inout Substring.UTF8View) -> String {
        let token = rest.prefix { FieldSyntax.isTokenByte($0) }
        rest = rest[token.endIndex...]
        return String(Substring(token)).lowercased()
    }

    /// Takes base64, or something like it, if the challenge has nothing else.
    private static func takeToken68(from rest: inout Substring.UTF8View) -> String? {
        let start = rest.drop { FieldSyntax.isWhitespace($0) }
        let text = start.prefix {
            FieldSyntax.isAlphanumeric($0) || [0x2d, 0x2e, 0x5f, 0x7e, 0x2b, 0x2f].contains($0)
        }
        let end = start[text.endIndex...].drop { $0 == 0x3d }
        let next = end.first { !FieldSyntax.isWhitespace($0) }
        guard !text.isEmpty, next == nil || next == 0x2c else { return nil }
        rest = end
        return String(Substring(start[..<end.startIndex]))
    }
}
